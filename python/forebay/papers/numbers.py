"""Numbers as data: what to measure at which points of which study.

Claims, figures, tables and sentences of a paper all ask for numbers, and write them in one form.
A number is a measure at a point of a study, or one point against another, or what several points
come to. Where no such form can say it, it calls a function of the paper's `measures.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any, Literal, TypeVar

import polars as pl
from pydantic import Field

from forebay import _written, stats
from forebay._engine import ScenarioError
from forebay._judge import Bounds, Judgement, Standing, exactly
from forebay.papers.data import Data, Where
from forebay.papers.intervals import (
    apart,
    means,
    paired,
    percent,
    quotient,
    scaled,
    span,
    surely,
)
from forebay.papers.judge import Part
from forebay.papers.variables import DECIMAL, Factors, Values, all_filled, amount, filled, known
from forebay.stats import Interval

Call = Callable[..., Any]
"""A function of `measures.py`: it is given the paper's `Sources`, what `at` says, and the variables
that it has parameters for. It returns an `Interval`, none if nothing was measured, or a text."""


class Number(_written.Table):
    """A number with its interval.

    Text in `of`, `study` and in points may hold variables in braces. A variable whose name is a
    column of the study also selects the point.
    """

    study: str = ""
    """The study; the one of the table around it unless given."""
    of: str = ""
    """A measure (a column of the study), one that `[measure]` names, or an expression of columns,
    each in double quotes: `"classes.p1.sent_bps" / 8000`. In it `@name` is a named measure,
    `loss(a, b)` the share of the packets of classes a and b that is dropped, and `delay(a, b)`
    their mean delay in ms."""
    at: dict[str, Any] = Field(default_factory=dict)
    """Columns of the study and their values at the point."""
    less: dict[str, Any] | None = None
    """Take away the measure at the point with these columns changed, run by run."""
    times: dict[str, Any] | None = None
    """Divide by the measure at the point with these columns changed, run by run; before `less`."""
    change: dict[str, Any] | None = None
    """Change in percent against the point with these columns changed, run by run."""
    over: Factors | None = None
    """Several points, of which `take` makes one number."""
    take: Literal[
        "least", "greatest", "span", "mean", "sum", "above", "below", "between", "rises", "falls"
    ] | None = None  # fmt: skip
    """Of several points: the least or greatest mean; from the least mean (`low`) to the greatest
    (`high`); the mean within each replication; the sum
    over all runs, which is exact; how many lie above or below `than` (from those that surely do
    to those that are not surely on the other side); how many surely lie between `ends`; or at how
    many of the steps from one to the next it rises or falls, run by run, counted likewise."""
    than: float = 0.0
    """What `above` and `below` compare with, before `scale`."""
    ends: list[float] = Field(default_factory=list)
    """What `between` compares with, before `scale`; one alone is the lower end."""
    scale: float = 1.0
    """Factor, such as 100 for a share in percent."""
    minus: Number | None = None
    """Take away the same measure of other runs, without pairs: at the same point unless its `at`
    says otherwise, of another `study`."""
    per: Number | None = None
    """Divide by the mean of the same measure of other runs, which is taken as exact: at the same
    point unless its `at` says otherwise."""
    mean_only: bool = False
    """Whether the mean is taken as exact, without an interval."""
    lookup: str = ""
    """Rows, by name, in place of a study: `of` is the column of the row that has the values of the
    variables and of `at` in the columns that it shares with them."""
    call: str = ""
    """A function of `measures.py`, in place of a measure; what `at` says are its arguments."""
    value: float | str | None = None
    """A number that is calculated by hand or stated, or an expression of variables in braces."""


Given = TypeVar("Given", bound=_written.Table)


def like(table: Given, other: _written.Table, names: Sequence[str]) -> Given:
    """A table with some fields of another, unless it gives them itself."""
    own = {name: getattr(other, name) for name in names if name not in table.model_fields_set}
    return table.model_copy(update=own)


def within(number: Given, study: str) -> Given:
    """A number in the study of the table around it, unless it names one."""
    own = getattr(number, "study", "")
    return number if own or not study else number.model_copy(update={"study": study})


@dataclass(frozen=True)
class Setting:
    """Another choice of what a paper leaves open: where numbers are then looked up."""

    studies: Mapping[str, str] = field(default_factory=dict)
    """Study in place of another."""
    at: Where = field(default_factory=dict)
    """Columns that select the choice, if the study in place has them."""
    otherwise: Where = field(default_factory=dict)
    """Values of these columns where no run has those of `at`: what was run with one choice only."""
    renamed: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    """By column, what stands in the study in place of a value."""


@dataclass(frozen=True)
class Sources:
    """What numbers are made of: results, named measures, and functions."""

    data: Data
    measures: Mapping[str, str]
    """Expressions by name."""
    calls: Mapping[str, Call]
    """Functions of `measures.py`, by name."""
    named: Mapping[str, Factors] = field(default_factory=dict)
    """Rows of variables, by name."""
    setting: Setting = Setting()
    judge: Callable[[Sources, str], list[Part]] | None = None
    """What a claim comes to under the setting, by its id."""

    def parts(self, claim: str) -> list[Part]:
        """What a claim comes to: those of its numbers whose study the setting replaces."""
        assert self.judge is not None
        return self.judge(self, claim)

    def under(self, setting: Setting) -> Sources:
        """The same under another choice."""
        return replace(self, setting=setting)

    def interval(self, number: Number, values: Values | None = None) -> Interval | None:
        """A number with its interval; none if it was not measured.

        Raises:
            ScenarioError: no run, or more than one point, is at the point, or a name is unknown.
        """
        found = self._interval(number, values or {})
        return exactly(found.mean) if number.mean_only and found is not None else found

    def known(self, number: Number, values: Values | None = None) -> Interval:
        """A number that was measured.

        Raises:
            ScenarioError: as for `interval`, or it was not.
        """
        found = self.interval(number, values)
        if found is None:
            raise ScenarioError(f'"{number.of or number.call}" was not measured at {values}')
        return found

    def mean(self, number: Number, values: Values | None = None) -> float:
        """The mean of a number that was measured.

        Raises:
            ScenarioError: as for `known`.
        """
        return self.known(number, values).mean

    def _interval(self, number: Number, values: Values) -> Interval | None:
        if number.per is not None:
            other = like(number.per, number, ("of", "study"))
            base = self.mean(other, {**values, **all_filled(number.at, values)})
            number = number.model_copy(update={"scale": number.scale / base, "per": None})
        if number.value is not None:
            value = amount(number.value, values)
            return None if value is None else exactly(number.scale * value)
        if number.over is None:
            return self._point(number, values, scale=number.scale)
        points = self.rows(number.over, number, values)
        if number.take == "sum":
            return exactly(number.scale * sum(self._sum(number, each) for each in points))
        if number.take == "mean":
            runs = [self._one(number, each) for each in points]
            return stats.interval([number.scale * mean for mean in means(runs)])
        sign = 1 if number.take in ("above", "rises") else -1
        if number.take in ("above", "below"):
            return surely([self._point(number, each, less=number.than) for each in points], sign)
        if number.take in ("rises", "falls"):
            return surely(self._steps(number, points), sign)
        if number.take == "between":
            bounds = Bounds(*number.ends)
            lie = [Judgement(self._point(number, each), bounds).standing for each in points]
            return exactly(lie.count(Standing.INSIDE))
        if number.take is None:
            raise ScenarioError("over needs take: what the points come to")
        every = [self._point(number, each, scale=number.scale) for each in points]
        measured = [each for each in every if each is not None]
        if not measured or number.take == "span":
            return span(measured) if measured else None
        pick = min if number.take == "least" else max
        return pick(measured, key=lambda each: each.mean)

    def _steps(self, number: Number, points: Sequence[Values]) -> list[Interval | None]:
        """Differences from one point to the next, run by run."""
        runs = [self._one(number, each) for each in points]
        found = []
        for at, (before, after) in enumerate(pairwise(runs)):
            step = paired(after, before, lambda a, b: a - b, (points[at + 1], points[at]))
            found.append(stats.interval(list(step.values())))
        return found

    def _point(
        self, number: Number, values: Values, *, less: float = 0.0, scale: float = 1.0
    ) -> Interval | None:
        """The number at one point, from which `less` is taken, then times `scale`."""
        if number.call:
            return scaled(self.told(number.call, values, number.at), scale, less)
        if number.lookup:
            return scaled(self._looked_up(number, values), scale, less)
        samples = self._one(number, values).values()
        found = stats.interval([scale * (v - less) for v in samples])
        if number.minus is None or found is None:
            return found
        other = like(number.minus, number, ("of",))
        taken = self.interval(other, {**values, **all_filled(number.at, values)})
        return None if taken is None else apart(found, taken, scale)

    def _looked_up(self, number: Number, values: Values) -> Interval | None:
        """A number of named rows, as it is."""
        at = {**values, **all_filled(number.at, values)}
        rows = [
            row
            for row in self._listed(number.lookup, number, values)
            if all(at.get(column, value) == value for column, value in row.items())
        ]
        if len(rows) > 1:
            raise ScenarioError(f"{number.lookup}: {at} is more than one row")
        of = filled(number.of, values)
        if rows and of not in rows[0]:
            near = _written.nearest(of, list(rows[0]))
            raise ScenarioError(f'{number.lookup}: there is no column "{of}"{near}')
        return None if not rows or rows[0][of] is None else exactly(rows[0][of])

    def points(self, study: str, where: Where) -> pl.DataFrame:
        """Runs of a study at some points, for functions of `measures.py`.

        Raises:
            ScenarioError: there are none.
        """
        study = self.setting.studies.get(study, study)
        runs = self.data.study(study).runs
        return self.data.runs(study, self._chosen(study, runs, dict(where)))

    def rows(self, factors: Factors | None, number: Number, values: Values) -> list[Values]:
        """The variables of each combination; those given alone if there are no factors.

        Raises:
            ScenarioError: no rows have the name, they are made of themselves, or none agrees with
                the others.
        """
        if factors is None:
            return [values]
        found: list[Values] = [{**values, **each} for each in self._listed(factors, number, values)]
        some = self.data.quick or self.setting.studies
        return [each for each in found if self._run(number, each)] if some else found

    def _listed(
        self, factors: Factors, number: Number, values: Values, within: tuple[str, ...] = ()
    ) -> list[dict[str, Any]]:
        """The rows alone, without the variables that are known already.

        Args:
            factors: the rows.
            number: whose study has the columns.
            values: the variables that are known.
            within: names of the rows that these are part of.
        """
        if isinstance(factors, list):
            return factors
        if isinstance(factors, str):
            if factors not in self.named:
                near = _written.nearest(factors, list(self.named))
                raise ScenarioError(f'there are no rows called "{factors}"{near}')
            if factors in within:
                raise ScenarioError(f'the rows "{factors}" are made of themselves')
            return self._listed(self.named[factors], number, values, (*within, factors))
        found: list[dict[str, Any]] = [{}]
        for name, given in known(factors, values).items():
            for one in given if name == "rows" and isinstance(given, list) else [given]:
                steps = self._given(name, one, number, values, within)
                found = [
                    {**row, **step}
                    for row in found
                    for step in (known(each, {**row, **values}) for each in steps)
                    if all(row.get(variable, value) == value for variable, value in step.items())
                ]
                if not found:
                    raise ScenarioError(f"no row agrees with {name} = {one}")
        return found

    def _given(
        self, name: str, given: Any, number: Number, values: Values, within: tuple[str, ...]
    ) -> list[dict[str, Any]]:
        """The rows that one entry of a combination gives."""
        if name == "rows":
            return self._listed(given, number, values, within)
        if name == "call":
            rows: list[dict[str, Any]] = self.told(given, values)
            return rows
        if given == "all":
            return [{name: each} for each in self._all(number, name, values)]
        listed = given if isinstance(given, list) else [given]
        return [each if isinstance(each, dict) else {name: each} for each in listed]

    def _run(self, number: Number, values: Values) -> bool:
        """Whether some run is at the point."""
        if not number.study or number.call:
            return True
        try:
            study, where = self.where(number, values)
        except ScenarioError:  # It needs variables of a table's rows.
            return True
        same = (pl.col(column) == value for column, value in where.items())
        return not self.data.study(study).runs.filter(*same).is_empty()

    def _all(self, number: Number, column: str, values: Values) -> list[Any]:
        study, where = self.where(number, values)
        runs = self.data.runs(study, where)
        if column not in runs.columns:
            raise ScenarioError(f'study "{study}": there is no axis "{column}"')
        return runs[column].unique(maintain_order=True).to_list()

    def where(self, number: Number, values: Values) -> tuple[str, Where]:
        """Study and point of a number."""
        study = filled(number.study, values)
        study = self.setting.studies.get(study, study)
        runs = self.data.study(study).runs
        where = {name: v for name, v in values.items() if name in runs.columns}
        where |= {name: filled(v, values) for name, v in number.at.items()}
        return study, self._chosen(study, runs, where)

    def _chosen(self, study: str, runs: pl.DataFrame, where: dict[str, Any]) -> Where:
        """The point under the setting."""
        for column, names in self.setting.renamed.items():
            if where.get(column) in names:
                where[column] = names[where[column]]
        at = {name: v for name, v in self.setting.at.items() if name in runs.columns}
        if study not in self.setting.studies.values() or not at:
            return where
        chosen = where | at
        same = (pl.col(column) == v for column, v in chosen.items())
        there = not runs.filter(pl.all_horizontal(same)).is_empty()
        return chosen if there else chosen | dict(self.setting.otherwise)

    def samples(self, number: Number, values: Values | None = None) -> dict[int, float]:
        """A number of each replication that has it.

        Raises:
            ScenarioError: as for `interval`.
        """
        return {run: number.scale * value for run, value in self._one(number, values or {}).items()}

    def chosen_ran(self, study: str) -> bool:
        """Whether a study has runs under the setting."""
        runs = self.data.study(self.setting.studies.get(study, study)).runs
        at, otherwise = self.setting.at, {**self.setting.at, **self.setting.otherwise}
        return any(
            not runs.filter(
                pl.lit(value=True),
                *(pl.col(name) == v for name, v in chosen.items() if name in runs.columns),
            ).is_empty()
            for chosen in (at, otherwise)
        )

    def _one(self, number: Number, values: Values) -> dict[int, float]:
        """The value of each replication, before it is scaled."""
        found = self._compared(number, values, {})
        if number.less is None:
            return found
        other = self._compared(number, values, number.less)
        return paired(found, other, lambda a, b: a - b, (values, number.less))

    def _compared(self, number: Number, values: Values, changed: Values) -> dict[int, float]:
        found = self._samples(number, values, changed)
        for against, combine in ((number.times, quotient), (number.change, percent)):
            if against is not None:
                other = self._samples(number, values, {**changed, **against})
                found = paired(found, other, combine, (values, against))
        return found

    def _samples(self, number: Number, values: Values, changed: Values) -> dict[int, float]:
        at = {**number.at, **changed}
        study, where = self.where(number.model_copy(update={"at": at}), values)
        key = self.expression(study, number.of, values)
        return self.data.samples(study, key, where)

    def _sum(self, number: Number, values: Values) -> float:
        study, where = self.where(number, values)
        key = self.expression(study, number.of, values)
        return float(self.data.runs(study, where).select(pl.sum_horizontal(key).sum()).item())

    def expression(self, study: str, of: str, values: Values) -> pl.Expr:
        """The measure that a text means.

        Raises:
            ScenarioError: it is neither a column of the study, nor a named measure, nor an
                expression.
        """
        columns = self.data.study(study).runs.columns
        of = filled(of, values)
        text = filled(self._named(of), values)
        if text in columns:
            return pl.col(text)
        try:
            found = pl.sql_expr(DECIMAL.sub(r"\1e0", _FUNCTION.sub(_expanded, text)))
        except pl.exceptions.PolarsError as error:
            raise ScenarioError(f'study "{study}": "{of}" is not understood: {error}') from None
        for name in found.meta.root_names():
            if name not in columns:
                near = _written.nearest(name, [*self.measures, *columns])
                raise ScenarioError(f'study "{study}": "{of}": there is no measure "{name}"{near}')
        return found

    def _named(self, of: str) -> str:
        """A measure with the expressions of the named ones in it."""
        text = self.measures.get(of, of)
        return _NAMED.sub(lambda match: f"({self._named(match[1])})", text)

    def told(self, call: str, values: Values, at: Values | None = None) -> Any:
        """What a function of `measures.py` returns.

        Args:
            call: its name.
            values: variables, of which it is given those that it has parameters for.
            at: its arguments.

        Raises:
            ScenarioError: there is no such function, or it does not take these arguments.
        """
        if call not in self.calls:
            near = _written.nearest(call, list(self.calls))
            raise ScenarioError(f'measures.py has no function "{call}"{near}')
        function = self.calls[call]
        takes = signature(function).parameters
        every = any(each.kind is Parameter.VAR_KEYWORD for each in takes.values())
        given = {**values, **self.setting.at}
        given = {name: value for name, value in given.items() if every or name in takes}
        given |= {name: filled(value, values) for name, value in (at or {}).items()}
        try:
            signature(function).bind(self, **given)
        except TypeError as error:
            raise ScenarioError(f"{call} of measures.py: {error}") from None
        return function(self, **given)


_NAMED = re.compile(r"@([\w-]+)")
_FUNCTION = re.compile(r"\b(loss|delay)\(([^()]*)\)")


def _expanded(match: re.Match[str]) -> str:
    """`loss(a, b)` and `delay(a, b)` as SQL."""
    classes = [each.strip() for each in match[2].split(",")]

    def total(measure: str) -> str:
        return "(" + " + ".join(f'"classes.{each}.{measure}"' for each in classes) + ")"

    if match[1] == "loss":
        return f"({total('dropped')} / ({total('dropped')} + {total('delivered')}))"
    weighted = " + ".join(
        f'"classes.{each}.delivered" * "classes.{each}.mean_delay_ms"' for each in classes
    )
    return f"(({weighted}) / {total('delivered')})"
