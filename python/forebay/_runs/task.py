"""What one run is: a base scenario, what changes in it, a seed, and what is kept of the run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from forebay._runs.result import ON_REQUEST, TABLES, Result, flattened, run_engine
from forebay._scenario import Queue, Scenario

if TYPE_CHECKING:
    from forebay._engine import Cancel

NOT_MEASURES = (
    "title",
    "seed",
    "duration_s",
    "warmup_s",
    "version",
    "fingerprint",
    "flows",
    "cost",
)
"""Keys of a run's summary that are no measures."""


@dataclass(frozen=True, slots=True)
class Change:
    """What differs from a base scenario: the queue on some links, and fields by path."""

    queue: Queue | None = None
    links: tuple[str | None, ...] = (None,)
    """Which links get the queue; None is the one that the scenario compares."""
    values: tuple[tuple[str, Any], ...] = ()
    """Paths and values, set after the queue."""

    def of(self, base: Scenario) -> Scenario:
        """The changed scenario."""
        changed = base
        if self.queue is not None:
            for link in self.links:
                changed = changed.with_queue(self.queue, link)
        return changed.with_all(dict(self.values)) if self.values else changed


@dataclass(frozen=True, slots=True)
class Keep:
    """What is kept of a run."""

    keys: tuple[str, ...] = ()
    """Patterns of the measures, `*` standing for anything; all if empty."""
    tables: tuple[str, ...] = ()
    """Names of tables, of `forebay._runs.result.TABLES`."""
    batch_means: bool = False
    """Whether the means of the time series are kept with intervals from batch means."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One run; two are equal only if they are the same one."""

    id: str
    """What is run, whatever the seed."""
    replication: int
    """From 1."""
    seed: int
    base: Scenario
    change: Change = Change()
    keep: Keep = Keep()

    @property
    def scenario(self) -> Scenario:
        """The whole scenario of the run."""
        asked: dict[str, Any] = {"seed": self.seed}
        if wanted := [name for name in self.keep.tables if name in ON_REQUEST]:
            asked["tables"] = wanted
        return self.change.of(self.base).with_all(asked)


@dataclass(frozen=True, slots=True)
class Record:
    """A finished run, as it is kept."""

    id: str
    replication: int
    """From 1."""
    fingerprint: str
    measures: dict[str, float | str]
    """Those that were measured, by their keys in the summary joined by dots."""
    tables: Mapping[str, bytes] = field(default_factory=dict, compare=False)
    """The tables that were asked for, as Parquet."""


Progress = Callable[[float], None]
"""Called a few times a second with the share of simulated time that has passed."""


def result_of(
    task: Task,
    cancel: Cancel | None = None,
    progress: Progress | None = None,
    threads: int = 1,
) -> Result:
    """Run a task, on at most so many threads, and keep everything."""
    return Result.of(run_engine(task.scenario, cancel, progress, threads))


def summary_of(
    task: Task, cancel: Cancel | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Run a task and keep its summary."""
    summary: dict[str, Any] = json.loads(run_engine(task.scenario, cancel, progress).summary)
    return summary


def record_of(task: Task, cancel: Cancel | None = None, progress: Progress | None = None) -> Record:
    """Run a task and keep what it asks for."""
    output = run_engine(task.scenario, cancel, progress)
    summary = json.loads(output.summary)
    kept = matcher(task.keep.keys)
    numbers = {key: value for key, value in summary.items() if key not in NOT_MEASURES}
    measures = {
        key: value if isinstance(value, str) else float(value)
        for key, value in flattened(numbers).items()
        if value is not None and kept(key)
    }
    tables: dict[str, bytes] = {}
    if task.keep.batch_means or task.keep.tables:
        from forebay._runs.frames import parquet

        result = Result.of(output)
        tables = {name: parquet(TABLES[name](result)) for name in task.keep.tables}
        if task.keep.batch_means:
            measures |= {key: value for key, value in _batch_means(result).items() if kept(key)}
    return Record(task.id, task.replication, str(summary["fingerprint"]), measures, tables)


@lru_cache
def matcher(keys: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a measure is kept; `*` in a key stands for anything."""
    if not keys:
        return lambda _: True
    pattern = re.compile("|".join(map(translate, keys)))
    return lambda key: pattern.match(key) is not None


def _batch_means(result: Result) -> dict[str, float]:
    """Batch means of every time series of a single long run, as columns."""
    from forebay import steady

    found: dict[str, float] = {}
    for table, label, series, group in (
        (result.queue, "link", "mean_packets", "queues"),
        (result.classes, "class", "throughput_bps", "classes"),
    ):
        for (name,), rows in table.partition_by(label, as_dict=True, maintain_order=True).items():
            known = steady.mean_of_run(rows[series].to_numpy())
            if known is None:
                continue
            key = f"{group}.{name}.{series}"
            removed = float(rows["time_s"][known.removed - 1]) if known.removed else 0.0
            found |= {
                f"{key}.batch_mean": known.interval.mean,
                f"{key}.batch_half_width": float(known.interval.half_width or 0.0),
                f"{key}.batches": float(known.interval.samples),
                f"{key}.removed_s": removed,
            }
    return found
