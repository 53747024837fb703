"""Sentences about criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay._advice.criteria import Criterion
from forebay._advice.toml import inline
from forebay._measures import ABSENT, LOSS, MOS, Measure, largest, shown_in, text
from forebay.stats import Interval


def value(criterion: Criterion, label: str) -> str:
    """What a discipline measured, as the tables show it."""
    found = criterion.intervals.get(label)
    if found is None:
        return ABSENT
    shown = shown_in(criterion.measure, largest(criterion.intervals.values()))
    return f"{text(found, shown)}{unit(shown)}"


def amount(difference: Interval, criterion: Criterion) -> str:
    """The size of a difference, without its sign."""
    shown = shown_in(criterion.measure, largest(criterion.intervals.values()))
    size = Interval(abs(difference.mean), difference.half_width, difference.samples)
    return f"{text(size, shown)}{_apart(criterion, shown)}"


def least_noticed(criterion: Criterion) -> str:
    """The largest difference from the best that nobody notices, with its unit."""
    measure = criterion.measure
    limit = measure.least_noticed(criterion.intervals[criterion.best[0]].mean)
    return amount(Interval(limit, None, 1), criterion)


def between(difference: Interval, criterion: Criterion) -> str:
    """The ends of a difference whose sign is not known."""
    shown = shown_in(criterion.measure, largest(criterion.intervals.values()))
    half = difference.half_width or 0.0
    low, high = (
        text(Interval(abs(difference.mean + end), None, difference.samples), shown)
        for end in (-half, half)
    )
    return f"from {low} lower to {high}{_apart(criterion, shown)} higher"


def missing(criterion: Criterion) -> str:
    """Under which disciplines there is no value where another has one, and in how many runs."""
    by_count: dict[str, list[str]] = {}
    for label, runs in criterion.lacking.items():
        of = len(criterion.samples[label])
        by_count.setdefault("" if runs == of else f" in {runs} of {of} runs", []).append(label)
    under = listed([f"{listed(labels)}{count}" for count, labels in by_count.items()])
    why = criterion.measure.missing
    return f"{under}, because {why}" if under and why else under


def _apart(criterion: Criterion, shown: Measure) -> str:
    """The unit of a difference."""
    return " percentage points" if criterion.measure is LOSS else unit(shown)


def queue_in_words(queue: Mapping[str, Any]) -> str:
    """A queue as one writes it, its kind first: `fifo, limit = "300p"`."""
    table = dict(queue)
    kind = table.pop("kind", None)
    parameters = inline(table)[2:-2] if table else ""
    return ", ".join(each for each in (kind, parameters) if each)


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names as one enumeration."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def verb(many: Sequence[object], one: str, several: str) -> str:
    """The form of a verb or noun for one thing or several."""
    return one if len(many) == 1 else several


def unit(measure: Measure) -> str:
    """A measure's unit after a number."""
    return "" if measure.key == MOS.key else f" {measure.unit}"


def superlative(measure: Measure) -> str:
    """What the best value of a measure is."""
    return "highest" if measure.higher_is_better else "lowest"


def grouped(criteria: Sequence[Criterion], *, best: bool = False) -> str:
    """Their names as one enumeration, those of one measure together; as what is best if wanted."""
    subjects: dict[str, list[str]] = {}
    for each in criteria:
        which = f"{superlative(each.measure)} " if best else ""
        place = "on" if each.of_link else "of"
        subjects.setdefault(f"{which}{each.measure.short} {place}", []).append(each.subject)
    return listed([f"{what} {listed(names)}" for what, names in subjects.items()])
