"""Tables on a terminal: as many columns beside each other as fit, the others below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Drawn
from rich.text import Text

from forebay._report.page import Cell, Group, Row, Table

_GAP = 2
"""Columns of text between two columns: the padding of one, and the rule's."""
_LEAST = 12
"""Columns of text that the first column keeps, whatever stands beside it."""
_ABSENT = "–"


def print_table(console: Console, table: Table) -> None:
    """Print a table; the best cells have a star, those that may be as good a tilde.

    Names that leave no room for the numbers are folded.
    """
    texts = [[_text(cell) for cell in row] for row in table.rows if not isinstance(row, Group)]
    groups = [each.title for each in table.rows if isinstance(each, Group)]
    columns = list(zip(table.columns, *texts, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    widths[0] = max([widths[0] + bool(groups), *map(cell_len, groups)])
    room = console.width - _GAP - max(widths[1:], default=0)
    if widths[0] > room:
        widths[0] = min(widths[0], max(_LEAST, min(room, console.width // 2)))
    beside = console.width - widths[0]
    widths[1:] = [min(width, beside - _GAP) for width in widths[1:]]
    for number, page in enumerate(_pages(widths[1:], beside)):
        if number:
            console.print()
        console.print(_drawn(table, page, widths))


def _drawn(table: Table, page: Sequence[int], widths: Sequence[int]) -> Drawn:
    """The first column and some others."""
    drawn = Drawn(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    drawn.add_column(Text(table.columns[0]), width=widths[0], overflow="fold")
    for at in page:
        drawn.add_column(
            Text(table.columns[at]), width=widths[at], justify="right", overflow="fold"
        )
    begun = False
    for group, rows in _grouped(table):
        if group and all(str(row[at]) == _ABSENT for row in rows for at in page):
            continue
        if group:
            if begun:
                drawn.add_row()
            drawn.add_row(Text(group, style="bold cyan"))
        begun = True
        for row in rows:
            name = Text(str(row[0]), style=_style(row[0]))
            indented = Padding(name, (0, 0, 0, 1)) if group else name
            drawn.add_row(indented, *(Text(_text(row[at]), style=_style(row[at])) for at in page))
    return drawn


def _grouped(table: Table) -> Iterator[tuple[str, list[Row]]]:
    """Rows by the heading that is above them; of none if it is empty."""
    group, rows = "", list[Row]()
    for row in table.rows:
        if not isinstance(row, Group):
            rows.append(row)
            continue
        if rows:
            yield group, rows
        group, rows = row.title, []
    if rows:
        yield group, rows


def _pages(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns from the second on, in order, as many a page as fit and at least one."""
    pages: list[list[int]] = []
    left = 0
    for column, width in enumerate(widths, 1):
        if not pages or width + _GAP > left:
            pages.append([])
            left = room
        pages[-1].append(column)
        left -= width + _GAP
    return pages or [[]]


def _text(cell: Cell | str) -> str:
    """With room for a sign at the end of cells that may have one."""
    if isinstance(cell, str):
        return cell
    return str(cell) + {"best": "*", "open": "~"}.get(cell.mark, " ")


def _style(cell: Cell | str) -> str:
    marks = {"best": "bold green", "no": "bold red"}
    return marks.get(cell.mark, "") if isinstance(cell, Cell) else ""
