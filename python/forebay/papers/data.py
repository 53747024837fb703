"""What figures and claims ask of the studies' results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from forebay import stats, sweep
from forebay._engine import ScenarioError
from forebay.sweep import StudyData, tables

Where = Mapping[str, Any]
"""Columns (an axis by its name, `discipline`) and the values that they must have."""


class NotRun(ScenarioError):
    """A study whose results are needed has not been run."""


class Data:
    """The results of a paper's studies, read when they are asked for."""

    def __init__(
        self,
        kept: Mapping[str, Sequence[str]],
        folders: Mapping[str, Path],
        quick: bool,
        columns: Mapping[str, str] | None = None,
        pooled: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """The results in `folders`, by study, and the tables that each study keeps.

        `columns` are short names of columns. `pooled` are, by study, columns over whose values
        a measure is averaged, within each replication.
        """
        self._pooled = pooled or {}
        self._short = {path: name for name, path in (columns or {}).items()}
        self.quick = quick
        self._folders = folders
        self._tables = kept
        self.study = cache(self._study)
        self._whole = cache(self._whole_table)

    def _study(self, name: str) -> StudyData:
        """Runs of a study, intervals, differences and regions.

        Raises:
            NotRun: the study has no results yet.
            ScenarioError: the paper has no such study.
        """
        if name not in self._tables:
            raise ScenarioError(f'no study "{name}"; one of {", ".join(self._tables)}')
        if name not in self._folders or not self._folders[name].is_dir():
            raise NotRun(f"{name} has not been run")
        found = sweep.results(self._folders[name])
        return replace(found, runs=found.runs.rename(self._short, strict=False))

    def table(self, name: str, table: str, where: Where | None = None) -> pl.DataFrame:
        """A table of the runs of a study that keeps it, at some points.

        Its columns are the axes', `discipline`, `replication`, then the table's own (see
        `forebay.Result`).

        Raises:
            ScenarioError: the study keeps no such table, or no run is at the points.
        """
        if table not in self._tables[name]:
            raise ScenarioError(f'study "{name}" does not keep the table "{table}"')
        self.runs(name, where)
        whole = self._whole(name, table)
        same = (pl.col(column) == value for column, value in (where or {}).items())
        return whole.filter(pl.lit(value=True), *same)

    def _whole_table(self, name: str, table: str) -> pl.DataFrame:
        whole = tables.read(self._folders[name], sweep.results(self._folders[name]), table)
        return whole.rename(self._short, strict=False)

    def runs(self, name: str, where: Where | None = None) -> pl.DataFrame:
        """Runs of a study at some points.

        Raises:
            ScenarioError: there are none.
        """
        return self._filtered(name, self.study(name).runs, where)

    def _check(self, name: str, frame: pl.DataFrame, where: Where | None) -> None:
        for column in where or ():
            if column not in frame.columns:
                raise ScenarioError(f'study "{name}": there is no axis "{column}"')

    def _filtered(self, name: str, frame: pl.DataFrame, where: Where | None) -> pl.DataFrame:
        self._check(name, frame, where)
        found = frame
        if where:
            same = (pl.col(column) == value for column, value in where.items())
            found = frame.filter(pl.all_horizontal(same))
        if found.is_empty():
            raise ScenarioError(f'study "{name}": no run has {_lacking(frame, where or {})}')
        return found

    def interval(
        self, name: str, key: str | pl.Expr, where: Where | None = None, *, scale: float = 1.0
    ) -> stats.Interval:
        """Mean and 95 % interval over the runs of one point.

        Args:
            name: the study.
            key: a measure, or a polars expression of measures.
            where: the point, by the values of its columns.
            scale: factor, such as 100 for a share in percent.

        Raises:
            ScenarioError: no run, or more than one point, has these values.
        """
        samples = self.samples(name, key, where).values()
        found = stats.interval([scale * each for each in samples])
        if found is None:
            raise ScenarioError(f'study "{name}": {key} was not measured where {dict(where or {})}')
        return found

    def samples(self, name: str, key: str | pl.Expr, where: Where | None) -> dict[int, float]:
        """A measure of one point in each replication that has it.

        Over columns that the study pools, it is the mean within each replication: runs of one
        replication share random numbers, so they are not independent. A replication that lacks
        some of them is left out.

        Raises:
            ScenarioError: no run, or more than one point, has these values.
        """
        frame = self.study(name).runs
        self._check(name, frame, where)
        pooled = [each for each in self._pooled.get(name, ()) if each in frame.columns]
        if isinstance(key, str):
            if key not in frame.columns:
                raise ScenarioError(f'study "{name}": no measure "{key}"')
            # A study's table is wide, and filtering it whole is slow.
            needed = dict.fromkeys(("point", "replication", key, *(where or ()), *pooled))
            frame = frame.select(*needed)
        frame = self._filtered(name, frame, where)
        points = frame["point"].n_unique()
        if points > (frame.select(pooled).n_unique() if pooled else 1):
            raise ScenarioError(f'study "{name}": {dict(where or {})} is more than one point')
        value = pl.col(key) if isinstance(key, str) else key
        found = frame.select("replication", value=value).drop_nulls()
        if points > 1:
            found = found.group_by("replication", maintain_order=True).agg(
                pl.col("value").mean(), runs=pl.len()
            )
            found = found.filter(runs=points).drop("runs")
        return dict(found.iter_rows())


def _lacking(frame: pl.DataFrame, where: Where) -> str:
    """The first value that no run has, and those that there are; or else all of them."""
    for column, value in where.items():
        known = frame[column].unique(maintain_order=True).to_list()
        if value not in known:
            return f"{column} = {value}; there are {', '.join(map(str, known))}"
    return ", ".join(f"{column} = {value}" for column, value in where.items()) or "ended"
