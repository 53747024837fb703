"""The suite of RFC 7928: that it says what the RFC says, runs, goes on, and reports."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import forebay
from charts import charts, of
from forebay import _cli, sweep
from forebay._engine import ScenarioError
from forebay._report import chart
from forebay._report.panel import read
from forebay._scenario import quantity
from forebay._suite import catalogue, results, run

SUITE = catalogue.load("rfc7928")
TESTS = {test.name: test for test in SUITE.tests}


def base(name: str) -> dict[str, Any]:
    return TESTS[name].study.base.document


def number(text: str) -> float:
    found = quantity(text)
    assert found is not None
    return found[0]


def test_every_section_from_5_to_10_is_there_in_order() -> None:
    sections = [test.file.section for test in SUITE.tests]
    assert list(dict.fromkeys(sections)) == [
        "5.1.1", "5.1.2", "5.2", "5.3", "5.4", "6.2", "7.2", "8.2.2 to 8.2.4", "8.2.5", "8.2.6",
        "9.1", "9.2", "10.2",
    ]  # fmt: skip
    assert [label for label, _ in SUITE.tests[0].study.disciplines] == [
        "fifo", "red", "codel", "pie", "gsp", "fq-codel", "cp-aqm",
    ]  # fmt: skip


@pytest.mark.parametrize("name", list(TESTS))
def test_all_disciplines_of_a_test_have_one_buffer_of_a_bandwidth_delay_product(name: str) -> None:
    test = TESTS[name]
    limits = {queue["limit"] for _, queue in test.study.disciplines if queue}
    assert len(limits) == 1
    # Section 3.2: of the bottleneck's capacity and the largest round-trip time.
    [limit] = limits
    document = test.study.base.document
    link = document.get("dumbbell") or next(each for each in document["link"] if "queue" in each)
    rate = link["rate"]
    rates = [each for _, each in rate["steps"]] if isinstance(rate, dict) else [rate]
    packets = max(map(number, rates)) * 0.1 / 8 / 1500
    assert number(limit) == round(packets)


def test_fairness_buffers_follow_the_larger_round_trip_time() -> None:
    axis = TESTS["6.2-rtt-fairness"].study.axes[0]
    for (delay, limit), label in zip(axis.rows, axis.labels, strict=True):
        rtt = 2 * (number(delay) + 0.0005)
        assert f"{1e3 * rtt:g} ms" == label
        assert 0.005 <= rtt <= 0.56 + 1e-9
        assert number(limit) == round(10e6 * max(rtt, 0.1) / 8 / 1500)


def test_numbers_of_flows_are_those_of_section_8_2() -> None:
    s = 10e6 * 0.1 / 8 / 1500 + 83
    want = [round(share * s) for share in (0.036, 0.081, 0.114)]
    assert [row[0] for row in TESTS["8.2-congestion-levels"].study.axes[0].rows] == want
    flows = [traffic["flows"] for traffic in base("8.2.5-varying-congestion")["traffic"]]
    assert np.cumsum(flows).tolist() == want
    # The model of section 8.2.1 with these losses.
    for share, loss in zip((0.036, 0.081, 0.114), (0.001, 0.005, 0.01), strict=True):
        assert math.sqrt(loss / 0.76) == pytest.approx(share, rel=0.02)
    for name in ("9.2-bidirectional", "9.2-bidirectional-both"):
        for rate, limit, uplink in TESTS[name].study.axes[0].rows:
            s = number(rate) * 0.1 / 8 / 1500 + number(limit)
            assert uplink == round(0.036 * s)


@pytest.mark.parametrize("name", list(TESTS))
def test_propagation_is_what_a_lone_packet_takes(name: str) -> None:
    """Each class alone, as a few small datagrams: its delay less transmission times."""
    test = TESTS[name]
    document = test.study.base.document
    for trade in test.file.trade:
        [entry, *_] = [
            each
            for each in document["traffic"]
            if trade.class_ in (each["name"], each.get("class"))
        ]
        place = {key: entry[key] for key in ("from", "to", "direction") if key in entry}
        lone = document | {
            "duration": "1s",
            "warmup": "0s",
            "traffic": [{"name": "lone", "kind": "cbr", "rate": "1kbit", "size": "20B"} | place],
        }
        summary = forebay.run(forebay._scenario.Scenario.of(lone, name, "."), seed=1).summary
        delay = summary["classes"]["lone"]["mean_delay_ms"]
        assert trade.propagation_ms <= delay < trade.propagation_ms + 0.2


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no suite"):
        catalogue.load("rfc1")
    with pytest.raises(ScenarioError, match=r'no discipline "codle"; choose among .*codel, cp-aqm'):
        catalogue.load("rfc7928", ["fifo", "codle"])
    with pytest.raises(ScenarioError, match=r'"cq-aqm" has no `limit`'):
        catalogue.load("rfc7928", ["cq-aqm"])
    with pytest.raises(ScenarioError, match="no disciplines are named"):
        catalogue.load("rfc7928", [])
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ScenarioError, match="which is not of this command"):
        run.run(small(), tmp_path)


def small(quick: bool = True) -> catalogue.Suite:
    """Two tests, one of several settings and a ratio, one with a course."""
    suite = catalogue.load("rfc7928", ["fifo", "codel"], quick)
    wanted = ("5.4-less-than-best-effort", "8.2.6-varying-capacity")
    tests = tuple(test for test in suite.tests if test.name in wanted)
    return dataclasses.replace(suite, tests=tests)


def test_it_runs_goes_on_and_reports(tmp_path: Path) -> None:
    suite, out = small(), tmp_path / "out"
    seen: list[float] = []

    def interrupt(_text: str, share: float) -> None:
        seen.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.run(suite, out, tell=interrupt)
    begun = sweep.results(out / suite.tests[0].name)
    assert 0 < begun.runs.height <= 12
    report = run.run(suite, out, command="forebay suite rfc7928")
    first = sweep.results(out / suite.tests[0].name)
    assert first.runs.height == 12
    with pytest.raises(ScenarioError, match="holds quick results of rfc7928 for fifo, codel"):
        run.run(small(quick=False), out)

    text = report.read_text("utf-8")
    assert not re.search(r'(src|href)="http', text), "it needs no network"
    drawn = charts(text)
    ledbat, varying = (results.outcome(suite, test, out / test.name) for test in suite.tests)

    # The graph of section 2.7, computed anew from the runs.
    panel = next(p for p in ledbat.trades["ledbat"] if "5 ms" in p.title)
    runs = first.runs.filter(
        (pl.col("discipline") == "codel") & (pl.col("traffic.ledbat.tcp.ledbat.target") == "5ms")
    )
    x = runs["classes.ledbat.mean_delay_ms"].to_numpy() - 50.0
    y = runs["classes.ledbat.goodput_bps"].to_numpy() / 1e6
    assert [each.label for each in panel.regions] == ["fifo", "codel"]
    region = panel.regions[1]
    assert region.dot == pytest.approx([np.median(x), np.median(y)], rel=1e-4)
    assert [region.x, region.y, region.xx, region.xy, region.yy] == pytest.approx(
        [x.mean(), y.mean(), x.var(), ((x - x.mean()) * (y - y.mean())).mean(), y.var()],
        rel=1e-3, abs=1e-6,
    )  # fmt: skip
    # That is what the page draws.
    shown = next(
        each
        for each in drawn
        if each["title"] == panel.title
        and "ledbat" in str(each["spec"])
        and "middle" in each["data"]
    )
    [row] = of(shown, "middle", "codel")
    assert (row["x"], row["y"]) == region.dot
    assert len(of(shown, "runs", "codel")) == len(x)
    shares = (runs["classes.ledbat.goodput_bps"] / runs["classes.tcp.goodput_bps"]).to_numpy()
    fifo, codel = ledbat.shares[0].series
    assert codel.y[0] == pytest.approx(shares.mean(), rel=1e-4)
    # LEDBAT cannot see TCP behind CoDel, and makes way for it in a deep queue.
    assert fifo.y[0] is not None and fifo.y[0] < 0.1 < shares.mean()

    # Distributions ascend from about nothing; in the slow phase the link gives 10 Mbit/s.
    for curve in ledbat.curves:
        assert all(np.diff(np.array(row.x, float)).min() >= 0 for row in curve.series)
    slow = next(p for panels in varying.trades.values() for p in panels if "10 Mbit/s" in p.title)
    assert slow.regions[0].dot is not None and 8 < slow.regions[0].dot[1] < 10
    course = varying.course[1].series[0]
    assert course.x[-1] == 80
    time, rate = np.array(course.x, float), np.array(course.y, float)
    late = rate[(time > 45) & (time < 60)]
    assert np.mean(late) > 60, "the fast phase"

    # The summary has the table, and for each test its graphs and the RFC's measures.
    summary = (out / "summary.md").read_text("utf-8")
    assert "| [8.2.6](#826-" in summary and "## 5.4 Less-than-best-effort sender" in summary
    images = re.findall(r"!\[.*\]\((images/rfc7928-.*\.svg)\)", summary)
    assert len(images) == 2
    assert all((out / image).stat().st_size > 10_000 for image in images)
    kept = json.loads((out / "figures.json").read_text("utf-8"))
    assert list(kept) == images
    for image, figure in kept.items():
        picture = chart.svg(list(map(read, figure["panels"])), figure["words"])
        assert picture.count("<path") == (out / image).read_text("utf-8").count("<path")
    assert summary.count("| LEDBAT over TCP |") == 2
    assert summary.count("| flows that lose in a loss event |") == 4


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = small()
    monkeypatch.setattr(catalogue, "load", lambda *_: two)
    called = CliRunner().invoke(
        _cli.app, ["suite", "rfc7928", "--quick", "-o", str(tmp_path / "o")]
    )
    assert called.exit_code == 0, called.output
    assert called.stdout == f"Report: {tmp_path / 'o' / 'report.html'}\n"
    monkeypatch.undo()
    bad = CliRunner().invoke(_cli.app, ["suite", "rfc1"])
    assert bad.exit_code == 2
