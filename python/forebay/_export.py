"""Tables of results for other programs, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import polars as pl

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._runs.frames import parquet, read_parquet


def export(folder: Path, out: Path, form: Literal["csv", "parquet"]) -> list[Path]:
    """Write every table of a folder of results to `out`, in the place of those of its name."""
    written = []
    sources = [] if _is_study(folder) else _disk.files(folder, ".parquet")
    for name, table in _tables(folder):
        _disk.make_folder(out, follow=True)
        path = out / f"{name}.{form}"
        _disk.check_output(path, sources)
        _disk.write(path, table.write_csv() if form == "csv" else parquet(table))
        written.append(path)
    if not written:
        raise ScenarioError(
            f"{folder}: holds no tables; give a folder of forebay run --out, compare or sweep"
        )
    return written


def _is_study(folder: Path) -> bool:
    return (folder / "study.json").exists()


def _tables(folder: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    if not _is_study(folder):
        for path in _disk.files(folder, ".parquet"):
            yield path.stem, read_parquet(path)
        return
    from forebay import sweep

    yield "runs", sweep.results(folder).runs
    kept: dict[str, list[pl.DataFrame]] = {}
    for path in _disk.files(folder / "tables", ".parquet"):
        run, _, name = path.stem.partition(".")
        point, _, replication = run.rpartition("-")
        columns = (pl.lit(point).alias("point"), pl.lit(int(replication)).alias("replication"))
        kept.setdefault(name, []).append(read_parquet(path).select(*columns, pl.all()))
    for name, parts in kept.items():
        yield name, pl.concat(parts, how="diagonal")
