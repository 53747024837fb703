"""Where batches run: threads of this process."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from forebay._engine import Cancel
from forebay.sweep.layout import Record
from forebay.sweep.work import Common, Task, run_batch


class Pool(Protocol):
    """Something that runs batches."""

    def room(self, left: int) -> int:
        """Runs, of those `left`, to submit now as one batch; 0 if there is enough to do."""
        ...

    def submit(self, tasks: Sequence[Task]) -> None:
        """Run a batch some time."""
        ...

    def collect(self, timeout: float) -> list[Record]:
        """Runs that have ended, after at most `timeout` seconds if there are none.

        The first error of a run is raised when the runs before it have been collected.
        """
        ...

    def close(self) -> None:
        """Stop everything; what has not ended is lost."""
        ...


class Threads:
    """One run at a time in each of some threads; the engine holds no lock while it runs."""

    def __init__(self, common: Common, jobs: int) -> None:
        """Start `jobs` threads."""
        self._common = common
        self._executor = ThreadPoolExecutor(jobs, thread_name_prefix="forebay")
        self._done: queue.SimpleQueue[Future[list[Record]]] = queue.SimpleQueue()
        self._cancels: dict[Future[list[Record]], Cancel] = {}
        self._error: BaseException | None = None
        # A few wait, so that no thread ever does.
        self._most = jobs + max(2, jobs)

    def room(self, left: int) -> int:  # noqa: ARG002 - of use to others
        """One run, as long as some threads could do with it."""
        return int(len(self._cancels) < self._most)

    def submit(self, tasks: Sequence[Task]) -> None:
        """Run a batch in the first thread that is free."""
        cancel = Cancel()
        future = self._executor.submit(run_batch, self._common, tasks, cancel)
        self._cancels[future] = cancel
        future.add_done_callback(self._done.put)

    def collect(self, timeout: float) -> list[Record]:
        """Runs that have ended."""
        if self._error is not None:
            raise self._error
        records: list[Record] = []
        try:
            future = self._done.get(timeout=timeout)
            while True:
                del self._cancels[future]
                if (error := future.exception()) is not None:
                    self._error = error
                else:
                    records += future.result()
                future = self._done.get_nowait()
        except queue.Empty:
            return records

    def close(self) -> None:
        """Stop every run and wait for the threads' ends, a few milliseconds."""
        for cancel in self._cancels.values():
            cancel.set()
        self._executor.shutdown(wait=True, cancel_futures=True)
