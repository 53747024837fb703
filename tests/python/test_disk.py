"""Files that users name: what is read and written, and what is refused."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from forebay import _disk, sweep
from forebay import _topology as topology
from forebay._cli import app
from forebay._engine import ScenarioError
from forebay._runs.journal import Journal, read_journal
from forebay._topology import network
from forebay.sweep.layout import readable
from small_study import BASE, RATE, study

FOREBAY = [sys.executable, "-m", "forebay"]
STUDY = json.dumps({"scenario": "base.toml", "disciplines": ["fifo"], "axis": [RATE]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario, a study, and a file that nothing may change."""
    (tmp_path / "base.toml").write_text(BASE.replace('"4s"', '"400ms"'))
    (tmp_path / "study.json").write_text(STUDY[:-1] + ', "replications": 2}')
    (tmp_path / "precious").write_text("precious")
    return tmp_path


@pytest.mark.parametrize("name", ["journal", "lock"])
def test_a_link_in_a_folder_of_results_is_refused(folder: Path, name: str) -> None:
    out = folder / "out"
    sweep.run(sweep.load(folder / "study.json"), out)
    (out / name).unlink()
    (out / name).symlink_to(folder / "precious")
    (out / "complete").unlink()
    done = CliRunner().invoke(app, ["sweep", str(folder / "study.json"), "-o", str(out)])
    assert done.exit_code == 2 and (folder / "precious").read_text() == "precious"
    assert done.stderr.startswith(f"error: {out / name}: ")


@pytest.mark.parametrize("name", ["runs", "tables", "images"])
def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a symbolic link") as refused:
        _disk.make_folder(tmp_path / name)
    assert refused.value.errno == errno.ELOOP
    _disk.make_folder(tmp_path / name, follow=True)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("made", [fifo, device, loop, Path.mkdir])
def test_only_regular_files_are_read(folder: Path, made: Callable[[Path], None]) -> None:
    for form in ("json", "graphml", "toml", "csv"):
        made(folder / f"given.{form}")
    commands = [
        ["import", "given.json"],
        ["import", "given.graphml"],
        ["import", "net.json", "--demands", "given.csv"],
        ["import", "tree.json", "--devices", "given.csv"],
        ["run", "given.toml"],
        ["sweep", "given.json"],
    ]
    (folder / "net.json").write_text('{"nodes": [{}, {}], "links": [{"source": 0, "target": 1}]}')
    (folder / "tree.json").write_text("{}")
    for words in commands:
        placed = [str(folder / each) if "." in each else each for each in words]
        done = CliRunner().invoke(app, placed)
        assert done.exit_code == 2, words
        assert str(folder / "given.") in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("target", ["link", "fifo", "folder", "/dev/null"])
def test_only_regular_files_are_replaced(folder: Path, target: str) -> None:
    (folder / "link").symlink_to(folder / "precious")
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    path = folder / target
    before = path.lstat()
    with pytest.raises(OSError, match=r"link|regular|folder"):
        _disk.write(path, "new")
    assert path.lstat() == before and (folder / "precious").read_text() == "precious"
    assert not list(folder.glob("**/*.partial"))


@pytest.mark.parametrize("made", [fifo, device, loop, Path.mkdir])
@pytest.mark.parametrize("name", ["given.py", "given.so"])
def test_only_regular_files_are_plugins(
    folder: Path, name: str, made: Callable[[Path], None]
) -> None:
    made(folder / name)
    words = ["--plugin", str(folder / name), "run", str(folder / "base.toml")]
    done = subprocess.run([*FOREBAY, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "plugins[0]: plug-in " in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("made", [fifo, device, loop, Path.mkdir])
def test_a_new_scenario_replaces_nothing(folder: Path, made: Callable[[Path], None]) -> None:
    made(folder / "mine.toml")
    words = ["new", "scenario", "-t", "household", "-o", str(folder / "mine.toml")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and done.stderr.startswith(f"error: {folder / 'mine.toml'}: ")


def results(folder: Path) -> None:
    """Results of a run in `run` and of a study in `swept`, and a network."""
    assert invoke(folder, "run base.toml -o run")[0] == 0
    sweep.run(sweep.load(folder / "study.json"), folder / "swept")
    (folder / "net.json").write_text(
        '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}'
    )


def invoke(folder: Path, line: str) -> tuple[int, str]:
    """The exit code and what is said of an error; words that name a file mean one in `folder`."""
    first = {path.name for path in folder.iterdir()} | {"run", "csv", "gate.toml", "new.toml", "x"}
    words = [
        str(folder / each) if number and each.partition("/")[0] in first else each
        for number, each in enumerate(line.split())
    ]
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("compare base.toml --disciplines fifo -r 1 -o x --gate base.toml", "base.toml"),
        ("report swept -o swept/study.json", "swept/study.json"),
        ("report swept -o swept/journal", "swept/journal"),
        ("export run --parquet -o run", "run/delays.parquet"),
        ("import net.json -o net.json", "net.json"),
    ],
)
def test_an_output_is_no_input(folder: Path, line: str, output: str) -> None:
    results(folder)
    before = content(folder)
    code, said = invoke(folder, line)
    assert code == 2 and said.startswith(f"error: {folder / output}: ") and "choose" in said
    assert len(said.splitlines()) == 1 and content(folder) == before


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("report swept", "swept/report.html"),
        ("report swept -o swept/mine.html", "swept/mine.html"),
        ("report swept -o x", "x"),
        ("export run --csv -o csv", "csv/flows.csv"),
        ("export run --csv -o run", "run/flows.csv"),
        ("validate --only conservation --quick -o x", "x"),
    ],
)
def test_an_output_replaces_an_earlier_one(folder: Path, line: str, output: str) -> None:
    results(folder)
    assert invoke(folder, line) == (0, "")
    whole = (folder / output).read_bytes()
    (folder / output).write_text("earlier")
    assert invoke(folder, line) == (0, "")
    assert len((folder / output).read_bytes()) > len(whole) / 2


@pytest.mark.parametrize("made", [fifo, device, loop, Path.mkdir, Path.touch])
def test_a_network_replaces_nothing(folder: Path, made: Callable[[Path], None]) -> None:
    results(folder)
    made(folder / "new.toml")
    code, said = invoke(folder, "import net.json -o new.toml")
    assert code == 2 and said.startswith(f"error: {folder / 'new.toml'}: ")


def test_a_gate_replaces_nothing_and_is_refused_before_the_runs(folder: Path) -> None:
    line = "compare base.toml --disciplines fifo -r 1 -o x --gate gate.toml"
    assert invoke(folder, line) == (0, "")
    (folder / "gate.toml").write_text("edited")
    shutil.rmtree(folder / "x")
    before = content(folder)
    code, said = invoke(folder, line)
    assert (code, content(folder)) == (2, before) and not (folder / "x").exists()
    there = folder / "gate.toml"
    assert said == f"error: {there}: exists already; choose another name with --gate\n"


def test_a_link_to_itself_in_a_name_is_said(folder: Path) -> None:
    loop(folder / "self")
    here, tree = str(folder / "self"), str(Path(__file__).parents[2])
    for words in (
        ["paper", "run", here],
        ["new", "discipline", "a", "--source", tree, "--in", here],
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2 and here in done.stderr


def test_a_part_that_is_a_fifo_is_said_and_set_aside(folder: Path) -> None:
    out = folder / "out"
    sweep.run(sweep.load(folder / "study.json"), out)
    (part,) = (out / "runs").iterdir()
    part.unlink()
    os.mkfifo(part)
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 2 and f"{part}: is not a regular file" in done.stderr
    again = ["sweep", str(folder / "study.json"), "-o", str(out), "--repair"]
    assert CliRunner().invoke(app, again).exit_code == 0
    assert sweep.results(out).runs.height == 4


@pytest.mark.parametrize("name", [".", "/"])
def test_a_folder_is_not_written_as_a_file(name: str) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        _disk.write(Path(name), "new")


@pytest.mark.parametrize("name", ["[x", "out*", "~", "$HOME", "http:"])
def test_names_are_not_patterns(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that a shell or a library would read in another way is that of one folder."""
    monkeypatch.chdir(folder)
    plan = sweep.load(Path("study.json"))
    sweep.run(plan, Path("outer"))
    sweep.run(plan, Path(name), tables=["queue"])
    assert sweep.results(Path(name)).runs.equals(sweep.results(Path("outer")).runs)


def test_a_file_is_replaced_or_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    _disk.write(path, "one")
    _disk.write(path, b"two")
    assert path.read_bytes() == b"two" and path.stat().st_mode & 0o777 == 0o666 & ~umask()
    with pytest.raises(FileExistsError, match="exists already; choose another name"):
        _disk.write(path, "three", replace=False)
    assert path.read_bytes() == b"two" and [each.name for each in tmp_path.iterdir()] == ["file"]
    with pytest.raises(FileNotFoundError, match="its folder is missing; make it"):
        _disk.write(tmp_path / "no" / "file", "four")


def umask() -> int:
    old = os.umask(0)
    os.umask(old)
    return old


def test_the_size_that_is_read_counts(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"123456")
    assert _disk.read(tmp_path / "file", 6) == b"123456"
    with pytest.raises(ScenarioError, match="is larger than"):
        _disk.read(tmp_path / "file", 5)
    with pytest.raises(ScenarioError, match="is larger than"):
        _disk.read("/proc/self/status", 5)


def line(fields: object) -> bytes:
    text = json.dumps(fields).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


@pytest.mark.parametrize(
    "fields",
    [[1, 1, "f", {}], ["p", "1", "f", {}], ["p", 1, "f", []], ["p", 1, "f", {"a": [1]}], {}, 7, []],
)
def test_a_line_of_the_journal_with_wrong_fields_is_named(folder: Path, fields: object) -> None:
    (folder / "journal").write_bytes(line(["p", 1, "f", {"a": 1.0}]) + line(fields))
    with pytest.raises(ScenarioError, match="journal: line 2: is not a run"):
        read_journal(folder)


def test_a_run_of_no_point_is_named(tmp_path: Path) -> None:
    plan = study(tmp_path)
    sweep.run(plan, tmp_path / "out")
    (tmp_path / "out" / "journal").write_bytes(line(["nowhere", 1, "f", {}]))
    with pytest.raises(ScenarioError, match="a run of a point that the study lacks, nowhere"):
        sweep.results(tmp_path / "out")


@pytest.mark.parametrize("form", ["json", "graphml"])
def test_networks_that_are_too_large_are_refused_at_once(tmp_path: Path, form: str) -> None:
    count = network.MOST_NODES + 1
    path = tmp_path / f"net.{form}"
    if form == "json":
        nodes = [{"id": each} for each in range(count)]
        path.write_text(json.dumps({"nodes": nodes, "links": []}))
    else:
        path.write_text("<graphml>" + "<node id='1'/>" * count + "</graphml>")
    with pytest.raises(ScenarioError, match=f"has more than {network.MOST_NODES} nodes"):
        topology.read(path, topology.Notes())


def test_what_is_not_utf_8_is_said(folder: Path) -> None:
    (folder / "latin.toml").write_bytes(b'title = "\xe9"')
    for words in (
        ["run", os.fsencode(folder / "none") + b"\xff.toml"],
        ["run", "base.toml", "--out", b"out\xff"],
        ["run", "latin.toml"],
        ["sweep", "latin.toml"],
    ):
        done = subprocess.run([*FOREBAY, *words], cwd=folder, capture_output=True)
        assert done.returncode == 2, done.stderr
        assert b"UTF-8" in done.stderr and b"Traceback" not in done.stderr
    assert not [each for each in folder.iterdir() if each.name.startswith("out")]


@pytest.mark.parametrize("content", ["null", "[]", "3", '"x"', "true"])
@pytest.mark.parametrize("command", ["run", "sweep", "check"])
def test_a_file_that_is_no_table_is_said(command: str, content: str, folder: Path) -> None:
    (folder / "odd.json").write_text(content)
    done = CliRunner().invoke(app, [command, str(folder / "odd.json")])
    assert done.exit_code == 2 and "odd.json: must be a table of fields" in done.stderr


def test_letters_that_the_terminal_lacks_are_replaced(folder: Path) -> None:
    words = ["compare", "base.toml", "--disciplines", "fifo,codel", "-r", "2"]
    done = subprocess.run(
        [*FOREBAY, *words],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "Mean ? 95 %" in done.stdout, done.stderr


def test_an_error_of_polars_names_the_file_and_the_remedy(tmp_path: Path) -> None:
    part = tmp_path / "part.parquet"
    part.touch()
    with pytest.raises(OSError, match="no space is left") as refused, readable(part):
        raise OSError("write failed: os error 28")
    assert refused.value.errno == errno.ENOSPC and str(part) in str(refused.value)
    with pytest.raises(OSError) as unknown, readable(part):
        raise OSError("polars says nothing more")
    assert unknown.value.errno == errno.EIO and str(part) in str(unknown.value)
    with pytest.raises(FileNotFoundError), readable(part):
        raise FileNotFoundError(part)


def test_a_full_standard_output_is_said(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*FOREBAY, "run", "base.toml"], cwd=folder, stdout=full, stderr=-1, text=True
        )
    assert done.returncode == 2, done.stderr
    assert "no space is left on the device" in done.stderr and "Traceback" not in done.stderr


def test_a_table_that_is_damaged_is_named(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "runs.parquet").write_bytes(b"PAR1 and no more")
    words = ["export", str(folder / "out"), "--csv", "-o", str(folder / "csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2 and f"{folder / 'out' / 'runs.parquet'}: is dam" in done.stderr


def test_a_name_with_a_line_end_stays_in_its_comment(folder: Path) -> None:
    nodes = [{"id": 0, "label": 'a\nduration = "1s"'}, {"id": 1}]
    (folder / "net.json").write_text(
        json.dumps({"nodes": nodes, "links": [{"source": 0, "target": 1}]})
    )
    out = folder / "net.toml"
    done = CliRunner().invoke(app, ["import", str(folder / "net.json"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    head, _, _ = out.read_text().partition("\n\n")
    assert all(each.startswith("#") for each in io.StringIO(head))


def test_too_little_memory_is_said(folder: Path) -> None:
    limited = ["sh", "-c", 'ulimit -v 1000000; exec "$@"', "sh", *FOREBAY, "run", "base.toml"]
    done = subprocess.run([*limited, "-o", "out"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and not (folder / "out").exists()
    assert done.stderr.startswith("error: the limit on memory is 1.0 GB of addresses, and forebay")
    assert len(done.stderr.splitlines()) == 1


def test_the_errors_of_a_broken_device_name_the_journal(folder: Path) -> None:
    class Broken(io.FileIO):
        def truncate(self, _size: int | None = None, /) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        def close(self) -> None:
            super().close()
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_disk, "open_own", lambda path: Broken(path, "w"))
        with pytest.raises(OSError, match="check it") as raised:
            Journal(folder)
    assert raised.value.filename == str(folder / "journal")


def test_a_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one(folder: Path) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    results(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "iterdir", refused)
        patch.setattr(Path, "glob", lambda *_: iter(()))
        with pytest.raises(PermissionError, match="choose another place") as raised:
            _disk.files(folder / "run", ".parquet")
        assert raised.value.filename == str(folder / "run")
        with pytest.raises(PermissionError):
            sweep.results(folder / "swept")
