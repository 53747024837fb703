"""Points of the studies, and the measures that figures and sections share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from forebay import stats
from forebay.papers import Data
from forebay.papers.data import Where
from forebay.papers.points import loss_of, mean_over, texts

from .laws import brownian, fluid, reserve

TEXT = texts(Path(__file__).parent)
K = (5, 6, 7, 8, 9, 10)
LOADS = [100 * k * (680 / 0.333 + 18_618) / 187_500 for k in K]
"""Background of k pairs of voice and bursty data, % of the line: 55, 66, 77, 88, 99, 110."""
KINDS = ("tcp", "bursty", "voice")
LEVELS = ("routine", "priority", "immediate", "flash", "flash-override")
CLASSES = ("data", "streaming", "video", "voice")
RATES = {
    "30Mbit": 50.0,
    "20Mbit": 75.0,
    "16.67Mbit": 90.0,
    "15Mbit": 100.0,
    "13.64Mbit": 110.0,
    "12Mbit": 125.0,
    "10Mbit": 150.0,
    "8.57Mbit": 175.0,
    "7.5Mbit": 200.0,
}
"""Rates of the line and the load that 15 Mb/s are of them, %."""
SCHEDULERS = ("strict priority", "WRR", "DRR", "WFQ")
FIXED = ("300", "500", "700")
P1 = loss_of([f"{kind}-p1" for kind in KINDS])
P0 = loss_of([f"{kind}-p0" for kind in KINDS])
TARGET = 1e-3
ROOM = 750
CQ = "CQ-AQM"
LOCAL, LOWER = (f"link.line.queue.queues[0].{name}" for name in ("local", "local_lower"))
IMPORTANT = "traffic.tcp-p1.flows"
SECONDS = 300.0
"""Of a run that are measured."""


def of_level(level: str) -> list[str]:
    return [f"{name}-{level}" for name in CLASSES]


def flows(m: int) -> str:
    return "1 important flow" if m == 1 else f"{m} important flows"


def mix(m: int, k: int, label: str) -> Where:
    return {IMPORTANT: m, "traffic.voice-p0.flows": k - m, "discipline": label}


def settings(data: Data, study: str, hysteresis: bool = False) -> list[tuple[int, int]]:
    """T_local and its lower threshold: those that differ, or those that do not."""
    runs = data.study(study).runs.filter(discipline=CQ).select(LOCAL, LOWER).unique().sort(LOCAL)
    rows = [(int(a), int(b)) for a, b in runs.iter_rows()]
    if not hysteresis:
        return [row for row in rows if row[0] == row[1]]
    upper = next(a for a, b in rows if a != b)
    return sorted((row for row in rows if row[0] == upper), reverse=True)


def at(setting: tuple[int, int], m: int | None = None) -> Where:
    where: Where = {LOCAL: setting[0], LOWER: setting[1], "discipline": CQ}
    return where if m is None else {**where, IMPORTANT: m}


def best(data: Data, study: str, keep: pl.Expr, goal: pl.Expr, m: int | None = None) -> int:
    """Of the settings that surely hold the loss of p = 1, the one with the largest goal."""
    ends = {
        setting: data.interval(study, keep, at(setting, m)).high
        for setting in settings(data, study)
    }
    held = [setting for setting, end in ends.items() if end is not None and end <= TARGET]
    # With three important flows none may: then the one with the most room is shown.
    held = held or [min(ends)]
    return max(held, key=lambda setting: data.interval(study, goal, at(setting, m)).mean)[0]


def drain(data: Data, m: int) -> float:
    """Packets/s that leave the low queue at T_local = 500."""
    low = [f"classes.{kind}-p{p}.delivered" for kind in ("tcp", "bursty") for p in (1, 0)]
    count = pl.sum_horizontal(low)
    return data.interval("mixed-thresholds", count, at((500, 500), m)).mean / SECONDS


def denied(data: Data, m: int) -> float:
    """Share of the time in which the low queue denies p = 0 entry at T_local = 500."""
    key = "queues.line.variables.denials.mean"
    return min(data.interval("mixed-thresholds", key, at((500, 500), m)).mean, 1.0)


def by_law(data: Data, m: int) -> dict[str, float]:
    """T_local for a loss of one in a thousand, by Brownian motion and by fluid."""
    c = drain(data, m)
    return {
        name: ROOM - reserve(law(m, c), denied(data, m), TARGET)
        for name, law in (("Brownian motion", brownian), ("fluid", fluid))
    }


def beside_fixed(data: Data, key: pl.Expr, label: str, m: int) -> stats.Interval | None:
    """Adaptive less fixed, mean over the loads."""
    sign = pl.when(pl.col("discipline") == "adaptive").then(2.0).otherwise(-2.0)
    keep = pl.col("discipline").is_in(["adaptive", label]) & (pl.col(IMPORTANT) == m)
    return mean_over(data, "adaptive", sign * key, keep)


def extremes(data: Data, key: pl.Expr, label: str, m: int, scale: float) -> Sequence[float]:
    """Least and largest mean over the loads."""
    found = [data.interval("adaptive", key, mix(m, k, label), scale=scale).mean for k in K]
    return min(found), max(found)
