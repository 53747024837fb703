"""How well replications use the cores.

`python benches/peers/replications.py` on a quiet machine; exit code 1 below the goal.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shlex
import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _engine
from forebay._engine import version
from forebay._runs.pool import cores

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
    "tcp": {"preset": "linux", "stack": {"gso_max_segs": 1}},
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


def section(found: Efficiency, command: str) -> dict[str, Any]:
    """The section of the validation page."""
    each = REPLICATIONS * found.cores
    return {
        "section": "Replications on all cores",
        "order": 6,
        "version": version,
        "command": command,
        "text": [
            f"{each} replications of 16 TCP flows on 10 Mbit/s ran one after another, then in one "
            "thread for each core, then in one process for each core. Figures are the best of "
            f"{TRIALS} trials each, on a quiet machine. Efficiency is the speed-up "
            f"divided by the number of cores; the goal for threads is {GOAL}. "
            "Processes share only the machine, so what they lack is not the program's fault."
        ],
        "tables": [
            {
                "heading": "",
                "text": "",
                "columns": ["", "s", "efficiency"],
                "rows": [
                    ["one after another", found.alone, ""],
                    [f"{found.cores} threads", found.together, found.efficiency],
                    [f"{found.cores} processes", found.apart, found.ceiling],
                ],
            }
        ],
    }


def main() -> int:
    """Measure, print the times, write the section of the validation page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/validation/replications.json"))
    options = parser.parse_args()
    found = measure()
    made = section(found, shlex.join(["python", "benches/peers/replications.py", *sys.argv[1:]]))
    options.output.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for name, seconds, efficiency in made["tables"][0]["rows"]:
        print(f"{name}: {seconds:.5g} s" + (f", efficiency {efficiency:.5g}" if efficiency else ""))
    return 0 if found.efficiency >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
