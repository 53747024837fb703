"""Points of the studies: what figures, claims and sections ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from forebay.papers import Data
from forebay.stats import Interval

HERE = Path(__file__).parent
TCP, TAIL, CHOICES, BUCKETS = "tcp", "tail-drop", "choices", "buckets"
UDP, RATES = "udp", "udp-rates"
QUEUE = "queues.bottleneck.mean_packets"
USED = "links.bottleneck.utilization"
LOSS = "queues.bottleneck.loss"
POLICED = "queues.bottleneck.drops.policed"
SCALES = {USED: 100.0, LOSS: 100.0}
"""Shares are told in percent."""

RENO, CUBIC = "new-reno", "cubic"
NAMES = {RENO: "New Reno", CUBIC: "Cubic"}
Combination = tuple[int, str, str]
"""Flows, congestion control, one-way delay."""
COMBINATIONS: list[Combination] = [
    (flows, congestion, delay)
    for congestion in NAMES
    for flows in (1, 16)
    for delay in ("5ms", "50ms")
]
T_C = tuple(f"{packets}p" for packets in (0, 1, 2, 3, 5, 7, 10, 15, 20, 25, 30))
C_MAX = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0)
DELAYS = tuple(f"{delay}ms" for delay in (5, 10, 15, 20, 25, 30, 40, 50))
THRESHOLD, MOST = "dumbbell.queue.threshold", "dumbbell.queue.max_congestion"

AS_JUDGED = "as judged"
RULE = "B_CA = Q_max (1 + c_max) / 2"
BURST_RULE = "B_CA = (Q_max - T_c) (1 + c_max) / 2"
LARGER = ("B_CA of 136 KB", "B_CA of 271 KB")
NO_LIMIT = "socket buffer of 1 MB"
LINUX_26 = "Linux 2.6.26"
SMALL = "beside 20 kb/s of small packets"


def text(name: str) -> str:
    """Words of the page."""
    return (HERE / f"{name}.md").read_text("utf-8").strip()


def words(combination: Combination) -> str:
    """A combination as the paper writes it."""
    flows, congestion, delay = combination
    return f"{flows} {NAMES[congestion]}, {delay[:-2]} ms"


def packets(threshold: str) -> int:
    """T_c, as the axes write it, in packets."""
    return int(threshold[:-1])


def order(point: tuple[str, float]) -> tuple[int, float]:
    """T_c and c_max, as numbers."""
    return packets(point[0]), point[1]


def udp(
    threshold: str, c_max: float, intervals: str = "poisson", rate: str | None = None
) -> dict[str, Any]:
    """A point of the studies with UDP."""
    found = {"intervals": intervals, THRESHOLD: threshold, MOST: c_max}
    return found if rate is None else {**found, "rate": rate}


@dataclass(frozen=True)
class View:
    """The runs that the claims are judged by, or those of another choice."""

    data: Data
    study: str = TCP
    choice: str = AS_JUDGED

    def at(self, combination: Combination, threshold: str = "5p", c_max: float = 1.2) -> Any:
        """A point under CP-AQM; by default its recommended parameters."""
        flows, congestion, delay = combination
        found = {"flows": flows, "congestion": congestion, "delay": delay}
        found |= {THRESHOLD: threshold, MOST: c_max}
        return found if self.study == TCP else {"title": self.choice, **found}

    def policed(
        self, key: str, combination: Combination, threshold: str = "5p", c_max: float = 1.2
    ) -> Interval:
        """A measure under CP-AQM, shares in percent."""
        where = self.at(combination, threshold, c_max)
        return self.data.interval(self.study, key, where, scale=SCALES.get(key, 1.0))

    def tail_at(self, flows: int, congestion: str, delay: str) -> dict[str, Any]:
        """A point under tail drop, which knows no bucket."""
        choice = AS_JUDGED if self.study == BUCKETS else self.choice
        return {"title": choice, "flows": flows, "congestion": congestion, "delay": delay}

    def tail(self, key: str, combination: Combination) -> Interval:
        """A measure under tail drop, shares in percent."""
        where = self.tail_at(*combination)
        return self.data.interval(TAIL, key, where, scale=SCALES.get(key, 1.0))

    def grid(
        self,
        thresholds: Callable[[int], bool] = lambda _: True,
        c_max: Callable[[float], bool] = lambda c: c > 1,
    ) -> list[tuple[str, float]]:
        """T_c and c_max of the points that were run."""
        runs = self.data.study(self.study).runs
        if self.study != TCP:
            runs = runs.filter(title=self.choice)
        found = sorted(set(runs.select(THRESHOLD, MOST).iter_rows()), key=order)
        return [(t, c) for t, c in found if thresholds(packets(t)) and c_max(c)]

    def extreme(
        self,
        key: str,
        combination: Combination,
        grid: Iterable[tuple[str, float]],
        pick: Callable[..., Interval],
    ) -> Interval:
        """The least or the greatest over parameters of CP-AQM."""
        return extreme((self.policed(key, combination, *each) for each in grid), pick)

    def longest(self, c_max: float) -> Interval:
        """The longest queue of the eight combinations at T_c = 5."""
        return extreme((self.policed(QUEUE, each, "5p", c_max) for each in COMBINATIONS), max)


def extreme(found: Iterable[Interval], pick: Callable[..., Interval]) -> Interval:
    """The interval whose mean is the least or the greatest."""
    return pick(found, key=lambda each: each.mean)


@cache
def kernel() -> Sequence[Mapping[str, Any]]:
    """What the authors' own TCP gives (benches/peers/nsc/cp_aqm.py)."""
    found: Sequence[Mapping[str, Any]] = json.loads((HERE / "nsc.json").read_text("utf-8"))
    return found


def nsc(
    key: str,
    combination: Combination,
    c_max: float | None = None,
    choice: str = AS_JUDGED,
    threshold: int = 5,
) -> float:
    """A measure in the kernel, without c_max under tail drop; shares in percent."""
    name = {QUEUE: "queue", USED: "utilization", LOSS: "loss"}[key]
    same: dict[str, Any] = {"choice": choice, "c_max": c_max}
    same["T_c"] = None if c_max is None else threshold
    same |= dict(zip(("flows", "congestion", "delay"), combination, strict=True))
    [row] = [row for row in kernel() if all(row[column] == same[column] for column in same)]
    return float(row[name]) * SCALES.get(key, 1.0)


def nsc_longest(c_max: float, choice: str = AS_JUDGED) -> float:
    """The longest queue of the eight combinations in the kernel at T_c = 5."""
    return max(nsc(QUEUE, each, c_max, choice) for each in COMBINATIONS)


def nsc_least(combination: Combination, points: Iterable[tuple[int, float]]) -> float:
    """The least utilization in the kernel over T_c and c_max, in percent."""
    return min(nsc(USED, combination, c, AS_JUDGED, t) for t, c in points)
