"""How well replications use the cores."""

from __future__ import annotations

import json
import multiprocessing
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from forebay import _engine
from forebay._runs.pool import cores

NAME = "replications"
"""Name on the command line."""
GOAL = 0.9
"""Least efficiency."""

REPLICATIONS = 8
"""A core."""
TRIALS = 5
"""The best of each counts: what else the machine does can only slow it."""

SCENARIO: dict[str, Any] = {
    "title": "16 TCP flows share 10 Mbit/s",
    "duration": "600s",
    "warmup": "10s",
    "tcp": {"preset": "linux"},
    "dumbbell": {"rate": "10Mbit", "delay": "20ms", "queue": {"kind": "fifo", "limit": "100p"}},
    "traffic": [{"name": "bulk", "kind": "bulk", "flows": 16, "start": ["0s", "2s"]}],
}


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Replications one after another against the same ones side by side."""

    cores: int
    """Cores used."""
    alone: float
    """Seconds for all replications one after another."""
    together: float
    """Seconds for all of them with one thread a core."""
    apart: float
    """Seconds for all of them with one process a core, which share nothing but the machine."""

    @property
    def efficiency(self) -> float:
        """Speed-up over the number of cores; 1 is perfect."""
        return self.alone / (self.cores * self.together)

    @property
    def ceiling(self) -> float:
        """The same of processes: what the machine allows."""
        return self.alone / (self.cores * self.apart)

    @property
    def verdict(self) -> str:
        """Whether it is enough."""
        return "agrees" if self.efficiency >= GOAL else "differs"


def measure() -> Efficiency:
    """Measure on every core that this process may use; the machine must be quiet."""
    count = cores()
    with (
        ThreadPoolExecutor(1) as one,
        ThreadPoolExecutor(count) as threads,
        ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as processes,
    ):
        pools = (one, threads, processes)
        for pool in pools:
            _seconds(pool, count)
        trials = [[_seconds(pool, count) for pool in pools] for _ in range(TRIALS)]
    return Efficiency(count, *(min(each) for each in zip(*trials, strict=True)))


def _seconds(pool: Executor, count: int) -> float:
    start = time.perf_counter()
    list(pool.map(_run, range(1, REPLICATIONS * count + 1)))
    return time.perf_counter() - start


def _run(seed: int) -> None:
    """One replication as `forebay compare` handles it: run, summary and tables."""
    output = _engine.run(json.dumps(SCENARIO | {"seed": seed}), ".")
    json.loads(output.summary)
    output.tables()
