"""The files of a paper's folder: `paper.toml`, `claims.toml`, `words.md` and `measures.py`.

Their tables are models, whose docstrings are docs/reference/paper.md. `read` makes a `Paper` of
them, whose figures, claims and sections are functions of the results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import Field

from forebay import _written
from forebay._engine import ScenarioError
from forebay.judge import Bounds
from forebay.papers.data import Data
from forebay.papers.declare import (
    Claim,
    Conclusion,
    Figure,
    Panel,
    Paper,
    Quick,
    Section,
    Series,
    Statement,
    StudyFile,
    Style,
    Table,
)
from forebay.papers.judge import NotTestable, Part, verdict_of
from forebay.papers.numbers import Call, Factors, Number, Setting, Sources, combinations, filled
from forebay.scenario import quantity
from forebay.stats import Interval

MARKS = {"reproduced": "yes", "differs": "no", "not testable": "?"}
"""A verdict in a cell."""


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


class Said(Number):
    """A number that a text quotes: `{name:.1f}` in the text."""

    for_: Annotated[Factors | None, Field(alias="for")] = None
    """Several numbers, each said as `text` has it."""
    text: str = ""
    """What is said of each of several, such as "{mean:.0f} ms with {discipline}"."""
    between: str = ", "
    """What stands between two of several."""


class Allowed(Number):
    """A number and the range that somebody's words allow it."""

    what: str = ""
    """What is measured; may hold variables in braces."""
    paper: str = ""
    """What the paper says of it."""
    unit: str = ""
    """Unit of the numbers, for the page."""
    for_: Annotated[Factors | None, Field(alias="for")] = None
    """A number for each combination of some variables. A row may also give fields of this table,
    such as `stated`."""
    within: list[float] | None = None
    """Least and greatest value that the words allow."""
    at_least: float | None = None
    """Least value that they allow."""
    at_most: float | None = None
    """Greatest value that they allow."""
    exactly: float | None = None
    """The only value that they allow."""
    every: bool = False
    """Whether all of the points that `take` counts are asked for; `{count}` is their number."""
    printed: str | None = None
    """A number as it is printed: it allows what rounds to it."""
    stated: float | None = None
    """The number that the paper states, if it states one, in `unit`."""
    slack: float | None = None
    """The stated number is allowed so much either way, in `unit`."""
    share: float | None = None
    """The stated number is allowed this share of itself either way."""
    referee: float | Number | None = None
    """What the authors' own program, or another that was matched to it, gives, in `unit`."""

    def bounds(self, points: int) -> Bounds:
        """What is allowed.

        Args:
            points: how many `take` counts.

        Raises:
            ScenarioError: no bounds are given, or several.
        """
        given = [
            found
            for found in (
                None if self.within is None else Bounds(*self.within),
                None if self.at_least is None and self.at_most is None else Bounds(
                    -math.inf if self.at_least is None else self.at_least,
                    math.inf if self.at_most is None else self.at_most,
                ),
                None if self.exactly is None else Bounds(self.exactly, self.exactly),
                Bounds(points, points) if self.every else None,
                None if self.printed is None else Bounds.printed(self.printed),
                None if self.slack is None else Bounds.within(self._stated, self.slack),
                None
                if self.share is None
                else Bounds.within(self._stated, abs(self.share * self._stated)),
            )
            if found is not None
        ]  # fmt: skip
        if len(given) != 1:
            raise ScenarioError(
                f'"{self.what}": give one of within, at_least and at_most, exactly, printed, slack '
                "and share"
            )
        return given[0]

    @property
    def _stated(self) -> float:
        if self.stated is None:
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
    number: list[Allowed]
    """What it rests on."""
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
    x: list[Any] | None = None
    """Its values; all that were run unless given. Names make bars."""
    x_scale: float = 1.0
    """Factor of `x` in base units (bit/s, bytes, seconds) or plain numbers."""
    x_is: str = ""
    """A measure or expression that is the place on the axis, in place of the value itself."""
    y: list[float | None] | None = None
    """Numbers in place of a measure, such as those that the text states."""
    stated: bool = False
    """Whether these are numbers that the paper's text states; drawn as hollow stars."""
    style: Style = "line"
    """How it is drawn."""


class PanelTable(_written.Table):
    """One diagram, or one for each combination of some variables."""

    title: str = ""
    """Heading; may hold variables in braces."""
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
    for_: Annotated[Factors | None, Field(alias="for")] = None
    """A diagram for each combination."""
    curve: list[Curve] = Field(default_factory=list)
    """Curves, points or bars."""
    x_range: list[float] | None = None
    """Ends of the axis; chosen from the points unless given."""
    y_range: list[float] | None = None
    """Ends of the axis; chosen from the points unless given."""
    x_log: bool = False
    """Whether the axis is logarithmic."""
    y_log: bool = False
    """Whether the axis is logarithmic."""
    ordered: bool = False
    """Whether the curves are steps of one parameter, to be coloured from dark to light."""
    call: str = ""
    """A function of `measures.py` that gives the diagrams (a sequence of `Panel`) instead."""


class FigureTable(_written.Table):
    """A figure of the paper, in its axes, variants and units."""

    number: str
    """As `--figure` takes it."""
    caption: str
    """The paper's."""
    note: str = ""
    """What to look for, or how it departs from the paper's."""
    studies: list[str] = Field(default_factory=list)
    """Studies that it needs beyond those that its curves name."""
    panel: list[PanelTable]
    """Its diagrams."""


class Column(Number):
    """A column of a table."""

    head: str
    """Its heading."""


class TableTable(_written.Table):
    """A table of a section: a row for each combination of some variables."""

    heading: str = ""
    """Heading above it."""
    text: str = ""
    """Markdown between heading and table."""
    study: str = ""
    """The study of its columns, unless they name one."""
    rows: Factors = Field(default_factory=list)
    """Variables of each row."""
    head: dict[str, str] = Field(default_factory=dict)
    """Columns of text that come first: their headings, and what they say of the row's variables."""
    column: list[Column] = Field(default_factory=list)
    """Columns of numbers."""
    claims: list[str] = Field(default_factory=list)
    """Claims judged under the choice of each row: a column each."""
    studies: dict[str, str] = Field(default_factory=dict)
    """For claims: the study in place of another."""
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
    """Studies that it needs beyond those that its tables name."""
    table: list[TableTable] = Field(default_factory=list)
    """Its tables."""
    statement: list[StatementTable] = Field(default_factory=list)
    """Sentences whose numbers are checked."""


class PaperFile(_written.Table):
    """The file `paper.toml`."""

    title: str
    """Heading of its page, and its line in `forebay paper list`."""
    study: list[StudyTable] = Field(default_factory=list)
    """What is run, in this order."""
    measure: dict[str, str] = Field(default_factory=dict)
    """Measures and expressions that numbers use, by name."""
    said: dict[str, Said] = Field(default_factory=dict)
    """The numbers that the texts of `words.md` quote, by name."""
    figure: list[FigureTable] = Field(default_factory=list)
    """The paper's figures, drawn anew."""
    section: list[SectionTable] = Field(default_factory=list)
    """Everything else on the page."""


@dataclass(frozen=True)
class Folder:
    """A paper's files, read."""

    home: Path
    paper: PaperFile
    claims: ClaimsFile
    words: Mapping[str, str]
    calls: Mapping[str, Call]

    def sources(self, data: Data) -> Sources:
        """What its numbers are made of."""
        return Sources(data, self.paper.measure, self.calls)


def texts(path: Path) -> dict[str, str]:
    """The texts of a Markdown file by the headings above them."""
    found = {}
    for part in re.split(r"(?m)^(?=# )", path.read_text("utf-8")):
        head, _, text = part.partition("\n")
        if head.startswith("# "):
            found[head[2:].strip()] = text.strip()
    return found


def read(home: Path, measures: ModuleType | None) -> Paper:
    """A paper from the files of its folder.

    Args:
        home: the folder.
        measures: its module `measures.py`, if it has one.

    Raises:
        ScenarioError: a file is not understood, or a word or function that it names is missing.
        OSError: one cannot be read.
    """
    place = home / "paper.toml"
    paper = _written.read(PaperFile, _written.load(place), str(place))
    place = home / "claims.toml"
    claims = ClaimsFile()
    if place.exists():
        claims = _written.read(ClaimsFile, _written.load(place), str(place))
    calls = {
        name: value
        for name, value in vars(measures).items()
        if callable(value) and getattr(value, "__module__", "") == measures.__name__
    } if measures is not None else {}  # fmt: skip
    folder = Folder(home, paper, claims, texts(home / "words.md"), calls)
    return _Maker(folder).paper()


class _Maker:
    """Makes the parts of a `Paper`, each of which is a function of the results."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.by_id = {each.id: each for each in folder.claims.claim}

    def paper(self) -> Paper:
        file, claims = self.folder.paper, self.folder.claims
        return Paper(
            title=file.title,
            citation=self._words("citation"),
            setup=self._words("setup"),
            statistics=self._words("statistics"),
            studies=tuple(
                StudyFile(
                    each.name,
                    f"studies/{each.name}.toml",
                    Quick(each.quick.replications, each.quick.set, each.quick.axes),
                    tuple(each.tables),
                )
                for each in file.study
            ),
            figures=tuple(map(self._figure, file.figure)),
            claims=tuple(map(self._claim, claims.claim)),
            sections=tuple(map(self._section, file.section)),
            found=self._quoting(self._words("found"), file.said),
            conclusions=tuple(map(self._conclusion, claims.conclusion)),
            hypotheses=tuple(map(self._claim, claims.hypothesis)),
        )

    def _words(self, heading: str) -> str:
        if heading not in self.folder.words:
            near = _written.nearest(heading, list(self.folder.words))
            raise ScenarioError(f'{self.folder.home / "words.md"}: no heading "{heading}"{near}')
        return self.folder.words[heading]

    def _quoting(
        self, words: str, said: Mapping[str, Said], study: str = ""
    ) -> str | Callable[[Data], str]:
        """A text, or a function that fills in the numbers that it quotes."""
        if not said:
            return words

        def told(data: Data) -> str:
            sources = self.folder.sources(data)
            return words.format_map(
                {name: _spoken(sources, each, study) for name, each in said.items()}
            )

        return told

    def _claim(self, table: ClaimTable) -> Claim:
        def judge(data: Data) -> Sequence[Part] | NotTestable:
            if table.not_testable:
                return NotTestable(table.not_testable)
            return parts(self.folder.sources(data), table.number, table.study)

        return Claim(
            table.id,
            table.words,
            judge,
            studies_of(table.number, table.study),
            self._quoting(table.reason, table.said, table.study),
        )

    def _conclusion(self, table: StatementTable) -> Conclusion:
        return Conclusion(
            table.words,
            lambda data: parts(self.folder.sources(data), table.number, table.study),
            studies_of(table.number, table.study),
        )

    def _figure(self, table: FigureTable) -> Figure:
        needed = [name for each in table.panel for name in studies_of(each.curve, each.study)]
        return Figure(
            table.number,
            table.caption,
            lambda data: [
                panel for each in table.panel for panel in panels(self.folder.sources(data), each)
            ],
            tuple(dict.fromkeys([*table.studies, *needed])),
            table.note,
        )

    def _section(self, table: SectionTable) -> Section:
        needed = list(table.studies)
        for each in table.table:
            needed += studies_of(each.column, each.study)
            for id_ in each.claims:
                own = self.by_id[id_]
                needed += [each.studies.get(n, n) for n in studies_of(own.number, own.study)]
        for sentence in table.statement:
            needed += studies_of(sentence.number, sentence.study)

        def tables(data: Data) -> list[Table]:
            sources = self.folder.sources(data)
            return [made for each in table.table for made in self._table(sources, each)]

        return Section(
            table.heading,
            self.folder.words.get(table.heading, ""),
            tables if table.table else None,
            tuple(dict.fromkeys(needed)),
            tuple(map(self._statement, table.statement)),
        )

    def _statement(self, table: StatementTable) -> Statement:
        return Statement(
            self._quoting(table.words, table.said, table.study),
            lambda data: parts(self.folder.sources(data), table.number, table.study),
        )

    def _table(self, sources: Sources, table: TableTable) -> list[Table]:
        if table.call:
            made: Any = sources.calls[table.call](sources)
            return [made] if isinstance(made, Table) else list(made)
        rows = []
        for values in sources.rows(table.rows, Number(study=table.study), {}):
            cells: list[Any] = [filled(text, values) for text in table.head.values()]
            cells += [sources.interval(_in(each, table.study), values) for each in table.column]
            chosen = sources.under(_setting(table, values))
            for id_ in table.claims:
                own = self.by_id[id_]
                # What was not run under the choices says nothing about them.
                asked = [each for each in own.number if (each.study or own.study) in table.studies]
                found = parts(chosen, asked, own.study)
                good = sum(part.verdict == "reproduced" for part in found)
                cells.append(f"{MARKS[verdict_of(found)]}, {good} of {len(found)}")
            rows.append(cells)
        head = [*table.head, *(each.head for each in table.column), *table.claims]
        return [Table(head, rows, table.heading, table.text)]


def _setting(table: TableTable, values: Mapping[str, Any]) -> Setting:
    return Setting(
        table.studies,
        {name: filled(value, values) for name, value in table.at.items()},
        table.otherwise,
        {
            column: {name: filled(value, values) for name, value in names.items()}
            for column, names in table.renamed.items()
        },
    )


def studies_of(numbers: Sequence[Number], study: str) -> tuple[str, ...]:
    """The studies that some numbers name, or else the one around them."""
    found: dict[str, None] = {}
    for each in numbers:
        factors: Factors = getattr(each, "for_", None) or [{}]
        if isinstance(factors, dict):
            listed = {name: v for name, v in factors.items() if not isinstance(v, str)}
            factors = list(combinations(listed))
        for values in factors:
            name = filled(each.study or study, values) if not each.call else each.study
            if name:
                found[name] = None
    return tuple(found)


def parts(sources: Sources, numbers: Sequence[Allowed], study: str = "") -> list[Part]:
    """What a claim comes to: a part for each number and combination of its variables."""
    found = []
    for number in numbers:
        for values in sources.rows(number.for_, _in(number, study), {}):
            own = {name: v for name, v in values.items() if name in _OWN}
            one = _in(number.model_copy(update=own), study)
            count = len(sources.rows(one.over, one, values))
            values, bounds = {**values, "count": count}, one.bounds(count)
            referee = one.referee
            if isinstance(referee, Number):
                measured = sources.interval(_in(referee, one.study), values)
                referee = None if measured is None else measured.mean
            found.append(
                Part(
                    filled(one.what, values),
                    filled(one.paper, values),
                    sources.interval(one, values),
                    bounds.low,
                    bounds.high,
                    one.unit,
                    one.stated,
                    referee,
                )
            )
    return found


_OWN = set(Allowed.model_fields) - {"for_", "what", "study"}
"""Fields that a row of variables may give."""


def panels(sources: Sources, table: PanelTable) -> Sequence[Panel]:
    """A diagram, or one for each combination of its variables."""
    if table.call:
        made: Any = sources.calls[table.call](sources)
        return list(made)
    found = []
    for values in sources.rows(table.for_, Number(study=table.study), {}):
        found.append(
            Panel(
                filled(table.title, values),
                table.x,
                filled(table.y, values),
                [one for each in table.curve for one in curves(sources, _of(each, table), values)],
                x_range=_ends(table.x_range),
                y_range=_ends(table.y_range),
                x_log=table.x_log,
                y_log=table.y_log,
                ordered=table.ordered,
            )
        )
    return found


def curves(sources: Sources, curve: Curve, values: Mapping[str, Any]) -> list[Series]:
    """A curve for each combination of its variables."""
    if curve.y is not None:
        return [
            Series(
                filled(curve.label, values), curve.x or [], curve.y,
                style=curve.style, stated=curve.stated,
            )
        ]  # fmt: skip
    found = []
    for here in sources.rows(curve.for_, curve, values):
        steps = curve.x
        if steps is None:
            study, where = sources.where(curve, here)
            runs = sources.data.runs(study, where)
            steps = runs[curve.along].unique(maintain_order=True).to_list()
        means = [sources.interval(curve, {**here, curve.along: step}) for step in steps]
        x = [_place(sources, curve, {**here, curve.along: step}) for step in steps]
        found.append(_series(filled(curve.label, here), x, means, curve))
    return found


def _of(curve: Curve, panel: PanelTable) -> Curve:
    """A curve with what its panel says of all."""
    said = {name: getattr(panel, name) for name in ("study", "along", "x_is")}
    return curve.model_copy(update={k: v for k, v in said.items() if not getattr(curve, k)})


def _series(label: str, x: Sequence[Any], found: Sequence[Interval | None], curve: Curve) -> Series:
    mean, low, high = (
        [None if each is None else getattr(each, end) for each in found]
        for end in ("mean", "low", "high")
    )
    return Series(label, x, mean, low, high, curve.style, curve.stated)


def _place(sources: Sources, curve: Curve, values: Mapping[str, Any]) -> Any:
    """Where a step is on the axis: a number, or the name of a bar."""
    if curve.x_is:
        plain = Number(study=curve.study, of=curve.x_is, at=curve.at, scale=curve.x_scale)
        found = sources.interval(plain, values)
        return None if found is None else found.mean
    step = values[curve.along]
    amount = quantity(step) if isinstance(step, str) else None
    if amount is not None:
        return curve.x_scale * amount.value
    return step if isinstance(step, str) else curve.x_scale * step


def _ends(given: Sequence[float] | None) -> tuple[float, float] | None:
    return None if given is None else (given[0], given[1])


class _Spoken(Interval):
    """A number in a text: `{name:.1f}` is its mean, `{name.low:.1f}` an end."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return format(self.mean, spec)


def _spoken(sources: Sources, said: Said, study: str) -> Any:
    one = _in(said, study)
    if said.call:
        told = sources.calls[said.call](sources, **said.at)
        if isinstance(told, str):
            return told
    if said.for_ is not None:
        rows = (
            (values, sources.interval(one, values)) for values in sources.rows(said.for_, one, {})
        )
        return said.between.join(
            said.text.format_map(
                {**values, "mean": found.mean, "low": found.low, "high": found.high}
            )
            for values, found in rows
            if found is not None
        )
    found = sources.interval(one)
    if found is None:
        return "unknown"
    return _Spoken(found.mean, found.half_width, found.samples)


def _in(number: Any, study: str) -> Any:
    """A number in the study of the table around it, unless it names one."""
    return number if number.study or not study else number.model_copy(update={"study": study})
