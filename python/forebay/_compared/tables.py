"""The tables of a comparison, for the terminal and for its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from forebay._advice.criteria import Criterion, distorted_of
from forebay._advice.network import network_of, other_direction
from forebay._comparison import Comparison
from forebay._measures import (
    ABSENT,
    DISTORTED,
    GAIN,
    LOSS,
    MEASURES,
    QUEUE_DELAY,
    QUEUE_TAIL,
    Beside,
    Measure,
    largest,
    shown_in,
    text,
)
from forebay._report.page import Cell, Group, Mark, Row, Table


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
    marks = [_marks(comparison, each.beside) for each in criteria]
    rows: list[Row | Group] = [
        [
            label,
            *(
                _cell(text(each.intervals.get(label), measure), mark.get(label, ""))
                for each, measure, mark in zip(criteria, shown, marks, strict=True)
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

    Values that are kept out of the score have a sign, `forebay._measures.DISTORTED`.
    Cells are marked by `forebay._measures.MARKED`, in columns where not all are.
    """
    rows: list[Row | Group] = []
    for measure, columns in columns_of(comparison):
        rows.append(Group(f"{measure.short if short else measure.title}, {measure.unit}"))
        rows += [
            [label, *(column[label] for column in columns.values())] for label in comparison.labels
        ]
    return Table(["", *comparison.classes], rows, "What each class got")


def columns_of(comparison: Comparison) -> Iterator[tuple[Measure, dict[str, dict[str, Cell]]]]:
    """Each measure with a cell for each class and discipline, marked as `by_class` says."""
    network = network_of(comparison.variants[0].scenario, comparison.link)
    distorted = {(each.subject, each.measure.key) for each in distorted_of(comparison, network)}
    for measure in measured(comparison):
        yield (
            measure,
            {
                class_: _column(comparison, class_, measure, (class_, measure.key) in distorted)
                for class_ in comparison.classes
            },
        )


def of_links(comparison: Comparison, *, short: bool = False) -> list[Table]:
    """What the compared link shows, and its other direction if that got the disciplines, too."""
    links = comparison.scenario.resolved()["links"] if comparison.everywhere else []
    queued = {link["name"] for link in links if link["queue"] is not None}
    ways = [comparison.link, *({other_direction(comparison.link)} & queued)]
    return [_of_link(replace(comparison, link=way), short=short) for way in ways]


def _of_link(comparison: Comparison, *, short: bool) -> Table:
    """A row a discipline; `short` leaves a column out."""
    labels = comparison.labels
    columns = {"used, %": [text(comparison.utilization(label), LOSS) for label in labels]}
    if comparison.baseline is not None:
        cells = [text(comparison.efficiency(label), GAIN) for label in labels]
        columns[f"efficiency relative to {comparison.baseline}, x"] = cells
    for title, key, measure in (
        ("mean queue, packets", "mean_packets", QUEUE_DELAY),
        (f"{QUEUE_DELAY.short}, ms", QUEUE_DELAY.key, QUEUE_DELAY),
        ("p99 of it, ms", QUEUE_TAIL.key, QUEUE_TAIL),
        ("dropped, %", LOSS.key, LOSS),
    ):
        if not short or key != "mean_packets":
            found = [comparison.queue_interval(label, key) for label in labels]
            columns[title] = [text(each, measure) for each in found]
    rows = [
        [label, *map(_cell, each)] for label, *each in zip(labels, *columns.values(), strict=True)
    ]
    return Table([f"link {comparison.link}", *columns], rows, "The link itself")


def _column(
    comparison: Comparison, class_: str, measure: Measure, distorted: bool
) -> dict[str, Cell]:
    marks = {} if distorted else _marks(comparison, comparison.beside(class_, measure))
    found = {}
    for label in comparison.labels:
        said = text(comparison.interval(label, class_, measure.key), measure)
        cell = _cell(said, marks.get(label, ""))
        if distorted and said != ABSENT:
            cell = replace(cell, note=f"{cell.note} {DISTORTED}".strip())
        found[label] = cell
    return found


def _cell(found: str, mark: Mark = "") -> Cell:
    mean, _, half = found.partition(" ")
    return Cell(mean, half, mark)


_MARKS: Mapping[Beside, Mark] = {
    Beside.BEST: "best",
    Beside.SMALL: "best",
    Beside.OPEN: "open",
    Beside.WORSE: "",
}


def _marks(comparison: Comparison, beside: Mapping[str, Beside]) -> Mapping[str, Mark]:
    if len(comparison.seeds) == 1 or (
        len(beside) == len(comparison.labels) and Beside.WORSE not in beside.values()
    ):
        return {}
    return {label: _MARKS[each] for label, each in beside.items()}
