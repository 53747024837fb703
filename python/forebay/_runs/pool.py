"""Where tasks run: threads of this process."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

from forebay._engine import Cancel
from forebay._runs.task import Task

Outcome = TypeVar("Outcome")
"""What becomes of one task."""
Outcome_co = TypeVar("Outcome_co", covariant=True)

Work = Callable[[Task, Cancel, Callable[[float], None]], Outcome]
"""Runs one task, to be stopped by the flag, and tells the share that is done."""


class Pool(Protocol[Outcome_co]):
    """Something that runs tasks."""

    def room(self, left: int) -> int:
        """Runs, of those `left`, to submit now as one batch; 0 if there is enough to do."""
        ...

    def submit(self, tasks: Sequence[Task]) -> None:
        """Run a batch some time."""
        ...

    def collect(self, timeout: float) -> Sequence[tuple[Task, Outcome_co]]:
        """Tasks that have ended, after at most `timeout` seconds if there are none.

        The first error of a task is raised when those that ended before it have been collected.
        """
        ...

    def begun(self) -> float:
        """How many runs' worth of work is done in runs that have not ended."""
        ...

    def close(self) -> None:
        """Stop everything; what has not ended is lost."""
        ...


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def idle_cores() -> int:
    """Cores that this process may use and that others left idle in the last minute; at least 1."""
    if not hasattr(os, "getloadavg"):
        return cores()
    return max(1, cores() - round(os.getloadavg()[0]))


class Threads(Generic[Outcome]):
    """One task at a time in each of some threads; the engine holds no lock while it runs."""

    def __init__(self, work: Work[Outcome], jobs: int | None = None) -> None:
        """Start `jobs` threads, one a core unless given."""
        jobs = jobs or cores()
        self._work = work
        self._executor = ThreadPoolExecutor(jobs, thread_name_prefix="forebay")
        self._done: queue.SimpleQueue[Future[list[tuple[Task, Outcome]]]] = queue.SimpleQueue()
        # One for all runs: Ctrl-C within `submit` leaves none that cannot be stopped.
        self._cancel = Cancel()
        self._batches = 0
        self._error: BaseException | None = None
        # A few wait, so that no thread ever does.
        self._most = jobs + max(2, jobs)
        self._lock = threading.Lock()
        self._shares: dict[int, float] = {}

    def room(self, left: int) -> int:  # noqa: ARG002 - of use to others
        """One task, as long as some threads could do with it."""
        return int(self._batches < self._most)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Run a batch in the first thread that is free."""
        self._batches += 1
        future = self._executor.submit(self._run, tasks)
        future.add_done_callback(self._done.put)

    def collect(self, timeout: float) -> Sequence[tuple[Task, Outcome]]:
        """Tasks that have ended."""
        if self._error is not None:
            raise self._error
        ended: list[tuple[Task, Outcome]] = []
        try:
            future = self._done.get(timeout=timeout)
            while True:
                self._batches -= 1
                if (error := future.exception()) is not None:
                    self._error = error
                else:
                    ended += future.result()
                future = self._done.get_nowait()
        except queue.Empty:
            return ended

    def begun(self) -> float:
        """The shares of the runs under way."""
        with self._lock:
            return sum(self._shares.values())

    def close(self) -> None:
        """Stop every run and wait for the threads' ends, a few milliseconds."""
        self._cancel.set()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _run(self, tasks: Sequence[Task]) -> list[tuple[Task, Outcome]]:
        me = threading.get_ident()

        def tell(share: float) -> None:
            with self._lock:
                self._shares[me] = share

        try:
            return [(task, self._work(task, self._cancel, tell)) for task in tasks]
        finally:
            with self._lock:
                self._shares.pop(me, None)
