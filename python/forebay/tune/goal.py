"""What is wanted: a measure to make large or small, and bounds on others."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from forebay import stats
from forebay._engine import ScenarioError
from forebay._judge import Bounds, Judgement, Standing, worst
from forebay.stats import Interval


@dataclass(frozen=True, slots=True)
class Bound:
    """A measure that must stay on one side of a value."""

    key: str
    at_most: bool
    """Whether it must not exceed the value, or not be below it."""
    value: float
    """In the key's unit."""

    def excess(self, found: float) -> float:
        """How far a value is beyond the bound, in the bound's size; negative within."""
        beyond = found - self.value if self.at_most else self.value - found
        return beyond / (abs(self.value) or 1.0)

    def worst(self, found: Interval) -> float:
        """The end of an interval that is nearer to breaking the bound; the mean without one."""
        end = found.high if self.at_most else found.low
        return found.mean if end is None else end

    def standing(self, found: Interval) -> Standing:
        """Where an interval lies."""
        bounds = Bounds(high=self.value) if self.at_most else Bounds(low=self.value)
        return Judgement(found, bounds).standing

    def __str__(self) -> str:
        """As it is written on the command line."""
        return f"{self.key} {'<=' if self.at_most else '>='} {self.value:g}"


@dataclass(frozen=True, slots=True)
class Goal:
    """A measure to make as large or as small as bounds allow."""

    key: str
    maximize: bool
    bounds: tuple[Bound, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Every measure that it asks for."""
        return tuple(dict.fromkeys((self.key, *(bound.key for bound in self.bounds))))

    def better(self, first: float, second: float) -> bool:
        """Whether a value of the measure is better than another."""
        return first > second if self.maximize else first < second

    def check(self, measured: Collection[str]) -> None:
        """Check that a run measures all that it asks for."""
        for key in self.keys:
            if key not in measured:
                near = difflib.get_close_matches(key, measured, n=3, cutoff=0.4)
                hint = f"; the nearest are {', '.join(near)}" if near else ""
                raise ScenarioError(f'no run measures "{key}"{hint}')

    def __str__(self) -> str:
        """In words."""
        verb = "maximize" if self.maximize else "minimize"
        rest = " subject to " + ", ".join(map(str, self.bounds)) if self.bounds else ""
        return f"{verb} {self.key}{rest}"


_BOUND = re.compile(r"\s*(?P<key>.+?)\s*(?P<side><=|>=)\s*(?P<value>[^\s<>=]+)\s*")


def read_bound(text: str) -> Bound:
    """A bound from `KEY <= VALUE` or `KEY >= VALUE`; a value may be in percent."""
    match = _BOUND.fullmatch(text)
    if match is not None:
        value = match["value"]
        try:
            number = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
        except ValueError:
            number = float("nan")
        if number == number:
            return Bound(match["key"], match["side"] == "<=", number)
    raise ScenarioError(
        f'--subject-to "{text}": expected KEY <= VALUE or KEY >= VALUE, '
        'such as "classes.voice.loss <= 0.001"'
    )


def read_goal(maximize: str | None, minimize: str | None, bounds: Sequence[str]) -> Goal:
    """A goal from what the command line or the scenario says."""
    if (maximize is None) == (minimize is None):
        raise ScenarioError(
            "give one of --maximize KEY and --minimize KEY, such as --maximize "
            "classes.downloads.goodput_bps; forebay run SCENARIO --json shows the keys, joined by "
            "dots"
        )
    key = maximize if maximize is not None else minimize
    assert key is not None
    return Goal(key, maximize is not None, tuple(map(read_bound, bounds)))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What some replications of a point say about the goal."""

    samples: Mapping[str, Sequence[float | None]]
    """Values of each measure, one a replication, in the order of their seeds."""

    def interval(self, key: str) -> Interval | None:
        """Mean of a measure and its interval; none if no run measured it."""
        return stats.interval(self.samples[key])

    def runs(self, key: str) -> set[int]:
        """Which of the replications have a value of a measure."""
        return {at for at, value in enumerate(self.samples[key]) if value is not None}

    def missing(self, key: str) -> int:
        """How many replications have no value of a measure."""
        return len(self.samples[key]) - len(self.runs(key))

    def excess(self, goal: Goal, *, cautious: bool) -> tuple[float, ...]:
        """How far each bound is broken, by the worse end of its interval or by its mean.

        An unmeasured one counts as far beyond, with caution each run without a value.
        """

        def of(bound: Bound) -> float:
            found = self.interval(bound.key)
            if found is None:
                return UNMEASURED
            if not cautious:
                return bound.excess(found.mean)
            missing = self.missing(bound.key) / len(self.samples[bound.key])
            return UNMEASURED * missing + bound.excess(bound.worst(found))

        return tuple(map(of, goal.bounds))

    def standing(self, goal: Goal) -> Standing:
        """Whether all bounds hold: the worst of their standings.

        An unmeasured one does not. With a value in some runs only it is not known: what kept the
        others from having one may break the bound.
        """

        def of(bound: Bound) -> Standing:
            found = self.interval(bound.key)
            if found is None:
                return Standing.OUTSIDE
            standing = bound.standing(found)
            return worst([standing, Standing.OPEN]) if self.missing(bound.key) else standing

        return worst([of(bound) for bound in goal.bounds] or [Standing.INSIDE])


UNMEASURED = 1e9
"""Excess of what could not run or was not measured: beyond any that is."""
