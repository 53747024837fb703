"""Verdicts on a claim: its numbers, each beside the range that the paper's words allow.

A claim differs if any of its numbers does, and is reproduced if every one is. If the words can be
read in several ways, it has the verdict of the reading that fits best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay._judge import PAPER, Bounds, Judgement, Standing, worst
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
    reading: str = ""
    """The reading of the paper's words that asks for it; every one if empty."""
    no_effect: float | None = None
    """The value of a comparison without any difference, in `unit`; none for other numbers."""
    fitted: bool = False
    """Whether our set-up was chosen by it: it is no evidence, and not judged."""

    @property
    def verdict(self) -> str:
        """Where the interval lies."""
        return PAPER[Judgement(self.found, self.bounds).standing]


def verdict_of(parts: Sequence[Part]) -> str:
    """The verdict of a claim from those of its parts, under the reading that fits best.

    Raises:
        ValueError: there are no parts, or our set-up was chosen by all of them.
    """
    return _verdict(best(parts))


def best(parts: Sequence[Part]) -> list[Part]:
    """The numbers of the reading that fits best, with those that belong to every reading."""
    return next(iter(readings(parts).values()))


def readings(parts: Sequence[Part]) -> dict[str, list[Part]]:
    """The numbers that each reading of a claim's words asks for; those that fit best come first.

    Numbers by which our set-up was chosen are left out.

    A claim whose words have one reading only has one without a name.
    """
    names = dict.fromkeys(part.reading for part in parts if part.reading) or {"": None}
    judged = [part for part in parts if not part.fitted]
    asked = {name: [part for part in judged if part.reading in ("", name)] for name in names}

    def fit(name: str) -> tuple[int, float]:
        return _ORDER.index(_verdict(asked[name])), -_good(asked[name]) / len(asked[name])

    return {name: asked[name] for name in sorted(asked, key=fit)}


def deciding(parts: Sequence[Part]) -> str:
    """The reading that fits best, if a claim does not have the same verdict under every one."""
    asked = readings(parts)
    return next(iter(asked)) if len({_verdict(each) for each in asked.values()}) > 1 else ""


def in_range(parts: Sequence[Part]) -> int:
    """How many numbers surely lie in range, under the reading that fits best."""
    return _good(best(parts))


def judged(parts: Sequence[Part]) -> int:
    """How many numbers the reading that fits best has."""
    return len(best(parts))


_ORDER = [PAPER[each] for each in (Standing.INSIDE, Standing.OPEN, Standing.OUTSIDE)]


def _verdict(parts: Sequence[Part]) -> str:
    return PAPER[worst(Judgement(part.found, part.bounds).standing for part in parts)]


def _good(parts: Sequence[Part]) -> int:
    return sum(part.verdict == "reproduced" for part in parts)
