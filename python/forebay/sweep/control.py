"""Running a study: what is still to do, in which order, and when a point has had enough."""

from __future__ import annotations

import difflib
import math
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import stats
from forebay._engine import ScenarioError
from forebay._runs.cluster import Cluster
from forebay._runs.journal import table_file
from forebay._runs.pool import Pool, Threads
from forebay._runs.service import Progress, Tell, work_off
from forebay._runs.task import Record, Task, matcher, record_of
from forebay.sweep.store import Store
from forebay.sweep.study import Point, Study, Until

if TYPE_CHECKING:
    from distributed import Client


def run(
    study: Study,
    folder: str | Path,
    *,
    tables: Sequence[str] = (),
    first: int | None = None,
    jobs: int | None = None,
    client: Client | None = None,
    repair: bool = False,
    progress: Tell | None = None,
) -> Progress:
    """Run what a study still lacks and keep every run in `folder` as soon as it ends.

    Interrupted or killed at any moment it goes on, called again, where it was. The results do not
    depend on how often that happened, on the number of jobs, nor on what ran where.

    Args:
        study: what to run.
        folder: where its results are or will be.
        tables: tables to keep beside the summaries (see `forebay.sweep.tables`), and beside those
            that the scenario asks for.
        first: replications of each point, from the first, whose tables are kept; all unless given.
        jobs: runs at a time on this machine; one a core unless given.
        client: a `distributed.Client` whose workers run the study instead.
        repair: set damaged files of results aside first, so that their runs are made anew.
        progress: called from this thread, about ten times a second.

    Returns:
        How many runs the folder holds.

    Raises:
        ScenarioError: the study cannot run, or not in this folder, or a run could not run.
        OSError: the results could not be kept; what had been kept stays.
        KeyboardInterrupt: interrupted; every finished run is kept.

    Example:
        >>> sweep.run(study, "out/study").finished >= len(study.points)
        True
    """
    with Store(study, Path(folder)) as store:
        if repair:
            store.repair()
        asked = study.base.document.get("tables", ())
        tables = tuple(dict.fromkeys((*tables, *asked)))
        todo = _Todo(study, store, tables, study.most if first is None else first)
        if todo.finished < todo.runs:
            pool: Pool[Record] = Threads(record_of, jobs) if client is None else Cluster(client)
            work_off(todo, pool, progress)
        store.finish()
        return Progress(todo.finished, todo.runs, todo.finished / todo.runs)


class _Todo:
    """The runs that a study still lacks. What it decides depends on nothing but the results."""

    def __init__(self, study: Study, store: Store, tables: Sequence[str], first: int) -> None:
        self._study = study
        self._store = store
        self._tables = tables
        self._with_tables = first if tables else 0
        self._until = study.until
        self._points = {point.id: point for point in study.points}
        self._settings: dict[int, list[Point]] = {}
        for point in study.points:
            self._settings.setdefault(point.setting, []).append(point)
        self._done: dict[str, dict[int, float | None]] = {id_: {} for id_ in self._points}
        self._unmatched = {*study.keys, *([study.until.key] if study.until else [])}
        self._unseen = set(self._points)
        self.finished = 0
        for id_, replication, value in store.finished(self._until.key if self._until else None):
            if self._has_tables(id_, replication):
                self._add(id_, replication, value)
        if self.finished:
            self._unmatched.clear()
        least = self._until.at_least if self._until else study.most
        self._wanted = dict.fromkeys(self._settings, least)
        self._extra: deque[tuple[Point, int]] = deque()
        self._missing = self._all(least)
        self.runs = least * len(self._points)
        for setting in self._settings:
            self._extend(setting)

    def take(self, count: int) -> list[Task]:
        """The next runs, at most `count`."""
        return [self._task(*each) for each in islice(self._missing, count)] or [
            self._task(*self._extra.popleft()) for _ in range(min(count, len(self._extra)))
        ]

    def note(self, ended: Sequence[tuple[Task, Record]]) -> None:
        """Keep finished runs."""
        records = [record for _, record in ended]
        self._store.append(records)
        for record in records:
            self._check(record)
            value = record.measures.get(self._until.key) if self._until else None
            self._add(record.id, record.replication, None if isinstance(value, str) else value)
            self._extend(self._points[record.id].setting)

    def _has_tables(self, id_: str, replication: int) -> bool:
        """Whether the tables of a finished run are there, if any are wanted."""
        return replication > self._with_tables or all(
            table_file(self._store.folder, id_, replication, name).exists() for name in self._tables
        )

    def _add(self, id_: str, replication: int, value: float | None) -> None:
        done = self._done[id_]
        self.finished += replication not in done
        done[replication] = value

    def _all(self, count: int) -> Iterator[tuple[Point, int]]:
        """Replication by replication, so that every point is known a little soon."""
        for replication in range(1, count + 1):
            for point in self._study.points:
                if replication not in self._done[point.id]:
                    yield point, replication

    def _extend(self, setting: int) -> None:
        """Ask for more replications of a setting if its intervals are still too wide."""
        until = self._until
        if until is None:
            return
        points = self._settings[setting]
        while all(len(self._done[point.id]) >= self._wanted[setting] for point in points):
            had = self._wanted[setting]
            samples = [
                [self._done[point.id][number] for number in range(1, had + 1)] for point in points
            ]
            wanted = max(enough(until, each) for each in samples)
            if wanted == had:
                return
            self._wanted[setting] = wanted
            self.runs += (wanted - had) * len(points)
            self._extra.extend(
                (point, number)
                for number in range(had + 1, wanted + 1)
                for point in points
                if number not in self._done[point.id]
            )

    def _task(self, point: Point, replication: int) -> Task:
        tables = self._tables if replication <= self._with_tables else ()
        return self._study.task(point, replication, tables)

    def _check(self, record: Record) -> None:
        """Find out early, with the first replication of every point, that a measure is amiss.

        A point may lack what another has, so that no fewer runs tell; and later replications do not
        count, so that it does not depend on which run ends first.
        """
        if not self._unmatched or record.replication > 1:
            return
        self._unmatched -= {
            key for key in self._unmatched if any(map(matcher((key,)), record.measures))
        }
        self._unseen.discard(record.id)
        if self._unmatched and not self._unseen:
            key = min(self._unmatched)
            near = difflib.get_close_matches(key, record.measures, n=3, cutoff=0.5)
            hint = f"; the nearest are {', '.join(near)}" if near else ""
            place = "keys" if key in self._study.keys else "until.key"
            raise ScenarioError(f'{self._study.name}: {place}: no run measures "{key}"{hint}')


def enough(until: Until, samples: list[float | None]) -> int:
    """Replications that a point needs, as far as its samples of the deciding measure tell.

    The number of samples if their interval is narrow enough, or if no more are allowed; else, as
    the width falls with the root of the number, what would do if the variance stayed as it is, but
    at most twice as many, as a few samples say little about it.
    """
    had = len(samples)
    interval = stats.interval(samples)
    if had >= until.at_most or interval is None:
        return min(had, until.at_most) if interval is not None else until.at_most
    width = until.half_width * (abs(interval.mean) if until.relative else 1.0)
    if interval.half_width is not None and interval.half_width <= width:
        return had
    if interval.half_width is None or width == 0.0:
        return min(2 * had, until.at_most)
    needed = math.ceil(min(had * (interval.half_width / width) ** 2, 2.0 * had))
    return min(max(needed, had + 1), until.at_most)
