"""The queue and the rates over time, and how disciplines compare in both measures at once."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import polars as pl

from forebay.papers import Number, Panel, Region, Series, Sources, Values
from forebay.stats import Interval, interval

OURS = "CP-AQM"
ORDER = ("tail drop", "RED", "CoDel", "PIE", "GSP", "FQ-CoDel")
DRAWN = (OURS, *ORDER, "CP-AQM, follows the link", "CP-AQM, follows the drain")
POINT = 0.5
"""Percentage points of utilization that count as a difference."""
SHARE = 0.05
"""Share of the other's queueing delay that counts as a difference."""
OUTCOMES = ("better", "equal", "trade-off", "worse", "undecided")


def _number(of: str, discipline: str, less: str = "") -> Number:
    """A measure of a discipline in the study of a row; less another's, run by run."""
    other = {"discipline": less} if less else None
    return Number(study="{study}", of=of, at={"discipline": discipline}, less=other)


def trade_off(sources: Sources, setting: str, decades: bool = False) -> list[Panel]:
    """Mean queueing delay against utilization with the joint confidence regions: a diagram for each
    combination of a setting."""
    rows = {"setting": setting, "rows": ["combinations", "places"]}
    points = sources.rows(rows, Number(study="{study}"), {})
    return _one_scale([_trade_off(sources, row["from"], row, decades) for row in points])


def fading(sources: Sources) -> list[Panel]:
    """The same for the fading cell."""
    cell = Number(study="cellular")
    rows = sources.rows({"rows": "combinations", "delay": "5ms", "study": "cellular"}, cell, {})
    return _one_scale([_trade_off(sources, row["senders"], row) for row in rows])


def _one_scale(panels: list[Panel]) -> list[Panel]:
    """Diagrams with axes that hold the points of each."""

    def ends(axis: str) -> tuple[float, float]:
        lows, highs = zip(*(getattr(each, axis) for each in panels), strict=True)
        return min(lows), max(highs)

    x, y = ends("x_range"), ends("y_range")
    return [replace(each, x_range=x, y_range=y) for each in panels]


def _trade_off(sources: Sources, what: str, row: Values, decades: bool = False) -> Panel:
    study, where = sources.where(Number(study="{study}"), row)
    found = sources.data.study(study).regions(
        "queues.bottleneck.mean_delay_ms", "links.bottleneck.utilization"
    )
    found = found.filter(pl.col(name) == value for name, value in where.items())
    rows = sorted(found.iter_rows(named=True), key=lambda each: DRAWN.index(each["discipline"]))
    regions = [
        Region(
            each["discipline"],
            each["x"],
            100 * each["y"],
            each["xx"],
            None if each["xy"] is None else 100 * each["xy"],
            None if each["yy"] is None else 1e4 * each["yy"],
        )
        for each in rows
    ]
    # From zero, and at least five points of utilization: small differences are to look small.
    least = min(region.y - math.sqrt(region.yy or 0.0) for region in regions)
    most = max(region.x + math.sqrt(region.xx or 0.0) for region in regions)
    span = (min(region.x for region in regions) / 1.5, 1.5 * most) if decades else (0, 1.07 * most)
    return Panel(
        what,
        "mean time in the queue, ms",
        "utilization, %",
        regions=regions,
        x_log=decades,
        x_range=span,
        y_range=(min(94.8, least - 0.07 * (100 - least)), 100.2 + (100 - least) / 50),
    )


def _over_time(
    sources: Sources, study: str, table: str, where: Values, first: float, last: float
) -> pl.DataFrame:
    """Rows of a table between two instants in s; of queues, those of the bottleneck."""
    found = sources.data.table(study, table).filter(
        pl.all_horizontal(pl.col(name) == value for name, value in where.items()),
        pl.col("time_s").is_between(first, last),
    )
    return found.filter(link="bottleneck") if table == "queue" else found


def queue_over_time(
    sources: Sources,
    study: str,
    what: str,
    first: float,
    last: float,
    only: str = "",
    without: str | None = None,
    **row: Any,
) -> list[Panel]:
    """The queue over time, averaged over the replications.

    Args:
        sources: the results.
        study: whose.
        what: title of the diagram.
        first: where it begins, in s.
        last: where it ends, in s.
        only: how the names of the disciplines begin.
        without: a discipline that is left out.
        row: the point.
    """
    where: Values = {name: row[name] for name in ("congestion", "flows") if name in row}
    table = (
        _over_time(sources, study, "queue", where, first, last)
        .group_by("discipline", "time_s")
        .agg(pl.col("mean_packets").mean())
        .sort("time_s")
    )
    series = [
        Series(name, one["time_s"].to_list(), one["mean_packets"].to_list())
        for name in DRAWN
        if name.startswith(only) and name != without
        if not (one := table.filter(discipline=name)).is_empty()
    ]
    return [Panel(what.format_map(row), "time, s", "queue, packets", series, x_range=(first, last))]


def _of_runs(table: pl.DataFrame, value: pl.Expr) -> dict[int, float]:
    """What each run of a table comes to."""
    found = table.group_by("replication").agg(value.alias("value")).sort("replication")
    return dict(found.iter_rows())


def _after(first: float) -> float:
    """The least time after the end of a sample."""
    return math.nextafter(first, math.inf)


def queue_in(
    sources: Sources, congestion: str, discipline: str, first: float, last: float, than: str = ""
) -> Interval | None:
    """Mean queue after `first` until `last`, in s, in packets; less another's, run by run."""

    def runs(name: str) -> dict[int, float]:
        where = {"congestion": congestion, "discipline": name}
        table = _over_time(sources, "step", "queue", where, _after(first), last)
        return _of_runs(table, pl.col("mean_packets").mean())

    found = runs(discipline)
    other = runs(than) if than else dict.fromkeys(found, 0.0)
    return interval([found[run] - other[run] for run in found])


def rate_in(
    sources: Sources,
    congestion: str,
    discipline: str,
    first: float,
    last: float,
    of_class: str = "",
) -> Interval | None:
    """What all classes, or one, got after `first` until `last`, in s, in Mb/s."""
    where = {"congestion": congestion, "discipline": discipline}
    where |= {"class": of_class} if of_class else {}
    table = _over_time(sources, "step", "class", where, _after(first), last)
    total = 1e-6 * pl.col("throughput_bps").sum() / pl.col("time_s").n_unique()
    return interval(list(_of_runs(table, total).values()))


def held_after(
    sources: Sources, congestion: str, discipline: str, most: float
) -> Interval | str | None:
    """Seconds from the step down at 30 s until the queue is `most` packets for the first time.

    A run whose queue does not come down within the 30 s at the lower rate counts as 30 s.
    """
    where = {"congestion": congestion, "discipline": discipline}
    table = _over_time(sources, "step", "queue", where, _after(30.1), 60.0)
    low = pl.col("mean_packets") <= most
    if table.filter(low).is_empty():
        return "not within 30 s"
    first = pl.col("time_s").filter(low).min().fill_null(60.0) - 30.0
    return interval(list(_of_runs(table, first).values()))


def shortest_other(sources: Sources) -> list[Values]:
    """At each rate, the other discipline with the shortest queue of unresponsive traffic."""

    def mean(setting: str, discipline: str) -> float:
        delay = Number(study=f"udp-{setting}", of="delay", at={"discipline": discipline})
        return sources.mean(delay)

    return [
        {
            "setting": row["setting"],
            "other": min(ORDER, key=lambda name: mean(row["setting"], name)),
        }
        for row in sources.rows("rates", Number(), {})
    ]


def least_used(sources: Sources, settings: str, of: str = "") -> str | Interval:
    """Where 16 flows leave most of the link idle with CP-AQM; or a measure of it there."""
    rows = sources.rows(
        {"rows": [settings, "combinations", "places"], "flows": 16}, Number(study="{study}"), {}
    )
    least = min(rows, key=lambda row: sources.mean(_number("used", OURS), row))
    return sources.known(_number(of, OURS), least) if of else f"{least['speed']}, {least['from']}"


def outcomes(sources: Sources, setting: str, other: str) -> str:
    """How often CP-AQM is better, equal, a trade-off or worse."""
    rows = {"setting": setting, "rows": ["combinations", "places"]}
    points = sources.rows(rows, Number(study="{study}"), {})
    counts = Counter(_outcome(sources, row, other) for row in points)
    return ", ".join(f"{counts[each]} {each}" for each in OUTCOMES if counts[each])


def _outcome(sources: Sources, row: Values, other: str) -> str:
    """What CP-AQM is beside another, by the paired differences of both measures."""
    least = SHARE * sources.mean(_number("delay", other), row)
    shorter = _sign(sources.interval(_number("delay", other, OURS), row), least)
    more = _sign(sources.interval(_number("used", OURS, other), row), POINT)
    if shorter is None or more is None:
        return "undecided"
    if shorter * more < 0:
        return "trade-off"
    return {1: "better", 0: "equal", -1: "worse"}[max(-1, min(1, shorter + more))]


def _sign(found: Interval | None, least: float) -> int | None:
    """Whether a difference counts; None if the interval does not tell."""
    if found is None or found.low is None or found.high is None:
        return None
    if max(abs(found.low), abs(found.high)) < least:
        return 0
    if not found.excludes_zero:
        return None
    if abs(found.mean) < least:
        return 0
    return 1 if found.mean > 0 else -1
