"""Plain advice from a comparison: what each class gains, what to pick and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from forebay.comparison import Comparison
from forebay.measures import (
    COMPLETION,
    GOODPUT,
    LOSS,
    MOS,
    TAIL_DELAY,
    Measure,
    largest,
    shown_in,
    text,
)

CONGESTED = 0.8
"""Utilisation below which the link is said to be hardly congested."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What a comparison says, in words."""

    pick: str | None
    """The discipline to start with; None if the disciplines do not differ."""
    why: str
    price: tuple[str, ...]
    """Where the pick is worse than the best, largest disadvantage first."""
    findings: tuple[str, ...]
    """One sentence or two for each class and measure that decides about it."""
    notes: tuple[str, ...]
    """What to know before trusting the numbers."""


@dataclass(frozen=True, slots=True)
class _Criterion:
    """A class, a measure that decides how well it fares, and who is best by it."""

    class_: str
    measure: Measure
    weight: float
    """The criteria of one class weigh 1 together."""
    best: tuple[str, ...]
    compared: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.class_} {self.measure.short}"

    @property
    def undecided(self) -> bool:
        return len(self.best) == len(self.compared)


def criteria_of(comparison: Comparison, class_: str) -> tuple[Measure, ...]:
    """The measures that decide how well a class fares.

    Voice is judged by its quality, transfers that end by their completion time, endless TCP by
    its goodput, and other datagrams by their delay and their loss.
    """

    def measured(key: str) -> bool:
        return any(
            value is not None
            for label in comparison.labels
            for value in comparison.samples(label, class_, key)
        )

    if measured(MOS.key):
        return (MOS,)
    if measured(COMPLETION.key):
        return (COMPLETION,)
    if _is_tcp(comparison.variants[0].effective, class_):
        return (GOODPUT,)
    return tuple(measure for measure in (TAIL_DELAY, LOSS) if measured(measure.key))


def advise(comparison: Comparison) -> Advice:
    """Read the comparison: best discipline for each class, a pick for all, and its price.

    The pick is the discipline with the smallest disadvantage on average over the classes, where
    a disadvantage is the ratio of its value to that of the best for the class (so the average is
    a geometric mean), and none if the two cannot be told apart.
    """
    criteria = tuple(_criteria(comparison))
    findings = tuple(_finding(comparison, criterion) for criterion in criteria)
    notes = tuple(_notes(comparison))
    decided = [criterion for criterion in criteria if not criterion.undecided]
    if len(comparison.labels) == 1:
        return Advice(None, "Only one discipline was run.", (), (), notes)
    if not decided:
        return Advice(
            None,
            "No difference between these disciplines is larger than chance or large enough for a "
            "user to notice. Take the simplest.",
            (),
            findings,
            notes,
        )

    def disadvantage(label: str) -> float:
        return sum(c.weight * _disadvantage(comparison, label, c) for c in criteria)

    pick = min(comparison.labels, key=disadvantage)
    prices = _prices(comparison, pick, criteria)
    return Advice(pick, _why(pick, criteria), prices, findings, notes)


def _criteria(comparison: Comparison) -> Iterable[_Criterion]:
    for class_ in comparison.classes:
        measures = criteria_of(comparison, class_)
        for measure in measures:
            compared = tuple(
                label
                for label in comparison.labels
                if comparison.interval(label, class_, measure.key) is not None
            )
            best = comparison.best(class_, measure)
            yield _Criterion(class_, measure, 1 / len(measures), best, compared)


def _disadvantage(comparison: Comparison, label: str, criterion: _Criterion) -> float:
    """How much worse than the best: logarithm of the ratio of the two values."""
    if label in criterion.best:
        return 0.0
    measure = criterion.measure
    floor = max(measure.matters_at_least, 1e-12)
    own, best = (
        max(_mean(comparison, each, criterion) - measure.worst, floor)
        for each in (label, criterion.best[0])
    )
    return abs(math.log(own / best))


def _finding(comparison: Comparison, criterion: _Criterion) -> str:
    class_, measure = criterion.class_, criterion.measure
    intervals = {
        label: comparison.interval(label, class_, measure.key) for label in comparison.labels
    }
    shown = shown_in(measure, largest(intervals.values()))

    def value(label: str) -> str:
        return f"{text(intervals[label], shown)}{_unit(shown)}"

    if criterion.undecided:
        return (
            f"{class_}: no difference in {measure.short} beyond what is chance or too small to "
            f"notice ({value(criterion.best[0])} under {criterion.best[0]})."
        )
    first, *equals = criterion.best
    sentence = f"{class_}: best {measure.short} under {first} ({value(first)})"
    if equals:
        sentence += f"; {_listed(equals)} cannot be told from it"
    rest = [label for label in criterion.compared if label not in criterion.best]
    pick = min if measure.higher_is_better else max
    worst = pick(rest, key=lambda label: _mean(comparison, label, criterion))
    return f"{sentence}. Worst under {worst} ({value(worst)})."


def _why(pick: str, criteria: tuple[_Criterion, ...]) -> str:
    won = [c.name for c in criteria if pick in c.best and not c.undecided]
    if not won:
        return "Best for no single class, but nowhere far from the best."
    return f"Best, or not to be told from the best, for {_listed(won)}."


def _prices(comparison: Comparison, pick: str, criteria: tuple[_Criterion, ...]) -> tuple[str, ...]:
    lost = [c for c in criteria if pick not in c.best]
    lost.sort(key=lambda c: -_disadvantage(comparison, pick, c))
    return tuple(_price(comparison, pick, c) for c in lost)


def _price(comparison: Comparison, pick: str, criterion: _Criterion) -> str:
    """What `pick` loses by one criterion, as a paired difference from the best."""
    best, measure = criterion.best[0], criterion.measure
    difference = comparison.difference(pick, best, criterion.class_, measure.key)
    if difference is None:
        return f"{criterion.name} worse than under {best}"
    own = comparison.interval(pick, criterion.class_, measure.key)
    shown = shown_in(measure, largest((own,)))
    amount = text(difference, shown).lstrip("-")
    unit = " percentage points" if measure is LOSS else _unit(shown)
    way = "lower" if difference.mean < 0 else "higher"
    return f"{criterion.name} {amount}{unit} {way} than under {best}"


def _notes(comparison: Comparison) -> Iterable[str]:
    replications = len(comparison.seeds)
    level = f"{100 * comparison.level:g} %"
    if replications == 1:
        yield (
            "One replication only: there are no intervals, and any difference may be chance. "
            "Run with --replications 10 or more before deciding."
        )
    else:
        yield (
            f"Intervals are {level} Student t intervals over {replications} replications; "
            "differences are paired, as every discipline faced the same traffic. Each interval "
            "stands for itself: among many comparisons a few differ by chance."
        )
    used = [comparison.utilization(label) for label in comparison.labels]
    means = [value.mean for value in used if value is not None]
    if means and max(means) < CONGESTED:
        yield (
            f"The link was used to {100 * max(means):.0f} % at most: it was hardly congested, and "
            "disciplines differ only under congestion. More flows or a lower rate would show more."
        )
    replayed = dict.fromkeys(_replayed(comparison.variants[0].effective))
    if replayed:
        yield (
            f"A capture is replayed as {_listed(list(replayed))}: open loop, so it sends what was "
            "recorded and does not slow down when the link is congested."
        )


def _is_tcp(effective: dict[str, Any], class_: str) -> bool:
    """Whether a class is TCP traffic only."""
    entries = [entry for entry in effective["traffic"] if _class_of(entry) == class_]
    return bool(entries) and all("tcp" in entry for entry in entries)


def _class_of(entry: dict[str, Any]) -> str:
    return str(entry.get("class") or entry["name"])


def _replayed(effective: dict[str, Any]) -> Iterable[str]:
    for entry in effective["traffic"]:
        if entry["kind"] == "pcap":
            yield _class_of(entry)


def _mean(comparison: Comparison, label: str, criterion: _Criterion) -> float:
    value = comparison.interval(label, criterion.class_, criterion.measure.key)
    return 0.0 if value is None else value.mean


def _unit(measure: Measure) -> str:
    return "" if measure is MOS else f" {measure.unit}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
