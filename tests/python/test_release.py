"""tools/release/release.py in a clone of this repository; its slow steps are left out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import release

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
NEXT = "9.0.0"
KNOWN = {
    "copyright": "Ada Example & Co.",
    "maintainer": "Ada Example <ada@example.org>",
    "repository": "https://example.org/forebay",
}
"""What a maintainer fills in."""


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def nothing(words: Sequence[str], root: Path) -> None:
    """A step that succeeds."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the files that carry the version, and of the crates they describe."""
    root = tmp_path_factory.mktemp("release")
    names = [*release.places("0", "0", ""), *release.identity(KNOWN)]
    names += [str(path.relative_to(ROOT)) for path in manifests()]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    fill_in(root, KNOWN)
    changes = root / "CHANGELOG.md"
    heading = "## [Unreleased]\n"
    changes.write_text(changes.read_text("utf-8").replace(heading, f"{heading}\n- Something.\n"))
    git(root, "init", "--quiet", f"--initial-branch={release.BRANCH}")
    git(root, "config", "user.name", "Tester")
    git(root, "config", "user.email", "tester@example.org")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Everything")
    return root


def fill_in(root: Path, known: dict[str, str]) -> None:
    path = root / release.PROJECT
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'{name} = "{value}"\n' for name, value in known.items()), "utf-8")


def manifests() -> list[Path]:
    """Manifests of the workspace's crates, and the sources that make them packages."""
    crates = [*ROOT.glob("crates/*"), ROOT / "examples/engine", ROOT / "examples/plugins/codel"]
    files = [each / "Cargo.toml" for each in crates]
    return files + [path for each in crates for path in each.rglob("*.rs")]


@pytest.fixture
def clone(original: Path, tmp_path: Path) -> Path:
    root = tmp_path / "forebay"
    git(tmp_path, "clone", "--quiet", str(original), str(root))
    git(root, "config", "user.name", "Tester")
    git(root, "config", "user.email", "tester@example.org")
    return root


def test_a_release_is_one_commit_with_a_tag_and_the_version_everywhere(clone: Path) -> None:
    was = release.present(clone)
    steps: list[Sequence[str]] = []
    release.release(NEXT, clone, lambda words, _: steps.append(words))
    assert steps == list(release.STEPS)
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "cat-file", "-t", f"v{NEXT}") == "tag"
    assert git(clone, "rev-parse", f"v{NEXT}^{{commit}}") == git(clone, "rev-parse", "HEAD")
    assert git(clone, "rev-list", "--count", "origin/main..HEAD") == "1"  # and nothing was pushed
    assert git(clone, "rev-parse", "origin/main") == git(clone, "ls-remote", "origin", "main")[:40]
    changed = git(clone, "diff", "--name-only", "HEAD~", "HEAD").splitlines()
    assert changed == sorted({*release.places(was, NEXT, ""), *release.identity(KNOWN)})

    assert release.present(clone) == NEXT
    assert f"\nversion: {NEXT}\ndate-released: 20" in (clone / "CITATION.cff").read_text("utf-8")
    assert f'  version: "{NEXT}"' in (clone / "contrib/conda/recipe.yaml").read_text("utf-8")
    changes = (clone / "CHANGELOG.md").read_text("utf-8")
    assert f"## [Unreleased]\n\n## [{NEXT}] - 20" in changes

    # Who made it and where it lies, once each, and not again when it is written again.
    release.write(clone, "9.1.0", "2030-01-01")
    for name, line in {
        "LICENSE-MIT": "Copyright (c) 2026 Ada Example & Co.",
        "contrib/gate/copyright": "Copyright: 2026 Ada Example & Co.",
        "crates/gate/Cargo.toml": 'maintainer = "Ada Example <ada@example.org>"',
        "CITATION.cff": "repository-code: https://example.org/forebay",
        "Cargo.toml": 'repository = "https://example.org/forebay"',
        "contrib/conda/recipe.yaml": "  repository: https://example.org/forebay",
        "pyproject.toml": 'Repository = "https://example.org/forebay"',
    }.items():
        assert (clone / name).read_text("utf-8").splitlines().count(line) == 1, name
    read = tomllib.loads((clone / "pyproject.toml").read_text("utf-8"))
    assert read["project"]["urls"] == {"Repository": KNOWN["repository"]}
    assert "forebay" in read["project"]["scripts"]


@pytest.mark.skipif(not shutil.which("cargo"), reason="needs cargo")
def test_cargo_accepts_the_lock_file_with_the_new_version(clone: Path) -> None:
    release.write(clone, NEXT, "2030-01-01")
    words = ["cargo", "metadata", "--locked", "--offline", "--format-version=1"]
    done = subprocess.run(words, cwd=clone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_tree_that_has_the_version_already_is_released(clone: Path) -> None:
    release.write(clone, NEXT, "2030-01-01")
    git(clone, "commit", "--quiet", "--all", "--message", "The next version")
    release.release(NEXT, clone, nothing)
    assert git(clone, "tag") == f"v{NEXT}"
    changes = (clone / "CHANGELOG.md").read_text("utf-8")
    assert changes.count(f"## [{NEXT}] - 20") == 1 and "2030-01-01" not in changes


def test_a_step_that_fails_leaves_everything_as_it_was(clone: Path) -> None:
    def fails(_: Sequence[str], root: Path) -> None:
        assert release.present(root) == NEXT
        raise release.Refused("make test ended with code 2")

    before = git(clone, "rev-parse", "HEAD")
    with pytest.raises(release.Refused, match="make test"):
        release.release(NEXT, clone, fails)
    assert git(clone, "rev-parse", "HEAD") == before
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "tag") == ""


def test_generated_files_that_a_step_changes_are_named(clone: Path) -> None:
    def writes(_: Sequence[str], root: Path) -> None:
        (root / "crates/core/Cargo.toml").write_text("[package]\n")

    with pytest.raises(release.Refused, match=r"not up to date: crates/core/Cargo\.toml"):
        release.release(NEXT, clone, writes)
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("value", ["", 'Ada "A" <a@example.org>'])
def test_what_a_maintainer_has_not_filled_in_is_named(clone: Path, name: str, value: str) -> None:
    fill_in(clone, {**KNOWN, name: value.replace('"', '\\"')})
    git(clone, "commit", "--quiet", "--all", "--message", "Not filled in")
    with pytest.raises(release.Refused, match=rf"project\.toml: {name}: expected an? "):
        release.release(NEXT, clone, nothing)


def test_the_tree_has_what_is_to_be_filled_in() -> None:
    assert set(tomllib.loads((ROOT / release.PROJECT).read_text("utf-8"))) == set(release.FIELDS)


def dirty(root: Path) -> None:
    (root / "new.txt").write_text("x")


def elsewhere(root: Path) -> None:
    git(root, "switch", "--quiet", "--create", "idea")


def tagged(root: Path) -> None:
    git(root, "tag", f"v{NEXT}")


def unchanged(root: Path) -> None:
    path = root / "CHANGELOG.md"
    head = path.read_text("utf-8").partition("## [Unreleased]")[0]
    path.write_text(f"{head}## [Unreleased]\n\n### Added\n\n## [0.0.1]\n\n- Something.\n", "utf-8")
    git(root, "commit", "--quiet", "--all", "--message", "No changes")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (dirty, r"not committed: new\.txt"),
        (elsewhere, "made on main, and this is idea"),
        (tagged, rf"v{NEXT} exists"),
        (unchanged, r"nothing stands under \[Unreleased\]"),
    ],
)
def test_what_must_not_be_released_is_refused(clone: Path, spoil: object, says: str) -> None:
    assert callable(spoil)
    spoil(clone)
    before = git(clone, "status", "--porcelain"), git(clone, "tag"), git(clone, "rev-parse", "HEAD")
    with pytest.raises(release.Refused, match=says):
        release.release(NEXT, clone, nothing)
    after = git(clone, "status", "--porcelain"), git(clone, "tag"), git(clone, "rev-parse", "HEAD")
    assert before == after


@pytest.mark.parametrize("version", ["0.0.1", "v1.0.0", "1.0", "1.0.0rc1", "01.0.0"])
def test_versions_that_are_none_or_not_newer(
    version: str, clone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(release.Refused, match="version"):
        release.release(version, clone, nothing)
    monkeypatch.setattr(release, "ROOT", clone)
    assert release.main([version]) == 2
    assert capsys.readouterr().err.startswith("error: version")
