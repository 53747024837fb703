"""The figures of the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import polars as pl

from forebay.papers import Data, Panel, Region, Series
from forebay.papers.points import line

from .points import (
    BURSTS,
    COMBINATIONS,
    DEEP,
    DELAY,
    DRAIN,
    LINK,
    NAMES,
    OTHERS,
    OURS,
    RATES,
    USED,
    Where,
    matching,
    study_of,
    words,
)

ORDER = (OURS, *OTHERS, LINK, DRAIN)
SIDE = 0.045
"""Decades between two disciplines that are drawn beside each other."""


def trade_off(data: Data, study: str, where: Where, decades: bool = False) -> Panel:
    """Mean queueing delay against utilization, with the joint confidence regions."""
    found = data.study(study).regions(DELAY, USED).filter(matching(where))
    regions = [
        Region(row["discipline"], row["x"], 100 * row["y"], row["xx"], _times(row["xy"], 100),
               _times(row["yy"], 1e4))
        for row in sorted(
            found.iter_rows(named=True), key=lambda row: ORDER.index(row["discipline"])
        )
    ]  # fmt: skip
    # From zero, and at least five points of utilization: small differences are to look small.
    least = min(region.y - math.sqrt(region.yy or 0.0) for region in regions)
    most = max(region.x + math.sqrt(region.xx or 0.0) for region in regions)
    span = (min(region.x for region in regions) / 1.5, 1.5 * most) if decades else (0, 1.07 * most)
    return Panel(words(where), "mean time in the queue, ms", "utilization, %", regions=regions,
                 x_log=decades, x_range=span,
                 y_range=(min(94.8, least - 0.07 * (100 - least)), 100.2 + (100 - least) / 50),
                 )  # fmt: skip


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def eight(setting: str) -> Callable[[Data], Sequence[Panel]]:
    """A panel for each combination; the queue in decades where tail drop's is a hundred times."""
    return lambda data: [
        trade_off(data, study_of(setting, where), where, setting == DEEP) for where in COMBINATIONS
    ]


def cell_phone(data: Data) -> list[Panel]:
    return [
        trade_off(data, "cellular", {"flows": flows, "congestion": congestion})
        for congestion in NAMES
        for flows in (1, 16)
    ]


def unresponsive(data: Data) -> list[Panel]:
    series = []
    for number, name in enumerate((OURS, *OTHERS)):
        found = [data.interval(f"udp-{rate}", DELAY, {"discipline": name}) for rate in RATES]
        shift = 10 ** (SIDE * (number - len(OTHERS) / 2))
        series.append(line(name, [float(rate) * shift for rate in RATES], found, "points"))
    return [
        Panel("", "rate of the link, Mb/s", "mean time in the queue, ms", series, x_log=True,
              y_log=True)
    ]  # fmt: skip


def over_time(
    data: Data, study: str, where: Where, names: Sequence[str], title: str,
    span: tuple[float, float],
) -> Panel:  # fmt: skip
    """The queue over time, averaged over the replications."""
    table = (
        data.table(study, "queue")
        .filter(matching(where) & (pl.col("link") == "bottleneck"))
        .filter(pl.col("time_s").is_between(*span))
        .group_by("discipline", "time_s")
        .agg(pl.col("mean_packets").mean())
        .sort("time_s")
    )
    series = [
        Series(name, one["time_s"].to_list(), one["mean_packets"].to_list())
        for name in names
        if not (one := table.filter(pl.col("discipline") == name)).is_empty()
    ]
    return Panel(title, "time, s", "queue, packets", series, x_range=span)


def capacity_steps(data: Data) -> list[Panel]:
    return [
        over_time(data, "step", {"congestion": congestion}, names,
                  f"16 {NAMES[congestion]}: {title}", (25.0, 70.0))
        for congestion in NAMES
        for names, title in (((OURS, *OTHERS, DRAIN), "all"), ((OURS, LINK, DRAIN), "CP-AQM"))
    ]  # fmt: skip


def bursts(data: Data) -> list[Panel]:
    return [
        over_time(data, "burst", {"flows": flows}, (OURS, *OTHERS), f"{flows} Cubic",
                  (29.8, 30.5))
        for flows in BURSTS
    ]  # fmt: skip
