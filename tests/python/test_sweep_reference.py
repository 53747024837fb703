"""Axes that apply to some of the disciplines; the others stand beside every step for reference."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from forebay import ScenarioError, sweep
from forebay.sweep import write_report
from small_study import study

TARGET = {
    "name": "target",
    "path": "link.up.queue.target",
    "values": ["2ms", "10ms", "20ms"],
    "disciplines": ["codel"],
}
RATE = {"name": "rate", "path": "link.up.rate", "values": ["2Mbit", "10Mbit"]}


def test_a_reference_is_run_once_and_stands_at_every_step(tmp_path: Path) -> None:
    plan = study(tmp_path, axis=[RATE, TARGET], disciplines=["fifo", "codel"], replications=2)
    assert len(plan.points) == 2 * (1 + 3)
    assert sweep.run(plan, tmp_path / "out").finished == 16
    data = sweep.results(tmp_path / "out")
    key = "queues.up.mean_packets"
    table = data.intervals(key)
    for rate in ("2Mbit", "10Mbit"):
        fifo = table.filter(rate=rate, discipline="fifo")
        assert fifo["target"].to_list() == TARGET["values"]
        assert fifo["mean"].n_unique() == 1
        assert table.filter(rate=rate, discipline="codel")["mean"].n_unique() == 3
    # In the study's order, as that of a study without references.
    points = [(*row, label) for row in product(RATE["values"], TARGET["values"])
              for label in ("fifo", "codel")]  # fmt: skip
    assert table.select("rate", "target", "discipline").rows() == points
    differences = data.differences(key, against="fifo")
    assert differences.height == 6 and differences["samples"].to_list() == [2] * 6
    assert write_report(data, None).exists()


def test_numbers_may_be_the_steps(tmp_path: Path) -> None:
    path = "traffic.bulk.flows"
    steps = {"path": path, "values": [3, 1], "disciplines": ["codel"]}
    named = {"label": "other", "kind": "fifo"}
    plan = study(tmp_path, axis=[steps], disciplines=["codel", named], replications=1)
    sweep.run(plan, tmp_path / "out")
    rows = sweep.results(tmp_path / "out").runs.select(path, "discipline").rows()
    assert rows == [(3, "codel"), (3, "other"), (1, "codel"), (1, "other")]


def test_a_stopped_study_with_a_reference_goes_on(tmp_path: Path) -> None:
    plan = study(tmp_path, axis=[TARGET], disciplines=["codel", "fifo"], replications=2)
    whole = sweep.run(plan, tmp_path / "out")
    again = sweep.run(plan, tmp_path / "out")
    assert whole.finished == again.finished == 8


def test_a_field_that_a_discipline_lacks_is_refused_without(tmp_path: Path) -> None:
    everywhere = {name: value for name, value in TARGET.items() if name != "disciplines"}
    with pytest.raises(ScenarioError, match="target: unknown field"):
        assert study(tmp_path, axis=[everywhere], disciplines=["codel", "fifo"]).points


def test_an_unknown_discipline_of_an_axis_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r'axis\[0\].disciplines: .*"pie"; one of codel, fifo'):
        study(tmp_path, axis=[TARGET | {"disciplines": ["pie"]}], disciplines=["codel", "fifo"])
