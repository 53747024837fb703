"""What every command does with broken pipes, Ctrl-C, hostile names and missing packages."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.padding import Padding
from rich.table import Table

from forebay._cli import app
from forebay._cli.drawn import Terminal

PROGRAM = [sys.executable, "-m", "forebay"]


@pytest.mark.parametrize("words", [["kinds"], ["schema"], ["--help"], ["kinds", "codel", "--json"]])
def test_a_reader_that_leaves_ends_the_command_quietly(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, *words], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


INTERRUPTS = """
import os, sys
at, count = int(os.environ["INTERRUPT_AT"]), 0

def hook(event, arguments):
    # Before the command line's own modules are imported, Python itself is starting.
    global count
    if event == "import" and (count or arguments[0] == "forebay._cli"):
        count += 1
        if count == at:
            import _signal
            _signal.raise_signal(_signal.SIGINT)

sys.addaudithook(hook)
if at == 0:
    import atexit
    atexit.register(lambda: print(f"imports: {count}", file=sys.stderr))
"""
"""Ctrl-C at an import, counted from the first one of the command line; at the end, their number."""


@pytest.mark.parametrize("words", [["kinds"], ["run"], ["explore", "--story", "nowhere"]])
def test_an_interrupt_at_any_import_leaves_no_traceback(
    scenario_file: Path, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS, "utf-8")
    if words[0] == "run":
        words = ["run", str(scenario_file), "--set", "duration=6s"]

    def interrupted(at: int) -> tuple[int, str]:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "INTERRUPT_AT": str(at)}
        command = [*PROGRAM, *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        return done.returncode, done.stderr

    imports = int(interrupted(0)[1].rpartition("imports: ")[2])
    assert imports > 100
    places = [1, 2, 3, *(imports * part // 8 for part in range(1, 8)), imports - 1]
    for at in places:
        code, said = interrupted(at)
        assert not re.search("Traceback|Exception|Error", said), (at, said)
        assert code in (130, -signal.SIGINT), (at, said)


def test_names_cannot_send_sequences_to_the_terminal(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    evil = "\x1b]0;owned\x07\x1b[31m\x9b2Jname"
    changes = [("link[0].name", evil), ("compare.link", evil), ("traffic[0].name", evil)]
    words = [word for path, value in changes for word in ("--set", f"{path}={value}")]
    for arguments in (
        ["run", str(scenario_file), *words],
        ["compare", str(scenario_file), *words, "-r", "1", "--no-report", "-o", f"out{evil}"],
        ["run", f"{evil}.toml"],
        ["run", str(scenario_file), "--set", f"{evil}=1"],
    ):
        shown = CliRunner().invoke(app, arguments).output
        assert "name" in shown
        assert not set(shown) & set("\x1b\x07\x9b"), arguments


def test_no_line_ends_with_spaces() -> None:
    console = Terminal(width=40)
    table = Table("name", "number", box=None)
    table.add_row("a", "1")
    with console.capture() as captured:
        console.print(Padding("- " + "word " * 20, (0, 0, 0, 2)))
        console.print(table)
    lines = captured.get().splitlines()
    assert [line for line in lines if line.endswith(" ")] == []
    assert lines[0].startswith("  - word") and lines[1].startswith("  word")
    assert lines[-2:] == [" name  number", " a     1"]


def test_styles_still_reach_the_terminal() -> None:
    console = Terminal(force_terminal=True, width=60, color_system="standard")
    table = Table()
    table.add_row("[bold]\x1b[31mname[/bold]")
    with console.capture() as captured:
        console.print(table)
    assert "\x1b[1m[31mname" in captured.get()


@pytest.mark.parametrize("nested", ["[" * 9_000, "{a=" * 9_000, "[" * 400 + "]" * 400])
def test_deep_nesting_is_refused(scenario_file: Path, nested: str) -> None:
    done = CliRunner().invoke(app, ["check", str(scenario_file), "--set", f"x={nested}"])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_deep_nesting_in_a_study_is_refused(tmp_path: Path) -> None:
    for name in ("study.toml", "study.json"):
        file = tmp_path / name
        file.write_text("x = " * name.endswith("toml") + "[" * 200_000, encoding="utf-8")
        done = CliRunner().invoke(app, ["sweep", str(file)])
        assert done.exit_code == 2
        assert "nested too deeply" in done.stderr


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("optuna", ["tune", "FILE", "--maximize", "links.uplink.utilization"]),
        ("distributed", ["sweep", "STUDY", "--cluster", "tcp://127.0.0.1:1"]),
    ],
)
def test_an_optional_package_is_named_with_the_line_that_installs_it(
    package: str,
    arguments: list[str],
    scenario_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = tmp_path / "study.toml"
    study.write_text('scenario = "branch.toml"\nreplications = 2\n', encoding="utf-8")
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    places = {"FILE": str(scenario_file), "STUDY": str(study)}
    words = [places.get(word, word) for word in arguments]
    if package == "optuna":
        words += ["--param", "link[0].delay=1ms..9ms", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.output
    assert f"-m pip install {package}" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "check /dev/null",
        "check .",
        "report .",
        "export nope --csv",
        "sweep lab.toml",
        "check uplink-study.toml",
        "sweep uplink-study.toml --set axis[0].values=[]",
        "explain link[",
        "explain --for test study.scenario",
        "paper page nope",
        "schema --for nope",
        "new scenario -t sensors -o nowhere/x.toml",
        "replay /dev/null",
        "tune lab.toml --maximize nope --param x=1..2",
        "lab cellular.toml",
        "run lab.toml --set =1",
        "run lab.toml --seed x",
        "compare lab.toml --out .",
        "frobnicate",
    ],
)
def test_no_mistake_ends_in_a_traceback(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lab.toml", "cellular.toml", "fading.trace.gz", "uplink-study.toml"):
        example = Path(__file__).parents[2] / "examples" / name
        (tmp_path / name).write_bytes(example.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    done = CliRunner().invoke(app, line.split())
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2
    assert "error" in done.stderr.lower()


@pytest.mark.parametrize("given", ["0", "-1", "many", "9" * 5000])
def test_a_number_of_threads_that_polars_refuses_is_said(
    given: str, scenario_file: Path, tmp_path: Path
) -> None:
    command = [
        *PROGRAM,
        "run",
        str(scenario_file),
        "--set",
        "duration=6s",
        "-o",
        str(tmp_path / "x"),
    ]
    environment = os.environ | {"POLARS_MAX_THREADS": given}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: POLARS_MAX_THREADS is ")


def test_a_value_of_thousands_of_digits_is_not_repeated(scenario_file: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(scenario_file), "--seed", "9" * 5000])
    assert done.exit_code == 2 and len(done.stderr) < 400
    assert "is not a valid whole number" in done.stderr
