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

_MOST = 1_000_000
"""More than the runs of a point."""
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

        `columns` are short names of columns. `pooled` are, by study, columns whose values are runs
        of one point.
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
        samples = self._samples(name, key, where)[1]
        found = stats.interval([scale * each for each in samples if each is not None])
        if found is None:
            raise ScenarioError(f'study "{name}": {key} was not measured where {dict(where or {})}')
        return found

    def samples(self, name: str, key: str | pl.Expr, where: Where | None) -> dict[int, float]:
        """A measure of every run of one point that has it.

        The key of a run is its replication, in a study that pools points together with their place.

        Raises:
            ScenarioError: no run, or more than one point, has these values.
        """
        pairs = zip(*self._samples(name, key, where), strict=True)
        return {run: value for run, value in pairs if value is not None}

    def _samples(
        self, name: str, key: str | pl.Expr, where: Where | None
    ) -> tuple[list[int], list[float | None]]:
        """Keys of runs, and a value of each."""
        whole = self.study(name).runs
        self._check(name, whole, where)
        pooled = [each for each in self._pooled.get(name, ()) if each in whole.columns]
        frame = whole
        if isinstance(key, str) and key in frame.columns:
            # A study's table is wide, and filtering it whole is slow.
            needed = dict.fromkeys(("point", "replication", key, *(where or ()), *pooled))
            frame = frame.select(*needed)
        frame = self._filtered(name, frame, where)
        points = frame["point"].n_unique()
        if points > max(1, frame.select(pooled).n_unique() if pooled else 1):
            raise ScenarioError(f'study "{name}": {dict(where or {})} is more than one point')
        if pooled:
            places = whole.select(pooled).unique(maintain_order=True).with_row_index("place")
            frame = frame.join(places, on=pooled, how="left", maintain_order="left")
            run = pl.col("place").cast(pl.Int64) * _MOST + pl.col("replication")
            frame = frame.with_columns(replication=run)
        if isinstance(key, str) and key not in frame.columns:
            raise ScenarioError(f'study "{name}": no measure "{key}"')
        value = pl.col(key) if isinstance(key, str) else key
        return frame["replication"].to_list(), frame.select(value).to_series().to_list()


def _lacking(frame: pl.DataFrame, where: Where) -> str:
    """The first value that no run has, and those that there are; or else all of them."""
    for column, value in where.items():
        known = frame[column].unique(maintain_order=True).to_list()
        if value not in known:
            return f"{column} = {value}; there are {', '.join(map(str, known))}"
    return ", ".join(f"{column} = {value}" for column, value in where.items()) or "ended"
