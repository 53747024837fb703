"""Tables of a page: numbers at the points of their rows, and claims under other choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forebay.papers.claims import parts, quoted
from forebay.papers.files import Column, TableTable
from forebay.papers.judge import in_range, judged, verdict_of
from forebay.papers.numbers import Number, Setting, Sources, within
from forebay.papers.paper import Paper
from forebay.papers.variables import Values, all_filled, filled

MARKS = {"reproduced": "yes", "differs": "no", "not testable": "?"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a section; cells are text, numbers or intervals."""

    columns: Sequence[str]
    """Headings of the columns."""
    rows: Sequence[Sequence[Any]]
    """Cells, row by row."""
    heading: str = ""
    """Heading above it."""
    text: str = ""
    """Markdown between heading and table."""


def made(paper: Paper, sources: Sources, table: TableTable) -> list[Table]:
    """A table, or one for each combination of its variables."""
    if table.call:
        found: Any = sources.told(table.call, {})
        return [found] if isinstance(found, Table) else list(found)
    outer = sources.rows(table.for_, Number(study=table.study), {})
    tables = [_made(paper, sources, table, values) for values in outer]
    return [each for each in tables if each.rows or not table.only]


def _made(paper: Paper, sources: Sources, table: TableTable, outer: Values) -> Table:
    points = sources.rows(table.rows, Number(study=table.study), outer)
    # A quick run leaves out columns, and asks for it at the first row.
    columns = [
        (each, more)
        for each in (within(each, table.study) for each in table.column)
        for more in sources.rows(each.for_, each, points[0] if points else {})
    ]
    rows = []
    for values in points:
        if table.only and not sources.told(table.only, values):
            continue
        cells: list[Any] = [filled(text, values) for text in table.head.values()]
        chosen = sources.under(_setting(table, values))
        cells += [_verdict(paper, chosen, table, id_) for id_ in table.claims]
        cells += [_cell(sources, each, {**more, **values}) for each, more in columns]
        rows.append(cells)
    head = [*table.head, *table.claims, *(filled(each.head, more) for each, more in columns)]
    return Table(head, rows, filled(table.heading, outer), table.text)


def _verdict(paper: Paper, chosen: Sources, table: TableTable, id_: str) -> str:
    """What a claim comes to under a choice; nothing if it was not run."""
    claim = paper.claim(id_)
    asked = [each for each in paper.studies_of(claim) if each in table.studies]
    if not all(chosen.chosen_ran(each) for each in asked):
        return ""
    found = parts(chosen, paper.numbers(claim), table.studies)
    mark = MARKS[verdict_of(found)]
    return f"{mark}, {in_range(found)} of {judged(found)}" if table.counts else mark


def _cell(sources: Sources, column: Column, values: Values) -> Any:
    """A number or a text; nothing where a point would be compared with itself."""
    if column.less is not None and not column.call:
        here = sources.where(column, values)
        other = column.model_copy(update={"at": {**column.at, **column.less}})
        if sources.where(other, values) == here:
            return ""
    if not (column.of or column.call or column.value is not None):
        return filled(column.text, values)
    found = sources.interval(column, values)
    return quoted(column.text, values, found) if column.text and found is not None else found


def _setting(table: TableTable, values: Values) -> Setting:
    renamed = {column: all_filled(names, values) for column, names in table.renamed.items()}
    studies, at = all_filled(table.studies, values), all_filled(table.at, values)
    return Setting(studies, at, table.otherwise, renamed)
