"""Cases, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from forebay.suite.behaviour.rig import Rig
from forebay.suite.behaviour.trace import Trace


@dataclass(frozen=True)
class Check:
    """A number beside its threshold."""

    what: str
    number: str
    threshold: str
    holds: bool
    derived: bool = False
    """Whether the threshold is ours, since the source gives none."""


@dataclass(frozen=True)
class Course:
    """A run over time, for a figure: data in flight and the bandwidth estimate."""

    title: str
    time: list[float]
    inflight: list[float]
    """Bandwidth-delay products."""
    bandwidth: list[float]
    """BBR.max_bw over the bottleneck's bandwidth."""
    state: list[float]


@dataclass
class Outcome:
    """What a case came to on one path."""

    path: str
    checks: list[Check] = field(default_factory=list)
    course: Course | None = None

    def check(
        self, what: str, holds: bool, number: str, threshold: str, derived: bool = False
    ) -> None:
        """Adds a check."""
        self.checks.append(Check(what, number, threshold, bool(holds), derived))

    def draw(self, rig: Rig, trace: Trace, begin: float, end: float, title: str) -> None:
        """Keeps a part of a run for the figure, at most 400 points."""
        rows = [at for at, time in enumerate(trace.time) if begin <= time <= end]
        rows = rows[:: max(1, len(rows) // 400)]
        self.course = Course(
            title,
            [_short(trace.time[at]) for at in rows],
            [_short(trace["inflight"][at] / rig.bdp) for at in rows],
            [_short(trace["max_bw"][at] / rig.bandwidth) for at in rows],
            [float(trace["state"][at]) for at in rows],
        )

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Case:
    """A case of the source."""

    number: int
    title: str
    asks: str
    """What the source asks for, in our words."""
    run: Callable[[Rig], Outcome]
    rigs: Sequence[tuple[float, float, float]]
    """Paths: Mbit/s, ms, and room of the queue in bandwidth-delay products."""
    note: str = ""
    """What is done otherwise than the source says, or why the case does not hold."""


def _short(value: float) -> float:
    return float(f"{value:.5g}")
