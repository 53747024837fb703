"""tools/release/audit.py against a database made for the purpose."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import audit
import pytest

ROOT = Path(__file__).resolve().parents[2]

RECORD = """
id: PYSEC-1
aliases: [CVE-1]
affected:
- package: {name: Some.Package, ecosystem: PyPI}
  ranges:
  - type: GIT
    events: [{introduced: '0'}]
  - type: ECOSYSTEM
    events: [{introduced: '1.2'}, {fixed: '1.10'}, {introduced: '2.0'}, {last_affected: '2.4'}]
  versions: ['0.7']
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "vulns" / "some-package"
    folder.mkdir(parents=True)
    (folder / "PYSEC-1.yaml").write_text(RECORD, "utf-8")
    (folder / "PYSEC-2.yaml").write_text(
        RECORD.replace("PYSEC-1", "PYSEC-2") + "withdrawn: '2024-01-01T00:00:00Z'\n", "utf-8"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("version", "known"),
    [
        *(("0.7", True), ("0.8", False), ("1.1", False), ("1.2", True), ("1.9.3", True)),
        *(("1.10", False), ("1.11", False), ("2.0", True), ("2.4", True), ("2.4.1", False)),
    ],
)
def test_versions_in_a_range_are_found(database: Path, version: str, known: bool) -> None:
    lines = list(audit.found(database, "some-package", version))
    assert lines == ([f"some-package {version}: PYSEC-1 (CVE-1)"] if known else [])


def test_every_line_of_a_lock_file_counts(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(
        "# by uv\nSome.Package==1.2 \\\n    --hash=sha256:00\n    # via forebay\n"
        "tomli==2.0 ; python_full_version < '3.11' \\\n    --hash=sha256:00\n"
    )
    assert list(audit.pinned(lock)) == [("some-package", "1.2"), ("tomli", "2.0")]
    for path in ROOT.glob("requirements*.lock"):
        text = path.read_text("utf-8")
        assert len(list(audit.pinned(path))) == sum(line[:1].isalnum() for line in text.split("\n"))


def test_a_vulnerability_or_a_missing_database_fails(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (database / "requirements.lock").write_text("some-package==1.2\nother==1\n")
    monkeypatch.setattr(audit, "ROOT", database)
    monkeypatch.setattr(audit, "DATABASES", database.parent)
    monkeypatch.setattr(audit, "cloned", lambda *_: False)
    assert not audit.python()
    assert "not compared" in capsys.readouterr().err
    database.rename(database.parent / "pypa")
    monkeypatch.setattr(audit, "ROOT", database.parent / "pypa")
    monkeypatch.setattr(audit, "cloned", lambda *_: True)
    assert not audit.python()
    assert "some-package 1.2: PYSEC-1" in capsys.readouterr().err
    (database.parent / "pypa" / "requirements.lock").write_text("other==1\n")
    assert audit.python()


@pytest.mark.parametrize(("date", "warns"), [("2020-01-31", True), ("2099-01-01", False)])
def test_an_old_database_is_called_old(
    date: str, warns: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    words = ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "-m", "x"]
    when = {"GIT_COMMITTER_DATE": f"{date}T12:00:00Z"}
    subprocess.run(["git", "init", "-q", origin], check=True)
    subprocess.run(
        ["git", "-C", origin, *words, "--allow-empty"], check=True, env=os.environ | when
    )
    assert audit.cloned(str(origin), clone)
    said = capsys.readouterr().out
    assert f"is of {date}" in said
    assert ("what has been found since is not in it" in said) == warns
