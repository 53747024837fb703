"""The tables that a study keeps of its runs: series, histograms, flows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from forebay import _disk
from forebay._runs.journal import table_file
from forebay.sweep.data import StudyData


def read_first(folder: Path, points: Sequence[str], table: str) -> dict[str, dict[str, list[Any]]]:
    """One table of the first run of some points, as lists by column; none if it has no row."""
    paths = {str(table_file(folder.absolute(), point, 1, table)): point for point in points}
    for path in paths:
        _disk.check_regular(Path(path))
    whole = pl.read_parquet(list(paths), include_file_paths="\0", glob=False)
    parts = whole.partition_by("\0", as_dict=True, include_key=False)
    return {paths[name]: part.to_dict(as_series=False) for (name,), part in parts.items()}


def read_one(folder: Path, point: str, replication: int, table: str) -> pl.DataFrame:
    """One table of one run."""
    path = table_file(folder.absolute(), point, replication, table)
    _disk.check_regular(path)
    return pl.read_parquet(path, glob=False)


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
