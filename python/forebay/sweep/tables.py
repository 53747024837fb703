"""The tables that a study keeps of its runs: series, histograms, flows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from forebay._runs.frames import read_parquet
from forebay._runs.journal import table_file
from forebay.sweep.data import StudyData


def read_first(folder: Path, points: Sequence[str], table: str) -> dict[str, dict[str, list[Any]]]:
    """One table of the first run of some points, as lists by column; none if it has no row."""
    found = {point: read_one(folder, point, 1, table) for point in points}
    return {point: one.to_dict(as_series=False) for point, one in found.items() if one.height}


def read_one(folder: Path, point: str, replication: int, table: str) -> pl.DataFrame:
    """One table of one run.

    Raises:
        ScenarioError: it cannot be read, or is damaged.
    """
    return read_parquet(table_file(folder, point, replication, table))


def read(folder: Path, study: StudyData, table: str) -> pl.DataFrame:
    """One table of all runs, with the columns that say of which run.

    A column of the table that is called like one of those gets the table's name before its own.
    """
    named = [*study.columns, "discipline", "replication"]
    frames = []
    for row in study.runs.select("point", *named).iter_rows(named=True):
        frame = read_one(folder, row["point"], row["replication"], table)
        own = {name: f"{table}.{name}" for name in named if name in frame.columns}
        keys = [pl.lit(row[name]).alias(name) for name in named]
        frames.append(frame.rename(own).select(*keys, pl.all()))
    return pl.concat(frames, how="diagonal")
