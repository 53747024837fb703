"""Figures 8 to 20; 1 to 6 are in analysis.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from forebay.papers import Data, Panel, Series
from forebay.papers.data import Where
from forebay.papers.points import curve, line, mean

from .points import (
    ASI,
    BEST,
    BULK,
    CALLS,
    FEW,
    FTP,
    LARGE_GOODPUT,
    MANY,
    MEAN_TIME,
    PACKETS,
    RATING,
    RATINGS,
    ROUTERS,
    SENSORS,
    SMALL_GOODPUT,
    SMALL_TIME,
    TAIL,
    VARIANTS,
    WORST_TIME,
    SensorView,
    View,
    calls_at,
    cost_of,
    deployed,
    potential,
    rated,
)

FLOWS = tuple(range(10, 101, 10))
Key = str | pl.Expr


def over_flows(
    data: Data,
    study: str,
    at: Callable[[int, str], Where],
    key: Key,
    y: str,
    title: str,
    scale: float = 1.0,
    variants: Sequence[str] = VARIANTS,
    y_log: bool = False,
) -> Panel:
    """A panel over the numbers of flows that there are; `--quick` has fewer."""
    runs = data.runs(study)
    there = [
        n
        for n in FLOWS
        if not runs.filter([pl.col(k) == v for k, v in at(n, variants[0]).items()]).is_empty()
    ]
    series = [
        curve(data, study, key, label, there, [at(n, label) for n in there], scale)
        for label in variants
    ]
    return Panel(title, "flows", y, series, y_log=y_log)


def ftp(
    data: Data, kind: str, key: Key, y: str, title: str, scale: float = 1.0, log: bool = False
) -> Panel:
    def at(n: int, label: str) -> Where:
        return View(data).at(kind, n, label)

    return over_flows(data, "ftp", at, key, y, title, scale, y_log=log)


def all_goodput() -> pl.Expr:
    few, many = pl.col("traffic.small.flows"), pl.col("traffic.congestive.flows")
    return (pl.col(SMALL_GOODPUT) * few + pl.col(LARGE_GOODPUT) * many) / (few + many)


def against_tail(data: Data, kind: str, panel: Panel, *more: Series) -> Panel:
    """The congestive flows' change against drop-tail, which the curves of figure 8 hide."""
    at = [int(n) for n in panel.series[0].x if not isinstance(n, str)]
    x = [float(n) for n in at]
    series = [
        line(label, x, [View(data).change(LARGE_GOODPUT, kind, n, label) for n in at])
        for label in VARIANTS[1:]
    ]
    return Panel("Congestive flows, against drop-tail", "flows", "%", [*series, *more])


def stated_gain(n: int, panel: Panel, gain: float, what: str) -> Panel:
    """The panel with drop-tail's value times what the text states of it."""
    base = next(each for each in panel.series if each.label == TAIL)
    numbers = [float(each) for each in base.x if not isinstance(each, str)]
    if n not in numbers:
        return panel
    value = base.y[numbers.index(n)]
    star = Series(f"stated: {what}", [n], [None if value is None else gain * value], stated=True)
    return Panel(panel.title, panel.x_label, panel.y_label, [*panel.series, star],
                 y_log=panel.y_log)  # fmt: skip


def figure_8(data: Data) -> list[Panel]:
    small = ftp(data, "10 %", SMALL_GOODPUT, "kb/s", "Non-congestive flows", 1e-3, True)
    large = ftp(data, "10 %", LARGE_GOODPUT, "kb/s", "Congestive flows", 1e-3, True)
    return [
        stated_gain(80, small, 10.43, "NCQ 5 %, 10.43 times drop-tail"),
        large,
        against_tail(
            data, "10 %", large, Series("stated: NCQ 5 %, +7.6 %", [100], [7.6], stated=True)
        ),
        ftp(data, "10 %", all_goodput(), "kb/s", "All flows", 1e-3, True),
    ]


def figure_9(data: Data) -> list[Panel]:
    worst = ftp(data, "10 %", WORST_TIME, "s", "Worst")
    tail = next(each for each in worst.series if each.label == TAIL)
    at = [float(each) for each in tail.x if not isinstance(each, str)]
    value = tail.y[at.index(90)] if 90 in at else None
    sooner = Series("stated: NCQ 3 %, 24.8 s sooner", [90], [value and value - 24.8], stated=True)
    return [
        ftp(data, "10 %", MEAN_TIME, "s", "Average"),
        Panel("Worst", "flows", "s", [*worst.series, sooner]),
    ]


def figure_10(data: Data) -> list[Panel]:
    return [
        ftp(data, "20 %", SMALL_GOODPUT, "kb/s", "Average goodput", 1e-3, True),
        ftp(data, "20 %", SMALL_TIME, "s", "Average completion time"),
    ]


def figure_11(data: Data) -> list[Panel]:
    """Tasks that have ended, over time: mean over the runs."""
    table = data.table("tasks", "class").filter(pl.col("time_s") <= 60)
    series = []
    for label in VARIANTS:
        runs = table.filter(discipline=label)
        each = runs.group_by("time_s").agg(pl.col("completed").sum()).sort("time_s")
        done = each["completed"].cum_sum() / runs["replication"].n_unique()
        series.append(Series(label, each["time_s"].to_list(), done.to_list(), style="steps"))
    stated = [
        Series("stated: drop-tail, 7 at 30.5 s", [30.5], [7], stated=True),
        Series("stated: NCQ 1 %, 10 at 30.5 s", [30.5], [10], stated=True),
    ]
    return [Panel("", "s", "completed tasks", [*series, *stated])]


def figure_12(data: Data) -> list[Panel]:
    large = ftp(data, "short", LARGE_GOODPUT, "kb/s", "Flows of 100 kB", 1e-3, True)
    return [
        ftp(data, "short", SMALL_GOODPUT, "kb/s", "Non-congestive flows", 1e-3, True),
        large,
        against_tail(data, "short", large),
    ]


def sensors(data: Data, panels: Sequence[tuple[Key, str, str, float]]) -> list[Panel]:
    return [
        over_flows(data, "sensors", SensorView(data).at, key, y, title, scale)
        for key, y, title, scale in panels
    ]


def figure_14(data: Data) -> list[Panel]:
    return sensors(
        data,
        [
            (FTP, "Mb/s", "FTP flows, all", 1e-6),
            (SENSORS, "kb/s", "Sensors, all", 1e-3),
            (potential(), "energy potential", "Sensors", 1.0),
        ],
    )


def figure_15(data: Data) -> list[Panel]:
    return sensors(
        data,
        [
            ("system.asi", "ASI", "System, as printed", 1.0),
            ("classes.sensors.asi", "ASI", "Sensors, as printed", 1.0),
            ("system.asi_by_flow", "ASI", "System, flow by flow", 1.0),
            ("classes.sensors.asi_by_flow", "ASI", "Sensors, flow by flow", 1.0),
        ],
    )


TITLES = {MANY: "as many calls as FTP flows", FEW: "one flow of ten is a call"}


def calls(data: Data, panels: Sequence[tuple[str, Key, str, float]]) -> list[Panel]:
    def at(kind: str) -> Callable[[int, str], Where]:
        return lambda n, label: calls_at(kind, n, label)

    return [
        over_flows(data, "calls", at(kind), key, y, TITLES[kind], scale, (TAIL, "NCQ 1 %"))
        for kind, key, y, scale in panels
    ]


def figure_16(data: Data) -> list[Panel]:
    return calls(
        data,
        [
            (MANY, CALLS, "calls, kb/s", 1e-3),
            (MANY, FTP, "FTP, Mb/s", 1e-6),
            (MANY, ASI, "ASI of calls, flow by flow", 1.0),
            (FEW, CALLS, "calls, kb/s", 1e-3),
        ],
    )


def figure_17(data: Data) -> list[Panel]:
    r, other = calls(data, [(MANY, RATING, "R-factor", 1.0), (FEW, RATING, "R-factor", 1.0)])
    poor = Series("stated: drop-tail, poor", [50], [55], stated=True)
    medium = Series("stated: NCQ 1 %, medium", [50], [75], stated=True)
    mos = calls(data, [(MANY, "classes.calls.mos", "MOS", 1.0)])
    names = ["bad", "poor", "low", "medium", "high", "best"]
    bars = []
    for label in (TAIL, "NCQ 1 %"):
        found = np.histogram(
            [each for each in rated(data, 50, label) if each is not None],
            [-math.inf, *RATINGS, math.inf],
        )[0]
        bars.append(Series(label, names, (100 * found / found.sum()).tolist(), style="bars"))
    rating = Panel("The ratings of 50 calls beside 50 flows", "", "calls of all runs, %", bars)
    return [Panel(r.title, r.x_label, r.y_label, [*r.series, poor, medium]), *mos, other, rating]


def frequencies(
    values: Sequence[float], edges: Sequence[float], stated: dict[str, float]
) -> list[Series]:
    """Share of the runs in each interval, in percent."""
    names = [
        f"< {edges[0]:g}",
        *(f"{a:g} to {b:g}" for a, b in pairwise(edges)),
        f"> {edges[-1]:g}",
    ]
    counts = np.histogram(values, [-math.inf, *edges, math.inf])[0]
    bars = [Series("runs", names, (100 * counts / len(values)).tolist(), style="bars")]
    if stated:
        y = [stated.get(name) for name in names]
        bars.append(Series("stated", names, y, style="bars"))
    return bars


def figure_19(data: Data) -> list[Panel]:
    found, runs = deployed(data), data.runs("deployment")
    x = [float(n) for n in range(5)]
    each = pl.col("classes.ftp.goodput_bps") / pl.col("classes.ftp.flows") / 1e3
    goodput = [mean(runs.filter(title=name).select(each).to_series().to_list()) for name in ROUTERS]
    means = [mean(found.filter(routers=name)["ftp"].to_list()) for name in ROUTERS]
    bars = frequencies(
        found.filter(routers=ROUTERS[4])["calls"].to_list(), [-5, 0, 5, 25, 100], {"> 100": 38}
    )
    routers = "NCQ-enabled routers"
    return [
        Panel("Congestive flows", routers, "goodput of a flow, kb/s", [line("mean", x, goodput)]),
        Panel("Against drop-tail", routers, "change of goodput, %", [line("mean", x, means)]),
        Panel("VoIP, 4 routers", "change of goodput, %", "runs, %", bars),
    ]


def figure_20(data: Data) -> list[Panel]:
    found = deployed(data).filter(routers=ROUTERS[3])
    panels = []
    for key, title, stated in (
        ("r", "R-factor", {"0 to 50": 88.0, "> 50": 4.0}),
        ("asi", "ASI, flow by flow", {}),
        ("asi_printed", "ASI, as printed", {}),
    ):
        edges = [-5, 0, 50] if key == "r" else [-5, 0, 5, 10, 25]
        bars = frequencies(found[key].to_list(), edges, stated)
        panels.append(Panel(f"{title}, 3 routers", "change, %", "runs, %", bars))
    return panels


def figure_limit(data: Data) -> list[Panel]:
    x = [float(each[:-1]) for each in PACKETS]
    found = [cost_of(data, each) for each in PACKETS]
    what = "change of congestive goodput, %"
    return [Panel("", "packets of the small flows, B", what, [line(BEST, x, found)])]


def figure_attacks(data: Data) -> list[Panel]:
    runs = data.study("attacks").runs
    titles, labels = (runs[each].unique(maintain_order=True).to_list()
                      for each in ("title", "discipline"))  # fmt: skip
    names = [each.replace(", ", "\n").replace(" ", "\n", 1) for each in titles]
    panels = []
    for key, y, scale in ((RATING, "R of calls", 1.0), (BULK, "nine bulk transfers, Mb/s", 1e-6)):
        bars = []
        for label in labels:
            at = [{"title": title, "discipline": label} for title in titles]
            found = [data.interval("attacks", key, where, scale=scale) for where in at]
            bars.append(line(label, names, found, "bars"))
        panels.append(Panel("", "", y, bars))
    return panels
