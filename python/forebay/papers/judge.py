"""Verdicts on a claim: its numbers, each beside the range that the paper's words allow.

A claim differs if any of its numbers does, and is reproduced if every one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay.judge import PAPER, Bounds, Judgement, worst
from forebay.stats import Interval


@dataclass(frozen=True, slots=True)
class Part:
    """One number of a claim."""

    what: str
    """What was measured."""
    paper: str
    """What the paper says of it."""
    found: Interval | None
    """Mean and 95 % interval, in `unit`; none if it could not be measured."""
    bounds: Bounds
    """The values that the paper's words allow."""
    unit: str = ""
    """Unit of the numbers, for the page."""
    stated: float | None = None
    """The number that the paper states, if it states one, in `unit`."""
    referee: float | None = None
    """What the authors' own program or another that was matched to it gives, in `unit`."""

    @property
    def verdict(self) -> str:
        """Where the interval lies."""
        return PAPER[Judgement(self.found, self.bounds).standing]


def verdict_of(parts: Sequence[Part]) -> str:
    """The verdict of a claim from those of its parts.

    Raises:
        ValueError: there are no parts.
    """
    return PAPER[worst(Judgement(part.found, part.bounds).standing for part in parts)]


def in_range(parts: Sequence[Part]) -> int:
    """How many numbers surely lie in range."""
    return sum(part.verdict == "reproduced" for part in parts)
