"""What the runs of a suite come to: a table, trade-offs, distributions and courses of every test.

The quantities are those of RFC 7928, section 2: goodput, loss, queueing delay (one-way delay beyond
propagation) with its 99th percentile, jitter, startup and completion time, and of the queue its
delay, length, drops, how many flows lose together, and the use of the link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from forebay import stats, sweep
from forebay.measures import COMPLETION, GOODPUT, LOSS, MOS, Measure, text
from forebay.suite.catalogue import Suite, Test, Trade, anchor
from forebay.sweep import StudyData, tables
from forebay.sweep.study import Point

KEPT = ("class", "delay", "queue")
"""Tables of a run that the report draws, of the first replication."""
QUANTILES = np.concatenate([np.linspace(0, 0.98, 50), [0.985, 0.99, 0.995, 0.998, 1.0]])


def _measure(key: str, title: str, unit: str, scale: float, decimals: int) -> Measure:
    return Measure(key, title, title, unit, scale, decimals, False, 0.0, 0.0)


OF_LINKS = (
    _measure("utilization", "link used", "%", 100.0, 1),
    _measure("mean_delay_ms", "mean queueing delay", "ms", 1.0, 1),
    _measure("p99_delay_ms", "99th percentile queueing delay", "ms", 1.0, 1),
    _measure("mean_packets", "mean queue", "packets", 1.0, 1),
    _measure("loss", "dropped", "%", 100.0, 3),
    _measure("loss_events.mean_flows", "flows that lose in a loss event", "", 1.0, 2),
)
QUEUEING = _measure("mean_delay_ms", "mean queueing delay", "ms", 1.0, 1)
QUEUEING_TAIL = _measure("p99_delay_ms", "99th percentile queueing delay", "ms", 1.0, 1)
OF_CLASSES = (
    GOODPUT,
    LOSS,
    QUEUEING,
    QUEUEING_TAIL,
    _measure("jitter_ms", "jitter (RFC 3550)", "ms", 1.0, 2),
    _measure("mean_startup_ms", "mean flow startup time", "ms", 1.0, 1),
    COMPLETION,
    _measure("p95_completion_s", "95th percentile completion time", "s", 1.0, 2),
    _measure("jain", "fairness of the flows (Jain)", "", 1.0, 3),
    MOS,
)


Samples = Mapping[str, list[Any]]
"""Columns by name: a value for each run of a point, or for each row of a table."""
Group = tuple[str, list[Point]]
"""A setting's title and its points, one for each discipline."""


@dataclass(frozen=True)
class Cell:
    """A measure at one point."""

    interval: stats.Interval | None
    text: str


@dataclass(frozen=True)
class Row:
    """A measure under every discipline."""

    title: str
    unit: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Setting:
    """One combination of the axes' values."""

    steps: str
    """The values."""
    title: str
    """Empty if there is only one."""
    blocks: tuple[tuple[str, tuple[Row, ...]], ...]
    """Of each link and class, links first, its name and what was measured."""


@dataclass(frozen=True)
class Outcome:
    """All of a test that the report shows."""

    test: Test
    anchor: str
    data: StudyData
    settings: tuple[Setting, ...]
    figures: dict[str, Any]
    """What the report's script draws, as plain values."""


def collect(suite: Suite, folder: Path) -> list[Outcome]:
    """The outcome of every test.

    Raises:
        ScenarioError: a test has not been run.
    """
    return [_outcome(test, folder / test.name) for test in suite.tests]


def _outcome(test: Test, folder: Path) -> Outcome:
    data = sweep.results(folder)
    # Plain lists: there are thousands of small sums to take, and few numbers in each.
    whole = data.runs.partition_by("point", as_dict=True)
    runs = {str(id_): frame.to_dict(as_series=False) for (id_,), frame in whole.items()}
    by_setting: dict[int, list[Point]] = {}
    for point in test.study.points:
        by_setting.setdefault(point.setting, []).append(point)
    settings = [
        Setting(
            ", ".join(step for _, step in _steps(test, points[0])),
            ", ".join(map(" ".join, _steps(test, points[0]))),
            tuple(_blocks(test, data, [runs[point.id] for point in points])),
        )
        for points in by_setting.values()
    ]
    groups = list(zip([each.title for each in settings], by_setting.values(), strict=True))
    figures = {
        "trades": _trades(test, runs, groups),
        "curves": _curves(test, folder, groups),
        "course": _course(test, folder),
        "ratios": _ratios(test, settings),
    }
    return Outcome(test, anchor(test), data, tuple(settings), figures)


def _steps(test: Test, point: Point) -> list[tuple[str, str]]:
    """Names and values of the axes at a point."""
    pairs = zip(test.study.axes, point.steps, strict=True)
    return [(axis.name, axis.labels[step]) for axis, step in pairs]


def _blocks(
    test: Test, data: StudyData, runs: Sequence[Samples]
) -> Iterator[tuple[str, tuple[Row, ...]]]:
    for link in _links(test):
        rows = []
        for measure in OF_LINKS:
            group = "links" if measure.key == "utilization" else "queues"
            key = f"{group}.{link}.{measure.key}"
            if key in data.measures:
                rows += _row(measure, [each[key] for each in runs])
        yield f"link {link}", tuple(rows)
    propagation = {trade.class_: trade.propagation_ms for trade in test.trades}
    for name in _classes(test):
        if any(sum(each[f"classes.{name}.offered"]) for each in runs):
            yield name, tuple(_class_rows(name, data, runs, propagation.get(name)))
    if test.ratios:
        rows = []
        for ratio in test.ratios:
            quotients = [
                [
                    a / b if b else None
                    for a, b in zip(each[ratio.of], each[ratio.over], strict=True)
                ]
                for each in runs
            ]
            rows += _row(_measure("ratio", ratio.title, "", 1.0, 3), quotients)
        yield "fairness", tuple(rows)


def _class_rows(
    name: str, data: StudyData, runs: Sequence[Samples], propagation_ms: float | None
) -> Iterator[Row]:
    for measure in OF_CLASSES:
        key = f"classes.{name}.{measure.key}"
        if key not in data.measures:
            continue
        values = [each[key] for each in runs]
        if measure in (QUEUEING, QUEUEING_TAIL):
            if propagation_ms is None:
                continue
            values = [_beyond(each, propagation_ms) for each in values]
        if measure.key == "jain" and all(each[f"classes.{name}.flows"][0] < 2 for each in runs):
            continue
        yield from _row(measure, values)


def _beyond(values: Sequence[float | None], amount: float) -> list[float | None]:
    return [None if value is None else value - amount for value in values]


def _row(measure: Measure, runs: Sequence[Sequence[float | None]]) -> list[Row]:
    """One row, or none if nothing was measured."""
    found = [stats.interval(values) for values in runs]
    if all(each is None for each in found):
        return []
    title = measure.title
    if title[1:2].islower():  # but not "LEDBAT"
        title = title[0].lower() + title[1:]
    return [Row(title, measure.unit, tuple(Cell(each, text(each, measure)) for each in found))]


def _links(test: Test) -> list[str]:
    """The links whose queues are under test, and their reverse if it has a queue too."""
    base = test.study.base
    names = [base.compared_link(link) for link in test.study.links]
    queues = {link["name"]: link["queue"] for link in base.resolved()["links"]}
    return [*names, *(f"{name}-reverse" for name in names if queues.get(f"{name}-reverse"))]


def _classes(test: Test) -> list[str]:
    """Classes in the scenario's order."""
    traffic = test.study.base.resolved()["traffic"]
    return list(dict.fromkeys(entry["class"] for entry in traffic))


def _trades(
    test: Test, runs: Mapping[str, Samples], groups: Sequence[Group]
) -> list[dict[str, Any]]:
    """The graphs of section 2.7: runs, their median, and how they spread."""
    panels = []
    for trade in test.trades:
        for title, points in groups:
            marks = [_mark(runs[point.id], trade) for point in points]
            if any(marks):
                panels.append({"class": trade.class_, "setting": title, "marks": marks})
    return panels


def _mark(runs: Samples, trade: Trade) -> dict[str, Any] | None:
    prefix = f"classes.{trade.class_}"
    delays, goodputs = runs[f"{prefix}.mean_delay_ms"], runs[f"{prefix}.goodput_bps"]
    pairs = np.array(
        [
            (delay - trade.propagation_ms, goodput * 1e-6)
            for delay, goodput in zip(delays, goodputs, strict=True)
            if delay is not None
        ]
    )
    if not len(pairs):
        return None
    ellipse = None
    if len(pairs) > 2:
        spread = np.cov(pairs.T, ddof=0)
        ellipse = _short([*pairs.mean(axis=0), spread[0, 0], spread[0, 1], spread[1, 1]])
    return {
        "runs": _short(pairs.T.tolist()),
        "median": _short(np.median(pairs, axis=0).tolist()),
        "ellipse": ellipse,
    }


def _curves(test: Test, folder: Path, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Distributions over the packets and over the seconds of the first run of each point."""
    ids = [point.id for point in test.study.points]
    delays = tables.read_first(folder, ids, "delay")
    rates = tables.read_first(folder, ids, "class")
    panels = []
    for trade in test.trades:
        for title, points in groups:
            found = [_delays(delays.get(point.id), trade) for point in points]
            if all(each is None for each in found):
                continue
            seconds = [_rates(rates[point.id], trade, _warmup(test, point)) for point in points]
            where = {"class": trade.class_, "setting": title}
            panels.append(where | {"delays": found, "rates": seconds})
    return panels


def _warmup(test: Test, point: Point) -> float:
    """Seconds."""
    return float(test.study.scenario_of(point).resolved()["warmup_s"])


def _of(table: Samples, trade: Trade, column: str) -> NDArray[np.float64]:
    """A column of a table, for one class."""
    return np.array(
        [v for v, name in zip(table[column], table["class"], strict=True) if name == trade.class_]
    )


def _delays(table: Samples | None, trade: Trade) -> list[float] | None:
    if table is None or not len(counts := _of(table, trade, "count")):
        return None
    share = np.cumsum(counts) / counts.sum()
    at = np.searchsorted(share, np.minimum(QUANTILES, share[-1]))
    return _short((_of(table, trade, "delay_ms")[at] - trade.propagation_ms).tolist())


def _rates(table: Samples, trade: Trade, warmup: float) -> list[float]:
    """Quantiles of the goodput over a second, in Mbit/s."""
    rates = _of(table, trade, "throughput_bps")[_of(table, trade, "time_s") > warmup]
    return _short(np.quantile(rates * 1e-6, QUANTILES).tolist())


def _course(test: Test, folder: Path) -> list[dict[str, Any]] | None:
    """Queue and goodput over time of the first run, where conditions change."""
    if test.evolution is None:
        return None
    step = test.study.axes[0].labels.index(test.evolution)
    found = []
    for point in test.study.points:
        if point.steps[0] != step:
            continue
        queue = tables.read_one(folder, point.id, 1, "queue").filter(
            pl.col("link") == _links(test)[0]
        )
        rates = tables.read_one(folder, point.id, 1, "class").filter(
            pl.col("class") == test.trades[0].class_
        )
        found.append(
            {
                "time": _short(queue["time_s"].to_list()),
                "queue": _short(queue["mean_packets"].to_list()),
                "rate": _short((rates["throughput_bps"] * 1e-6).to_list()),
            }
        )
    return found


def _ratios(test: Test, settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Each ratio over the settings, with its intervals."""
    found = []
    for number, ratio in enumerate(test.ratios):
        rows = [setting.blocks[-1][1][number].cells for setting in settings]
        lines = [
            [
                [each.interval.mean, each.interval.half_width or 0.0]
                for each in cells
                if each.interval
            ]
            for cells in zip(*rows, strict=True)
        ]
        found.append(
            {
                "title": ratio.title,
                "axis": ", ".join(axis.name for axis in test.study.axes),
                "labels": [setting.steps for setting in settings],
                "lines": [_short(line) for line in lines],
            }
        )
    return found


def _short(values: Sequence[Any]) -> list[Any]:
    """Numbers to five digits."""
    return [_short(value) if isinstance(value, list) else float(f"{value:.5g}") for value in values]
