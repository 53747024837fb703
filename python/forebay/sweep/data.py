"""The results of a study: runs, intervals, paired differences, joint regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from forebay import _relative, stats
from forebay._engine import student
from forebay.sweep.axes import Axis, shown
from forebay.sweep.layout import COMPLETE, Layout, read_runs


@dataclass(frozen=True)
class StudyData:
    """The finished runs of a study. Equal studies give equal tables, however they were run.

    Example:
        >>> data = sweep.results("out/study")
        >>> data.complete, data.disciplines
        (True, ('fifo', 'codel', 'fq-codel'))
        >>> data.intervals("classes.call.p99_delay_ms").height
        18
    """

    folder: Path
    """Where they are kept."""
    layout: Layout
    """What the folder's files hold."""
    runs: pl.DataFrame
    """A row a run: `point` (hash of the scenario), the axes' columns (numbers, or text such as
    "2Mbit", whose number `axes` has), `discipline`, `replication`,
    `seed`, `version`, `fingerprint`, then the measures, in the unit that their names end with."""

    @property
    def title(self) -> str:
        """The study's title."""
        return str(self.layout.manifest["title"])

    @property
    def version(self) -> str:
        """Version of forebay that ran it."""
        return str(self.layout.manifest["version"])

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the study."""
        return self.layout.axes

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the axes' values."""
        return tuple(self.layout.axis_schema)

    @property
    def disciplines(self) -> tuple[str, ...]:
        """The disciplines, in the study's order."""
        return tuple(label for label, _ in self.layout.study["disciplines"])

    @property
    def long_run(self) -> bool:
        """Whether every point is a single run, whose intervals come from batch means."""
        return bool(self.layout.study["replications"] == 1)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures that are numbers."""
        end = self.runs.columns.index("fingerprint") + 1
        return tuple(key for key in self.runs.columns[end:] if self.runs[key].dtype == pl.Float64)

    @property
    def complete(self) -> bool:
        """Whether no run of the study is missing."""
        return (self.folder / COMPLETE).exists()

    def intervals(self, key: str, level: float = stats.LEVEL) -> pl.DataFrame:
        """Mean and Student's interval of a measure for every point.

        Args:
            key: the measure, a column of `runs`.
            level: confidence level.

        Returns:
            The axes' columns, `discipline`, `mean`, `half_width` (null for a single run) and
            `samples`, in the study's order.

        Raises:
            KeyError: there is no such measure.
        """
        self._check(key)
        return _summarised(self.runs, self._groups, pl.col(key), level)

    def differences(self, key: str, against: str, level: float = stats.LEVEL) -> pl.DataFrame:
        """Paired differences of a measure from one discipline, replication by replication.

        All disciplines met the same random numbers, so that these intervals are narrower than
        those of the means suggest.

        Args:
            key: the measure, a column of `runs`.
            against: the discipline that is taken away from the others.
            level: confidence level.

        Returns:
            As `intervals`, for every other discipline.

        Raises:
            KeyError: there is no such measure or discipline.
        """
        self._check(key)
        if against not in self.disciplines:
            raise KeyError(f'no discipline "{against}"; one of {", ".join(self.disciplines)}')
        on = [*self.columns, "replication"]
        reference = self.runs.filter(pl.col("discipline") == against).select(
            *on, pl.col(key).alias("\0")
        )
        others = self.runs.filter(pl.col("discipline") != against)
        paired = others.join(reference, on=on, how="left", maintain_order="left")
        return _summarised(paired, self._groups, pl.col(key) - pl.col("\0"), level)

    def regions(self, x: str, y: str, level: float = stats.LEVEL) -> pl.DataFrame:
        """The joint confidence region of the means of two measures, for every point.

        It is the ellipse (m - mean)' S^-1 (m - mean) <= 2 (n - 1) / (n (n - 2)) F(2, n - 2) of
        Hotelling's T-squared, S being the covariance of the n replications.

        Args:
            x: a measure.
            y: another.
            level: confidence level of the region.

        Returns:
            The axes' columns, `discipline`, the means `x` and `y`, `samples`, and the ellipse as
            `xx`, `xy`, `yy`: the covariance scaled so that the region is the set of means within
            distance 1. Null for fewer than three runs.

        Raises:
            KeyError: there is no such measure.
        """
        from scipy.special import fdtri

        self._check(x, y)
        known = self.runs.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
        table = known.group_by(self._groups, maintain_order=True).agg(
            pl.col(x).mean().alias("x"),
            pl.col(y).mean().alias("y"),
            pl.len().cast(pl.Int64).alias("samples"),
            pl.col(x).var().alias("xx"),
            pl.cov(x, y).alias("xy"),
            pl.col(y).var().alias("yy"),
        )
        count = table["samples"].to_numpy().astype(float)
        enough = np.maximum(count, 3.0)
        factor = 2 * (enough - 1) / (enough * (enough - 2)) * fdtri(2, enough - 2, level)
        scale = pl.Series(np.where(count >= 3, factor, np.nan)).fill_nan(None)
        return table.with_columns(pl.col(name) * scale for name in ("xx", "xy", "yy"))

    @property
    def _groups(self) -> list[str]:
        return [*self.columns, "discipline"]

    def _check(self, *keys: str) -> None:
        for key in keys:
            if key not in self.measures:
                raise KeyError(f'no measure "{key}"; the measures are {", ".join(self.measures)}')


def results(folder: str | Path) -> StudyData:
    """Read the results of a study, also of one that is still running or was stopped.

    Args:
        folder: where its runs are kept.

    Raises:
        ScenarioError: the folder is not a study's.

    Example:
        >>> sweep.results("out/study").runs.columns[:4]
        ['point', 'uplink', 'downloads', 'discipline']
    """
    folder = Path(folder)
    layout = Layout.read(folder)
    runs, study = _beside(read_runs(folder, layout), layout), layout.study
    if "baseline" in study and study["baseline"] in runs["discipline"]:
        on = [*layout.axis_schema, "replication"]
        runs = _relative.relative(runs, on, study["baseline"], study["efficiency"])
    return StudyData(folder, layout, runs)


def _beside(runs: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """The runs, those of disciplines to which an axis does not apply at every step of it."""
    if not any(axis.disciplines for axis in layout.axes):
        return runs
    for axis in layout.axes:
        others = runs.filter(~pl.col("discipline").is_in(axis.disciplines or [None]))
        if not axis.disciplines or others.is_empty():
            continue
        for row in _steps(axis, layout).rows()[1:]:
            there = [
                pl.lit(value, layout.axis_schema[name]).alias(name)
                for name, value in zip(axis.columns, row, strict=True)
            ]
            runs = pl.concat([runs, others.with_columns(there)])
    # In the study's order again: by the steps of the axes, then discipline and replication.
    places = [f"\0{number}" for number, _ in enumerate(layout.axes)]
    for place, axis in zip(places, layout.axes, strict=True):
        steps = _steps(axis, layout).with_row_index(place)
        runs = runs.join(steps, on=list(axis.columns), how="left", maintain_order="left")
    labels = [label for label, _ in layout.study["disciplines"]]
    at = pl.col("discipline").replace_strict(labels, range(len(labels)), return_dtype=pl.Int64)
    runs = runs.with_columns(at.alias("\0")).sort(*places, "\0", "replication")
    return runs.drop("\0", *places)


def _steps(axis: Axis, layout: Layout) -> pl.DataFrame:
    """The steps of an axis, as its columns show them."""
    types = {name: layout.axis_schema[name] for name in axis.columns}
    rows = [
        [
            shown(value) if kind is pl.String else value
            for kind, value in zip(types.values(), row, strict=True)
        ]
        for row in axis.rows
    ]
    return pl.DataFrame(rows, schema=types, orient="row")


def _summarised(
    table: pl.DataFrame, groups: Sequence[str], value: pl.Expr, level: float
) -> pl.DataFrame:
    means = table.group_by(groups, maintain_order=True).agg(
        value.mean().alias("mean"),
        value.std().alias("half_width"),
        value.count().cast(pl.Int64).alias("samples"),
    )
    scales = {
        count: student(max(count - 1, 1), 0.5 + level / 2) / math.sqrt(max(count, 1))
        for count in means["samples"].unique()
    }
    scale = pl.Series([scales[count] for count in means["samples"]], dtype=pl.Float64)
    return means.with_columns(pl.col("half_width") * scale)
