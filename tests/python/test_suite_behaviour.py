"""The suite of the BBR draft's test cases: its measurements, its verdicts, and that it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from forebay import _cli
from forebay._engine import ScenarioError
from forebay._suite import catalogue
from forebay._suite.behaviour import case, startup
from forebay._suite.behaviour.rig import Rig, batches, seconds
from forebay._suite.behaviour.trace import State

CASES = {each.measure: each for each in case.read(catalogue.HOME / "bbr" / "cases.toml")}
RIG = Rig("bbr3", 10, 40, 8)


def test_there_are_22_cases_in_order() -> None:
    assert [case.number for case in CASES.values()] == list(range(1, 23))
    for each in CASES.values():
        assert each.paths and each.asks and each.check
        for check in each.check:
            assert set(check.states) <= set(State.__members__) and len(check.allowed()) <= 1


def test_a_trace_tells_what_was_sent_and_in_which_state() -> None:
    trace = RIG.run(3)
    states = [stay.state for stay in trace.stays]
    assert states[:2] == [State.STARTUP, State.DRAIN]
    # By hand: 10 Mbit/s in packets of 1500 B, of which 1460 are payload.
    assert RIG.bandwidth == pytest.approx(10e6 / 8 * 1460 / 1500)
    assert trace.acknowledged(1, 3) == pytest.approx(0.99 * RIG.bandwidth, rel=0.02)
    assert trace.retransmitted(0, 3) == 0.0
    assert trace.written(0.0) == 0 < trace.written(1.0) <= RIG.bandwidth
    drain = trace.first(State.DRAIN)
    assert trace.began(drain) <= trace.time[drain.first] < trace.left(drain)
    with pytest.raises(ScenarioError, match="no whole UP after 100 s"):
        trace.first(State.UP, 100)


def test_a_second_run_is_the_first_until_it_is_changed() -> None:
    first = RIG.run(2)
    at = first.began(first.first(State.DRAIN))
    again = RIG.run(2, rate=RIG.changed(at, 0.5))
    limited = RIG.limited(2, [(0.0, first.written(at)), (at + 0.5, 100_000)])
    rows = int((first.time <= at).sum())
    for other in (again, limited):
        assert np.array_equal(first.time[:rows], other.time[:rows])
        assert not np.array_equal(first.time[rows : rows + 200], other.time[rows : rows + 200])
    assert again.summary["links"] != first.summary["links"]


def test_schedules() -> None:
    assert seconds(0.0123) == "12300000ns"
    assert batches(0, 0.02, 0.01, "1Gbit")["steps"] == [
        ["0ns", "0bit"], ["9000000ns", "1Gbit"], ["10000000ns", "0bit"], ["19000000ns", "1Gbit"],
    ]  # fmt: skip
    assert RIG.at_rate(0.5, 1.0, 1.01) == [(1.0, 3042), (1.005, 3042)]


@pytest.mark.parametrize(
    "measure",
    [
        "plateau", "drained", "startup_with_aggregation", "up_plateau", "up_loss_when_limited",
        "down_by_inflight", "sub_packet", "spurious_timeout",
    ],
)  # fmt: skip
def test_what_holds(measure: str) -> None:
    rig = Rig("bbr3", 0.256, 20, 8) if measure == "sub_packet" else RIG
    out = CASES[measure].run(rig)
    assert out.checks and [check.what for check in out.checks if not check.holds] == []


def test_a_path_that_is_otherwise_is_seen() -> None:
    """The checks can fail: DRAIN without a queue, and an estimate of another bandwidth."""
    out = CASES["plateau"].run(Rig("bbr3", 10, 40, 0.2))
    assert any(not check.holds for check in out.checks)
    lossy = CASES["spurious_fast_recovery"].run(RIG)
    assert [check.holds for check in lossy.checks][:2] == [True, True]
    assert not all(check.holds for check in lossy.checks)


def _check(of: str, **allowed: Any) -> case.Check:
    return case.Check(what="x at {rate:g}", of=of, text="{x:.0%}, {on}", asks="half", **allowed)


def test_a_check_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "made", lambda _: {"x": 0.5, "on": State.UP}, raising=False)
    checks = [
        _check("x", at_most=0.5),
        _check("x", within=[0, 0.4]),
        _check("on", states=["UP"]),
        _check("on", states=["DOWN"]),
        _check("x"),
        _check("y", exactly=1, optional=True),
    ]
    one = case.Case(number=1, title="One", asks="It.", measure="made", check=checks)
    out = one.run(RIG)
    assert [each.holds for each in out.checks] == [True, False, True, False, True]
    assert out.checks[0] == case.Judged("x at 10", "50%, UP", "half", holds=True)
    lacks = one.model_copy(update={"check": [_check("y", exactly=1)]})
    with pytest.raises(ScenarioError, match='case 1: made gives no "y"'):
        lacks.run(RIG)
    nothing = one.model_copy(update={"measure": "nothing"})
    with pytest.raises(ScenarioError, match='case 1: there is no measure "nothing"'):
        nothing.run(RIG)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cases, one of which does not hold; a second call runs nothing anew."""
    ran = []

    def never(rig: Rig) -> dict[str, int]:
        ran.append(rig)
        return {"never": 0}

    monkeypatch.setattr(startup, "never", never, raising=False)
    check = case.Check(what="anything", of="never", exactly=1, text="0", asks="1", own=True)
    paths = [[1.0, 10.0, 8.0]]
    never_holds = case.Case(
        number=2, title="Never", asks="Nothing.", measure="never", paths=paths, check=[check]
    )
    monkeypatch.setattr(case, "read", lambda _: [CASES["plateau"], never_holds])
    out = tmp_path / "out"
    args = ["suite", "bbr", "--quick", "-o", str(out)]
    for _ in range(2):
        called = CliRunner().invoke(_cli.app, args)
        assert called.exit_code == 0, called.output
        assert called.stdout == f"Report: {out / 'report.html'}\n"
    assert len(ran) == 1
    found = json.loads((out / "results.json").read_text())
    assert [each["verdict"] for each in found["cases"]] == [
        "holds",
        "does not hold on 1 of 1 paths",
    ]
    summary = (out / "summary.md").read_text("utf-8")
    assert "1 of 2 cases hold" in summary and "| 1 (ours) | **does not hold** |" in summary
    page = (out / "report.html").read_text("utf-8")
    assert 'src="http' not in page and page.count("data-panels=") == 1
    for wrong, says in (
        (["--controls", "cubic,bbr3"], "one congestion control at a time"),
        (["--controls", "nobody"], "no congestion control"),
        (["--disciplines", "fifo"], "leave --disciplines out"),
    ):
        refused = CliRunner().invoke(_cli.app, ["suite", "bbr", *wrong, "-o", str(tmp_path / "x")])
        assert refused.exit_code == 2 and says in refused.output.replace("\n", " ")
    silent = CliRunner().invoke(
        _cli.app, ["suite", "bbr", "--controls", "cubic", "-o", str(tmp_path / "y")]
    )
    assert silent.exit_code == 2 and "does not report its states" in silent.output.replace(
        "\n", " "
    )
