"""What a paper's folder declares: studies, figures, claims and sections, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from forebay.papers.data import Data
from forebay.papers.judge import NotTestable, Part

Style = Literal["line", "points", "steps", "bars"]


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
    quick: Quick
    tables: tuple[str, ...] = ()
    """Tables of every run to keep beside its summary: "queue", "class", "delay", "queue_delay",
    "flows". Such a study has a fixed number of replications."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one variant. `x` is numbers, or names for bars."""

    label: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    """Lower ends of the 95 % intervals; empty if there are none."""
    high: Sequence[float | None] = ()
    style: Style = "line"
    stated: bool = False
    """Whether these are numbers that the paper's text states; drawn as hollow stars."""


@dataclass(frozen=True, slots=True)
class Region:
    """A joint confidence region of two means, as `StudyData.regions` gives it."""

    label: str
    x: float
    y: float
    xx: float | None
    xy: float | None
    yy: float | None


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram. Labels name the quantity and its unit."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series] = ()
    regions: Sequence[Region] = ()
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_log: bool = False
    y_log: bool = False
    ordered: bool = False
    """Whether the series are steps of one parameter, to be coloured from dark to light."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the paper, in its axes, variants and units."""

    number: str
    """As `--figure` takes it."""
    caption: str
    """The paper's."""
    panels: Callable[[Data], Sequence[Panel]]
    studies: tuple[str, ...] = ()
    """Studies that it needs; none if it is calculated."""
    note: str = ""
    """What to look for, or how it departs from the paper's."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper and how it is judged."""

    id: str
    words: str
    """The paper's words or numbers."""
    judge: Callable[[Data], Sequence[Part] | NotTestable]
    studies: tuple[str, ...] = ()
    reason: str | Callable[[Data], str] = ""
    """Why it differs, if it does, and which run shows that. Without one the verdict is an open
    question, and the command fails."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What the authors conclude, and whether it holds, whatever the single numbers are."""

    words: str
    """The paper's."""
    judge: Callable[[Data], Sequence[Part]]
    studies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a section; cells are text, numbers or intervals."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    heading: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a discussion, written by hand, and the numbers that it rests on.

    Whether they still bear it out is decided as for a claim. If they do not, the page strikes the
    sentence out and says by what, and the command fails.
    """

    words: str | Callable[[Data], str]
    parts: Callable[[Data], Sequence[Part]]


@dataclass(frozen=True, slots=True)
class Section:
    """What the page says beside figures and claims: sensitivity, ablations, gaps, a discussion."""

    heading: str
    text: str
    tables: Callable[[Data], Sequence[Table]] | None = None
    studies: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Paper:
    """A reproduction. `paper.py` in the paper's folder names one PAPER."""

    title: str
    citation: str
    setup: str
    """Markdown: what is simulated, and what the paper leaves open."""
    statistics: str
    """Markdown: how often the paper ran each point, and how often this does."""
    studies: tuple[StudyFile, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
    sections: tuple[Section, ...] = ()
    found: str | Callable[[Data], str] = ""
    """Markdown, with which the page begins: what was found, in half a page."""
    conclusions: tuple[Conclusion, ...] = ()

    def needed(self, figure: str | None) -> tuple[StudyFile, ...]:
        """The studies of a figure, or all."""
        if figure is None:
            return self.studies
        wanted = {name for each in self.figures if each.number == figure for name in each.studies}
        return tuple(study for study in self.studies if study.name in wanted)
