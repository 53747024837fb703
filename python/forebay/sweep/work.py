"""Running points: a batch at a time, in a thread here or on another machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import Any

import numpy as np

from forebay import _engine, steady
from forebay._engine import Cancel, ScenarioError
from forebay.result import flattened, with_queue
from forebay.scenario import Scenario
from forebay.sweep.layout import Record

NOT_MEASURES = ("title", "seed", "duration_s", "warmup_s", "version", "fingerprint", "flows")
"""Keys of a run's summary that do not become columns, beside its cost, which no two runs share."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run: what differs from the study's base."""

    point: str
    replication: int
    seed: int
    queue: dict[str, Any] | None
    values: tuple[tuple[str, Any], ...]
    """Paths and values."""


@dataclass(frozen=True, slots=True)
class Common:
    """What all runs of a study share."""

    base: Scenario
    """Without a seed."""
    links: tuple[str | None, ...]
    keys: tuple[str, ...]
    long_run: bool
    version: str
    """Of the engine."""


def run_batch(common: Common, tasks: Sequence[Task], cancel: Cancel | None = None) -> list[Record]:
    """Run some points, in order.

    Raises:
        ScenarioError: one of them could not run, or the engine here is of another version.
        Cancelled: `cancel` was set.
    """
    if _engine.version != common.version:
        raise ScenarioError(
            f"a worker has forebay {_engine.version}, and the study runs with {common.version}; "
            "install the same version everywhere"
        )
    return [_run(common, task, cancel) for task in tasks]


def scenario_text(common: Common, task: Task) -> str:
    """The scenario of a run as JSON."""
    changed = common.base
    if task.queue is not None:
        for link in common.links:
            changed = with_queue(changed, link, task.queue)
    for path, value in task.values:
        changed = changed.with_(path, value)
    return f'{{"seed": {task.seed}, {changed.text[1:]}'


@lru_cache
def matcher(keys: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a measure is kept; `*` in a key stands for anything."""
    if not keys:
        return lambda _: True
    pattern = re.compile("|".join(map(translate, keys)))
    return lambda key: pattern.match(key) is not None


def _run(common: Common, task: Task, cancel: Cancel | None) -> Record:
    output = _engine.run(scenario_text(common, task), common.base.base, cancel)
    summary = json.loads(output.summary)
    fingerprint = str(summary["fingerprint"])
    for key in (*NOT_MEASURES, "cpu_seconds"):
        summary.pop(key, None)
    kept = matcher(common.keys)
    measures = {
        key: value if isinstance(value, str) else float(value)
        for key, value in flattened(summary).items()
        if isinstance(value, str | int | float) and kept(key)
    }
    if common.long_run:
        measures |= {key: value for key, value in _batches(output).items() if kept(key)}
    return Record(task.point, task.replication, fingerprint, measures)


def _batches(output: _engine.Output) -> dict[str, float]:
    """Batch means of the series of a single long run, as columns."""
    found: dict[str, float] = {}
    for name, labels, columns in output.tables():
        if name == "queue":
            series, key = "mean_packets", f"queues.{labels['link']}.mean_packets"
        elif name == "class":
            series, key = "throughput_bps", f"classes.{labels['class']}.throughput_bps"
        else:
            continue
        found |= {f"{key}.{end}": value for end, value in _steady(columns, series).items()}
    return found


def _steady(columns: Mapping[str, bytes], series: str) -> dict[str, float]:
    values = np.frombuffer(columns[series], "<f8")
    times = np.frombuffer(columns["time_s"], "<f8")
    known = steady.mean_of_run(values)
    if known is None:
        return {}
    return {
        "batch_mean": known.interval.mean,
        "batch_half_width": float(known.interval.half_width or 0.0),
        "batches": float(known.interval.samples),
        "removed_s": float(times[known.removed - 1]) if known.removed else 0.0,
    }
