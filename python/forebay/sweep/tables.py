"""Studies that keep tables of every run: a file for each run, which says that it has ended."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from forebay._engine import Cancel
from forebay.parallel import Progress, cores
from forebay.result import Result, execute
from forebay.sweep import Study
from forebay.sweep.data import StudyData
from forebay.sweep.plan import Point

TABLES: Mapping[str, Callable[[Result], pl.DataFrame]] = {
    "queue": lambda result: result.queue,
    "class": lambda result: result.classes,
    "delay": lambda result: result.delay,
    "queue_delay": lambda result: result.queue_delay,
    "flows": lambda result: result.flows,
}
"""Tables that a study may keep."""


def keep(
    plan: Study,
    folder: Path,
    wanted: Sequence[str],
    *,
    jobs: int | None,
    progress: Callable[[Progress], None],
    replications: int | None = None,
) -> None:
    """Write the tables of every run of a complete study that are not there yet.

    Runs are repeated with the same seeds, so that the tables belong to the summaries.

    Raises:
        OSError: they could not be written.
        KeyboardInterrupt: interrupted; what had ended is kept.
    """
    home = folder / "tables"
    home.mkdir(exist_ok=True)
    count = min(replications or plan.most, plan.most)
    every = [(point, number) for number in range(count) for point in plan.points]
    left = [each for each in every if not _whole(home, *each, wanted)]
    done: queue.SimpleQueue[Future[None]] = queue.SimpleQueue()
    cancel = Cancel()
    with ThreadPoolExecutor(jobs or cores(), thread_name_prefix="forebay") as pool:
        try:
            for each in left:
                pool.submit(_run, plan, home, *each, wanted, cancel).add_done_callback(done.put)
            for number in range(len(left)):
                ended = len(every) - len(left) + number
                progress(Progress(ended, len(every), ended / len(every)))
                while True:
                    try:
                        done.get(timeout=0.1).result()
                        break
                    except queue.Empty:
                        continue
        except BaseException:
            cancel.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    progress(Progress(len(every), len(every), 1.0))


def read_first(folder: Path, points: Sequence[str], table: str) -> dict[str, dict[str, list[Any]]]:
    """One table of the first run of some points, as lists by column; none if it has no row."""
    paths = {str(folder / "tables" / f"{point}-1.{table}.parquet"): point for point in points}
    whole = pl.read_parquet(list(paths), include_file_paths="\0")
    parts = whole.partition_by("\0", as_dict=True, include_key=False)
    return {paths[name]: part.to_dict(as_series=False) for (name,), part in parts.items()}


def read_one(folder: Path, point: str, replication: int, table: str) -> pl.DataFrame:
    """One table of one run."""
    return pl.read_parquet(folder / "tables" / f"{point}-{replication}.{table}.parquet")


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


def _run(
    plan: Study, home: Path, point: Point, number: int, wanted: Sequence[str], cancel: Cancel
) -> None:
    scenario = plan.scenario_of(point.steps, point.discipline).with_("seed", plan.seed + number)
    result = execute(scenario, cancel, None)
    whole = _path(home, point, number)
    for name in wanted:
        fresh = home / f".{whole.name}.{name}.partial"
        TABLES[name](result).write_parquet(fresh, statistics=False)
        fresh.rename(_table(whole, name))
    # Written last: a run without it is run again.
    whole.touch()


def _whole(home: Path, point: Point, number: int, wanted: Sequence[str]) -> bool:
    """Whether a run has ended with all tables that are wanted now."""
    path = _path(home, point, number)
    return path.exists() and all(_table(path, name).exists() for name in wanted)


def _table(mark: Path, name: str) -> Path:
    return mark.with_name(f"{mark.stem}.{name}.parquet")


def _path(home: Path, point: Point, number: int) -> Path:
    """The mark of a run whose tables are whole."""
    return home / f"{point.id}-{number + 1}.done"
