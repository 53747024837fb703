"""The report of a study: what it says and which numbers it draws."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from forebay import ScenarioError, sweep
from forebay.sweep import report
from forebay.sweep.store import Store
from small_study import FLOWS, RATE, TAIL, study


def written(folder: Path, **fields: Any) -> tuple[str, dict[str, Any]]:
    sweep.run(study(folder, **fields), folder / "out")
    text = report.write(sweep.results(folder / "out")).read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    return text, json.loads(data[1])


def test_it_draws_the_intervals_and_pairs_of_the_data(tmp_path: Path) -> None:
    text, figures = written(tmp_path, axis=[RATE, FLOWS], replications=4)
    assert "4 independent runs</b> of every point" in text
    assert "not complete" not in text
    assert not re.search(r'(src|href)="http', text), "it needs no network"
    data = sweep.results(tmp_path / "out")
    at = [measure["key"] for measure in figures["measures"]].index(TAIL)
    assert figures["settings"] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert figures["axes"][0]["numbers"] == [2e6, 1e7]
    assert figures["axes"][1]["labels"] == ["1", "2", "3"]
    cells = [cell for row in figures["means"][at] for cell in row]
    expected = data.intervals(TAIL)
    assert [cell[0] for cell in cells] == pytest.approx(expected["mean"].to_list(), rel=1e-5)
    assert [cell[1] for cell in cells] == pytest.approx(expected["half_width"].to_list(), rel=1e-5)
    fifo, codel = zip(*figures["differences"]["fifo"][at], strict=True)
    assert set(fifo) == {None}
    paired = data.differences(TAIL, "fifo")
    assert [cell[0] for cell in codel] == pytest.approx(paired["mean"].to_list(), rel=1e-5)
    titles = {measure["title"]: number for number, measure in enumerate(figures["measures"])}
    pair = f"{titles['bulk: Goodput']},{titles['sensors: 99th percentile delay']}"
    region = figures["regions"][pair][0][0]
    first = data.regions("classes.bulk.goodput_bps", TAIL).row(0, named=True)
    # Goodput is shown in kb/s.
    assert region == pytest.approx(
        [first["x"] / 1e3, first["y"], first["xx"] / 1e6, first["xy"] / 1e3, first["yy"]], rel=1e-5
    )


def test_it_says_how_replications_were_chosen(tmp_path: Path) -> None:
    until = {"key": TAIL, "half_width": "20%", "at_most": 30}
    text, figures = written(tmp_path, replications=None, until=until)
    assert f"<code>{TAIL}</code> was at most ±20%" in text
    assert figures["measures"][figures["first"]]["key"] == TAIL


def test_a_single_long_run_shows_batch_means(tmp_path: Path) -> None:
    # One download in a link of its own discipline is steady within seconds.
    text, figures = written(tmp_path, replications=1, disciplines=["codel"], axis=[])
    assert "Every point is <b>one run</b>" in text
    assert "MSER-5" in text
    titles = [measure["title"] for measure in figures["measures"]]
    assert "up: Mean queue, batch means" in titles
    [[cell]] = figures["means"][titles.index("up: Mean queue, batch means")]
    row = sweep.results(tmp_path / "out").runs.row(0, named=True)
    assert cell[0] == pytest.approx(row["queues.up.mean_packets.batch_mean"], rel=1e-5)
    assert cell[1] == pytest.approx(row["queues.up.mean_packets.batch_half_width"], rel=1e-5)
    assert cell[2] in (10, 20, 30)
    [[alone]] = figures["means"][titles.index("bulk: Goodput")]
    assert alone[1] is None
    assert figures["differences"] == {}


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
    _, figures = written(tmp_path)
    # Four cells of three numbers each a measure.
    assert len(figures["measures"]) == 5
    assert list(figures["differences"]) == ["fifo"]
    assert len(figures["regions"]) <= 3
