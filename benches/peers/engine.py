"""Runs one forebay scenario, given as JSON on the command line, and prints its measurement."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forebay import _engine

HEADERS = 40
"""IP and TCP, bytes; timestamps take 12 more."""


def measure(document: str, progress: Callable[[float], None] | None = None) -> dict[str, Any]:
    """Runs the scenario and gives what the peers' programs print."""
    tcp = json.loads(document)["tcp"]
    payload = 1500 - HEADERS - (12 if tcp.get("timestamps") else 0)
    summary = json.loads(_engine.run(document, ".", progress=progress).summary)
    users = summary["classes"]["bulk"]
    link = summary["links"]["bottleneck"]
    queue = summary["queues"]["bottleneck"]
    span = summary["duration_s"] - summary["warmup_s"]
    segments = users["goodput_bps"] * span / 8 / payload
    sent = link["sent_packets"]
    return {
        "queue": queue["mean_packets"],
        "utilization": link["utilization"],
        "loss": queue["loss"],
        "once": segments / sent if sent else 0.0,
        "segments": round(segments),
        "run_cpu": summary["cost"]["cpu_seconds"],
    }


def memory(what: str) -> int:
    """Bytes of this process: `VmRSS` for those now, `VmHWM` for the most there ever were."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"{what}:")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    before = memory("VmRSS")
    # The engine reports while it runs, so that the last size is without the summary.
    sizes = [before]
    found = measure(sys.argv[1], lambda _share: sizes.append(memory("VmHWM")))
    print(json.dumps(found | {"memory": memory("VmHWM"), "grown": sizes[-1] - before}))
