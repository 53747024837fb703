"""The figures of the paper, and those that it does not have."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forebay.papers import Data, Panel, Series
from forebay.papers.points import line

from .points import (
    AVERAGE,
    CASES,
    GENTLE_SACK,
    GOODPUT,
    KINDS,
    LOSS,
    MAX_TH,
    METHODS,
    OUT,
    RENO,
    SPREAD,
    STRATEGIES,
    VICTIMS,
    Case,
    View,
    measured_cost,
    traced,
    victim,
)

X = "in-profile rate, Mbit/s"
SHOWN = 60.0
"""Seconds of a trace that are drawn."""


def series(data: Data, label: str, key: str, case: Case, strategy: str, scale: float) -> Series:
    """A measure over the in-profile rate."""
    view = View(data)
    found = [view.interval(key, rate, case, strategy, scale) for rate in view.rates]
    return line(label, list(view.rates.values()), found)


def loss(data: Data, case: Case) -> Sequence[Panel]:
    """Figures 4, 7, 10 and 13."""
    lines = [
        series(data, f"{what}, {strategy}", key, case, strategy, 100)
        for what, key in (("all", LOSS), ("out", OUT))
        for strategy in STRATEGIES
    ]
    return [Panel("", X, "loss, %", lines)]


def throughput(data: Data, case: Case) -> Sequence[Panel]:
    """Figures 5, 8, 11 and 14."""
    lines = [series(data, each, GOODPUT, case, each, 1e-6) for each in STRATEGIES]
    if case == RENO:
        lines.append(Series("lowest of drop-arrivals in the paper", [5.6, 5.6], [6.0, 10.0]))
    return [Panel("", X, "payload throughput, Mbit/s", lines, y_range=(6, 10))]


def trace(data: Data, case: Case) -> Sequence[Panel]:
    """Figures 6, 9, 12 and 15."""
    lines = []
    for strategy in STRATEGIES:
        one = traced(data, case, strategy).filter(pl.col("time_s") <= SHOWN)
        lines.append(Series(strategy, one["time_s"].to_list(), one["average_queue"].to_list()))
    lines.append(Series("max_th", [0.0, SHOWN], [MAX_TH, MAX_TH], style="steps"))
    return [Panel("", "time, s", "average queue, packets", lines, y_range=(0, 60))]


def oscillation(data: Data) -> Sequence[Panel]:
    """Mean and standard deviation of the average queue in all four cases."""
    return [
        Panel(
            f"{name}: {what}",
            X,
            "packets",
            [series(data, each, key, case, each, 1.0) for each in STRATEGIES],
            y_range=(0, highest),
        )
        for case, name in CASES.items()
        for what, key, highest in (
            ("average queue", AVERAGE, 70),
            ("its standard deviation", SPREAD, 14),
        )
    ]


COLUMNS = ("depth", "ns", "low", "high")
BUDGET = ("a packet's time at 10 Gbit/s", 832.0)
"""1040 bytes, in ns."""


def cost(data: Data) -> Sequence[Panel]:
    """What dropping from the queue costs, and what it buys."""
    times = pl.DataFrame(measured_cost()["times"])
    panels = []
    for share in (0.05, 0.9):
        lines = []
        for method, label in METHODS.items():
            found = times.filter(method=method, share=share)
            depth, ns, low, high = (found[name].to_list() for name in COLUMNS)
            lines.append(Series(label, depth, ns, low, high))
        ends = [10.0, 1e6]
        label, time = BUDGET
        lines.append(Series(label, ends, [time, time], style="steps"))
        title = f"cost, {share:.0%} of the packets out of profile"
        what = "processor time, ns a packet"
        panels.append(Panel(title, "backlog, packets", what, lines, x_log=True, y_log=True))
    view = View(data)
    for title, label, key, scale in (
        ("gain in average queue", "packets saved", AVERAGE, 1.0),
        ("gain in loss", "percentage points saved", LOSS, 100.0),
    ):
        gains = [
            line(
                name,
                list(view.rates.values()),
                [view.both(key, rate, case, scale) for rate in view.rates],
            )
            for case, name in ((RENO, CASES[RENO]), (GENTLE_SACK, CASES[GENTLE_SACK]))
        ]
        panels.append(Panel(title, X, label, gains))
    return panels


def victims(data: Data) -> Sequence[Panel]:
    """The packet that is dropped, for all mechanisms."""
    panels = []
    for title, unit, key, scale in (
        ("one-way delay, mean", "ms", "classes.downloads.mean_delay_ms", 1.0),
        ("loss", "%", LOSS, 100.0),
    ):
        bars = []
        for which in VICTIMS:
            at = [victim(*each, which) for each in KINDS]
            found = [data.interval("victims", key, each, scale=scale) for each in at]
            bars.append(line(which, ["\n".join(each) for each in KINDS], found, "bars"))
        panels.append(Panel(title, "", unit, bars))
    return panels


STARVED = {
    "WRED, drop-arrivals": "wred, drop-arrivals",
    "WRED, drop-from-queue": "wred, drop-from-queue",
    "WRT, either": "wrt, drop-arrivals",
}
"""Curves of the figure on starvation, and the disciplines whose runs they show."""


def starvation(data: Data) -> Sequence[Panel]:
    """Out-of-profile throughput against the in-profile load; what coincides is drawn once."""
    loads = data.study("starvation").runs["in_profile"].unique(maintain_order=True).to_list()
    x = [float(load.removesuffix("Mbit")) for load in loads]
    key = "classes.out-of-profile.goodput_bps"
    lines = []
    for label, name in STARVED.items():
        at = [{"in_profile": load, "discipline": name} for load in loads]
        found = [data.interval("starvation", key, each, scale=1e-6) for each in at]
        lines.append(line(label, x, found))
    labels = ("in-profile load, Mbit/s", "out-of-profile throughput, Mbit/s")
    return [Panel("", *labels, lines)]
