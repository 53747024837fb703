"""Judgement: where a measured interval lies beside the bounds that somebody's words allow.

A claim of a paper, a requirement of a standard and a value of theory are judged alike. The whole
95 % interval lies inside the bounds, or outside, or it contains one of them; then more runs are
needed. Only the words for these outcomes differ: `PAPER`, `STANDARD` and `THEORY`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from forebay.stats import Interval, inside


class Standing(Enum):
    """Where an interval lies beside its bounds."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    OPEN = "open"
    """It contains a bound, or it is not known."""


PAPER: Mapping[Standing, str] = {
    Standing.INSIDE: "reproduced",
    Standing.OUTSIDE: "differs",
    Standing.OPEN: "not testable",
}
"""A claim of a paper."""
STANDARD: Mapping[Standing, str] = {
    Standing.INSIDE: "holds",
    Standing.OUTSIDE: "does not hold",
    Standing.OPEN: "open",
}
"""A requirement of a standard, or a conclusion."""
THEORY: Mapping[Standing, str] = {
    Standing.INSIDE: "agrees",
    Standing.OUTSIDE: "differs",
    Standing.OPEN: "imprecise",
}
"""A reference value."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values that are allowed, ends included, in the unit of what is measured."""

    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def printed(cls, number: str) -> Bounds:
        """The values that round to a printed number: half a unit of its last digit either way.

        Raises:
            ValueError: `number` is not a decimal number.

        Example:
            >>> judge.Bounds.printed("14.7")
            Bounds(low=14.65, high=14.75)
        """
        try:
            value = Decimal(number)
        except ArithmeticError:
            raise ValueError(f'"{number}" is not a decimal number') from None
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int):
            raise ValueError(f'"{number}" is not a finite number')
        half = Decimal((0, (5,), exponent - 1))
        return cls(float(value - half), float(value + half))

    @classmethod
    def within(cls, value: float, slack: float) -> Bounds:
        """A number that was read off a figure, or stated roughly, and its error either way."""
        return cls(value - slack, value + slack)


@dataclass(frozen=True, slots=True)
class Judgement:
    """An interval beside its bounds."""

    interval: Interval | None
    """Mean and 95 % interval; none if nothing was measured."""
    bounds: Bounds = Bounds()
    """In the unit of the interval."""

    @property
    def standing(self) -> Standing:
        """Where the interval lies.

        Example:
            >>> judge.Judgement(forebay.Interval(5.0, 1.0, 10), judge.Bounds(3.0, 7.0)).standing
            <Standing.INSIDE: 'inside'>
        """
        lies = inside(self.interval, self.bounds.low, self.bounds.high)
        if lies is None:
            return Standing.OPEN
        return Standing.INSIDE if lies else Standing.OUTSIDE

    @property
    def margin(self) -> float:
        """Distance from the mean to the nearer bound; infinite if there is none."""
        if self.interval is None:
            return math.nan
        mean = self.interval.mean
        return min(abs(mean - self.bounds.low), abs(mean - self.bounds.high))

    def samples_needed(self) -> int | None:
        """Runs with which the interval would lie on one side of the nearer bound.

        The half-width of an interval falls with the square root of the number of runs. Student's
        quantile, which falls as well, is left out, so this is rather too many than too few.

        Returns:
            None if no number of runs decides: the mean is on the bound, or there is one run.

        Example:
            >>> open_ = judge.Judgement(forebay.Interval(5.0, 2.0, 10), judge.Bounds(low=4.0))
            >>> open_.samples_needed()
            41
        """
        found = self.interval
        if found is None or not found.half_width or not self.margin > 0:
            return None if found is None or self.standing is Standing.OPEN else found.samples
        if math.isinf(self.margin):
            return found.samples
        share = (found.half_width / self.margin) ** 2
        return max(2, math.floor(found.samples * share) + 1)


def exactly(value: float) -> Interval:
    """A number without chance: a count over all runs, or a calculation.

    Example:
        >>> judge.Judgement(judge.exactly(3), judge.Bounds(high=4)).standing
        <Standing.INSIDE: 'inside'>
    """
    return Interval(float(value), 0.0, 0)


def worst(standings: Iterable[Standing]) -> Standing:
    """The standing of what rests on several numbers: outside if any is, inside if all are.

    Raises:
        ValueError: there are none.
    """
    found = set(standings)
    if not found:
        raise ValueError("nothing was judged")
    order = (Standing.OUTSIDE, Standing.OPEN, Standing.INSIDE)
    return next(each for each in order if each in found)
