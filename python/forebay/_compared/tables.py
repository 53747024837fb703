"""The tables of a comparison, for the terminal and for its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forebay.advice.criteria import Criterion
from forebay.comparison import Comparison
from forebay.measures import (
    GAIN,
    LOSS,
    MEASURES,
    QUEUE_DELAY,
    TAIL_DELAY,
    Measure,
    largest,
    shown_in,
    text,
)
from forebay.report.page import Cell, Group, Row, Table


def measured(comparison: Comparison) -> list[Measure]:
    """The measures that some class has, in the units that suit them."""
    found = []
    for measure in MEASURES:
        cells = [
            comparison.interval(label, class_, measure.key)
            for label in comparison.labels
            for class_ in comparison.classes
        ]
        if any(cell is not None for cell in cells):
            found.append(shown_in(measure, largest(cells)))
    return found


def of_criteria(comparison: Comparison, criteria: Sequence[Criterion]) -> Table:
    """What decides: a row a discipline, a column a measure of a class or of the link."""
    shown = [shown_in(each.measure, largest(each.intervals.values())) for each in criteria]
    marked = [each.best if each.decided and len(comparison.seeds) > 1 else () for each in criteria]
    rows: list[Row | Group] = [
        [
            label,
            *(
                _cell(text(each.intervals.get(label), measure), marked=label in best)
                for each, measure, best in zip(criteria, shown, marked, strict=True)
            ),
        ]
        for label in comparison.labels
    ]
    heads = [
        f"{each.subject}: {measure.short}, {measure.unit}"
        for each, measure in zip(criteria, shown, strict=True)
    ]
    return Table(["", *heads], rows, "What decides")


def by_class(comparison: Comparison, *, short: bool = False) -> Table:
    """A block of rows for each measure: a row a discipline, a column a class.

    Cells that are the best of their column, or cannot be distinguished from the best, are marked
    in columns where not all are.
    """
    rows: list[Row | Group] = []
    for measure in measured(comparison):
        best = [_marked(comparison, class_, measure) for class_ in comparison.classes]
        rows.append(Group(f"{measure.short if short else measure.title}, {measure.unit}"))
        rows += [[label, *_cells(comparison, label, measure, best)] for label in comparison.labels]
    return Table(["", *comparison.classes], rows, "What each class got")


def of_link(comparison: Comparison, *, short: bool = False) -> Table:
    """What the compared link itself shows: a row a discipline; `short` leaves a column out."""
    labels = comparison.labels
    columns = {"used, %": [text(comparison.utilization(label), LOSS) for label in labels]}
    if comparison.baseline is not None:
        cells = [text(comparison.efficiency(label), GAIN) for label in labels]
        columns[f"efficiency relative to {comparison.baseline}, x"] = cells
    for title, key, measure in (
        ("mean queue, packets", "mean_packets", QUEUE_DELAY),
        (f"{QUEUE_DELAY.short}, ms", QUEUE_DELAY.key, QUEUE_DELAY),
        ("p99 of it, ms", TAIL_DELAY.key, TAIL_DELAY),
        ("dropped, %", LOSS.key, LOSS),
    ):
        if not short or key != "mean_packets":
            found = [comparison.queue_interval(label, key) for label in labels]
            columns[title] = [text(each, measure) for each in found]
    rows = [
        [label, *map(_cell, each)] for label, *each in zip(labels, *columns.values(), strict=True)
    ]
    return Table([f"link {comparison.link}", *columns], rows, "The link itself")


def _cells(
    comparison: Comparison, label: str, measure: Measure, best: Sequence[Sequence[str]]
) -> Iterator[Cell]:
    for class_, marked in zip(comparison.classes, best, strict=True):
        found = text(comparison.interval(label, class_, measure.key), measure)
        yield _cell(found, marked=label in marked)


def _cell(found: str, *, marked: bool = False) -> Cell:
    mean, _, half = found.partition(" ")
    return Cell(mean, half, "best" if marked else "")


def _marked(comparison: Comparison, class_: str, measure: Measure) -> Sequence[str]:
    best = comparison.best(class_, measure)
    return best if len(best) < len(comparison.labels) and len(comparison.seeds) > 1 else ()
