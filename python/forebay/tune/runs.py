"""Runs that are kept: a folder of finished runs by what was run and its seed.

A folder holds `tune.json` (what it is), `journal` (finished runs, a line each with its check sum,
written as soon as a run has ended), `lock` (held by the command that writes), and what was found.
A run is known by the hash of its whole scenario, of the files that it reads and of the engine's
version, so that runs serve any goal and any parameters, and none is taken for another.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _engine
from forebay._engine import ScenarioError
from forebay.parallel import cores
from forebay.result import with_queue
from forebay.scenario import Scenario
from forebay.sweep.layout import Record, line_of, read_journal
from forebay.sweep.plan import inputs
from forebay.sweep.pool import Threads
from forebay.sweep.store import locked, write_whole
from forebay.sweep.work import Common, Task

_MARK = "tune.json"
_OURS = {_MARK, "journal", "lock", "results.json", "pareto.png"}
_TELL_EVERY_S = 0.1


@dataclass(frozen=True, eq=False)
class Point:
    """A scenario to run: the base with a queue and values, both if any."""

    queue: Mapping[str, Any] | None
    values: tuple[tuple[str, Any], ...]
    """Paths and values."""


class Runs:
    """Runs of variations of one scenario, each run once and kept."""

    def __init__(
        self, base: Scenario, link: str | None, folder: Path, jobs: int | None = None
    ) -> None:
        """Open a folder, new or begun earlier; `close` it at the end.

        Raises:
            ScenarioError: it holds something else, or another command holds it.
            OSError: it cannot be written.
        """
        document = base.document
        document.pop("seed", None)
        self._base = Scenario.of(document, base.name, base.base)
        self._link = link
        self._jobs = jobs or cores()
        self._ids: dict[Point, str] = {}
        self.folder = folder
        _claim(folder)
        self._lock = locked(folder)
        try:
            records, whole = read_journal(folder / "journal")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._journal = io.FileIO(os.open(folder / "journal", flags, 0o666), "r+")
        except BaseException:
            self._lock.close()
            raise
        self._journal.truncate(whole)
        self._journal.seek(whole)
        self._known = {(each.point, each.replication): each for each in records}

    def __enter__(self) -> Runs:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the folder."""
        self.close()

    def close(self) -> None:
        """Let go of the folder; what was kept is safe from a power cut."""
        with contextlib.suppress(OSError):
            os.fsync(self._journal.fileno())
        self._journal.close()
        self._lock.close()

    def scenario(self, point: Point) -> Scenario:
        """The scenario of a point, without a seed."""
        changed = self._base
        if point.queue is not None:
            changed = with_queue(changed, self._link, point.queue)
        for path, value in point.values:
            changed = changed.with_(path, value)
        return changed

    def check(self, point: Point) -> None:
        """Check that a point can run.

        Raises:
            ScenarioError: it cannot, and why.
        """
        self._id(point)

    def measures(
        self,
        wanted: Sequence[tuple[Point, int]],
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[dict[str, float | str]]:
        """The measures of points with seeds, in order; what is not known yet is run and kept.

        Args:
            wanted: points that can run, and seeds.
            progress: called about ten times a second with the number of runs there are.

        Raises:
            OSError: a run could not be kept.
            KeyboardInterrupt: interrupted; finished runs are kept.
        """
        keys = {(self._id(point), seed): (point, seed) for point, seed in wanted}
        missing = deque(key for key in keys if key not in self._known)
        if missing:
            common = Common(self._base, (self._link,), (), False, _engine.version)
            pool = Threads(common, self._jobs)
            running = 0
            try:
                while missing or running:
                    while missing and pool.room(len(missing)):
                        point, seed = keys[missing[0]]
                        queue = None if point.queue is None else dict(point.queue)
                        pool.submit([Task(missing[0][0], seed, seed, queue, point.values)])
                        missing.popleft()
                        running += 1
                    records = pool.collect(_TELL_EVERY_S)
                    running -= len(records)
                    for record in records:
                        self._keep(record)
                    progress(len(keys) - len(missing) - running)
            finally:
                pool.close()
        progress(len(keys))
        return [self._known[self._id(point), seed].measures for point, seed in wanted]

    def _keep(self, record: Record) -> None:
        start = self._journal.tell()
        line = memoryview(line_of(record))
        try:
            while line:
                line = line[self._journal.write(line) :]
        except OSError as error:
            self._journal.truncate(start)
            what = f"{error.strerror}; the runs that had ended are kept"
            raise OSError(error.errno, what, str(self.folder)) from None
        self._known[record.point, record.replication] = record

    def _id(self, point: Point) -> str:
        if point not in self._ids:
            changed = self.scenario(point)
            effective = changed.effective()
            effective.pop("seed", None)
            for link in effective.get("link") or []:
                if link.get("pcap"):
                    raise ScenarioError(
                        f"{self._base.name}: link.{link['name']}.pcap: all runs would write to one "
                        "file; take it out and record a single run with forebay run"
                    )
            content = [effective, inputs(changed), _engine.version]
            text = json.dumps(content, sort_keys=True, separators=(",", ":"))
            self._ids[point] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._ids[point]


def _claim(folder: Path) -> None:
    """Make the folder, or check that it is one of ours."""
    if folder.exists():
        if not folder.is_dir():
            raise ScenarioError(f"{folder}: is a file; choose another folder with --out")
        names = sorted(entry.name for entry in folder.iterdir())
        foreign = [name for name in names if name not in _OURS and not name.endswith(".partial")]
        if foreign or (names and _MARK not in names and names != ["lock"]):
            raise ScenarioError(
                f"{folder}: holds {(foreign or names)[0]}, which is not of forebay tune; choose "
                "another folder with --out"
            )
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / _MARK, b'{"forebay tune": 1}\n')
