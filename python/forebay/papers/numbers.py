"""Numbers as data: what to measure at which points of which study.

Claims, figures, tables and sentences of a paper all ask for numbers, and write them in one form.
A number is a measure at a point of a study, or one point against another, or what several points
come to. Where no such form can say it, it calls a function of the paper's `measures.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any, Literal

import polars as pl
from pydantic import Field

from forebay import _written, stats
from forebay._engine import ScenarioError
from forebay.judge import Bounds, Judgement, Standing
from forebay.papers.data import Data, Where
from forebay.papers.judge import Part, exactly
from forebay.papers.points import surely
from forebay.stats import Interval, Span

Values = Mapping[str, Any]
"""Variables by name."""
Factors = dict[str, Any] | list[dict[str, Any]] | str
"""Rows of variables: a list of them, or the name of some in `[rows]`, or of a file of the paper
such as `table.csv`, or every combination of the values of some variables.

A combination names for each variable a value, a list of values, or "all": the values of a column
that were run. A list may also hold tables, which give several variables at once. `rows` names rows
(or several of them) to combine with, and `call` a function of `measures.py` that gives some. What
has a variable twice is kept if both values are equal: so rows are chosen, and get more variables. A
text that is a variable in braces is its value. In a quick run, and where claims are judged under
another choice, what was not run is left out."""
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
    ends: list[float] = Field(default_factory=lambda: [-math.inf, math.inf])
    """What `between` compares with, before `scale`."""
    scale: float = 1.0
    """Factor, such as 100 for a share in percent."""
    minus: Number | None = None
    """Take away the same measure of other runs, without pairs: at the same point unless its `at`
    says otherwise, of another `study`."""
    mean_only: bool = False
    """Whether the mean is taken as exact, without an interval."""
    lookup: str = ""
    """Rows, by name, in place of a study: `of` is the column of the row that has the values of the
    variables and of `at` in the columns that it shares with them."""
    call: str = ""
    """A function of `measures.py`, in place of a measure; what `at` says are its arguments."""
    value: float | str | None = None
    """A number that is calculated by hand or stated, or an expression of variables in braces."""

    def like(self, other: Number, names: Sequence[str]) -> Number:
        """This number with some fields of another, unless it gives them itself."""
        own = {name: getattr(other, name) for name in names if name not in self.model_fields_set}
        return self.model_copy(update=own)


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

    def _interval(self, number: Number, values: Values) -> Interval | None:
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
            return stats.interval([number.scale * mean for mean in _means(runs)])
        if number.take in ("above", "below"):
            sign = 1 if number.take == "above" else -1
            found = [self._point(number, each, less=number.than) for each in points]
            return surely([each for each in found if each is not None], sign)
        if number.take in ("rises", "falls"):
            sign = 1 if number.take == "rises" else -1
            runs = [self._one(number, each) for each in points]
            steps = [
                _paired(after, before, lambda a, b: a - b, (points[at + 1], points[at]))
                for at, (before, after) in enumerate(pairwise(runs))
            ]
            differences = [stats.interval(list(step.values())) for step in steps]
            return surely([each for each in differences if each is not None], sign)
        if number.take == "between":
            bounds = Bounds(*number.ends)
            lie = [Judgement(self._point(number, each), bounds).standing for each in points]
            return exactly(lie.count(Standing.INSIDE))
        if number.take is None:
            raise ScenarioError("over needs take: what the points come to")
        pick = min if number.take == "least" else max
        each_mean = [self._point(number, each, scale=number.scale) for each in points]
        measured = [each for each in each_mean if each is not None]
        if not measured:
            return None
        if number.take == "span":
            low, high = (end(each.mean for each in measured) for end in (min, max))
            return Span((low + high) / 2, (high - low) / 2, measured[0].samples, low, high)
        return pick(measured, key=lambda each: each.mean)

    def _point(
        self, number: Number, values: Values, *, less: float = 0.0, scale: float = 1.0
    ) -> Interval | None:
        """The number at one point, from which `less` is taken, then times `scale`."""
        if number.call:
            return _scaled(self.told(number.call, values, number.at), scale, less)
        if number.lookup:
            return _scaled(self._looked_up(number, values), scale, less)
        samples = self._one(number, values).values()
        found = stats.interval([scale * (v - less) for v in samples])
        if number.minus is None or found is None:
            return found
        other = number.minus.like(number, ("of",))
        taken = self.interval(other, {**values, **_filled(number.at, values)})
        return None if taken is None else _apart(found, taken, scale)

    def _looked_up(self, number: Number, values: Values) -> Interval | None:
        """A number of named rows, as it is."""
        at = {**values, **_filled(number.at, values)}
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
        for name, given in _each(_known(factors, values)):
            if name == "rows":
                steps = self._listed(given, number, values, within)
            elif name == "call":
                steps = self.told(given, values)
            elif given == "all":
                steps = [{name: each} for each in self._all(number, name, values)]
            else:
                listed = given if isinstance(given, list) else [given]
                steps = [each if isinstance(each, dict) else {name: each} for each in listed]
            found = [
                {**row, **step}
                for row in found
                for step in (_known(each, {**row, **values}) for each in steps)
                if all(row.get(variable, value) == value for variable, value in step.items())
            ]
            if not found:
                raise ScenarioError(f"no row agrees with {name} = {given}")
        return found

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
        return _paired(found, other, lambda a, b: a - b, (values, number.less))

    def _compared(self, number: Number, values: Values, changed: Values) -> dict[int, float]:
        found = self._samples(number, values, changed)
        for against, combine in ((number.times, _quotient), (number.change, _percent)):
            if against is not None:
                other = self._samples(number, values, {**changed, **against})
                found = _paired(found, other, combine, (values, against))
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
            found = pl.sql_expr(_DECIMAL.sub(r"\1e0", _FUNCTION.sub(_expanded, text)))
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
_DECIMAL = re.compile(r"(?<![\w.\"])(\d+\.\d+)(?![\w.\"])")
"""A number that SQL would take for a decimal of few digits."""
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


def filled(text: Any, values: Values) -> Any:
    """A text with its variables; anything else, and a lone variable's value, as it is.

    Raises:
        ScenarioError: it names a variable that there is not.
    """
    if not isinstance(text, str) or "{" not in text:
        return text
    if (alone := _ALONE.fullmatch(text)) and alone[1] in values:
        return values[alone[1]]
    try:
        return text.format_map(values)
    except (KeyError, IndexError) as error:
        raise ScenarioError(f'"{text}" names {error}, which is not given') from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ScenarioError(f'"{text}": {error}') from None


def amount(written: float | str | None, values: Values) -> float | None:
    """A number, or an expression of numbers and variables in braces; none if a lone one has none.

    Raises:
        ScenarioError: it is not understood, or names a variable that there is not.
    """
    found = filled(written, values)
    if not isinstance(found, str):
        return None if found is None else float(found)
    try:
        return float(pl.select(pl.sql_expr(_DECIMAL.sub(r"\1e0", found))).item())
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise ScenarioError(f'"{found}" is not a number: {error}') from None


def _each(factors: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and what is given for them; each of several named rows by itself."""
    for name, given in factors.items():
        if name == "rows" and isinstance(given, list):
            yield from ((name, each) for each in given)
        else:
            yield name, given


_ALONE = re.compile(r"\{([^{}]+)\}")
"""A lone variable, which may be a column of any name."""


def _known(row: Values, values: Values) -> dict[str, Any]:
    """A row with the values of the variables that it names."""
    found = dict(row)
    for name, text in row.items():
        if isinstance(text, str) and (alone := _ALONE.fullmatch(text)) and alone[1] in values:
            found[name] = values[alone[1]]
    return found


def _filled(table: Values, values: Values) -> dict[str, Any]:
    return {name: filled(v, values) for name, v in table.items()}


def _apart(found: Interval, taken: Interval, scale: float) -> Interval:
    """The difference of two independent means, of which the second is still to be scaled."""
    width = math.hypot(found.half_width or 0.0, scale * (taken.half_width or 0.0))
    return Interval(found.mean - scale * taken.mean, width, min(found.samples, taken.samples))


def _paired(
    first: Mapping[int, float],
    second: Mapping[int, float],
    combine: Callable[[float, float], float | None],
    points: Sequence[Values],
) -> dict[int, float]:
    """Two measures together, replication by replication.

    Raises:
        ScenarioError: no replication has both.
    """
    pairs = {run: combine(value, second[run]) for run, value in first.items() if run in second}
    found = {run: value for run, value in pairs.items() if value is not None}
    if not found:
        one, other = map(dict, points)
        raise ScenarioError(f"no replication has both {one} and {other}")
    return found


def _percent(now: float, before: float) -> float | None:
    return 100 * (now / before - 1) if before else None


def _quotient(above: float, below: float) -> float | None:
    return above / below if below else None


def _means(runs: Sequence[Mapping[int, float]]) -> list[float]:
    """The mean over several points, within each replication that any has."""
    known = sorted({run for each in runs for run in each})
    return [
        math.fsum(found) / len(found)
        for found in ([each[run] for each in runs if run in each] for run in known)
    ]


def _scaled(found: Interval | None, scale: float, less: float = 0.0) -> Interval | None:
    if found is None or (scale == 1.0 and not less):
        return found
    half = None if found.half_width is None else abs(scale) * found.half_width
    mean = scale * (found.mean - less)
    if isinstance(found, Span):
        low, high = sorted((scale * (found.low - less), scale * (found.high - less)))
        return Span(mean, half, found.samples, low, high)
    return Interval(mean, half, found.samples)
