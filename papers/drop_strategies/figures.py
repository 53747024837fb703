"""The figures of the paper, and those that it does not have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

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
    MAIN,
    MAX_TH,
    MECHANISMS,
    METHODS,
    OUT,
    RENO,
    SPACED,
    SPREAD,
    STRATEGIES,
    VICTIMS,
    Case,
    both,
    measured_cost,
    point,
    rates,
    traced,
    victim,
)

X = "in-profile rate, Mbit/s"
SHOWN = 60.0
"""Seconds of a trace that are drawn."""


def series(
    data: Data, label: str, key: str, case: Case, strategy: str, scale: float, study: str = MAIN
) -> Series:
    """A measure over the in-profile rate."""
    known = rates(data, study)
    at = [point(rate, *case, strategy) for rate in known]
    found = [data.interval(study, key, each, scale=scale) for each in at]
    return line(label, list(known.values()), found)


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
    return [Panel("", X, "payload throughput, Mbit/s", lines, y_range=(6, 10))]


def spacing(data: Data) -> Sequence[Panel]:
    """Figures 4, 5, 7, 8, 10, 11, 13 and 14 without `wait`."""
    measures = (("loss of all, %", LOSS, 100.0), ("throughput, Mbit/s", GOODPUT, 1e-6))
    panels = []
    for (case, name), (what, key, scale) in product(CASES.items(), measures):
        lines = [series(data, each, key, case, each, scale, SPACED) for each in STRATEGIES]
        panels.append(Panel(name, X, what, lines))
    return panels


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
        )
        for case, name in CASES.items()
        for what, key in (("average queue", AVERAGE), ("its standard deviation", SPREAD))
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
    known = rates(data)
    for title, label, key, scale in (
        ("gain in average queue", "packets saved", AVERAGE, 1.0),
        ("gain in loss", "percentage points saved", LOSS, 100.0),
    ):
        gains = [
            line(name, list(known.values()), [both(data, key, at, case, scale) for at in known])
            for case, name in ((RENO, CASES[RENO]), (GENTLE_SACK, CASES[GENTLE_SACK]))
        ]
        panels.append(Panel(title, X, label, gains))
    return panels


def victims(data: Data) -> Sequence[Panel]:
    """The packet that is dropped, for all mechanisms."""
    panels = []
    for title, unit, key, scale in (
        ("one-way delay, mean", "ms", "classes.downloads.mean_delay_ms", 1.0),
        ("one-way delay, 99th percentile", "ms", "classes.downloads.p99_delay_ms", 1.0),
        ("jitter (RFC 3550)", "ms", "classes.downloads.jitter_ms", 1.0),
        ("mean loss period (RFC 3357)", "packets", "classes.downloads.loss_period.mean", 1.0),
        ("loss", "%", LOSS, 100.0),
        ("payload throughput", "Mbit/s", GOODPUT, 1e-6),
    ):
        bars = []
        for which in VICTIMS:
            at = [victim(*each, which) for each in KINDS]
            found = [data.interval("victims", key, each, scale=scale) for each in at]
            bars.append(line(which, ["\n".join(each) for each in KINDS], found, "bars"))
        panels.append(Panel(title, "", unit, bars))
    return panels


def starvation(data: Data) -> Sequence[Panel]:
    """Out-of-profile throughput against the in-profile load."""
    loads = data.study("starvation").runs["in_profile"].unique(maintain_order=True).to_list()
    x = [float(load.removesuffix("Mbit")) for load in loads]
    key = "classes.out-of-profile.goodput_bps"
    lines = []
    for kind in MECHANISMS:
        for strategy in STRATEGIES:
            name = f"{kind}, {strategy}"
            at = [{"in_profile": load, "discipline": name} for load in loads]
            found = [data.interval("starvation", key, each, scale=1e-6) for each in at]
            lines.append(line(name, x, found))
    labels = ("in-profile load, Mbit/s", "out-of-profile throughput, Mbit/s")
    return [Panel("", *labels, lines)]
