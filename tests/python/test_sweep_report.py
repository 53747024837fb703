"""The report of a study: what it says and which numbers it draws."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from charts import chosen, of, options
from forebay import ScenarioError, sweep
from forebay.sweep import report
from forebay.sweep.store import Store
from small_study import FLOWS, RATE, TAIL, study


def written(folder: Path, **fields: Any) -> tuple[str, dict[str, str]]:
    """The page, and the numbers of its measures by their titles."""
    sweep.run(study(folder, **fields), folder / "out")
    text = report.write_report(sweep.results(folder / "out")).read_text(encoding="utf-8")
    return text, {title: at for at, title in options(text, "measure").items()}


def test_it_draws_the_intervals_and_pairs_of_the_data(tmp_path: Path) -> None:
    text, measures = written(tmp_path, axis=[RATE, FLOWS], replications=4)
    assert "4 independent runs</strong> of every point" in text
    assert "not complete" not in text
    assert not re.search(r'(src|href)="http', text), "it needs no network"
    data = sweep.results(tmp_path / "out")
    tail, axes = measures["sensors: 99th percentile delay, ms"], options(text, "along")
    # Along the first axis of two steps: a panel for each of three steps on the other.
    panels = chosen(text, measure=tail, along="0")
    assert axes["0"] == data.axes[0].name
    assert [each["title"] for each in panels] == [f"{axes['1']} {step}" for step in "123"]
    rate, flows = data.columns
    for flow, panel in zip((1, 2, 3), panels, strict=True):
        for name in ("fifo", "codel"):
            rows = of(panel, "line", name)
            expected = data.intervals(TAIL).filter(
                pl.col(flows) == flow, pl.col("discipline") == name
            )
            assert [row["x"] for row in rows] == [2e6, 1e7]
            assert expected[rate].to_list() == list(data.axes[0].labels)
            means, half = expected["mean"].to_list(), expected["half_width"].to_list()
            assert [row["y"] for row in rows] == pytest.approx(means, rel=1e-5)
            drawn = [(row["h"] - row["l"]) / 2 for row in rows]
            assert drawn == pytest.approx(half, rel=1e-2)
    fifo = next(at for at, name in options(text, "against").items() if name == "fifo")
    panels = chosen(text, measure=tail, along="0", against=fifo)
    assert {row["s"] for each in panels for row in each["data"]["line"]} == {"codel"}
    paired = data.differences(TAIL, "fifo").filter(pl.col("discipline") == "codel")
    rows = [row for each in panels for row in each["data"]["line"]]
    assert sorted(row["y"] for row in rows) == pytest.approx(
        paired["mean"].sort().to_list(), rel=1e-5
    )
    # The table has the same at every setting.
    [part] = re.findall(rf'<template data-key="{tail}">(.*?)</template>', text, re.DOTALL)
    assert part.count('<tr><th scope="row">') == 6
    panels = chosen(text, **{"trade-x": measures["bulk: Goodput, kb/s"], "trade-y": tail})
    region = panels[0]["data"]["regions"][0]
    first = data.regions("classes.bulk.goodput_bps", TAIL).row(0, named=True)
    # Goodput is shown in kb/s.
    assert [region[name] for name in ("x", "y", "xx", "xy", "yy")] == pytest.approx(
        [first["x"] / 1e3, first["y"], first["xx"] / 1e6, first["xy"] / 1e3, first["yy"]], rel=1e-5
    )


def test_it_says_where_some_runs_have_no_value(tmp_path: Path) -> None:
    text, _ = written(tmp_path)
    assert "that have a value" not in text and "(2 runs)" not in text
    data = sweep.results(tmp_path / "out")
    first = pl.col("replication") == data.runs["replication"].min()
    # The first run of each point, of three.
    lacking = data.runs.with_columns(pl.when(~first).then(pl.col(TAIL)).alias(TAIL))
    text = report.render(replace(data, runs=lacking))
    assert "3 independent runs</strong> of every point, or over those that have a value" in text
    assert text.count("(2 runs)") == 4


def test_axes_of_trade_offs_do_not_begin_below_zero(tmp_path: Path) -> None:
    text, measures = written(tmp_path, axis=[RATE, FLOWS])
    tail = measures["sensors: 99th percentile delay, ms"]
    panels = chosen(text, **{"trade-x": measures["bulk: Goodput, kb/s"], "trade-y": tail})
    below = 0
    for panel in panels:
        reaches = any(row["y"] < row["yy"] ** 0.5 for row in panel["data"]["regions"])
        scale = panel["spec"]["layer"][0]["encoding"]["y"]["scale"]
        assert scale.get("domainMin") == (0 if reaches else None)
        below += reaches
    assert 0 < below < len(panels)


def test_it_says_how_replications_were_chosen(tmp_path: Path) -> None:
    until = {"key": TAIL, "half_width": "20%", "at_most": 30}
    text, measures = written(tmp_path, replications=None, until=until)
    assert f"<code>{TAIL}</code> was at most ±20%" in text
    tail = measures["sensors: 99th percentile delay, ms"]
    assert f'<option value="{tail}" selected>' in text


def test_a_single_long_run_shows_batch_means(tmp_path: Path) -> None:
    # One download in a link of its own discipline is steady within seconds.
    text, measures = written(tmp_path, replications=1, disciplines=["codel"], axis=[])
    assert "Every point is <strong>one run</strong>" in text
    assert "MSER-5" in text
    [panel] = chosen(text, measure=measures["up: Mean queue, batch means, packets"])
    [cell] = panel["data"]["line"]
    row = sweep.results(tmp_path / "out").runs.row(0, named=True)
    assert cell["y"] == pytest.approx(row["queues.up.mean_packets.batch_mean"], rel=1e-5)
    half = (cell["h"] - cell["l"]) / 2
    assert half == pytest.approx(row["queues.up.mean_packets.batch_half_width"], rel=1e-3)
    [panel] = chosen(text, measure=measures["bulk: Goodput, kb/s"])
    [alone] = panel["data"]["line"]
    assert "l" not in alone
    assert "Paired differences" not in text


def test_an_unfinished_study_says_so(tmp_path: Path) -> None:
    plan = study(tmp_path)
    sweep.run(plan, tmp_path / "out")
    (tmp_path / "out" / "complete").unlink()
    assert "not complete" in report.render(sweep.results(tmp_path / "out"))
    with Store(plan, tmp_path / "empty"):
        pass
    with pytest.raises(ScenarioError, match="no finished run"):
        report.render(sweep.results(tmp_path / "empty"))


def test_a_large_study_offers_less_to_choose_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_MOST_NUMBERS", 60)
    text, measures = written(tmp_path)
    # Four cells of three numbers each a measure.
    assert len(measures) == 5
    assert list(options(text, "against").values()) == ["fifo"]
    traded = options(text, "trade-x")
    pairs = [(x, y) for x in traded for y in traded if x < y]
    drawn = [
        pair
        for pair in pairs
        if chosen(text, **dict(zip(("trade-x", "trade-y"), pair, strict=True)))
    ]
    assert len(drawn) <= 3
