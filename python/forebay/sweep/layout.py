"""What the folder of a study holds, and how finished runs become a table."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._runs.journal import read_journal
from forebay._runs.task import Record
from forebay.sweep.axes import Axis, shown
from forebay.sweep.study import FORMAT, Study

COMPLETE = "complete"
"""The file in the folder of a study that says that no run is missing."""


@dataclass(frozen=True)
class Layout:
    """The manifest of a study: all that is needed to read its runs."""

    manifest: dict[str, Any]

    @classmethod
    def of(cls, study: Study) -> Layout:
        """The layout of a study that begins."""
        return cls(
            {
                "forebay study": FORMAT,
                "version": _engine.version,
                "hash": study.hash,
                "name": study.name,
                "title": study.title,
                "points": [
                    {"id": point.id, "steps": list(point.steps), "discipline": point.discipline}
                    for point in study.points
                ],
                "study": study.document,
            }
        )

    @classmethod
    def read(cls, folder: Path) -> Layout:
        """The layout of a study that was begun."""
        try:
            found = json.loads(_disk.read_if_any(folder / "study.json") or "")
            version = found["forebay study"]
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, ScenarioError):
                raise
            raise ScenarioError(f"{folder}: is not the folder of a study") from None
        if version != FORMAT:
            raise ScenarioError(
                f"{folder}: holds a study of format {version}; this forebay reads format {FORMAT}"
            )
        return cls(found)

    @property
    def study(self) -> dict[str, Any]:
        """Everything that the results depend on, as plain values."""
        study: dict[str, Any] = self.manifest["study"]
        return study

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the study."""
        return tuple(map(Axis.of, self.study["axes"]))

    @property
    def axis_schema(self) -> dict[str, type[pl.DataType]]:
        """The columns of the axes: whole numbers, numbers, or else text."""
        return {
            column: _type([row[at] for row in axis.rows])
            for axis in self.axes
            for at, column in enumerate(axis.columns)
        }

    def frame(self, records: Sequence[Record]) -> pl.DataFrame:
        """Finished runs as a table, with their provenance."""
        points = {point["id"]: point for point in self.manifest["points"]}
        for record in records:
            if record.id not in points:
                raise ScenarioError(
                    f"journal: holds a run of a point that the study lacks, {record.id}; move "
                    "the file away, and the same command repeats its runs"
                )
        axes, types = self.axes, self.axis_schema
        keys = sorted({key for record in records for key in record.measures})
        columns: dict[str, list[Any]] = {
            "point": [record.id for record in records],
            **{name: [] for name in types},
            "discipline": [points[record.id]["discipline"] for record in records],
            "replication": [record.replication for record in records],
            "seed": [self.study["seed"] + record.replication - 1 for record in records],
            "version": [self.manifest["version"]] * len(records),
            "fingerprint": [record.fingerprint for record in records],
        }
        for record in records:
            for axis, step in zip(axes, points[record.id]["steps"], strict=True):
                for name, value in zip(axis.columns, axis.rows[step], strict=True):
                    columns[name].append(shown(value) if types[name] is pl.String else value)
        schema: dict[str, type[pl.DataType]] = {
            "point": pl.String,
            **types,
            "discipline": pl.String,
            "replication": pl.Int64,
            "seed": pl.Int64,
            "version": pl.String,
            "fingerprint": pl.String,
        }
        for key in keys:
            columns[key] = [record.measures.get(key) for record in records]
            text = any(isinstance(value, str) for value in columns[key])
            schema[key] = pl.String if text else pl.Float64
        return pl.DataFrame(columns, schema=schema)

    def arranged(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Tables as one, whatever their order and overlap: rows by point and replication.

        Measures stand in alphabetical order, so that the same runs always give the same table.
        """
        order = {point["id"]: number for number, point in enumerate(self.manifest["points"])}
        whole = pl.concat(frames, how="diagonal").unique(("point", "replication"))
        at = whole["point"].replace_strict(order, return_dtype=pl.Int64)
        rows = whole.with_columns(at.alias("\0")).sort("\0", "replication").drop("\0")
        end = rows.columns.index("fingerprint") + 1
        return rows.select(*rows.columns[:end], *sorted(rows.columns[end:]))


def parts(folder: Path) -> list[Path]:
    """The parts of a study's data set, oldest first."""
    return _disk.files(folder / "runs", ".parquet")


@contextmanager
def readable(path: Path) -> Iterator[Path]:
    """The whole path of a part that is read; the error of a damaged one says what to do."""
    _disk.check_regular(path)
    try:
        yield path.absolute()
    except pl.exceptions.PolarsError as error:
        raise ScenarioError(
            f"{path}: is damaged ({error}); `forebay sweep STUDY --repair` moves it away, "
            "keeps all other runs and repeats the runs of this file"
        ) from None
    except FileNotFoundError:
        raise
    except OSError as error:
        # Polars gives neither the number of the error nor, always, the file.
        found = re.search(r"os error (\d+)", str(error))
        number = int(found[1]) if found else errno.EIO
        raise _disk.refused(OSError(number, os.strerror(number)), path) from None


def read_part(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """The runs of one part, all columns unless some are named.

    Raises:
        ScenarioError: the file is damaged.
        FileNotFoundError: it is not there any more.
        OSError: it cannot be read, with the remedy.
    """
    with readable(path) as whole:
        return pl.read_parquet(whole, columns=columns, glob=False)


def read_runs(folder: Path, layout: Layout) -> pl.DataFrame:
    """Every finished run, also of a sweep that goes on meanwhile."""
    while True:
        names = parts(folder)
        try:
            frames = [read_part(name) for name in names]
        except FileNotFoundError:
            continue
        pending, _ = read_journal(folder)
        # The journal became a part, or the parts one, between the two looks.
        if parts(folder) == names:
            return layout.arranged([layout.frame(pending), *frames])


def _type(values: Sequence[Any]) -> type[pl.DataType]:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return pl.String
    return pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The fields in which two studies differ."""
    return sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
