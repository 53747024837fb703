"""How much room p = 1 needs above T_local: what simulation holds, and two laws without it.

While the low queue stands above T_local only p = 1 joins it. Its bursty flows send `ON` packets/s
in the bursty state and `OFF` in the quiet one, and the line takes `drain` packets/s away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from forebay.papers import Panel, Series, Sources, Table, exactly
from forebay.stats import Interval

ON, OFF = 1 / 460e-6, 1 / 46e-3
END, BEGIN = 0.011 * ON, 0.091 * OFF
"""Rates at which a flow leaves the bursty and the quiet state, 1/s."""
MEAN = (BEGIN * ON + END * OFF) / (BEGIN + END)
"""Of a flow, packets/s."""
TARGET = 1e-3
ROOM = 750
SECONDS = 300.0
"""Of a run that are measured."""
LOCAL, LOWER = (f"link.line.queue.queues[0].{name}" for name in ("local", "local_lower"))
TCP, MIXED = "tcp-thresholds", "mixed-thresholds"
NAMES = {1: "1 important flow", 3: "3 important flows"}


def brownian(flows: int, drain: float) -> float:
    """Packets over which the tail falls by e if p = 1 is a Brownian motion (heavy traffic).

    The variance of the count over a long time is that of the chain and of its Poisson arrivals.
    """
    share = BEGIN / (BEGIN + END)
    swing = 2 * share * (1 - share) * (ON - OFF) ** 2 / (BEGIN + END)
    return (swing + MEAN) / (2 * (drain / flows - MEAN))


def fluid(flows: int, drain: float) -> float:
    """Packets over which the tail falls by e if each state is a fluid of its rate.

    Anick, Mitra and Sondhi (1982): the slowest of the modes that decay.
    """
    rates = np.array([n * ON + (flows - n) * OFF - drain for n in range(flows + 1)])
    moves = np.zeros((flows + 1, flows + 1))
    for n in range(flows + 1):
        if n < flows:
            moves[n, n + 1] = (flows - n) * BEGIN
        if n > 0:
            moves[n, n - 1] = n * END
        moves[n, n] = -moves[n].sum()
    modes = np.linalg.eigvals(moves.T @ np.diag(1 / rates)).real
    return float(-1 / max(mode for mode in modes if mode < -1e-9))


LAWS = {"Brownian motion": brownian, "fluid": fluid}


def at(local: int, flows: int | None = None) -> dict[str, Any]:
    """The point with one threshold, and so many important flows of each kind."""
    where = {LOCAL: local, LOWER: local, "discipline": "CQ-AQM"}
    return where if flows is None else {**where, "traffic.tcp-p1.flows": flows}


def interval(
    sources: Sources, of: str, local: int, flows: int | None = None, scale: float = 1.0
) -> Interval:
    """A measure with one threshold: beside TCP alone, or in mixed traffic if `flows` is given."""
    study = TCP if flows is None else MIXED
    key = sources.expression(study, of, {})
    return sources.data.interval(study, key, at(local, flows), scale=scale)


def thresholds(sources: Sources, study: str) -> list[int]:
    """Every T_local that was run with one threshold."""
    runs = sources.data.runs(study, {"discipline": "CQ-AQM"})
    return sorted({int(each) for each in runs.filter(pl.col(LOCAL) == pl.col(LOWER))[LOCAL]})


def best(sources: Sources, keep: str, goal: str, flows: int | None = None) -> int:
    """Of the thresholds that surely hold the loss `keep`, the one with the largest goal.

    If none does, as with three important flows, it is the one with the most room.
    """
    known = thresholds(sources, TCP if flows is None else MIXED)
    ends = {local: interval(sources, keep, local, flows).high for local in known}
    held = [local for local, end in ends.items() if end is not None and end <= TARGET]
    return max(held or known[:1], key=lambda each: interval(sources, goal, each, flows).mean)


def spared(sources: Sources, flows: int) -> Interval:
    """The T_local that holds p = 1 with the least loss of p = 0 in mixed traffic."""
    return exactly(best(sources, "p1", "-@p0", flows))


def drain(sources: Sources, flows: int) -> float:
    """Packets/s that leave the low queue at T_local = 500."""
    low = (f'"classes.{kind}-p{p}.delivered"' for kind in ("tcp", "bursty") for p in (1, 0))
    return interval(sources, " + ".join(low), 500, flows).mean / SECONDS


def denied(sources: Sources, flows: int) -> float:
    """Share of the time in which the low queue denies p = 0 entry at T_local = 500."""
    found = interval(sources, "queues.line.variables.denials.mean", 500, flows)
    return min(found.mean, 1.0)


def by_law(sources: Sources, name: str, flows: int) -> Interval:
    """The T_local with which one in a thousand is lost, by a law."""
    scale = LAWS[name](flows, drain(sources, flows))
    return exactly(ROOM - scale * math.log(denied(sources, flows) / TARGET))


def tails(sources: Sources) -> list[Panel]:
    """The loss of bursty p = 1 over the room above T_local, and what the laws say."""
    panels = []
    for flows, name in NAMES.items():
        known = [local for local in thresholds(sources, MIXED) if local >= 300]
        room = [float(ROOM - local) for local in known]
        found = [interval(sources, "loss(bursty-p1)", local, flows).mean for local in known]
        y = [each if each > 1e-7 else None for each in found]
        series = [Series("simulated", room, y, style="points")]
        leaves, share = drain(sources, flows), denied(sources, flows)
        for label, law in LAWS.items():
            scale = law(flows, leaves)
            series.append(Series(label, room, [share * math.exp(-each / scale) for each in room]))
        series.append(Series("target", [0.0, 450.0], [TARGET, TARGET], style="steps"))
        panels.append(
            Panel(
                f"{name} of each kind",
                "room above T_local, packets",
                "share of bursty p = 1 lost",
                series,
                x_range=(0, 450),
                y_range=(1e-6, 1),
                y_log=True,
            )
        )
    return panels


def tuned_tcp(sources: Sources) -> Table:
    """The best thresholds for TCP alone, and the paper's."""
    p1, p0 = "classes.p1.loss", "classes.p0.loss"
    rows = [
        ("most efficient that holds p = 1", best(sources, p1, "efficiency")),
        ("least loss of p = 0 that holds p = 1", best(sources, p1, f'-"{p0}"')),
        ("the paper's", 35),
        ("the paper's", 40),
    ]
    merits = {"efficiency, section IV": ("efficiency", 1.0), "loss of p = 1, %": (p1, 100.0),
              "loss of p = 0, %": (p0, 100.0)}  # fmt: skip
    cells = [
        [name, local, *_merits(sources, merits, local)] for name, local in rows
    ]  # fmt: skip
    return Table(["setting", "T_local", *merits], cells, "TCP alone, 10 flows")


def tuned_mixed(sources: Sources) -> list[Table]:
    """The best thresholds in mixed traffic, the paper's, and those of the laws."""
    merits = {"efficiency, section IV": ("efficiency", 1.0), "loss of p = 1, %": ("p1", 100.0),
              "loss of p = 0, %": ("p0", 100.0)}  # fmt: skip
    known = thresholds(sources, MIXED)
    tables = []
    for flows, name in NAMES.items():
        found = {
            "least loss of p = 0 that holds p = 1": spared(sources, flows).mean,
            "the paper's": 500.0,
            **{law: by_law(sources, law, flows).mean for law in LAWS},
        }
        cells = []
        for setting, value in found.items():
            near = min(known, key=lambda local: abs(local - value))
            cells.append([setting, round(value), near, *_merits(sources, merits, near, flows)])
        head = ["setting", "T_local", "simulated at", *merits]
        tables.append(Table(head, cells, f"Mixed traffic, 88 %, {name} of each kind"))
    return tables


def _merits(
    sources: Sources,
    merits: Mapping[str, tuple[str, float]],
    local: int,
    flows: int | None = None,
) -> list[Interval]:
    return [interval(sources, of, local, flows, scale) for of, scale in merits.values()]
