"""Our hypotheses, each with the numbers that it rests on, and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from forebay.papers import Data, Part, Statement, Table
from forebay.papers.points import Measure, loss_of, table, total

from .points import (
    CLASSES,
    CQ,
    FIXED,
    LEVELS,
    LOADS,
    P0,
    P1,
    SCHEDULERS,
    TEXT,
    K,
    at,
    beside_fixed,
    best,
    by_law,
    extremes,
    flows,
    mix,
    of_level,
    settings,
)


def part(
    what: str, found: object, low: float = -math.inf, high: float = math.inf, unit: str = ""
) -> Part:
    return Part(what, "", found, low, high, unit)  # type: ignore[arg-type]


def bottom_up(data: Data) -> list[Part]:
    where = {"rate": "10Mbit", "discipline": CQ}
    keep = (pl.col("rate") == "10Mbit") & (pl.col("discipline") == CQ)
    parts = [
        part(
            f"packets of {level} lost at 150 %, all classes and runs",
            total(data, "many", [f"classes.{each}.dropped" for each in of_level(level)], keep),
            0,
            0,
        )
        for level in LEVELS[3:]
    ]
    immediate = data.interval("many", loss_of(of_level("immediate")), where, scale=100)
    routine = [f"classes.{each}-routine.loss" for each in CLASSES]
    least = min(
        (data.interval("many", key, where, scale=100) for key in routine),
        key=lambda found: found.mean,
    )
    return [
        *parts,
        part("immediate lost", immediate, high=0.01, unit="%"),
        part("least loss of routine in any class", least, 95.0, unit="%"),
    ]


def held(data: Data) -> list[Part]:
    return [
        part(
            f"loss of p = 1, {flows(m)}, {load:.0f} %",
            data.interval("adaptive", P1, mix(m, k, "adaptive"), scale=100),
            high=0.2,
            unit="%",
        )
        for m in (1, 3)
        for k, load in zip(K, LOADS, strict=True)
    ]


def dear(data: Data) -> list[Part]:
    return [
        part(
            f"loss of p = 0, adaptive minus T_local = 300, {flows(3)}",
            beside_fixed(data, 100 * P0, "300", 3),
            0,
            unit="points",
        ),
        part(
            f"loss of p = 1, T_local = 300 minus adaptive, {flows(3)}",
            beside_fixed(data, -100 * P1, "300", 3),
            0,
            unit="points",
        ),
    ]


def not_more_efficient(data: Data) -> list[Part]:
    what = "efficiency, adaptive minus T_local = 300, 1 important flow"
    return [part(what, beside_fixed(data, pl.col("efficiency"), "300", 1), high=0)]


def dear_words(data: Data) -> str:
    low, high = extremes(data, P0, "adaptive", 3, 100)
    return (
        "*Hypothesis: adaptive thresholds serve everybody better than any fixed setting. "
        f"Refuted:* with three important flows of each kind they lose {low:.0f} to {high:.0f} % "
        "of p = 0, which is more than with T_local = 300, to save p = 1 the last tenths of a "
        "percent."
    )


LEVELS_HOLD = (
    Statement(
        "*Hypothesis: the lowest precedence loses first. Held:* at 150 %, the top two "
        "precedences lose nothing. Immediate loses some packets in a hundred thousand, all in "
        "the data queue, which sometimes grows by the 50 packets between two thresholds while "
        "both lower precedences are denied. Routine loses everything.",
        bottom_up,
    ),
)
ADAPTIVE = (
    Statement(
        "*Hypothesis: adaptive thresholds keep the loss of p = 1 near zero whatever the load. "
        "Held* with every mix.",
        held,
    ),
    Statement(dear_words, dear),
    Statement(
        "*Hypothesis: they are more efficient, as section IV measures it. Refuted:* with one "
        "important flow, the lowest fixed threshold is the most efficient. This will always be "
        "so with a measure that counts only TCP (CQ-10).",
        not_more_efficient,
    ),
)


def hysteresis(data: Data) -> list[Table]:
    tables = []
    for study, m, columns, heading in (
        ("tcp-thresholds", None, TCP_COLUMNS, "TCP alone, 10 flows"),
        ("mixed-thresholds", 1, MIXED_COLUMNS, "Mixed traffic, 88 %"),
    ):
        rows = [([f"{a}, {b}"], at((a, b), m)) for a, b in settings(data, study, True)]
        tables.append(table(data, study, ["upper, lower"], rows, columns, heading))
    return tables


TCP_COLUMNS: Mapping[str, Measure] = {
    "loss of p = 0, %": ("classes.p0.loss", 100),
    "packets lost in a row, p = 0": ("classes.p0.loss_period.mean", 1),
    "loss events a run": ("queues.line.loss_events.count", 1),
    "gain of p = 1": ("classes.p1.gain", 1),
    "mean queue, packets": ("queues.line.mean_packets", 1),
}
MIXED_COLUMNS: Mapping[str, Measure] = {
    "loss of p = 0, %": (P0, 100),
    "packets lost in a row, bursty p = 0": ("classes.bursty-p0.loss_period.mean", 1),
    "loss events a run": ("queues.line.loss_events.count", 1),
    "gain of p = 1": ("classes.tcp-p1.gain", 1),
    "mean queue, packets": ("queues.line.mean_packets", 1),
}


def merit(a: str, b: str) -> Mapping[str, Measure]:
    return {
        "efficiency, section IV": ("efficiency", 1),
        "loss of p = 1, %": (P1 if a else pl.col("classes.p1.loss"), 100),
        f"loss of {b}, %": (P0 if a else pl.col("classes.p0.loss"), 100),
    }


def thresholds(data: Data) -> list[Table]:
    alone = best(data, "tcp-thresholds", pl.col("classes.p1.loss"), pl.col("efficiency"))
    spared = best(data, "tcp-thresholds", pl.col("classes.p1.loss"), -pl.col("classes.p0.loss"))
    rows = [
        (["most efficient that holds p = 1"], at((alone, alone))),
        (["least loss of p = 0 that holds p = 1"], at((spared, spared))),
        (["the paper's"], at((35, 35))),
        (["the paper's"], at((40, 40))),
    ]
    named = [([*name, where["link.line.queue.queues[0].local"]], where) for name, where in rows]
    tables = [
        table(
            data,
            "tcp-thresholds",
            ["setting", "T_local"],
            named,
            merit("", "p = 0"),
            "TCP alone, 10 flows",
        )
    ]
    known = [local for local, _ in settings(data, "mixed-thresholds")]
    for m in (1, 3):
        found: dict[str, float] = {
            "least loss of p = 0 that holds p = 1": best(data, "mixed-thresholds", P1, -P0, m),
            "the paper's": 500.0,
            **by_law(data, m),
        }
        laid = []
        for name, value in found.items():
            near = min(known, key=lambda local: abs(local - value))
            laid.append(([name, round(value), near], at((near, near), m)))
        tables.append(
            table(
                data,
                "mixed-thresholds",
                ["setting", "T_local", "simulated at"],
                laid,
                merit("mixed", "p = 0"),
                f"Mixed traffic, 88 %, {flows(m)} of each kind",
            )
        )
    return tables


def scheduler_table(data: Data) -> list[Table]:
    labels = (*SCHEDULERS, "strict priority, none", "WRR, none", "DRR, none")
    columns: Mapping[str, Measure] = {
        f"{level}, %": (loss_of(of_level(level)), 100) for level in LEVELS
    }
    rows = [([label], {"discipline": label}) for label in labels]
    return [table(data, "schedulers", ["scheduler"], rows, columns, "Packets lost")]


def fixed_table(data: Data) -> list[Table]:
    rows = []
    for label in (*FIXED, "adaptive"):
        cells = [
            f"{low:.2g} to {high:.2g}"
            for m in (1, 3)
            for key, scale in ((P1, 100.0), (P0, 100.0), (pl.col("efficiency"), 1.0))
            for low, high in [extremes(data, key, label, m, scale)]
        ]
        rows.append([label, *cells])
    head = ["T_local"]
    head += [f"{what}, {flows(m)}" for m in (1, 3)
             for what in ("loss of p = 1, %", "of p = 0, %", "efficiency")]  # fmt: skip
    return [Table(head, rows, "Least and largest mean over the six loads")]


def found(data: Data) -> str:
    """The page's beginning."""
    low, high = extremes(data, P0, "adaptive", 3, 100)
    laws = by_law(data, 1)

    def lost(upper: int, lower: int) -> float:
        key = "classes.p0.loss"
        return data.interval("tcp-thresholds", key, at((upper, lower)), scale=100).mean

    return TEXT["found"].format(
        low=low,
        high=high,
        fluid=laws["fluid"],
        brownian=laws["Brownian motion"],
        best=best(data, "mixed-thresholds", P1, -P0, 1),
        alike=lost(35, 35),
        apart=lost(35, 20),
    )
