"""Measures that are more than an expression of columns."""

from __future__ import annotations

import math

import polars as pl

from forebay.papers import Sources, exactly
from forebay.stats import Interval, interval, proportion

P1 = ("tcp-p1", "bursty-p1", "voice-p1")
PAIRS = "traffic.voice-p0.flows"


def loss_apart(sources: Sources) -> Interval | None:
    """Loss of the p = 1 flow less the mean of the others', in percentage points.

    It is taken flow by flow, in each run, as the mean of 8 to 10 flows.
    """
    loss = 100 * pl.col("loss")
    means = (
        sources.data.table("equal-loss", "flows")
        .group_by("others", "replication")
        .agg(
            apart=loss.filter(pl.col("class") == "p1").mean()
            - loss.filter(pl.col("class") == "p0").mean()
        )
    )
    return interval(means.group_by("replication").agg(pl.col("apart").mean())["apart"].to_list())


def largest_improvement(sources: Sources) -> Interval:
    """Largest difference of efficiency between 40/45 and 35/45 under any choice.

    Each is a mean of 6 to 10 flows.
    """
    sign = pl.when(pl.col("discipline") == "40/45").then(2.0).otherwise(-2.0)
    means = (
        sources.data.runs("tcp-choices")
        .filter(pl.col("discipline").is_in(["35/45", "40/45"]), pl.col("others") >= 5)
        .group_by("title")
        .agg((sign * pl.col("efficiency")).mean().abs().alias("difference"))
    )
    return exactly(means.select(pl.col("difference").max()).item())


def lost_in_a_million(sources: Sources) -> Interval:
    """Packets of p = 1 lost with preemption, in a million of those offered in all runs."""
    runs = sources.points("mixed", {"discipline": "CQ-AQM"})
    lost, offered = (
        runs.select(pl.sum_horizontal(f"classes.{each}.{what}" for each in P1).sum()).item()
        for what in ("dropped", "offered")
    )
    return exactly(1e6 * lost / offered)


def lossless_series(sources: Sources) -> Interval:
    """Percent of the series of loads, each with one seed, in which no packet of p = 1 is lost."""
    runs = sources.points("mixed", {"discipline": "CQ-AQM"})
    lost = pl.sum_horizontal(f"classes.{each}.dropped" for each in P1)
    series = runs.group_by("replication").agg(lost.sum().alias("lost"))
    return proportion([each == 0 for each in series["lost"]])


def relative_fall(sources: Sources) -> Interval:
    """Fall of p = 1 throughput with preemption from 55 to 88 %, times the fall without."""

    def fall(discipline: str) -> float:
        first, last = (
            sources.data.interval(
                "mixed", "classes.tcp-p1.goodput_bps", {PAIRS: pairs, "discipline": discipline}
            ).mean
            for pairs in (4, 7)
        )
        return 1 - last / first

    return exactly(fall("CQ-AQM") / fall("none"))


def moved(sources: Sources) -> str:
    """Goodput of four classes at 110 %, in kb/s, without and with preemption."""
    names = ("tcp-p1", "tcp-p0", "bursty-p1", "bursty-p0")
    found = []
    for name in names:
        before, after = (
            sources.data.interval(
                "mixed", f"classes.{name}.goodput_bps", {PAIRS: 9, "discipline": each}, scale=1e-3
            ).mean
            for each in ("none", "CQ-AQM")
        )
        found.append(f"{name} {before:.0f} to {after:.0f}")
    return ", ".join(found)


def load(sources: Sources, pairs: int) -> Interval:  # noqa: ARG001 - calculated
    """Background of so many pairs of voice and bursty data, % of the line of 187 500 B/s.

    A voice flow sends 68 B every 20 ms in 200 of 333 ms, a bursty one 18 618 B/s.
    """
    return exactly(100 * pairs * (680 / 0.333 + 18_618) / 187_500)


def variation(sources: Sources) -> Interval:  # noqa: ARG001 - calculated
    """Coefficient of variation of intervals that are exponential within each state of the chain."""
    bursty = 0.091 / (0.011 + 0.091)
    means = ((bursty, 460e-6), (1 - bursty, 46e-3))
    mean = sum(share * time for share, time in means)
    square = sum(share * 2 * time**2 for share, time in means)
    return exactly(math.sqrt(square / mean**2 - 1))
