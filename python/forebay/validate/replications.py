"""How well replications use the cores."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from forebay import _engine
from forebay.parallel import cores

NAME = "replications"
"""Name on the command line."""
GOAL = 0.9
"""Least efficiency."""

REPLICATIONS = 8
"""A core."""
TRIALS = 3
"""The best one counts: what else the machine does can only slow it."""

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

    @property
    def efficiency(self) -> float:
        """Speed-up over the number of cores; 1 is perfect."""
        return self.alone / (self.cores * self.together)

    @property
    def verdict(self) -> str:
        """Whether it is enough."""
        return "agrees" if self.efficiency >= GOAL else "differs"


def measure() -> Efficiency:
    """Measure on every core that this process may use; the machine must be quiet."""
    count = cores()
    trials = [(_seconds(count, 1), _seconds(count, count)) for _ in range(TRIALS)]
    return Efficiency(count, min(alone for alone, _ in trials), min(both for _, both in trials))


def _seconds(count: int, jobs: int) -> float:
    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(_run, range(1, REPLICATIONS * count + 1)))
    return time.perf_counter() - start


def _run(seed: int) -> None:
    """One replication as `forebay compare` handles it: run, summary and tables."""
    output = _engine.run(json.dumps(SCENARIO | {"seed": seed}), ".")
    json.loads(output.summary)
    output.tables()
