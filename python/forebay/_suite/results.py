"""What the runs of a suite come to: a table, trade-offs, distributions and courses of every test.

The quantities are those of RFC 7928, section 2: goodput, loss, queueing delay (one-way delay beyond
propagation) with its 99th percentile, jitter, startup and completion time, and of the queue its
delay, length, drops, how many flows lose together, and the use of the link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from forebay import stats
from forebay._measures import COMPLETION, GOODPUT, LOSS, MOS, Measure, text
from forebay._report.panel import Panel, Region, Series, wide
from forebay._report.table import short
from forebay._suite import runs as suite_runs
from forebay._suite.catalogue import Suite, Test, Trade
from forebay._suite.runs import Samples
from forebay.sweep import StudyData, tables
from forebay.sweep.study import Point

DELAY = "queueing delay, ms"
GOODPUT_LABEL = "goodput, Mbit/s"
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
    data: StudyData
    settings: tuple[Setting, ...]
    trades: Mapping[str, Sequence[Panel]]
    """By class, goodput over queueing delay at each setting."""
    curves: Sequence[Panel]
    """Distributions of the first run of each point."""
    course: Sequence[Panel]
    """Queue and goodput over time of the first run, where conditions change."""
    shares: Sequence[Panel]
    """Each ratio over the settings."""


def outcome(_: Suite, test: Test, folder: Path) -> Outcome:
    """What a test came to, whose results are in a folder."""
    data, runs = suite_runs.read(folder)
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
    return Outcome(
        test,
        data,
        tuple(settings),
        _trades(test, runs, groups),
        list(_curves(test, folder, groups)),
        _course(test, folder),
        list(_shares(test, settings)),
    )


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
    propagation = {trade.class_: trade.propagation_ms for trade in test.file.trade}
    for name in _classes(test):
        if any(sum(each[f"classes.{name}.offered"]) for each in runs):
            yield name, tuple(_class_rows(name, data, runs, propagation.get(name)))
    if test.file.ratio:
        rows = []
        for ratio in test.file.ratio:
            quotients = [suite_runs.quotients(each[ratio.of], each[ratio.over]) for each in runs]
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
            values = [suite_runs.scaled(each, 1.0, less=propagation_ms) for each in values]
        if measure.key == "jain" and all(each[f"classes.{name}.flows"][0] < 2 for each in runs):
            continue
        yield from _row(measure, values)


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
) -> dict[str, list[Panel]]:
    """The graphs of section 2.7: runs, their median, and how they spread."""
    found: dict[str, list[Panel]] = {}
    for trade in test.file.trade:
        for title, points in groups:
            named = zip(_labels(test), points, strict=True)
            regions = [
                region for name, at in named if (region := _region(name, runs[at.id], trade))
            ]
            if regions:
                delays, rates = (
                    [v for each in regions for v in each.runs[axis]] for axis in (0, 1)
                )
                panel = Panel(title, DELAY, f"goodput of {trade.class_}, Mbit/s", regions=regions,
                              x_log=wide(delays), y_range=_apart(rates))  # fmt: skip
                found.setdefault(trade.class_, []).append(panel)
    return found


def _apart(values: Sequence[float]) -> tuple[float, float] | None:
    """A range where differences below a hundredth would fill the axis."""
    least, most = min(values), max(values)
    return None if most - least >= 0.01 * most else (0.97 * most, 1.01 * most)


def _labels(test: Test) -> list[str]:
    return [label for label, _ in test.study.disciplines]


def _region(label: str, runs: Samples, trade: Trade) -> Region | None:
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
    xx = xy = yy = None
    if len(pairs) > 2:
        spread = np.cov(pairs.T, ddof=0)
        xx, xy, yy = short([spread[0, 0], spread[0, 1], spread[1, 1]])
    x, y = short(pairs.mean(axis=0).tolist())
    dot_x, dot_y = short(np.median(pairs, axis=0).tolist())
    return Region(label, x, y, xx, xy, yy, dot=(dot_x, dot_y), runs=short(pairs.T.tolist()))


def _curves(test: Test, folder: Path, groups: Sequence[Group]) -> Iterator[Panel]:
    """Distributions over the packets and over the seconds of the first run of each point."""
    ids = [point.id for point in test.study.points]
    delays = tables.read_first(folder, ids, "delay")
    rates = tables.read_first(folder, ids, "class")
    labels, share = _labels(test), QUANTILES.tolist()
    for trade in test.file.trade:
        for title, points in groups:
            waits = [_delays(delays.get(point.id), trade) for point in points]
            if all(each is None for each in waits):
                continue
            seconds = [_rates(rates[point.id], trade, _warmup(test, point)) for point in points]
            where = f"{trade.class_}, {title}".removesuffix(", ")
            log = wide([value for each in waits if each for value in each[5:]])
            for name, found, log_ in ((DELAY, waits, log), (GOODPUT_LABEL, seconds, False)):
                series = [
                    Series(label, each, share, style="curve")
                    for label, each in zip(labels, found, strict=True)
                    if each is not None
                ]
                of = "packets" if name is DELAY else "seconds"
                ends = (0.0, 1.02)
                yield Panel(where, name, f"share of {of}", series, y_range=ends, x_log=log_)


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
    found: list[float] = (_of(table, trade, "delay_ms")[at] - trade.propagation_ms).tolist()
    return found


def _rates(table: Samples, trade: Trade, warmup: float) -> list[float]:
    """Quantiles of the goodput over a second, in Mbit/s."""
    rates = _of(table, trade, "throughput_bps")[_of(table, trade, "time_s") > warmup]
    found: list[float] = np.quantile(rates * 1e-6, QUANTILES).tolist()
    return found


def _course(test: Test, folder: Path) -> list[Panel]:
    """Queue and goodput over time of the first run, where conditions change."""
    if test.file.evolution is None:
        return []
    step = test.study.axes[0].labels.index(test.file.evolution)
    queues, rates = [], []
    points = [point for point in test.study.points if point.steps[0] == step]
    for label, point in zip(_labels(test), points, strict=True):
        queue = tables.read_one(folder, point.id, 1, "queue").filter(
            pl.col("link") == _links(test)[0]
        )
        class_ = tables.read_one(folder, point.id, 1, "class").filter(
            pl.col("class") == test.file.trade[0].class_
        )
        time = short(queue["time_s"].to_list())
        packets = short(queue["mean_packets"].to_list())
        rate = short((class_["throughput_bps"] * 1e-6).to_list())
        queues.append(Series(label, time, packets, style="curve"))
        rates.append(Series(label, time, rate, style="curve"))
    return [
        Panel("first run", "time, s", "queue, packets", queues, y_range=(0.0, None)),
        Panel("first run", "time, s", GOODPUT_LABEL, rates, y_range=(0.0, None)),
    ]


def _shares(test: Test, settings: Sequence[Setting]) -> Iterator[Panel]:
    """Each ratio over the settings, with its intervals."""
    steps = [setting.steps for setting in settings]
    for number, ratio in enumerate(test.file.ratio):
        rows = [setting.blocks[-1][1][number].cells for setting in settings]
        series = []
        for label, cells in zip(_labels(test), zip(*rows, strict=True), strict=True):
            known = [
                (step, each.interval)
                for step, each in zip(steps, cells, strict=True)
                if each.interval
            ]
            means = short([found.mean for _, found in known])
            half = [found.half_width or 0.0 for _, found in known]
            low = short([mean - each for mean, each in zip(means, half, strict=True)])
            high = short([mean + each for mean, each in zip(means, half, strict=True)])
            series.append(Series(label, [step for step, _ in known], means, low, high))
        axis = ", ".join(axis.name for axis in test.study.axes)
        yield Panel("", axis, ratio.title, series, y_log=True)
