"""CP-AQM on real packets beside its simulation: a section of docs/validation.md.

sudo .venv/bin/python benches/lab.py --out docs/validation/lab.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from forebay import Scenario
from forebay._engine import version
from forebay.lab import against_simulation
from forebay.stats import Interval

REASONS = [
    "Where the two differ most, and why: one CUBIC flow loses about half as much live as "
    "simulated. The simulator follows RFC 9438, section 4.3, by which a sender in the "
    "Reno-friendly region grows by a whole segment a round trip once it has regained its window, "
    "and Linux does not: simulated without that step, the loss is 0.77 % instead of 1.19 % with "
    "one flow and 5 ms, and 3.92 % instead of 4.40 % with 16 flows and 50 ms.",
    "16 New Reno flows over 5 ms have windows of one or two segments, so that it matters most who "
    "acknowledges when: simulated with an acknowledgment for every segment they lose 20.3 %, for "
    "every second 13.9 %. Linux is in between, which fits its receivers: they acknowledge at once "
    "after a gap or a segment received twice. It is neither tail loss probes nor RACK: with "
    "`tcp_early_retrans` 0, and with `tcp_recovery` 0 too, the loss is 18.2 %.",
]

CONTROLS = {"new-reno": "New Reno", "cubic": "CUBIC"}
QUEUE = {"kind": "cp-aqm", "threshold": "5p", "max_congestion": 1.2}


def scenario(congestion: str, flows: int, delay: str) -> Scenario:
    """The paper's dumbbell (CP-AQM, section IV-A) with SACK, and what Linux does by default."""
    return Scenario.of(
        {
            "title": f"{flows} {congestion} flows, {delay}",
            "duration": "70s",
            "warmup": "10s",
            "seed": 1,
            "tcp": {
                "preset": "linux",
                "congestion": congestion,
                "recovery": "sack",
                "timestamps": True,
            },
            "dumbbell": {
                "rate": "10Mbit",
                "delay": delay,
                "overhead": "ppp",
                "queue": QUEUE,
                "access": {"rate": "1Gbit", "delay": "100us"},
            },
            "traffic": [{"kind": "bulk", "flows": flows, "start": ["0s", "5s"]}],
        }
    )


def compare(case: tuple[str, int, str], runs: int) -> list[Any]:
    """A row of the table."""
    congestion, flows, delay = case
    found = against_simulation(scenario(congestion, flows, delay), replications=runs)
    rows = {row.what: row for row in found.rows() if row.where == "bottleneck"}
    cells: list[Any] = [CONTROLS[congestion], flows, delay]
    for what in ("mean queue", "utilization", "loss"):
        cells += [_text(rows[what].live), _text(rows[what].simulated)]
    print(*cells, sep="  ", file=sys.stderr, flush=True)
    return cells


def _text(interval: Interval | None) -> str:
    if interval is None:
        return ""
    half = "" if interval.half_width is None else f" ± {interval.half_width:.2g}"
    return f"{interval.mean:.4g}{half}"


def main() -> None:
    """Measure, and write the section."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="runs of 60 s on each side")
    arguments.add_argument("--jobs", type=int, default=2, help="labs at a time")
    arguments.add_argument("--out", type=Path, required=True, help="where the section goes")
    options = arguments.parse_args()
    cases = list(product(CONTROLS, (1, 16), ("5ms", "50ms")))
    load = [os.getloadavg()[0]]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(compare, cases, [options.runs] * len(cases)))
    load.append(os.getloadavg()[0])
    kernel = platform.release().split("-")[0]
    section = {
        "section": "Live against simulated",
        "order": 5,
        "version": version,
        "command": shlex.join(["python", "benches/lab.py", *sys.argv[1:]]),
        "text": [
            f"`forebay lab` ran real Linux TCP (kernel {kernel}, SACK, timestamps) over the gate, "
            "`forebay run` simulated the same scenario: 10 Mb/s with PPP framing, "
            "45 kB of buffer, flows that start within 5 s, 60 s measured after 10 s, "
            f"{options.runs} runs of each with seeds 1 to {options.runs}, {options.jobs} labs at "
            "a time; 95 % intervals. Mean queue in packets, waiting only; utilization and loss in "
            "per cent.",
            f"The machine's load average on its {os.cpu_count()} cores, other work included, was "
            f"{load[0]:.0f} when the measurement began and {load[1]:.0f} when it ended.",
            *REASONS,
        ],
        "tables": [
            {
                "heading": "CP-AQM, threshold 5 packets, maximum congestion 1.2",
                "text": "",
                "columns": [
                    "TCP",
                    "flows",
                    "one-way delay",
                    "mean queue, live",
                    "simulated",
                    "utilization, live",
                    "simulated",
                    "loss, live",
                    "simulated",
                ],
                "rows": rows,
            }
        ],
    }
    options.out.write_text(json.dumps(section, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
