"""Pages as trees of blocks, whatever they are shown as: HTML, Markdown or a terminal.

Texts are shown as they are, so that names from files cannot change a page; an `Md` is Markdown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from forebay._report.panel import Map, Panel


class Md(str):
    """A text in Markdown."""

    __slots__ = ()


def plain(text: str) -> str:
    """A text as it is, for a place within `Md`."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)


Mark: TypeAlias = Literal["", "best", "open", "no", "absent"]


class Block:
    """A part of a page."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    text: str
    note: str = ""
    """What follows it in small print, such as "±0.4"."""
    mark: Mark = ""
    """Whether it is the best of its column, may be, does not hold, or says that there is none."""

    def __str__(self) -> str:
        """Text and note."""
        return f"{self.text} {self.note}".rstrip()


@dataclass(frozen=True, slots=True)
class Group:
    """A heading within a table, above the rows that follow."""

    title: str


Row: TypeAlias = "Sequence[Cell | str]"


@dataclass(frozen=True, slots=True)
class Table(Block):
    """Rows under headings; the first cell of a row says what it is of."""

    columns: Sequence[str]
    rows: Sequence[Row | Group]
    title: str = ""
    """What a screen reader calls it."""
    words: int = 1
    """How many of the first columns hold words instead of numbers."""


@dataclass(frozen=True, slots=True)
class Text(Block):
    """A paragraph, or in Markdown any number of them."""

    text: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class Bullets(Block):
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Heading(Block):
    """A heading within a section."""

    title: str
    level: int = 3


@dataclass(frozen=True, slots=True)
class Code(Block):
    """Text that is shown letter by letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts(Block):
    """Names and what they are."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Legend(Block):
    """Names of variants, with which a reader shows and hides them in all figures of the page."""

    labels: Sequence[str]


@dataclass(frozen=True, slots=True)
class Figure(Block):
    """Panels beside each other."""

    panels: Sequence[Panel | Map]
    words: str
    """What it shows, for a screen reader."""
    image: str = ""
    """Its file, where the page is Markdown."""
    labels: Sequence[str] = ()
    """The variants in the order of their colours; those of the page unless given."""
    scale: Sequence[str] = ()
    """What the colours of a map's segments mean, step by step."""


@dataclass(frozen=True, slots=True)
class Fold(Block):
    """Blocks that a reader opens."""

    summary: str
    blocks: Sequence[Block]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """Something that a reader chooses for the page."""

    name: str
    label: str
    options: Mapping[str, str]
    """Texts by their values; the first is chosen unless `chosen` says otherwise."""
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class Controls(Block):
    """What a reader chooses."""

    selects: Sequence[Select]


@dataclass(frozen=True, slots=True)
class Choice(Block):
    """Blocks that depend on what is chosen."""

    of: Sequence[str]
    """Names of the selects."""
    parts: Mapping[tuple[str, ...], Sequence[Block]]
    """Blocks by the values of the selects."""
    other: Sequence[Block] = ()
    """Blocks for all other values."""


@dataclass(frozen=True, slots=True)
class Section(Block):
    """Blocks under a heading."""

    title: str
    blocks: Sequence[Block]
    card: bool = False
    """Whether it stands out as what matters most."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page."""

    title: str
    kind: str
    """What sort of page it is, above the title."""
    lede: str
    """What it is about, in a sentence or two."""
    blocks: Sequence[Block]
    labels: Sequence[str] = ()
    """The variants in the order of their colours."""


def anchor(title: str) -> str:
    """What a link to a heading names, here as in Markdown."""
    text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())
