"""Which discipline to start with: the rule, on samples alone.

A discipline's *score* is the weighted mean, over the criteria, of the logarithm of its mean value:
the average is a geometric mean of ratios. Only means enter, so a wide interval neither helps nor
harms; and as the score grows with every one of them, a discipline that is worse than another on
every criterion never comes first. Where one lacks a value that another has, `counted` says what
counts. How sure the order is comes from the jackknife over replications (Efron and Tibshirani 1993,
chapter 11): the score is a smooth function of means of paired samples.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from forebay import stats
from forebay._advice.criteria import Criterion
from forebay._engine import student
from forebay._measures import Beside

MATTERS = math.log(1.05)
"""Difference of scores below which two disciplines are as good as equal: 5 % on average."""
_SMALLEST = 1e-3
"""Of the largest mean: smaller values count nearly alike, so that a starved class does not decide
alone."""
FEWEST = 5
"""Fewest replications that are proposed: from fewer, variances are hardly known."""
MOST = 1000
"""Most replications that are proposed."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of the disciplines, and how sure it is."""

    order: tuple[str, ...]
    """Best score first."""
    equal: tuple[str, ...]
    """Those that differ from the first by too little to matter overall, for sure."""
    alike: tuple[str, ...]
    """Those that differ from the first too little to notice, in every measure."""
    open: tuple[str, ...]
    """Those that may be as good as the first or worse: the replications are too few to say."""
    needed: int | None
    """Replications after which the open ones would be decided; more than `MOST` are not counted."""


def rank(criteria: Sequence[Criterion], labels: Sequence[str], level: float) -> Ranking:
    """Order disciplines by their score.

    Args:
        criteria: what decides; at least one.
        labels: the disciplines; among equal scores the first listed comes first.
        level: confidence level; shared out among the disciplines behind the first (Bonferroni).
    """
    weight = math.fsum(each.weight for each in criteria)
    tables = [_Table(each, labels, each.weight / weight) for each in criteria]
    replications = max(len(values) for each in criteria for values in each.samples.values())

    def score(label: str, over: Sequence[_Table], without: int | None = None) -> float:
        return math.fsum(table.part(label, without) for table in over)

    order = tuple(sorted(labels, key=lambda label: -score(label, tables)))
    first, behind = order[0], order[1:]
    if replications < 2:
        return Ranking(order, (), (), behind, None)
    equal, alike, undecided, needed = [], [], [], FEWEST
    each_level = 1 - (1 - level) / max(1, len(behind))

    def ahead(label: str, over: Sequence[_Table]) -> tuple[float, float]:
        """How much better the score of the first is, and half the width of its interval."""
        lead = score(first, over) - score(label, over)
        without = [score(first, over, at) - score(label, over, at) for at in range(replications)]
        pseudo = [replications * lead - (replications - 1) * each for each in without]
        found = stats.interval(pseudo, each_level)
        assert found is not None and found.half_width is not None
        return lead, found.half_width

    for label in behind:
        if all(_unnoticed(each, first, label) for each in criteria):
            alike.append(label)
            continue
        lead, half_width = ahead(label, tables)
        if lead + half_width <= MATTERS:
            equal.append(label)
            continue
        # What counts in place of a value is no measurement: it must not make the first sure.
        measured = [
            table
            for table, each in zip(tables, criteria, strict=True)
            if first not in each.pair(first, label).lacking
        ]
        if lead > half_width and len(measured) < len(tables):
            lead, half_width = ahead(label, measured)
        if lead <= half_width:
            undecided.append(label)
            goal = max(lead, MATTERS - lead)
            needed = max(needed, _replications(half_width, replications, goal, each_level))
    # The variance itself is only estimated: a little more than now would rarely decide.
    needed = max(needed, math.ceil(1.5 * replications))
    return Ranking(
        order, tuple(equal), tuple(alike), tuple(undecided), needed if undecided else None
    )


def _unnoticed(criterion: Criterion, first: str, second: str) -> bool:
    """Whether no user would notice which of two it is, and chance does not say otherwise."""
    found = criterion.pair(first, second).beside
    return len(found) == 2 and Beside.SMALL in found.values()


class _Table:
    """One criterion's share of the score."""

    def __init__(self, criterion: Criterion, labels: Sequence[str], weight: float) -> None:
        measure = criterion.measure
        self._weight = weight
        self._sign = 1.0 if measure.higher_is_better else -1.0
        self._worst = measure.worst
        self._values = {label: criterion.counted[label] for label in labels}
        self._sums = {label: _sum(values) for label, values in self._values.items()}
        means = [mean for label in labels if (mean := self._mean(label, None)) is not None]
        largest = max((abs(mean - self._worst) for mean in means), default=0.0)
        self._floor = max(measure.matters_at_least, _SMALLEST * largest, 1e-12)

    def part(self, label: str, without: int | None) -> float:
        mean = self._mean(label, without)
        if mean is None:
            mean = self._mean(label, None)
        return 0.0 if mean is None else self._weight * self._value(mean)

    def _value(self, mean: float) -> float:
        # A floor that is added, not a least value: the order of means stays the order of values.
        return self._sign * math.log(max(mean - self._worst, 0.0) + self._floor)

    def _mean(self, label: str, without: int | None) -> float | None:
        total, count = self._sums[label]
        left_out = None if without is None else self._values[label][without]
        if left_out is not None:
            total, count = total - left_out, count - 1
        return total / count if count else None


def _sum(values: Sequence[float | None]) -> tuple[float, int]:
    known = [value for value in values if value is not None]
    return math.fsum(known), len(known)


def _replications(half_width: float, present: int, goal: float, level: float) -> int:
    """Replications that make an interval's half-width `goal`, its variance staying as it is."""

    def quantile(count: int) -> float:
        return student(count - 1, 0.5 + level / 2)

    deviation = half_width * math.sqrt(present) / quantile(present)
    more = range(present + 1, MOST + 1)
    found = bisect_left(
        more, True, key=lambda count: quantile(count) * deviation / math.sqrt(count) <= goal
    )
    return more.start + found
