"""What a class in Python costs: packets a CPU second of whole runs, beside the built-in kinds.

    python benches/python_plugins.py [TURNS]

16 CUBIC flows on 100 Mbit/s for 20 s, each discipline in turn.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import forebay

PLUGINS = Path(__file__).parents[1] / "examples" / "plugins"


def main() -> None:
    """Run all in turns and print medians and quartiles."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    scenario = forebay.Scenario.of(
        {
            "duration": "20s",
            "plugins": [str(PLUGINS / name) for name in ("short.py", "codel.py")],
            "dumbbell": {"rate": "100Mbit", "delay": "20ms"},
            "traffic": [{"kind": "bulk", "flows": 16}],
        }
    )
    kinds = {
        "fifo": {"kind": "fifo", "limit": "1000p"},
        "short": {"kind": "short", "limit": "1000p"},
        "codel": {"kind": "codel"},
        "codel-in-python": {"kind": "codel-in-python"},
    }
    speeds: dict[str, list[float]] = {name: [] for name in kinds}
    prints: dict[str, str] = {}
    for _ in range(turns):
        for name, queue in kinds.items():
            run = forebay.run(scenario, discipline=queue)
            sent = run.summary["links"]["bottleneck"]["sent_packets"]
            speeds[name].append(sent / run.summary["cost"]["cpu_seconds"])
            prints[name] = run.fingerprint
    assert prints["fifo"] == prints["short"], "they differ in what they do"
    assert prints["codel"] == prints["codel-in-python"], "they differ in what they do"
    for name, found in speeds.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"{name:16} {middle / 1e3:6.0f} ({low / 1e3:.0f} to {high / 1e3:.0f}) k packets/s")


if __name__ == "__main__":
    main()
