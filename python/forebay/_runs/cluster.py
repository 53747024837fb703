"""Where tasks run: the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import queue
import time
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._runs.task import Record, Task, record_of
from forebay._scenario import Scenario

if TYPE_CHECKING:
    from distributed import Client, Future

BATCH_S = 1.0
"""Time in seconds that a batch should take at least, beside which its way to a worker and back is
a trifle."""
BATCHES_A_SECOND = 200.0
"""Batches that all workers together may ask for; a scheduler carries several times as many."""
_MOST_RUNS = 2000
_LOOK_EVERY_S = 2.0


class Cluster:
    """Batches on the workers of a Dask cluster.

    A batch carries its base scenario once and what differs from it, so that a worker needs nothing
    but forebay and the files that the scenario names. Dask gives the batch of a worker that died to
    another one.
    """

    def __init__(self, client: Client) -> None:
        """Use the workers of `client`, of which any may come and go."""
        self._client = client
        self._bases: dict[Scenario, Scenario] = {}
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._batches: dict[str, tuple[Future, Sequence[Task]]] = {}
        self._lost: list[Future] = []
        self._error: BaseException | None = None
        self._seconds_a_run: float | None = None
        self._looked = -_LOOK_EVERY_S
        self._threads = 1

    def room(self, left: int) -> int:
        """Runs of the next batch; 0 if every worker has one and another waits for it."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY_S:
            self._looked = now
            with self._reached():
                self._threads = max(1, sum(self._client.nthreads().values()))
        if len(self._batches) >= 2 * self._threads:
            return 0
        if self._seconds_a_run is None:
            return 1
        seconds = max(BATCH_S, self._threads / BATCHES_A_SECOND)
        # Smaller towards the end, so that all workers end together.
        fair = left // (2 * self._threads)
        return max(1, min(_MOST_RUNS, fair, round(seconds / self._seconds_a_run)))

    def submit(self, tasks: Sequence[Task]) -> None:
        """Run a batch on some worker."""
        sent = [replace(task, base=self._resolved(task.base)) for task in tasks]
        with self._reached():
            future = self._client.submit(timed_batch, _engine.version, sent, pure=False)
        self._batches[future.key] = (future, tasks)
        future.add_done_callback(self._done.put)

    def collect(self, timeout: float) -> Sequence[tuple[Task, Record]]:
        """Runs that have come back."""
        if self._error is not None:
            raise self._error
        ended, self._lost = self._lost, []
        with contextlib.suppress(queue.Empty):
            ended.append(self._done.get(timeout=timeout))
            while True:
                ended.append(self._done.get_nowait())
        good, those = [], []
        for future in ended:
            if future.status in ("lost", "pending"):
                # Its worker has died with what it had found, and another one runs it again.
                self._lost.append(future)
                continue
            _, tasks = self._batches.pop(future.key)
            if future.status == "finished":
                good.append(future)
                those.append(tasks)
            else:
                self._failed(future, tasks)
        records: list[tuple[Task, Record]] = []
        # One request for all; what a worker held that has died meanwhile is run again.
        with self._reached():
            gathered = self._client.gather(good)
        for tasks, (batch, seconds, refusal) in zip(those, gathered, strict=True):
            if refusal is not None:
                self._error = ScenarioError(refusal)
                continue
            records += zip(tasks, batch, strict=True)
            latest = seconds / len(batch)
            known = self._seconds_a_run
            # A mean that forgets, as later points may take longer.
            self._seconds_a_run = latest if known is None else 0.8 * known + 0.2 * latest
        return records

    def begun(self) -> float:
        """Nothing is known of runs that have not come back."""
        return 0.0

    def close(self) -> None:
        """Take back what has not begun; what is running ends unheard."""
        with contextlib.suppress(Exception):
            self._client.cancel([future for future, _ in self._batches.values()])
        self._batches.clear()

    def _resolved(self, base: Scenario) -> Scenario:
        """The scenario with an absolute folder, one object for all tasks of a batch."""
        if base not in self._bases:
            self._bases[base] = replace(base, base=str(Path(base.base).resolve()))
        return self._bases[base]

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Say so if the scheduler cannot be asked, for which Dask has many exceptions."""
        try:
            yield
        except (Exception, CancelledError) as error:
            if self._client.status == "running" and not isinstance(error, OSError | CancelledError):
                raise
            raise _gone() from error

    def _failed(self, future: Future, tasks: Sequence[Task]) -> None:
        from distributed import KilledWorker

        if future.status != "error":
            self._error = _gone()
            return
        error = future.exception()
        if isinstance(error, KilledWorker):
            if len(tasks) > 1:
                # Which of them kills workers, if any does, shows when each runs alone.
                for task in tasks:
                    self.submit([task])
                return
            error = ScenarioError(
                f"{error.allowed_failures + 1} workers died running replication "
                f"{tasks[0].replication} with {dict(tasks[0].change.values)}; does it need more "
                "memory than they have?"
            )
        elif isinstance(error, ImportError):
            error = ScenarioError(f"the workers cannot run forebay, install it there: {error}")
        self._error = error


def _gone() -> ScenarioError:
    return ScenarioError(
        "the cluster's scheduler has gone, or has cancelled the runs; those that had ended are "
        "kept, and the same command goes on"
    )


def timed_batch(version: str, tasks: Sequence[Task]) -> tuple[list[Record], float, str | None]:
    """On a worker: run a batch.

    Returns:
        The runs, the seconds that they took, and why one could not run: the engine's exceptions
        do not travel.
    """
    if _engine.version != version:
        return (
            [],
            0.0,
            f"a worker has forebay {_engine.version}, and the study runs with {version}; install "
            "the same version everywhere",
        )
    start = time.perf_counter()
    try:
        records = [record_of(task) for task in tasks]
    except ScenarioError as error:
        return [], 0.0, str(error)
    return records, time.perf_counter() - start, None


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[Client | None]:
    """A client of the cluster at `address`, or none without one.

    Raises:
        ScenarioError: nothing answers there.
        ModuleNotFoundError: Dask is not installed.
    """
    if address is None:
        yield None
        return
    from distributed import Client

    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{address}: no Dask scheduler answers there: {error}") from None
    with client:
        yield client
