"""What a paper's folder declares: studies, figures, claims and sections, as data.

The docstrings of the fields are docs/reference/paper.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forebay.papers.data import Data
from forebay.papers.judge import NotTestable, Part
from forebay.report.panel import Panel


@dataclass(frozen=True, slots=True)
class Quick:
    """How `--quick` shortens a study."""

    replications: int
    """Runs of each point, in place of what the file says."""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the scenario, by path, applied before the axes."""
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Values (rows, if the axis has several paths) in place of those of an axis, by its name."""


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study of the sweep engine (docs/studies.md), in a file of the paper's folder."""

    name: str
    """Folder of its results, and what figures and claims call it."""
    file: str
    """File of the study in the paper's folder."""
    quick: Quick
    """What `--quick` makes of it."""
    tables: tuple[str, ...] = ()
    """Tables of every run to keep beside its summary: "queue", "class", "delay", "queue_delay",
    "flows", "flow_series", "transfers". Such a study has a fixed number of replications."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the paper, in its axes, variants and units."""

    number: str
    """As `--figure` takes it."""
    caption: str
    """The paper's."""
    panels: Callable[[Data], Sequence[Panel]]
    """A function that makes the diagrams from the results."""
    studies: tuple[str, ...] = ()
    """Studies that it needs; none if it is calculated."""
    note: str = ""
    """What to look for, or how it departs from the paper's."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper and how it is judged."""

    id: str
    """What pages and messages call it, such as "CP-2"."""
    words: str
    """The paper's words or numbers."""
    judge: Callable[[Data], Sequence[Part] | NotTestable]
    """A function that measures it: numbers, each with the range that the words allow."""
    studies: tuple[str, ...] = ()
    """Studies that it needs."""
    reason: str | Callable[[Data], str] = ""
    """Why it differs, if it does, and which run shows that. Without one the verdict is an open
    question, and the command fails."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What the authors conclude, and whether it holds, whatever the single numbers are."""

    words: str
    """The paper's."""
    judge: Callable[[Data], Sequence[Part]]
    """The numbers that decide it."""
    studies: tuple[str, ...] = ()
    """Studies whose runs it needs."""


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


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a discussion, written by hand, and the numbers that it rests on.

    Whether they still bear it out is decided as for a claim. If they do not, the page strikes the
    sentence out and says by what, and the command fails.
    """

    words: str | Callable[[Data], str]
    """The sentence, or a function of the results that writes it."""
    parts: Callable[[Data], Sequence[Part]]
    """A function that measures what it rests on."""


@dataclass(frozen=True, slots=True)
class Section:
    """What the page says beside figures and claims: sensitivity, ablations, gaps, a discussion."""

    heading: str
    """Its heading."""
    text: str
    """Markdown."""
    tables: Callable[[Data], Sequence[Table]] | None = None
    """A function that makes its tables from the results."""
    studies: tuple[str, ...] = ()
    """Studies that it needs."""
    statements: tuple[Statement, ...] = ()
    """Sentences whose numbers are checked."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A reproduction. `paper.py` in the paper's folder names one PAPER."""

    title: str
    """Heading of its page, and its line in `forebay paper list`."""
    citation: str
    """Authors, title, where and when it appeared."""
    setup: str
    """Markdown: what is simulated, and what the paper leaves open."""
    statistics: str
    """Markdown: how often the paper ran each point, and how often this does."""
    studies: tuple[StudyFile, ...] = ()
    """What is run, in this order."""
    figures: tuple[Figure, ...] = ()
    """The paper's figures, drawn anew."""
    claims: tuple[Claim, ...] = ()
    """What the paper says, and whether it was found."""
    sections: tuple[Section, ...] = ()
    """Everything else on the page."""
    found: str | Callable[[Data], str] = ""
    """Markdown, with which the page begins: what was found, in half a page."""
    conclusions: tuple[Conclusion, ...] = ()
    """What the authors conclude, judged by itself."""
    hypotheses: tuple[Claim, ...] = ()
    """What we expect beyond the paper: judged alike, and not counted among its claims."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Short names of columns of the studies."""

    def needed(self, figure: str | None) -> tuple[StudyFile, ...]:
        """The studies of a figure, or all."""
        if figure is None:
            return self.studies
        wanted = {name for each in self.figures if each.number == figure for name in each.studies}
        return tuple(study for study in self.studies if study.name in wanted)
