"""Verdicts: where a measured interval lies, beside what a claim allows.

A claim comes to a list of parts: a number with its 95 % interval, and the range that the paper's
words allow. A part is

- `reproduced` if the whole interval lies in the range,
- `differs` if the whole interval lies outside,
- `not testable` if the interval has an end on either side, or is not known: more runs are needed.

A claim differs if any part does, and is reproduced if every part is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from forebay.stats import Interval, inside

Verdict = Literal["reproduced", "differs", "not testable"]


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
    def verdict(self) -> Verdict:
        """Where the interval lies."""
        lies = inside(self.found, self.low, self.high)
        if lies is None:
            return "not testable"
        return "reproduced" if lies else "differs"


@dataclass(frozen=True, slots=True)
class NotTestable:
    """A claim that no run can decide, and why."""

    why: str


def exactly(value: float) -> Interval:
    """A number without chance: a count over all runs, or a calculation."""
    return Interval(float(value), 0.0, 0)


def verdict_of(parts: Sequence[Part]) -> Verdict:
    """The verdict of a claim from those of its parts.

    Raises:
        ValueError: there are no parts.
    """
    if not parts:
        raise ValueError("a claim without parts has no verdict")
    verdicts = {part.verdict for part in parts}
    if "differs" in verdicts:
        return "differs"
    return "not testable" if "not testable" in verdicts else "reproduced"
