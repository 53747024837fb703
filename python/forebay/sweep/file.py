"""The study file: its tables, fields and defaults."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from typing_extensions import Self

from forebay._scenario import quantity
from forebay._written import Table
from forebay.sweep.axes import Axis, shown

MOST_STEPS = 100_000
"""The most values of a range."""
RESERVED = {"point", "discipline", "replication", "seed", "version", "fingerprint"}
"""Columns of the results that no axis may be called."""


class Range(Table):
    """Values at equal distances, or in equal ratios, in the unit in which the ends are written."""

    from_: Annotated[str | int | float, Field(alias="from")]
    """The first value, such as "1Mbit"."""
    to: str | int | float
    """The last value, above the first."""
    step: str | int | float | None = None
    """The distance of two values; or give `count`."""
    count: Annotated[int, Field(ge=2, le=MOST_STEPS)] | None = None
    """How many values there are, both ends included; or give `step`."""
    scale: Literal["linear", "log"] = "linear"
    """Whether distances are equal, or ratios; "log" goes with `count` and a `from` above 0."""

    @property
    def values(self) -> list[Any]:
        """The values, each as a scenario writes it, to six digits."""
        first, last = quantity(self.from_), quantity(self.to)
        if first is None or last is None or first.unit != last.unit:
            raise ValueError("from and to must be numbers in the same unit")
        start, end, unit = first.number, last.number, first.unit
        logarithmic = self.scale == "log"
        if end <= start or (logarithmic and start <= 0):
            raise ValueError("to must be above from" + (", and from above 0" * logarithmic))
        if (self.step is None) == (self.count is None):
            raise ValueError("give either step or count")
        if self.step is not None:
            numbers = self._stepped(start, end, unit)
        elif logarithmic:
            factor = math.log(end / start)
            numbers = [start * math.exp(factor * at / (self.steps)) for at in range(self.steps + 1)]
        else:
            numbers = [start + (end - start) * at / self.steps for at in range(self.steps + 1)]
        whole = isinstance(self.from_, int) and isinstance(self.to, int)
        return [_written(number, unit, whole) for number in numbers]

    @property
    def steps(self) -> int:
        """Steps between `count` values."""
        assert self.count is not None
        return self.count - 1

    def _stepped(self, start: float, end: float, unit: str) -> list[float]:
        if self.scale == "log":
            raise ValueError("step: a logarithmic range needs count instead of step")
        size = quantity(self.step)
        if size is None or size.unit != unit or size.number <= 0:
            raise ValueError("step: expected a number above 0 in the unit of from and to")
        steps = math.floor((end - start) / size.number * (1 + 1e-12) + 1e-9)
        if steps >= MOST_STEPS:
            raise ValueError(f"step: gives more than {MOST_STEPS} values")
        return [start + size.number * at for at in range(steps + 1)]


class AxisTable(Table):
    """A field of the scenario and its values, or several fields that change together."""

    name: str | None = None
    """What tables and figures call it; the path unless given."""
    path: str | None = None
    """The field, such as "link[0].rate" or "traffic.voice.flows"; or give `paths`."""
    values: Annotated[list[Any], Field(min_length=1)] | None = None
    """Values of `path`; or give `range`."""
    range: Range | None = None
    """Values of `path` as a range."""
    paths: Annotated[list[str], Field(min_length=2)] | None = None
    """Fields that change together."""
    rows: Annotated[list[list[Any]], Field(min_length=1)] | None = None
    """Rows of values, one for each of `paths`."""
    labels: list[str | int | float] | None = None
    """What tables and figures call each step, instead of its values."""
    disciplines: Annotated[list[str], Field(min_length=1)] | None = None
    """Labels of the disciplines to which the axis applies, for a field that others do not have; all
    unless given. The others are run once, as they are, and stand beside every step for reference:
    a level line in figures."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        self.axis()
        return self

    def axis(self) -> Axis:
        """The axis that the table describes."""
        if (self.path is None) == (self.paths is None):
            raise ValueError(
                'give path = "link[0].rate" with values or range, '
                'or paths = ["...", "..."] with rows'
            )
        if self.paths is not None:
            paths, rows = tuple(self.paths), self._zipped(len(self.paths))
        else:
            assert self.path is not None
            if (self.values is None) == (self.range is None) or self.rows is not None:
                raise ValueError("give either values or range")
            values = self.range.values if self.range is not None else self.values or []
            paths, rows = (self.path,), [(value,) for value in values]
        some = tuple(self.disciplines or ())
        made = Axis(self.name or ", ".join(paths), paths, _distinct(rows), disciplines=some)
        if self.labels is None:
            return made
        names = tuple(map(str, self.labels))
        if len(set(names)) != len(names) or len(names) != len(made.rows):
            raise ValueError(f"labels: expected {len(made.rows)} different names")
        return replace(made, names=names)

    def _zipped(self, width: int) -> list[tuple[Any, ...]]:
        if self.rows is None or self.values is not None or self.range is not None:
            raise ValueError("paths: give rows, each with a value for every path")
        for at, row in enumerate(self.rows):
            if len(row) != width:
                raise ValueError(f"rows[{at}]: expected {width} values, one for each path")
        return list(map(tuple, self.rows))


class UntilTable(Table):
    """Replicate until an interval is narrow enough."""

    key: str
    """The measure: a column of the results."""
    half_width: str | float | int
    """Half-width of the 95 % interval: a share of the mean such as "5%", or a number above 0 in
    the measure's unit."""
    at_least: Annotated[int, Field(ge=2)] = 5
    """Replications that every point gets; 2 or more."""
    at_most: Annotated[int, Field(ge=2)]
    """Replications at which a point ends, narrow enough or not; not below `at_least`."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.at_most < self.at_least:
            raise ValueError(f"at_most: must be at least {self.at_least}")
        return self

    @field_validator("half_width")
    @classmethod
    def _above_zero(cls, given: str | float | int) -> str | float | int:
        if not _share(given)[0] > 0:
            raise ValueError(
                'must be a share of the mean such as "5%", or a number above 0 in the key\'s unit'
            )
        return given

    @property
    def width(self) -> tuple[float, bool]:
        """The half-width, and whether it is a share of the mean."""
        return _share(self.half_width)


class StudyTable(Table):
    """A study: a scenario over axes of values, under several disciplines, many times."""

    title: str | None = None
    """What the study is about, for headings; the scenario's title unless given."""
    scenario: str | dict[str, Any]
    """The scenario that axes change: its file, by a name that starts from this one's folder, or a
    table."""
    axis: list[AxisTable] = Field(default_factory=list)
    """What changes; every combination of the axes' values is a point."""
    disciplines: Annotated[list[str | dict[str, Any]], Field(min_length=1)] | None = None
    """Disciplines to put on `link`: kinds, or queue tables which may have a `label`. Without them
    every point runs the scenario's own queue."""
    link: str | list[str] = Field(default_factory=list)
    """Which links get the disciplines; the one that the scenario compares unless given."""
    replications: Annotated[int, Field(ge=1)] | None = None
    """Runs of each point, with seeds that all points share; or give `until`."""
    until: UntilTable | None = None
    """How narrow an interval must be; or give `replications`."""
    keys: list[str] = Field(default_factory=list)
    """Patterns of the measures that are kept, such as "classes.*.p99_delay_ms"; all if empty."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of the first replication; the following ones count up from it. The scenario's unless
    given."""
    baseline: str | None = None
    """Label of the discipline that gain and efficiency are relative to."""
    efficiency: list[str] = Field(default_factory=list)
    """Classes whose flows make system efficiency; all if empty."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.replications is None) == (self.until is None):
            raise ValueError(
                "give replications = 20, or until = "
                '{ key = "classes.voice.p99_delay_ms", half_width = "5%", at_most = 100 }'
            )
        if self.disciplines is None and self.link:
            raise ValueError("link: says where disciplines go; give both or neither")
        if self.efficiency and self.baseline is None:
            raise ValueError("efficiency: is relative to a baseline; give one")
        seen: set[str] = set()
        for at, axis in enumerate(made.axis() for made in self.axis):
            for each in dict.fromkeys((*axis.paths, *axis.columns)):
                if each in seen:
                    raise ValueError(f'axis[{at}]: "{each}" is an axis already')
                seen.add(each)
            for column in RESERVED & set(axis.columns):
                raise ValueError(
                    f'axis[{at}]: "{column}" is a column of its own; choose another name'
                )
        return self

    @property
    def links(self) -> tuple[str, ...]:
        """The links that are named."""
        return (self.link,) if isinstance(self.link, str) else tuple(self.link)


def _written(number: float, unit: str, whole: bool) -> Any:
    """The number as a scenario writes it, to six digits, so that it reads well."""
    text = f"{number:.6g}"
    rounded = float(text)
    if unit:
        return f"{text}{unit}" if "e" not in text else f"{rounded:.0f}{unit}"
    return int(rounded) if whole and rounded.is_integer() else rounded


def _distinct(rows: Iterable[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    found: dict[str, tuple[Any, ...]] = {}
    for row in rows:
        key = json.dumps(row)
        if key in found:
            raise ValueError(f"{', '.join(map(shown, row))} is there twice")
        found[key] = row
    return tuple(found.values())


def _share(given: str | float | int) -> tuple[float, bool]:
    """A half-width, and whether it is a share; not a number if it is neither."""
    if not isinstance(given, str):
        return float(given), False
    match = re.fullmatch(r"\s*([0-9.]+)\s*%\s*", given)
    return (float(match[1]) / 100 if match else math.nan), True
