"""Why packets waited or were lost: causes that were put there are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forebay import load
from forebay._cli import app
from forebay._cli.drawn import Terminal
from forebay.attack import why
from forebay.attack.because import print_answer

NETWORK = """\
duration = "16s"
warmup = "1s"

[tcp]
congestion = "cubic"

[dumbbell]
rate = "10Mbit"
delay = "15ms"
queue = { kind = "codel" }

[[traffic]]
name = "download"
kind = "bulk"
flows = 2

[[traffic]]
name = "call"
kind = "voice"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(NETWORK)
    return path


def joined(scenario: Path, entry: dict[str, Any]) -> dict[str, Any]:
    return {"traffic": [*load(scenario).document["traffic"], entry]}


def cause(scenario: Path, changes: dict[str, Any], at: str, **how: Any) -> tuple[str, str]:
    answer = why(load(scenario).with_all(changes), at=at, **how)
    assert answer.cause is not None, answer
    return answer.cause.without.kind, answer.cause.without.name


BURST = {"name": "burst", "kind": "cbr", "rate": "15Mbit", "start": "9s", "stop": "9.5s"}


def test_a_burst(scenario: Path) -> None:
    assert cause(scenario, joined(scenario, BURST), "9.4s") == ("begun", "burst")


def test_a_step_of_the_rate(scenario: Path) -> None:
    steps = {"steps": [["0s", "10Mbit"], ["3s", "9Mbit"], ["9s", "2Mbit"]]}
    answer = why(load(scenario).with_("dumbbell.rate", steps), at="9.3s")
    assert answer.rise and answer.cause is not None
    assert answer.cause.without.kind == "step" and "2Mbit" in answer.cause.without.what


def test_a_flow_that_does_not_react(scenario: Path) -> None:
    flood = {"name": "flood", "kind": "cbr", "rate": "10.5Mbit"}
    queue = {"kind": "fifo", "limit": "100p"}
    found = cause(scenario, joined(scenario, flood), "12s", of="loss", discipline=queue)
    assert found == ("unresponsive", "flood")


def test_a_parameter(scenario: Path) -> None:
    queue = {"kind": "codel", "target": "95ms"}
    assert cause(scenario, {"dumbbell.queue": queue}, "12s") == ("parameter", "target")


def test_parameters_that_do_it_together(scenario: Path) -> None:
    queue = {"kind": "codel", "target": "200ms", "interval": "4s"}
    kind, name = cause(scenario, {"dumbbell.queue": queue}, "12s")
    assert kind == "parameter" and name in ("target", "interval", "all parameters")


def test_a_change(scenario: Path) -> None:
    changes = [{"at": "8s", "set": {"dumbbell.rate": "1Mbit"}}]
    assert cause(scenario, {"change": changes}, "8.5s") == ("change", "change[0]")


def test_reruns_leave_the_others_as_they_were(scenario: Path) -> None:
    """A cause that comes after the instant changes nothing of it, and is not tried."""
    late = {**BURST, "start": "14s", "stop": "15s"}
    answer = why(load(scenario).with_all(joined(scenario, late)), at="9.4s", discipline="fifo")
    assert "burst" not in [each.without.name for each in answer.tried]
    alone = why(load(scenario), at="9.4s", discipline="fifo")
    assert answer.seen == alone.seen


def test_the_command(scenario: Path) -> None:
    words = ["why", str(scenario), "--at", "9.4s", "--discipline", "fifo"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    # A FIFO for 1000 packets holds 1.2 s, which the downloads fill.
    assert "Cause: room for 1000p" in done.output and "Also: download" in done.output
    assert "Under another discipline" in done.output
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert told["cause"]["name"] == "limit" and told["cause"]["shown"]
    assert {each["name"] for each in told["tried"]} == {"download", "call", "limit"}


def test_what_changes_nothing_has_no_sign(scenario: Path) -> None:
    answer = why(load(scenario), at="9.4s", discipline="fifo")
    nothing = tuple(replace(each, relief=-0.004) for each in answer.tried)
    console = Terminal(width=40)
    with console.capture() as captured:
        print_answer(console, replace(answer, tried=nothing))
    assert " 0 %" in captured.get() and "-0 %" not in captured.get()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at", "99s"], "within the run"),
        (["--at", "soon"], '--at: expected a time such as "5ms", got "soon"'),
        (["--at", "9s", "--of", "loss", "--set", "traffic[0].flows=1"], "no packet is lost"),
        (["--at", "9s", "--link", "elsewhere"], "elsewhere"),
        (["--at", "9s", "--of", "nothing"], "nothing"),
        ([], "--at"),
    ],
)
def test_wrong_input(scenario: Path, words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["why", str(scenario), *words])
    assert done.exit_code == 2 and said in done.output
