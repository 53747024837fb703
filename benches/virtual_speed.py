"""How many packets a real Linux kernel in virtual time carries in a second of processor time.

    .venv/bin/python benches/virtual_speed.py

Every run is made with two durations. The rate is that of the difference, so
it leaves out the start, which is shown apart. The processor time is that of the guest's
processes. Medians of five turns are shown, with the least and the most. Needs `make virtual-linux`.
"""

from __future__ import annotations

import os
import platform
import resource
import time
from statistics import median
from typing import Any

from forebay import Scenario
from forebay._engine import version
from forebay.lab import virtual

TURNS = 5
SHORT, LONG = "2s", "102s"
BULK: dict[str, Any] = {"kind": "bulk", "name": "load"}
LOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "one CUBIC flow, 10 Mbit/s": ("10Mbit", BULK | {"flows": 1}),
    "16 CUBIC flows, 40 Mbit/s": ("40Mbit", BULK | {"flows": 16}),
    "datagrams, 1 Mbit/s": (
        "10Mbit",
        {"kind": "cbr", "name": "load", "rate": "1Mbit", "size": "200B"},
    ),
}


def scenario(rate: str, load: dict[str, Any]) -> Scenario:
    """A link of 10 ms with CoDel, and hosts that send each segment by itself."""
    return Scenario.of(
        {
            "seed": 1,
            "tcp": {"preset": "linux", "congestion": "cubic", "stack": {"gso_max_segs": 1}},
            "dumbbell": {"rate": rate, "delay": "10ms", "queue": {"kind": "codel"}},
            "traffic": [load],
        }
    )


def run(asked: Scenario, duration: str) -> tuple[float, float, float]:
    """Packets that the queue was offered, processor time of the guest, and elapsed time, in s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    result = virtual.run(asked.with_("duration", duration))
    elapsed = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    queue = result.summary["queues"]["bottleneck"]
    return queue["offered"], used, elapsed


def shown(values: list[float], digits: int = 0) -> str:
    """Median, least and most."""
    return f"{median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def main() -> None:
    """Print a line for each load, and what a start takes."""
    print(f"forebay {version}, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}")
    starts: list[float] = []
    for name, (rate, load) in LOADS.items():
        rates: list[float] = []
        for _ in range(TURNS):
            few, little, start = run(scenario(rate, load), SHORT)
            many, much, _ = run(scenario(rate, load), LONG)
            rates.append((many - few) / (much - little))
            starts.append(start)
        print(f"{name}: {shown(rates)} packets per second of processor time", flush=True)
    print(f"a run of {SHORT}: {shown(starts, 2)} s")


if __name__ == "__main__":
    main()
