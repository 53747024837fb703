"""Figures B1 to B6, which the paper does not have."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from forebay.papers import Data, Panel, Series
from forebay.papers.points import curve, line, loss_of

from .laws import brownian, fluid
from .points import (
    CLASSES,
    CQ,
    FIXED,
    LEVELS,
    LOADS,
    P0,
    P1,
    RATES,
    ROOM,
    SCHEDULERS,
    K,
    at,
    denied,
    drain,
    flows,
    mix,
    of_level,
    settings,
)

BACKGROUND = "background load, % of the line"
LOST = "packets lost, %"
T_LOCAL = "T_local, packets"


def levels(data: Data) -> list[Panel]:
    return [
        Panel(
            title,
            "load, % of the line",
            LOST,
            [
                curve(
                    data,
                    "many",
                    loss_of(of_level(level)),
                    level,
                    list(RATES.values()),
                    [{"rate": rate, "discipline": variant} for rate in RATES],
                    100,
                )
                for level in LEVELS
            ],
            ordered=True,
        )
        for title, variant in (("Four queues, CQ-AQM", CQ), ("Four queues, none", "none"))
    ]


def classes(data: Data) -> list[Panel]:
    where = {"rate": "10Mbit", "discipline": CQ}
    runs = data.runs("many", where)
    panels = []
    for title, key, unit, scale in (
        ("Loss at 150 % load", "loss", LOST, 100.0),
        ("Delay of what was sent", "mean_delay_ms", "mean one-way delay, ms", 1.0),
    ):
        bars = []
        for name in CLASSES:
            # Of what was not sent there is no delay.
            means = [runs[f"classes.{name}-{level}.{key}"].mean() for level in LEVELS]
            y = [scale * each if isinstance(each, float) else None for each in means]
            bars.append(Series(name, LEVELS, y, style="bars"))
        panels.append(Panel(title, "", unit, bars))
    return panels


def schedulers(data: Data) -> list[Panel]:
    def bars(keys: Mapping[str, str | pl.Expr], scale: float) -> list[Series]:
        return [
            line(
                label,
                list(keys),
                [
                    data.interval("schedulers", key, {"discipline": label}, scale=scale)
                    for key in keys.values()
                ],
                "bars",
            )
            for label in SCHEDULERS
        ]

    losses = {level: loss_of(of_level(level)) for level in LEVELS}
    delays: Mapping[str, str | pl.Expr] = {
        name: f"classes.{name}-flash-override.mean_delay_ms" for name in CLASSES
    }
    return [
        Panel("Loss by precedence", "", LOST, bars(losses, 100)),
        Panel("Delay of flash override by class", "", "mean one-way delay, ms", bars(delays, 1)),
    ]


def adaptive(data: Data) -> list[Panel]:
    names = {label: f"T_local = {label}" for label in FIXED} | {"adaptive": "adaptive"}
    return [
        Panel(
            f"{flows(m)} of each kind: {title}",
            BACKGROUND,
            unit,
            [
                curve(
                    data, "adaptive", key, name, LOADS, [mix(m, k, label) for k in K], scale
                )
                for label, name in names.items()
            ],
        )
        for title, key, scale, unit in (
            ("loss of p = 1", P1, 100.0, LOST),
            ("loss of p = 0", P0, 100.0, LOST),
            ("efficiency", pl.col("efficiency"), 1.0, "TCP throughput, times none's"),
        )
        for m in (1, 3)
    ]  # fmt: skip


def over_local(data: Data) -> list[Panel]:
    """What T_local decides."""
    panels = []
    for m in (1, 3):
        known = settings(data, "mixed-thresholds")
        x = [float(local) for local, _ in known]
        where = [at(each, m) for each in known]
        lines = [
            curve(data, "mixed-thresholds", key, name, x, where, 100)
            for key, name in ((P1, "p = 1"), (P0, "p = 0"))
        ]
        title = f"Mixed, {flows(m)}"
        panels.append(Panel(title, T_LOCAL, LOST, lines, x_range=(0, ROOM)))
    known = settings(data, "tcp-thresholds")
    where = [at(each) for each in known]
    x = [float(local) for local, _ in known]
    both = [
        curve(data, "tcp-thresholds", f"classes.p{p}.loss", f"p = {p}", x, where, 100)
        for p in (1, 0)
    ]
    used = curve(data, "tcp-thresholds", "efficiency", "efficiency", x, where)
    return [
        *panels,
        Panel("TCP alone, 10 flows", T_LOCAL, LOST, both),
        Panel("TCP alone, 10 flows", T_LOCAL, "efficiency, section IV", [used]),
    ]


def laws(data: Data) -> list[Panel]:
    """The loss of p = 1 over the room above T_local, and what two laws say."""
    panels = []
    for m in (1, 3):
        known = [each for each in settings(data, "mixed-thresholds") if each[0] >= 300]
        room = [float(ROOM - local) for local, _ in known]
        found = [
            data.interval("mixed-thresholds", loss_of(["bursty-p1"]), at(each, m)) for each in known
        ]
        y = [each.mean if each.mean > 1e-7 else None for each in found]
        series = [Series("simulated", room, y, style="points")]
        c, share = drain(data, m), denied(data, m)
        for name, law in (("Brownian motion", brownian), ("fluid", fluid)):
            drawn = [share * math.exp(-each / law(m, c)) for each in room]
            series.append(Series(name, room, drawn))
        series.append(Series("target", [0.0, 450.0], [1e-3, 1e-3], style="steps"))
        panels.append(
            Panel(
                f"{flows(m)} of each kind",
                "room above T_local, packets",
                "share of bursty p = 1 lost",
                series,
                x_range=(0, 450),
                y_range=(1e-6, 1),
                y_log=True,
            )
        )
    return panels
