"""What a claim of a paper comes to: numbers, each judged by itself (`forebay.judge`).

A claim differs if any of them does, and is reproduced if every one is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from forebay.judge import PAPER, Bounds, Judgement, Standing, exactly, worst
from forebay.stats import Interval

__all__ = ["NotTestable", "Part", "exactly", "verdict_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """One number of a claim."""

    what: str
    """What was measured."""
    paper: str
    """What the paper says of it."""
    found: Interval | None
    """Mean and 95 % interval, in `unit`; none if it could not be measured."""
    low: float = -math.inf
    """Least value that the paper's words allow."""
    high: float = math.inf
    """Greatest value that they allow."""
    unit: str = ""
    """Unit of the numbers, for the page."""
    stated: float | None = None
    """The number that the paper states, if it states one, in `unit`."""
    referee: float | None = None
    """What the authors' own program or another that was matched to it gives, in `unit`."""

    @property
    def standing(self) -> Standing:
        """Where the interval lies."""
        return Judgement(self.found, Bounds(self.low, self.high)).standing

    @property
    def verdict(self) -> str:
        """The same in the words for papers."""
        return PAPER[self.standing]


@dataclass(frozen=True, slots=True)
class NotTestable:
    """A claim that no run can decide, and why."""

    why: str


def verdict_of(parts: Sequence[Part]) -> str:
    """The verdict of a claim from those of its parts.

    Raises:
        ValueError: there are no parts.
    """
    return PAPER[worst(part.standing for part in parts)]
