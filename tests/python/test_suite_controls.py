"""The suite of RFC 9743: what is run, who is told apart, and what the report says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy import stats as scipy_stats

from forebay import _cli
from forebay._engine import ScenarioError
from forebay._suite import candidates, catalogue, league, run

SUITE = catalogue.load("rfc9743")

HEADER = 'title = "Two"\ncitation = "here"\ncompares = "controls"\nreferences = ["new-reno"]\n'
BESIDE = """
section = "5.2.1"
title = "Beside"
requirement = "should"
about = "Two flows."
candidates = ["new"]

[[score]]
title = "harm"
of = "classes.other.goodput_bps"
unit = "%"
scale = 100
better = "lower"
matters = 1
beside = "harm"

[[score]]
title = "delay"
of = "queues.bottleneck.mean_delay_ms"
unit = "% of the round trip"
scale = 100
of_rtt = true
better = "lower"
matters = 2

[[score]]
title = "goodput kept"
of = "classes.new.goodput_bps"
unit = "%"
scale = 100
better = "higher"
matters = 1
base = "new-reno"

[study]
replications = 6

[[study.axis]]
name = "beside"
path = "traffic.other.tcp.congestion"
values = ["new-reno", "cubic"]

[study.scenario]
duration = "30s"
warmup = "10s"
tcp = { timestamps = true }

[study.scenario.dumbbell]
rate = "10Mbit"
delay = "9800us"
queue = { kind = "fifo", limit = "67p" }

[[study.scenario.traffic]]
name = "new"
kind = "bulk"
start = ["0s", "1s"]

[[study.scenario.traffic]]
name = "other"
kind = "bulk"
start = ["0s", "1s"]
"""


def test_the_sections_that_a_simulation_can_answer_are_there() -> None:
    sections = {each for test in SUITE.tests for each in test.file.section.split(", ")}
    assert sections >= {
        "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3",
        "6.1", "6.3", "6.4", "7.1", "7.3", "7.4", "7.5", "7.7", "7.8", "7.9", "7.11",
    }  # fmt: skip
    queues = {kind["kind"] for test in SUITE.tests for _, kind in test.study.disciplines if kind}
    assert queues >= {"fifo", "codel", "pie", "fq-codel", "dualpi2"}
    beside = [
        test for test in SUITE.tests if test.study.axes[1:2] and test.study.axes[1].name == "beside"
    ]
    assert {label for test in beside for label in test.study.axes[1].labels} == {
        "new-reno",
        "cubic",
    }


def test_every_control_is_run_with_what_it_needs() -> None:
    controls = candidates.registered()
    # An agent is nothing without one who sets it.
    assert set(SUITE.compared) == set(controls) - {"agent"}
    assert {"bbr3", "cubic", "dctcp"} <= set(controls)
    for test in SUITE.tests:
        tcp = {}
        for point in test.study.points:
            control = test.study.axes[0].labels[point.steps[0]]
            entries = test.study.scenario_of(point).effective()["traffic"]
            [own, *_] = [
                each["tcp"] for each in entries if each.get("tcp", {}).get("congestion") == control
            ]
            tcp[control] = own
        for control, needs in controls.items():
            assert all(tcp[control][field] for field in needs), (test.name, control)


def test_buffers_are_multiples_of_the_bandwidth_delay_product() -> None:
    [test] = [test for test in SUITE.tests if test.name == "6.1-tail-drop"]
    axis = test.study.axes[1]
    for (rate, _, limit, *_), label in zip(axis.rows, axis.labels, strict=True):
        megabit, milliseconds, share = re.findall(r"[\d.]+", label)
        packets = float(megabit) * float(milliseconds) * 1e3 / 8 / 1500 * float(share)
        assert rate == f"{megabit}Mbit" and limit == f"{round(packets)}p"


def test_who_is_told_apart() -> None:
    """Against scipy's paired test and Holm's procedure by hand."""
    a, b, c = [1.0, 2.0, 3.0, 4.0], [2.1, 3.0, 4.2, 5.1], [1.1, 1.9, 3.1, 3.95]
    chances = {
        frozenset(names): float(scipy_stats.ttest_rel(x, y).pvalue)
        for names, x, y in (("ab", a, b), ("ac", a, c), ("bc", b, c))
    }
    order = sorted(chances, key=lambda pair: chances[pair])
    held = [pair for at, pair in enumerate(order) if chances[pair] * (3 - at) <= 0.05]
    assert held == order[:2] and frozenset("ac") not in held
    assert league.told_apart({"a": a, "b": b, "c": c}, 0.01) == set(held)
    # A difference that is certain and too small to matter, and one that does not vary.
    assert league.told_apart({"a": a, "b": b, "c": c}, 2.0) == set()
    assert league.told_apart({"a": [1.0, 1.0], "b": [2.0, 2.0]}, 0.5) == {frozenset("ab")}
    assert league.told_apart({"a": [1.0, 1.0], "b": [1.0, 1.0]}, 0.0) == set()
    score = catalogue.Score(title="x", of="y", better="lower", matters=0.01)
    line = league.line(SUITE.tests[0], score, {"a": a, "b": b, "c": c})
    assert line.ranks == {"a": 1, "b": 3, "c": 1} and line.best == ("a", "c")
    assert line.same == (("a", "c"),)


def test_it_runs_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "two").mkdir(parents=True)
    (home / "two" / "suite.toml").write_text(HEADER)
    (home / "two" / "5.2.1-beside.toml").write_text(BESIDE)
    monkeypatch.setattr(catalogue, "HOME", home)
    out = tmp_path / "out"
    called = CliRunner().invoke(
        _cli.app, ["suite", "two", "--controls", "cubic,ledbat", "-o", str(out)]
    )
    assert called.exit_code == 0, called.output
    assert called.stdout == f"Report: {out / 'report.html'}\n"
    found = json.loads((out / "results.json").read_text())
    assert found["controls"] == ["cubic", "ledbat"]  # Reno is run, and not tested.
    harm, delay, kept = found["league"]
    # LEDBAT makes way, so that the other gains.
    assert harm["values"]["ledbat"]["mean"] < harm["values"]["cubic"]["mean"]
    assert harm["ranks"] == {"cubic": 2, "ledbat": 1} and harm["not_told_apart"] == []
    rows = {each["setting"]: each["values"] for each in found["settings"][0]["rows"]}
    # Beside its own kind: CUBIC harms CUBIC by nothing.
    assert rows["beside cubic"]["cubic"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert 0 < delay["values"]["cubic"]["mean"] < 100 * 67 * 1.2 / 20
    assert [each["setting"] for each in found["settings"][2]["rows"]] == ["beside cubic"]
    assert kept["better"] == "higher"
    page = (out / "report.html").read_text("utf-8")
    assert not re.search(r'(src|href)="http', page) and page.count("data-panels=") == 1
    summary = (out / "summary.md").read_text("utf-8")
    assert "| Section | Score | cubic | ledbat |" in summary
    assert (out / "images" / "two-5-2-1-beside.svg").stat().st_size > 5000
    # Nothing is run twice, and other controls belong elsewhere.
    kept_runs = list((out / "5.2.1-beside" / "runs").iterdir())
    written = [each.stat().st_mtime_ns for each in kept_runs]
    run.run(catalogue.load("two", controls=["cubic", "ledbat"]), out)
    assert kept_runs and [each.stat().st_mtime_ns for each in kept_runs] == written
    with pytest.raises(ScenarioError, match="holds full results of two for cubic, ledbat"):
        run.run(catalogue.load("two", controls=["cubic"]), out)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ScenarioError, match='no congestion control "bbr4"; did you mean bbr'):
        catalogue.load("rfc9743", controls=["bbr4"])
    with pytest.raises(ScenarioError, match="no congestion controls are named"):
        catalogue.load("rfc9743", controls=[])
    with pytest.raises(ScenarioError, match="leave --disciplines out"):
        catalogue.load("rfc9743", ["fifo"])
    with pytest.raises(ScenarioError, match="leave --controls out"):
        catalogue.load("rfc7928", controls=["cubic"])
