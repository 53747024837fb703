"""The files of a paper's folder: `paper.toml`, `claims.toml`, `words.md` and `measures.py`.

`read` makes a `Paper` of them, whose figures, claims and sections are functions of the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from forebay import _written
from forebay._engine import ScenarioError
from forebay.papers.data import Data
from forebay.papers.declare import (
    Claim,
    Conclusion,
    Figure,
    Paper,
    Quick,
    Section,
    Statement,
    StudyFile,
    Table,
)
from forebay.papers.files import (
    Allowed,
    ClaimsFile,
    ClaimTable,
    Column,
    Curve,
    FigureTable,
    PanelTable,
    PaperFile,
    Said,
    SectionTable,
    StatementTable,
    TableTable,
)
from forebay.papers.judge import NotTestable, Part, verdict_of
from forebay.papers.numbers import Call, Factors, Number, Setting, Sources, amount, filled
from forebay.papers.points import MARKS
from forebay.report.panel import Panel, Series
from forebay.scenario import quantity
from forebay.stats import Interval


@dataclass(frozen=True)
class Folder:
    """A paper's files, read."""

    home: Path
    paper: PaperFile
    claims: ClaimsFile
    words: Mapping[str, str]
    calls: Mapping[str, Call]
    rows: Mapping[str, Factors]

    def sources(self, data: Data) -> Sources:
        """What its numbers are made of."""
        return Sources(data, self.paper.measure, self.calls, self.rows, judge=self._judged)

    def _judged(self, sources: Sources, id_: str) -> list[Part]:
        """What a claim comes to under a setting; what it did not run says nothing about it."""
        [claim] = [each for each in self.claims.claim if each.id == id_]
        instead = sources.setting.studies
        asked = [each for each in claim.number if (each.study or claim.study) in instead]
        return parts(sources, asked, claim.study)


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
    rows: dict[str, Factors] = dict(paper.rows)
    for file in sorted(home.glob("*.csv")):
        try:
            rows[file.name] = pl.read_csv(file, infer_schema_length=None).to_dicts()
        except pl.exceptions.PolarsError as error:
            raise ScenarioError(f"{file}: {error}") from None
    folder = Folder(home, paper, claims, texts(home / "words.md"), calls, rows)
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
            columns=file.column,
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
            lambda data: self._rests(table, data),
            studies_of(table.number, table.study) + studies_of(self._borrowed(table), ""),
        )

    def _rests(self, table: StatementTable, data: Data) -> list[Part]:
        sources = self.folder.sources(data)
        own = parts(sources, table.number, table.study)
        return own + parts(sources, self._borrowed(table))

    def _borrowed(self, table: StatementTable) -> list[Allowed]:
        """The numbers that a sentence has from claims."""
        one = {table.claim: table.which} if isinstance(table.claim, str) else table.claim
        found = []
        for id_, which in one.items() if table.claim else ():
            if id_ not in self.by_id:
                near = _written.nearest(id_, list(self.by_id))
                raise ScenarioError(f'"{table.words}": there is no claim "{id_}"{near}')
            claim = self.by_id[id_]
            of = len(claim.number)
            if not all(0 < each <= of for each in which):
                raise ScenarioError(f'"{table.words}": {id_} has {of} numbers, from 1')
            found += [
                _in(claim.number[each - 1], claim.study) for each in which or range(1, of + 1)
            ]
        return found

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
                instead = [each.studies.get(n, n) for n in studies_of(own.number, own.study)]
                needed += [name for name in instead if "{" not in name]
        for sentence in table.statement:
            needed += studies_of(sentence.number, sentence.study)
            needed += studies_of(self._borrowed(sentence), "")

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
            lambda data: self._rests(table, data),
        )

    def _table(self, sources: Sources, table: TableTable) -> list[Table]:
        if table.call:
            made: Any = sources.told(table.call, {})
            return [made] if isinstance(made, Table) else list(made)
        found = []
        for outer in sources.rows(table.for_, Number(study=table.study), {}):
            made = self._filled_table(sources, table, outer)
            if made.rows or not table.only:
                found.append(made)
        return found

    def _filled_table(self, sources: Sources, table: TableTable, outer: Mapping[str, Any]) -> Table:
        points = sources.rows(table.rows, Number(study=table.study), outer)
        # A quick run leaves out columns, and asks for it at the first row.
        columns = [
            (_in(each, table.study), more)
            for each in table.column
            for more in sources.rows(each.for_, _in(each, table.study), points[0] if points else {})
        ]
        rows = []
        for values in points:
            if table.only and not sources.told(table.only, values):
                continue
            cells: list[Any] = [filled(text, values) for text in table.head.values()]
            chosen = sources.under(_setting(table, values))
            cells += [self._verdict(chosen, table, self.by_id[id_]) for id_ in table.claims]
            cells += [_cell(sources, each, {**more, **values}) for each, more in columns]
            rows.append(cells)
        head = [*table.head, *table.claims, *(filled(each.head, more) for each, more in columns)]
        return Table(head, rows, filled(table.heading, outer), table.text)

    def _verdict(self, chosen: Sources, table: TableTable, claim: ClaimTable) -> str:
        """What a claim comes to under a choice."""
        # What was not run under the choices says nothing about them.
        asked = [each for each in claim.number if (each.study or claim.study) in table.studies]
        if not all(chosen.chosen_ran(each.study or claim.study) for each in asked):
            return ""
        found = parts(chosen, asked, claim.study)
        mark = MARKS[verdict_of(found)]
        good = sum(part.verdict == "reproduced" for part in found)
        return f"{mark}, {good} of {len(found)}" if table.counts else mark


def _cell(sources: Sources, column: Column, values: Mapping[str, Any]) -> Any:
    """A number or a text; nothing where a point would be compared with itself."""
    if column.less is not None and not column.call:
        here = sources.where(column, values)
        other = column.model_copy(update={"at": {**column.at, **column.less}})
        if sources.where(other, values) == here:
            return ""
    if not (column.of or column.call or column.value is not None):
        return filled(column.text, values)
    found = sources.interval(column, values)
    if not column.text or found is None:
        return found
    ends = {"mean": found.mean, "low": found.low, "high": found.high}
    return filled(column.text, {**values, **ends})


def _setting(table: TableTable, values: Mapping[str, Any]) -> Setting:
    return Setting(
        {name: filled(study, values) for name, study in table.studies.items()},
        {name: filled(value, values) for name, value in table.at.items()},
        table.otherwise,
        {
            column: {name: filled(value, values) for name, value in names.items()}
            for column, names in table.renamed.items()
        },
    )


def studies_of(numbers: Sequence[Number], study: str) -> tuple[str, ...]:
    """The studies that some numbers name, or else the one around them.

    What the rows of a table name is left out.
    """
    found: dict[str, None] = {}
    for each in numbers:
        own = each.study or ("" if each.call or each.lookup else study)
        for name in (own, each.minus.study if each.minus else ""):
            for values in _rows_of(getattr(each, "for_", None)) if "{" in name else [{}]:
                with suppress(ScenarioError):
                    found[filled(name, values)] = None
    found.pop("", None)
    return tuple(found)


def _rows_of(factors: Factors | None) -> list[dict[str, Any]]:
    """The values of the variables that need no results."""
    if isinstance(factors, dict):
        found: list[dict[str, Any]] = [{}]
        for name, given in factors.items():
            steps = given if isinstance(given, list) else []
            tables = [each if isinstance(each, dict) else {name: each} for each in steps] or [{}]
            found = [{**row, **each} for row in found for each in tables]
        return found
    return factors if isinstance(factors, list) else [{}]


def parts(sources: Sources, numbers: Sequence[Allowed], study: str = "") -> list[Part]:
    """What a claim comes to: a part for each number and combination of its variables."""
    found = []
    for number in numbers:
        for values in sources.rows(number.for_, _in(number, study), {}):
            own = {name: v for name, v in values.items() if name in _OWN}
            one = _in(number.model_copy(update=own), study)
            stated = amount(one.stated, values)
            one = one.model_copy(update={"stated": stated})
            count = len(sources.rows(one.over, one, values)) - (one.take in ("rises", "falls"))
            if not count:  # None of the points was run.
                continue
            values, bounds = {**values, "count": count}, one.bounds(count)
            referee = one.referee
            if isinstance(referee, Number):
                at = values
                if referee.lookup:
                    referee = referee.like(one, ("of", "over", "take", "scale"))
                    at = {**values, **{name: filled(v, values) for name, v in one.at.items()}}
                measured = sources.interval(_in(referee, one.study), at)
                referee = None if measured is None else measured.mean
            found.append(
                Part(
                    filled(one.what, values),
                    filled(one.paper, values),
                    sources.interval(one, values),
                    bounds.low,
                    bounds.high,
                    one.unit,
                    stated,
                    referee,
                )
            )
    return found


_OWN = set(Allowed.model_fields) - {"for_", "what", "study"}
"""Fields that a row of variables may give."""


def panels(sources: Sources, table: PanelTable) -> Sequence[Panel]:
    """A diagram, or one for each combination of its variables."""
    found: list[Panel] = []
    for values in sources.rows(table.for_, Number(study=table.study), {}):
        if table.call:
            found += sources.told(table.call, values)
            continue
        found.append(
            Panel(
                filled(table.title, values),
                table.x,
                filled(table.y, values),
                [one for each in table.curve for one in curves(sources, _of(each, table), values)],
                x_range=_ends(table.x_range),
                y_range=_ends(filled(table.y_range, values)),
                x_log=table.x_log,
                y_log=table.y_log,
                ordered=table.ordered,
            )
        )
    return found


def curves(sources: Sources, curve: Curve, values: Mapping[str, Any]) -> list[Series]:
    """A curve for each combination of its variables."""
    if curve.y is not None:
        x, y = filled(curve.x, values) or [], filled(curve.y, values)
        label = filled(curve.label, values)
        return [Series(label, x, y, style=curve.style, stated=curve.stated)] if y else []
    found = []
    for here in sources.rows(curve.for_, curve, values):
        points = curve.points or {curve.along: curve.x or "all"}
        steps = sources.rows(points, curve, here)
        if curve.x is None and all(
            isinstance(each.get(curve.along), int | float) for each in steps
        ):
            steps.sort(key=lambda each: each[curve.along])
        means = [sources.interval(curve, step) for step in steps]
        x = [_place(sources, curve, step) for step in steps]
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
    if curve.stated or not curve.intervals:
        low = high = []
    return Series(label, x, mean, low, high, curve.style, curve.stated)


def _place(sources: Sources, curve: Curve, values: Mapping[str, Any]) -> Any:
    """Where a step is on the axis: a number, or the name of a bar."""
    if curve.x_is:
        known = filled(curve.x_is, values)
        if known is None:
            raise ScenarioError(f'"{curve.x_is}" has no value at {dict(values)}')
        if not isinstance(known, str):
            return curve.x_scale * known
        same = {"study": curve.study, "at": curve.at, "over": curve.over, "take": curve.take}
        plain = Number(of=curve.x_is, scale=curve.x_scale).model_copy(update=same)
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
    if said.call and said.over is None:
        told = sources.told(said.call, {}, said.at)
        if isinstance(told, str):
            return told
    if said.for_ is not None:
        rows = (
            ({**values, "count": len(sources.rows(one.over, one, values))}, found)
            for values in sources.rows(said.for_, one, {})
            for found in [sources.interval(one, values)]
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
