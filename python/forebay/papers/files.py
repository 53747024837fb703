"""The tables of a paper's files `paper.toml` and `claims.toml`.

The docstrings of the fields are docs/reference/paper.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from forebay import _written
from forebay._allows import Allows
from forebay._engine import ScenarioError
from forebay._judge import Bounds
from forebay._report.panel import Style
from forebay.papers.numbers import Number
from forebay.papers.variables import Factors


class QuickTable(_written.Table):
    """How `--quick` shortens a study."""

    replications: int
    """Runs of each point, in place of what the file says."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Fields of the scenario, by path, applied before the axes."""
    axes: dict[str, list[Any]] = Field(default_factory=dict)
    """Values (rows, if the axis has several paths) in place of those of an axis, by its name."""


class StudyTable(_written.Table):
    """A study of the folder `studies` (docs/studies.md)."""

    name: str
    """Name of its file without `.toml`, and what numbers call it."""
    quick: QuickTable
    """What `--quick` makes of it."""
    tables: list[str] = Field(default_factory=list)
    """Tables of every run to keep beside its summary: "queue", "class", "delay", "queue_delay",
    "flows", "flow_series", "transfers". Such a study has a fixed number of replications."""
    pooled: list[str] = Field(default_factory=list)
    """Columns of axes over whose steps a number is averaged, within each replication, such as round
    trips that the paper does not give exactly. Its interval is over the replications. Where a
    number names one of these columns, it is of that step alone."""


class Said(Number):
    """A number that a text quotes: `{name:.1f}` in the text."""

    for_: Annotated[Factors | None, Field(alias="for")] = None
    """Several numbers, each said as `text` has it."""
    text: str = ""
    """What is said of each of several, such as "{mean:.0f} ms with {discipline}"."""
    between: str = ", "
    """What stands between two of several."""


class Allowed(Number, Allows):
    """A number and the range that somebody's words allow it."""

    what: str = ""
    """What is measured; may hold variables in braces."""
    paper: str = ""
    """What the paper says of it."""
    reading: str = ""
    """The reading of the claim's words that asks for this number, if they can be read in several
    ways. A claim holds if it does under one of them."""
    unit: str = ""
    """Unit of the numbers, for the page."""
    for_: Annotated[Factors | None, Field(alias="for")] = None
    """A number for each combination of some variables. A row may also give fields of this table,
    such as `stated`."""
    every: bool = False
    """Whether all of the points (or steps) that `take` counts are asked for; `{count}` is their
    number."""
    more_than: float | None = None
    """More than this share of the points that `take` counts are asked for."""
    no_more_than: float | None = None
    """At most this share of them is allowed."""
    printed: str | None = None
    """A number as it is printed: it allows what rounds to it."""
    stated: float | str | None = None
    """The number that the paper states, if it states one, in `unit`, or an expression of variables
    in braces."""
    slack: float | None = None
    """The stated number is allowed so much either way, in `unit`."""
    share: float | None = None
    """The stated number is allowed this share of itself either way."""
    fitted: bool = False
    """Whether our set-up was chosen by this number. Then it is shown, but is no evidence: it
    counts neither for its claim nor among the numbers in range."""
    referee: float | Number | None = None
    """What the authors' own program, or another that was matched to it, gives, in `unit`. One that
    is looked up (`lookup`) is the same measure at the same points unless it says otherwise."""

    def bounds(self, points: int) -> Bounds:
        """What is allowed.

        Args:
            points: how many `take` counts.

        Raises:
            ScenarioError: no bounds are given, or several.
        """
        ways: dict[str, Callable[[Any], Bounds]] = {
            "more_than": lambda share: Bounds(low=math.floor(share * points) + 1),
            "no_more_than": lambda share: Bounds(0, math.floor(share * points)),
            "printed": Bounds.printed,
            "slack": lambda slack: Bounds.within(self._stated, slack),
            "share": lambda share: Bounds.within(self._stated, abs(share * self._stated)),
        }
        given = self.allowed() + [
            bounds(value)
            for name, bounds in ways.items()
            if (value := getattr(self, name)) is not None
        ]
        if self.every:
            given.append(Bounds(points, points))
        if len(given) != 1:
            raise ScenarioError(
                f'"{self.what}": give one of within, at_least and at_most, exactly, every, '
                "more_than, no_more_than, printed, slack and share"
            )
        return given[0]

    @property
    def _stated(self) -> float:
        if not isinstance(self.stated, float):
            raise ScenarioError(f'"{self.what}": slack and share need stated')
        return self.stated


class ClaimTable(_written.Table):
    """A statement of the paper, and the numbers that it comes to."""

    id: str
    """What pages and messages call it, such as "CP-2"."""
    words: str
    """The paper's words or numbers."""
    study: str = ""
    """The study of its numbers, unless they name one."""
    number: list[Allowed] = Field(default_factory=list)
    """The numbers, each with the range that the words allow."""
    studies: list[str] = Field(default_factory=list)
    """Studies that it needs, if variables name them and it does not need all of that form."""
    theirs: list[Allowed] = Field(default_factory=list)
    """The same words judged by the paper's own numbers. If they do not hold there, a claim that
    differs is contradicted by the paper itself."""
    not_testable: str = ""
    """Why no run can decide it, in place of numbers."""
    reason: str = ""
    """Why it differs, if it does, and which run shows that. Without one the verdict is an open
    question, and the command fails. It may quote numbers."""
    said: dict[str, Said] = Field(default_factory=dict)
    """The numbers that the reason quotes, by name."""


class StatementTable(_written.Table):
    """A sentence, and the numbers that it rests on.

    If they do not bear it out, the page strikes it out and says by what, and the command fails.
    """

    words: str
    """The sentence. It may quote numbers."""
    study: str = ""
    """The study of its numbers, unless they name one."""
    number: list[Allowed] = Field(default_factory=list)
    """What it rests on."""
    studies: list[str] = Field(default_factory=list)
    """Studies that it needs, if variables name them and it does not need all of that form."""
    claims: dict[str, list[int]] = Field(default_factory=dict)
    """Claims on whose numbers it also rests, each with those of its numbers that are meant, counted
    from 1; all if none is given."""
    said: dict[str, Said] = Field(default_factory=dict)
    """The numbers that it quotes, by name."""


class ClaimsFile(_written.Table):
    """The file `claims.toml`."""

    claim: list[ClaimTable] = Field(default_factory=list)
    """What the paper says, and whether it was found."""
    conclusion: list[StatementTable] = Field(default_factory=list)
    """What the authors conclude, judged by itself, whatever the single numbers are."""
    hypothesis: list[ClaimTable] = Field(default_factory=list)
    """What we expect beyond the paper: judged alike, and not counted among its claims."""


class Curve(Number):
    """One curve, or one for each combination of some variables."""

    label: str
    """What the legend calls it; may hold variables in braces."""
    for_: Annotated[Factors | None, Field(alias="for")] = None
    """A curve for each combination."""
    along: str = ""
    """The variable or column along the horizontal axis."""
    x: list[Any] | str | None = None
    """Its values, or the variable in braces that holds them; all that were run, in order, unless
    given. Names make bars."""
    x_scale: float | str = 1.0
    """Factor of `x` in base units (bit/s, bytes, seconds) or plain numbers, or an expression of
    variables in braces."""
    x_is: str = ""
    """A measure or expression that is the place on the axis, in place of the value itself, or the
    variable in braces that holds it."""
    points: Factors | None = None
    """The points of the curve, in place of `x`: a row of variables each."""
    intervals: bool = True
    """Whether its intervals are drawn."""
    y: list[float | None] | str | None = None
    """Numbers in place of a measure, such as those that the text states, or the variable in braces
    that holds them."""
    stated: bool = False
    """Whether these are numbers that the paper's text states; drawn as hollow stars."""
    style: Style = "line"
    """How it is drawn."""


class Axes(_written.Table):
    """What a figure may say of all its diagrams."""

    x: str = ""
    """Quantity and unit of the horizontal axis."""
    y: str = ""
    """Quantity and unit of the vertical axis."""
    study: str = ""
    """The study of its curves, unless they name one."""
    along: str = ""
    """What lies along the horizontal axis of its curves, unless they name it."""
    x_is: str = ""
    """The place on the axis of its curves, unless they name it."""
    x_range: list[float] | None = None
    """Ends of the axis; chosen from the points unless given."""
    y_range: list[float] | str | None = None
    """Ends of the axis, or the variable in braces that holds them; chosen from the points unless
    given."""
    x_log: bool = False
    """Whether the axis is logarithmic."""
    y_log: bool = False
    """Whether the axis is logarithmic."""
    ordered: bool = False
    """Whether the curves are steps of one parameter, to be coloured from dark to light."""


class PanelTable(Axes):
    """One diagram, or one for each combination of some variables.

    What it does not say of its axes, the figure says.
    """

    title: str = ""
    """Heading; may hold variables in braces."""
    for_: Annotated[Factors | None, Field(alias="for")] = None
    """A diagram for each combination."""
    curve: list[Curve] = Field(default_factory=list)
    """Curves, points or bars."""
    call: str = ""
    """A function of `measures.py` that gives the diagrams (a sequence of `Panel`) instead, of the
    variables of each combination."""


class FigureTable(Axes):
    """A figure of the paper, in its axes, variants and units."""

    number: str
    """As `--figure` takes it."""
    caption: str
    """The paper's."""
    note: str = ""
    """What to look for, or how it departs from the paper's."""
    studies: list[str] = Field(default_factory=list)
    """Studies that its functions need, or that variables name."""
    panel: list[PanelTable]
    """Its diagrams."""


class Column(Number):
    """A column of a table, or one for each combination of some variables."""

    head: str
    """Its heading; may hold variables in braces."""
    text: str = ""
    """What its cells say, of the row's variables and of the number's `mean`, `low` and `high`."""
    for_: Annotated[Factors | None, Field(alias="for")] = None
    """A column for each combination."""


class TableTable(_written.Table):
    """A table of a section: a row for each combination of some variables."""

    heading: str = ""
    """Heading above it; may hold variables in braces."""
    text: str = ""
    """Markdown between heading and table."""
    study: str = ""
    """The study of its columns, unless they name one."""
    for_: Annotated[Factors | None, Field(alias="for")] = None
    """A table for each combination of some variables."""
    rows: Factors = Field(default_factory=list)
    """Variables of each row."""
    only: str = ""
    """A function of `measures.py` that says of a row's variables whether it is shown. Without rows
    there is no table."""
    head: dict[str, str] = Field(default_factory=dict)
    """Columns of text that come first: their headings, and what they say of the row's variables."""
    column: list[Column] = Field(default_factory=list)
    """Columns of numbers."""
    claims: list[str] = Field(default_factory=list)
    """Claims judged under the choice of each row: a column each, before those of numbers. Nothing
    stands where the choice was not run."""
    counts: bool = True
    """Whether they say how many of a claim's numbers hold."""
    studies: dict[str, str] = Field(default_factory=dict)
    """For claims: the study in place of another; may hold variables."""
    at: dict[str, Any] = Field(default_factory=dict)
    """For claims: columns that select the choice of the row."""
    otherwise: dict[str, Any] = Field(default_factory=dict)
    """For claims: values of these columns of what was run with one choice only."""
    renamed: dict[str, dict[str, str]] = Field(default_factory=dict)
    """For claims: by column, what the row's choice calls a value; may hold variables."""
    call: str = ""
    """A function of `measures.py` that gives the table (a `Table`, or several) instead."""


class SectionTable(_written.Table):
    """What the page says beside figures and claims."""

    heading: str
    """Its heading; the text under the same heading of `words.md` is its text."""
    studies: list[str] = Field(default_factory=list)
    """Studies that functions of its tables need, or that variables name."""
    table: list[TableTable] = Field(default_factory=list)
    """Its tables."""
    statement: list[StatementTable] = Field(default_factory=list)
    """Sentences whose numbers are checked."""


class OptionTable(_written.Table):
    """A value of a choice: fields that are set last, after disciplines and axes."""

    name: str
    """What tables call it."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Fields of the scenarios, by path. Columns of the results keep what an axis says."""
    studies: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By study, fields of its scenario alone."""
    disciplines: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By label of a discipline, fields that are set only under it, in every study that has it."""
    call: str = ""
    """A function of `measures.py` that gives the fields of a point, by path, from the values of its
    axes, by path."""


class ChoiceTable(_written.Table):
    """What the paper leaves open, and the values that its words allow."""

    name: str
    """What tables call it."""
    words: str
    """What the paper says, or does not say."""
    studies: list[str] = Field(default_factory=list)
    """The studies that it changes; all that claims need unless given."""
    option: Annotated[list[OptionTable], Field(min_length=2)]
    """The values; the first is what the studies have."""


class PaperFile(_written.Table):
    """The file `paper.toml`."""

    title: str
    """Heading of its page, and its line in `forebay paper list`."""
    study: list[StudyTable] = Field(default_factory=list)
    """What is run, in this order."""
    choice: list[ChoiceTable] = Field(default_factory=list)
    """What the paper leaves open, for `forebay paper fit`."""
    column: dict[str, str] = Field(default_factory=dict)
    """Short names of columns of the studies: `T_c = "dumbbell.queue.threshold"`."""
    measure: dict[str, str] = Field(default_factory=dict)
    """Measures and expressions that numbers use, by name."""
    rows: dict[str, Factors] = Field(default_factory=dict)
    """Rows of variables that several tables use, by name."""
    said: dict[str, Said] = Field(default_factory=dict)
    """The numbers that the texts of `words.md` quote, by name."""
    figure: list[FigureTable] = Field(default_factory=list)
    """The paper's figures, drawn anew."""
    section: list[SectionTable] = Field(default_factory=list)
    """Everything else on the page."""
