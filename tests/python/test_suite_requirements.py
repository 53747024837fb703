"""The suite of L4S: what is asked, verdicts by hand, any queue, and what the report says."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forebay import _cli
from forebay._engine import ScenarioError
from forebay._judge import Bounds, Judgement
from forebay._suite import catalogue, run
from forebay._suite.catalogue import Check
from forebay._suite.requirements import bounds, number, shown, verdicts
from forebay.stats import Interval

SUITE = catalogue.load("l4s")

HEADER = """
title = "One"
citation = "here"
compares = "requirements"

[disciplines]
codel = { kind = "codel", ecn = true }
dualpi2 = { kind = "dualpi2" }
"""
MARKED = """
section = "RFC 9332, 1.4"
title = "Beside"
requirement = "queues"
about = "Two flows."

[[check]]
section = "RFC 9332, 1.4"
asks = "Little waits."
title = "delay"
of = "classes.prague.mean_wait_ms"
unit = "ms"
at_most = 1
packets = 2
applies = "classes.prague.marked"

[[check]]
section = "RFC 9332, 1.4"
asks = "Nothing is lost."
title = "dropped"
of = "classes.prague.dropped"
at_most = 0
every = true
only = ["20 ms"]

[[check]]
section = "RFC 9332, 1.4"
asks = "For comparison."
title = "goodput over that at 10 ms"
of = "classes.prague.goodput_bps"
base = "10 ms"

[study]
replications = 5

[[study.axis]]
name = "round-trip time"
path = "dumbbell.delay"
values = ["4800us", "9800us"]
labels = ["10 ms", "20 ms"]

[study.scenario]
duration = "12s"
warmup = "4s"
tcp = { timestamps = true }

[study.scenario.dumbbell]
rate = "20Mbit"
delay = "9800us"
queue = { kind = "fifo", limit = "500p" }

[[study.scenario.traffic]]
name = "prague"
kind = "bulk"
start = ["0s", "1s"]
tcp = { congestion = "prague", ecn = true, accurate_ecn = true }

[[study.scenario.traffic]]
name = "classic"
kind = "bulk"
start = ["0s", "1s"]
tcp = { congestion = "cubic" }
"""


def test_what_the_rfcs_ask_is_there() -> None:
    sections = {check.section for test in SUITE.tests for check in test.file.check}
    assert sections >= {
        "RFC 9331, 4.3", "RFC 9331, 4.3 (2)", "RFC 9331, 4.3 (3), 4.3.1", "RFC 9331, 4.3 (4)",
        "RFC 9331, 4.3 (5)", "RFC 9331, 5.1", "RFC 9331, 5.2", "RFC 9331, 5.4.1.1", "RFC 9332, 1.4",
        "RFC 9332, 2.5.1", "RFC 9332, 4.2.1", "RFC 9332, 4.2.3", "RFC 9332, 4.2.3.1",
    }  # fmt: skip
    assert set(SUITE.compared) >= {"fifo", "codel", "pie", "fq-codel", "cake", "pi2", "dualpi2"}
    for test in SUITE.tests:
        labels = test.study.axes[0].labels if test.study.axes else ()
        for check in test.file.check:
            assert {*check.only, *filter(None, [check.base])} <= set(labels), (test.name, check)


def _one(name: str) -> tuple[catalogue.Test, Any]:
    [test] = [each for each in SUITE.tests if each.name == name]
    return test, test.study.points[0]


@pytest.mark.parametrize(
    ("fields", "values", "verdict"),
    [
        ({"at_most": 1}, [0.5, 0.6, 0.55], "holds"),
        ({"at_most": 1}, [1.5, 1.6, 1.55], "does not hold"),
        ({"at_most": 1}, [0.5, 1.6, 0.9], "open"),
        ({"at_least": 1}, [1.5, 1.6, 1.55], "holds"),
        ({"at_most": 1}, [0.5], "open"),
        ({"at_most": 0, "every": True}, [0.0, 0.0, 1.0], "does not hold"),
        ({"at_most": 0, "every": True}, [0.0, 0.0, 0.0], "holds"),
        ({}, [1.0, 2.0, 3.0], "not judged"),
        ({"at_most": 1}, [None, None], "open"),
        ({"at_most": 1, "applies": "marks"}, [0.5, 0.6, 0.55], "does not apply"),
        # 4 Mbit/s: a packet takes 3 ms, and two are allowed.
        ({"at_most": 1, "packets": 2}, [5.5, 5.6, 5.7], "holds"),
        ({"at_most": 1, "packets": 2}, [6.5, 6.6, 6.7], "does not hold"),
    ],
)
def test_verdicts_follow_from_where_the_interval_lies(
    fields: dict[str, Any], values: list[float | None], verdict: str
) -> None:
    test, point = _one("1-coexistence")
    check = Check(section="x", asks="x", title="x", of="x", **fields)
    found = verdicts.judged(test, check, point, {"x": values, "marks": [0.0, 0.0]})
    assert found.verdict == verdict


def test_an_open_check_says_how_many_seeds_decide_it() -> None:
    test, point = _one("1-coexistence")
    check = Check(section="x", asks="x", title="x", of="x", at_most=1)
    found = verdicts.judged(test, check, point, {"x": [0.5, 1.6, 0.75]})
    # By hand: 0.95 ± 1.4324 of three runs, 0.05 below the bound: 3 (1.4324 / 0.05)² are 2462.
    assert found.verdict == "open" and found.runs_needed == 2463
    assert number(found, check) == "0.95 ±1.43 ? 2463 seeds"


def _mean(found: verdicts.Found) -> float:
    assert found.judgement.interval is not None
    return found.judgement.interval.mean


def test_numbers_are_made_of_measures() -> None:
    test, point = _one("1-coexistence")  # 4 Mbit/s, 20 ms.
    check = Check(section="x", asks="x", title="x", of="a", over="b", scale=100)
    found = verdicts.judged(test, check, point, {"a": [1.0, 3.0], "b": [2.0, 4.0]})
    assert _mean(found) == pytest.approx(62.5)
    base = {"a": [2.0, 2.0], "b": [2.0, 2.0]}
    found = verdicts.judged(test, check, point, {"a": [1.0, 3.0], "b": [2.0, 4.0]}, base)
    assert _mean(found) == pytest.approx(62.5)
    # Half a round trip of 20 ms, 3 ms on the bottleneck and twice 12 us at the hosts.
    queueing = Check(section="x", asks="x", title="x", of="a", queueing=True)
    found = verdicts.judged(test, queueing, point, {"a": [13.024, 13.024]})
    assert _mean(found) == pytest.approx(0.0, abs=1e-9)
    rounds = Check(section="x", asks="x", title="x", of="a", per_round=True)
    found = verdicts.judged(test, rounds, point, {"a": [5000.0, 5000.0]})
    assert _mean(found) == pytest.approx(2.0)  # 50 s are 2500 of them.
    test, point = _one("2-many-flows")
    shares = Check(
        section="x", asks="x", title="x", of="classes.prague.x", over="classes.classic.x",
        per_flow=True,
    )  # fmt: skip
    runs = {"classes.prague.x": [30.0, 30.0], "classes.classic.x": [6.0, 6.0]}
    found = verdicts.judged(test, shares, point, runs)
    assert _mean(found) == pytest.approx(1.0)  # Ten and two flows.


def test_a_queue_is_as_in_the_worst_of_its_settings() -> None:
    allowed = Bounds(0.0, 2.0)
    held, failed, unclear = (
        verdicts.Found("a", judgement, judgement.standing)
        for interval in (Interval(1.0, 0.1, 3), Interval(3.0, 0.1, 3), Interval(1.0, 1.5, 3))
        for judgement in [Judgement(interval, allowed)]
    )
    absent = replace(failed, judgement=Judgement(Interval(9.0, 0.1, 3), allowed), applies=False)
    assert [each.verdict for each in (held, failed, unclear, absent)] == [
        "holds", "does not hold", "open", "does not apply",
    ]  # fmt: skip
    cell = verdicts.Cell((held, failed, absent, unclear))
    check = Check(section="x", asks="x", title="x", of="x")
    assert shown(cell, check) == "✗ 1 of 3: 1.00 to 3.00"
    assert shown(verdicts.Cell((held, unclear)), check) == "? 1 of 2: 1.00"
    assert shown(verdicts.Cell((held, absent)), check) == "✓ 1.00"
    assert shown(verdicts.Cell((absent,)), check) == "–"
    assert bounds(allowed, check) == "0.00 to 2.00"


def test_it_runs_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "one").mkdir(parents=True)
    (home / "one" / "suite.toml").write_text(HEADER)
    (home / "one" / "1-beside.toml").write_text(MARKED)
    monkeypatch.setattr(catalogue, "HOME", home)
    out = tmp_path / "out"
    called = CliRunner().invoke(_cli.app, ["suite", "one", "--quick", "-o", str(out)])
    assert called.exit_code == 0, called.output
    found = json.loads((out / "results.json").read_text())
    delay, dropped, goodput = found["checks"]
    assert delay["queues"]["dualpi2"]["verdict"] == "holds"
    assert delay["queues"]["codel"]["verdict"] == "does not hold"
    assert [each["setting"] for each in dropped["queues"]["codel"]["settings"]] == [
        "round-trip time 20 ms"
    ]
    assert len(goodput["queues"]["codel"]["settings"]) == 1
    page = (out / "report.html").read_text("utf-8")
    assert not re.search(r'(src|href)="http', page) and page.count("data-panels=") == 1
    summary = (out / "summary.md").read_text("utf-8")
    assert "| Section | Check | codel | dualpi2 |" in summary and "**✗" in summary
    assert "two packets" not in summary and "or 2 packets where one takes longer" in summary
    # Any queue that is registered, one without a buffer of its own as well.
    other = tmp_path / "other"
    called = CliRunner().invoke(
        _cli.app, ["suite", "one", "--quick", "-d", "fifo,cake", "-o", str(other)]
    )
    assert called.exit_code == 0, called.output
    found = json.loads((other / "results.json").read_text())
    assert found["checks"][0]["queues"]["fifo"]["verdict"] == "does not apply"
    with pytest.raises(ScenarioError, match="holds quick results of one for fifo, cake"):
        run.run(catalogue.load("one", ["fifo"], quick=True), other)


def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ScenarioError, match='there is no discipline "dualpi3"'):
        catalogue.load("l4s", ["dualpi3"])
    with pytest.raises(ScenarioError, match="leave --controls out"):
        catalogue.load("l4s", controls=["cubic"])
    home = tmp_path / "home"
    (home / "one").mkdir(parents=True)
    (home / "one" / "suite.toml").write_text(HEADER)
    wrong = MARKED.replace("classes.prague.dropped", "classes.prague.droped")
    (home / "one" / "1-beside.toml").write_text(wrong)
    monkeypatch.setattr(catalogue, "HOME", home)
    called = CliRunner().invoke(
        _cli.app, ["suite", "one", "--quick", "-d", "fifo", "-o", str(tmp_path / "out")]
    )
    assert called.exit_code == 2
    assert 'dropped: no measure "classes.prague.droped"; did you mean' in called.output
