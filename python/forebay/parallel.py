"""Many runs at a time, each in a thread of its own: the engine holds no lock while it runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

from forebay._engine import Cancel
from forebay.result import Result, execute
from forebay.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Progress:
    """How far many runs are."""

    finished: int
    """Runs that have ended."""
    runs: int
    """Runs in all."""
    fraction: float
    """Simulated time that has passed, of all."""


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    scenarios: Sequence[Scenario],
    order: Sequence[int],
    jobs: int,
    progress: Callable[[Progress], None] | None = None,
) -> list[Result]:
    """Run every scenario.

    Args:
        scenarios: what to run.
        order: their numbers, in the order in which they begin.
        jobs: runs at a time.
        progress: called from this thread, about ten times a second.

    Returns:
        The results, in the order of the scenarios.

    Raises:
        ScenarioError: one could not run; the others have been stopped.
        KeyboardInterrupt: interrupted; every run has been stopped.
    """
    tally = _Tally(len(scenarios))
    cancels = [Cancel() for _ in scenarios]

    def work(number: int) -> Result:
        result = execute(
            scenarios[number], cancels[number], lambda part: tally.advance(number, part)
        )
        tally.finish(number)
        return result

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="forebay") as pool:
        futures = {number: pool.submit(work, number) for number in order}
        try:
            waiting = True
            while waiting:
                done, rest = wait(futures.values(), timeout=0.1, return_when=FIRST_EXCEPTION)
                for future in done:
                    if (error := future.exception()) is not None:
                        raise error
                waiting = bool(rest)
                if progress is not None:
                    progress(tally.now())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for cancel in cancels:
                cancel.set()
            raise
    return [futures[number].result() for number in range(len(scenarios))]


class _Tally:
    """Fractions of many runs, written by their threads."""

    def __init__(self, runs: int) -> None:
        self._lock = threading.Lock()
        self._fractions = [0.0] * runs
        self._finished = 0

    def advance(self, run: int, fraction: float) -> None:
        with self._lock:
            self._fractions[run] = fraction

    def finish(self, run: int) -> None:
        with self._lock:
            self._fractions[run] = 1.0
            self._finished += 1

    def now(self) -> Progress:
        with self._lock:
            runs = len(self._fractions)
            return Progress(self._finished, runs, sum(self._fractions) / runs)
