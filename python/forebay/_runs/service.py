"""Running tasks: the one loop under comparisons, studies, searches, checks and papers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from forebay._runs.pool import Outcome, Pool, Threads, Work, cores, idle_cores
from forebay._runs.result import Result
from forebay._runs.task import Change, Task, result_of
from forebay._scenario import Queue, Scenario

TELL_EVERY_S = 0.1
"""Longest time between two words of progress, in seconds."""

Outcome_contra = TypeVar("Outcome_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of many runs.

    Example:
        >>> told = []
        >>> found = forebay.compare(scenario, disciplines=["fifo"], progress=told.append)
        >>> told[-1].finished, told[-1].runs
        (3, 3)
    """

    finished: int
    """Runs that have ended."""
    runs: int
    """Runs in all, as far as is known."""
    fraction: float
    """The share of the work that is done."""


Tell = Callable[[Progress], None]
"""Called from the thread that waits for the runs, about ten times a second."""


class Todo(Protocol[Outcome_contra]):
    """What is to be run, which may depend on what has been."""

    @property
    def finished(self) -> int:
        """Runs that have ended, those of earlier calls included."""
        ...

    @property
    def runs(self) -> int:
        """Runs that are known to be needed."""
        ...

    def take(self, count: int) -> Sequence[Task]:
        """The next tasks, at most `count`; none if nothing is left, or must be waited for."""
        ...

    def note(self, ended: Sequence[tuple[Task, Outcome_contra]]) -> None:
        """Take notice of tasks that have ended."""
        ...


def work_off(todo: Todo[Outcome], pool: Pool[Outcome], tell: Tell | None = None) -> None:
    """Run everything that is to be run, then close the pool.

    Raises:
        ScenarioError: a task could not run; the others have been stopped.
        KeyboardInterrupt: interrupted; every run has been stopped.
    """
    running = 0

    def told() -> None:
        if tell is not None:
            done = min(todo.finished + pool.begun(), todo.runs)
            tell(Progress(todo.finished, todo.runs, done / max(1, todo.runs)))

    try:
        told()
        while True:
            left = todo.runs - todo.finished - running
            while (room := pool.room(left)) > 0 and (batch := todo.take(room)):
                pool.submit(batch)
                running += len(batch)
                left -= len(batch)
            if running == 0:
                return
            ended = pool.collect(TELL_EVERY_S)
            running -= len(ended)
            if ended:
                todo.note(ended)
            told()
    finally:
        pool.close()


class _Listed(Generic[Outcome]):
    """Tasks that are all known at the beginning."""

    def __init__(self, tasks: Sequence[Task], keep: Callable[[list[Outcome]], None]) -> None:
        self._left = deque(tasks)
        self._keep = keep
        self.runs = len(tasks)
        self.outcomes: dict[Task, Outcome] = {}

    @property
    def finished(self) -> int:
        return len(self.outcomes)

    def take(self, count: int) -> Sequence[Task]:
        return [self._left.popleft() for _ in range(min(count, len(self._left)))]

    def note(self, ended: Sequence[tuple[Task, Outcome]]) -> None:
        self._keep([outcome for _, outcome in ended])
        self.outcomes.update(ended)


def run_all(
    tasks: Sequence[Task],
    work: Work[Outcome],
    *,
    jobs: int | None = None,
    tell: Tell | None = None,
    note: Callable[[list[Outcome]], None] = lambda _: None,
) -> list[Outcome]:
    """Run tasks side by side.

    Args:
        tasks: what to run, in the order in which they begin.
        work: what to do with each, such as `forebay._runs.task.result_of`.
        jobs: runs at a time; one a core unless given.
        tell: called with the progress.
        note: called from this thread with what has become of tasks, as soon as they end.

    Returns:
        What became of each, in the order of the tasks.
    """
    listed: _Listed[Outcome] = _Listed(tasks, note)
    work_off(listed, Threads(work, jobs), tell)
    return [listed.outcomes[task] for task in tasks]


def prepared(
    scenario: Scenario, seed: int | None, discipline: Queue | None, link: str | None
) -> Scenario:
    """The scenario of one run, by the arguments of `run`."""
    if link is not None and discipline is None:
        raise ValueError("link says where discipline goes, and no discipline is given")
    values = () if seed is None else (("seed", seed),)
    return Change(discipline, (link,), values).of(scenario).bare()


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    discipline: Queue | None = None,
    link: str | None = None,
    progress: Callable[[float], None] | None = None,
    threads: int | None = None,
) -> Result:
    """Run a scenario once.

    A network of several links may be computed in parts, on several threads. The results are the
    same, the fingerprint included; `Result.threads` says how many it took.

    Args:
        scenario: what to run.
        seed: instead of the scenario's own.
        discipline: instead of the queue on `link`: a kind, a class, or a table such as
            `{"kind": "codel", "target": "5ms"}`.
        link: which link gets `discipline`, by its name in results; the compared link unless given.
        progress: called a few times a second with the share of simulated time that has passed.
        threads: threads to take at most, from 1, and never more than cores; one for each core
            that is idle unless given.

    Raises:
        ScenarioError: anything in the scenario that could not run.
        ValueError: there is a link and no discipline, or `threads` is below 1.
        KeyboardInterrupt: interrupted; the run has stopped.

    Example:
        >>> result = forebay.run(scenario, discipline={"kind": "codel", "target": "10ms"}, seed=7)
        >>> result.summary["queues"]["bottleneck"]["kind"], result.summary["seed"]
        ('codel', 7)
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    base = prepared(scenario, seed, discipline, link)
    task = Task(base.name, 1, base.document.get("seed", 1), base)
    # In a thread, as a signal reaches the main thread only while that is not in the engine.
    tell = None if progress is None else (lambda now: progress(now.fraction))
    threads = idle_cores() if threads is None else min(threads, cores())
    work = partial(result_of, threads=threads)
    [result] = run_all([task], work, jobs=1, tell=tell)
    return result
