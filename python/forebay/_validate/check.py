"""What a check is, and how its verdict comes about."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from forebay import stats
from forebay._judge import THEORY, Bounds, Judgement, Standing, exactly, worst

Summary = Mapping[str, Any]
"""Summary of one run; its keys stand in `docs/summary.md`."""

STRICT_LEVEL = 0.999
"""Confidence level that decides about exact references."""
PRECISION = 0.01
"""Largest relative error of an exact reference, and half width of a 95 % interval."""


class Criterion(Protocol):
    """Decides whether samples agree with a reference."""

    @property
    def rule(self) -> str:
        """The rule in words."""

    def standing(self, samples: Sequence[float], reference: float) -> Standing:
        """Where one sample a replication lies; one that is `OPEN` is a failure, too."""


@dataclass(frozen=True, slots=True)
class Statistical:
    """For a reference that is exact in expectation.

    It agrees if it lies in the 99.9 % interval and differs from the mean by at most 1 %, and the
    95 % interval is within 1 % of the mean to either side. The wider interval decides because of a
    hundred right values about five lie outside their 95 % intervals.
    """

    rule: str = "99.9 % interval, 1 %"

    def standing(self, samples: Sequence[float], reference: float) -> Standing:
        """Outside the strict interval or too far off, too wide to tell, or neither."""
        usual, strict = stats.interval(samples), stats.interval(samples, STRICT_LEVEL)
        if usual is None or strict is None or strict.low is None or strict.high is None:
            return Standing.OPEN
        chance = Judgement(exactly(reference), Bounds(strict.low, strict.high)).standing
        slack = PRECISION * abs(reference)
        if chance is Standing.INSIDE and (usual.half_width or 0.0) > slack:
            return Standing.OPEN
        near = Judgement(exactly(usual.mean), Bounds.within(reference, slack)).standing
        return worst([chance, near])


@dataclass(frozen=True, slots=True)
class Within:
    """For a reference that is itself an approximation, or bounded but not random.

    It agrees if the whole 95 % interval lies within `relative` of it.
    """

    relative: float
    """Largest relative difference."""
    why: str
    """Why this much."""

    @property
    def rule(self) -> str:
        """The rule in words."""
        return f"within {self.relative * 100:g} %"

    def standing(self, samples: Sequence[float], reference: float) -> Standing:
        """Where the interval lies."""
        allowed = Bounds.within(reference, self.relative * abs(reference))
        return Judgement(stats.interval(samples), allowed).standing


@dataclass(frozen=True, slots=True)
class Exact:
    """For a number that must be right to the last digit in every run."""

    rule: str = "equal"

    def standing(self, samples: Sequence[float], reference: float) -> Standing:
        """Where every single sample lies."""
        allowed = Bounds(reference, reference)
        return worst(Judgement(exactly(sample), allowed).standing for sample in samples)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number that theory and simulator both give."""

    name: str
    """What it is."""
    unit: str
    """Its unit; empty for a share or ratio."""
    reference: float
    """What theory says."""
    measure: Callable[[Summary], float]
    """Reads it from a run's summary."""
    test: Criterion = Statistical()


@dataclass(frozen=True, slots=True)
class Check:
    """A scenario that is run several times, and what theory says about it."""

    name: str
    """Its name on the command line."""
    family: str
    """Name of the group that it belongs to."""
    title: str
    """Its heading."""
    source: str
    """Where the reference stands."""
    scenario: Mapping[str, Any]
    """The scenario as a document, without a seed."""
    quantities: tuple[Quantity, ...]
    """What is compared."""
    replications: int = 10
    """Number of runs."""
    quick: bool = True
    """Whether it is one of the fast ones."""

    @property
    def seeds(self) -> range:
        """Seeds of its runs; they follow from the name, so that no two checks share them."""
        first = zlib.crc32(self.name.encode()) & 0x7FFF_FFFF
        return range(first, first + self.replications)


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one quantity."""

    check: Check
    quantity: Quantity
    samples: tuple[float, ...]
    """One value a replication."""

    @property
    def interval(self) -> stats.Interval:
        """Mean and 95 % interval of the samples."""
        found = stats.interval(self.samples)
        assert found is not None, "a check has at least one run"
        return found

    @property
    def verdict(self) -> str:
        """Whether the simulator agrees with the reference, in the words for theory."""
        return THEORY[self.quantity.test.standing(self.samples, self.quantity.reference)]

    @property
    def covered(self) -> bool:
        """Whether the 95 % interval contains the reference."""
        low, high = self.interval.low, self.interval.high
        return low is not None and high is not None and low <= self.quantity.reference <= high

    @property
    def error(self) -> float:
        """Relative difference of the mean from the reference; not a number if that is 0."""
        reference = self.quantity.reference
        return self.interval.mean / reference - 1 if reference else math.nan


def judge(check: Check, summaries: Sequence[Summary]) -> list[Finding]:
    """Findings of a check from the summaries of its runs."""
    return [
        Finding(check, quantity, tuple(float(quantity.measure(each)) for each in summaries))
        for quantity in check.quantities
    ]


def queue(key: str, link: str = "link") -> Callable[[Summary], float]:
    """A measure of a link's queue, such as `mean_packets`."""
    return lambda summary: float(summary["queues"][link][key])


def link(key: str, link: str = "link") -> Callable[[Summary], float]:
    """A measure of a link, such as `utilization`."""
    return lambda summary: float(summary["links"][link][key])


def traffic(key: str, name: str) -> Callable[[Summary], float]:
    """A measure of a class of traffic, such as `goodput_bps`."""
    return lambda summary: float(summary["classes"][name][key])
