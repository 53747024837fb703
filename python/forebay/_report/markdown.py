"""Blocks as Markdown, for documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forebay._report import page
from forebay._report.page import Block, Cell, Group


def render(blocks: Iterable[Block]) -> str:
    """The blocks, with an empty line between them; what is empty is left out."""
    return "\n\n".join(part for each in blocks for part in _parts(each) if part)


def _parts(block: Block) -> list[str]:
    match block:
        case page.Section(title, blocks):
            return [f"## {title}", render(blocks)]
        case page.Heading(title, level):
            return [f"{'#' * level} {title}"]
        case page.Text(text):
            return [text]
        case page.Bullets(items):
            return ["\n".join(f"- {item}" for item in items)]
        case page.Table(columns, rows):
            return [table(columns, [_row(each, len(columns)) for each in rows])]
        case page.Figure(_, words, image):
            return [f"![{words}]({image})"]
        case page.Fold(_, blocks):
            return [render(blocks)]
        case page.Code(text):
            return [f"```\n{text}\n```"]
        case page.Facts(pairs):
            return ["\n".join(f"- {name}: {text}" for name, text in pairs)]
        case _:
            raise TypeError(f"{type(block).__name__} needs a page in a browser")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; what would end a cell is written otherwise."""
    head, *body = (f"| {' | '.join(map(_one_line, line))} |" for line in (columns, *rows))
    return "\n".join([head, "|---" * len(columns) + "|", *body])


def _row(row: page.Row | Group, width: int) -> list[str]:
    if isinstance(row, Group):
        return [f"**{row.title}**", *[""] * (width - 1)]
    return [_cell(each) if isinstance(each, Cell) else each for each in row]


def _cell(cell: Cell) -> str:
    return f"**{cell}**" if cell.mark in ("best", "no") else str(cell)


def _one_line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
