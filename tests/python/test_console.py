"""What every command does with broken pipes, Ctrl-C, hostile names and missing packages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner

from forebay._cli import app
from forebay._cli.console import Terminal

PROGRAM = [sys.executable, "-m", "forebay"]


@pytest.mark.parametrize("words", [["kinds"], ["schema"], ["--help"], ["kinds", "codel", "--json"]])
def test_a_reader_that_leaves_ends_the_command_quietly(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, *words], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupt_during_start_up_leaves_no_traceback(scenario_file: Path) -> None:
    command = [*PROGRAM, "run", str(scenario_file), "--set", "duration=100000s"]
    for moment in range(6):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        # Before that, Python itself is starting.
        maps = Path(f"/proc/{process.pid}/maps")
        while process.poll() is None and "_engine" not in maps.read_text(encoding="utf-8"):
            time.sleep(0.001)
        time.sleep(0.02 * 2**moment)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert b"Traceback" not in stderr
        assert process.returncode in (130, -signal.SIGINT), (moment, stderr)


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
    for name in ("lab.toml", "cellular.toml", "fading.trace", "uplink-study.toml"):
        example = Path(__file__).parents[2] / "examples" / name
        (tmp_path / name).write_bytes(example.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    done = CliRunner().invoke(app, line.split())
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 2
    assert "error" in done.stderr.lower()
