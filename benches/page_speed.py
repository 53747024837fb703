"""How fast the module for pages runs beside the native engine: processor time, in Node.

    make build && make web && .venv/bin/python benches/page_speed.py [PAIRS]

Each scenario runs PAIRS times (9 by default) in the module and in the engine, by turns, and must
have one fingerprint in both. Prints packets a second of processor time, medians, and the speed of
the module as a share of the engine's: of the shortest runs, which other programs disturbed least,
and the median and range of the pairs. Before that the module has run once: V8 compiles it as it
runs, so the first run is slower, and printed by itself.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import forebay

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "target/page/forebay.wasm"
SCRIPT = ROOT / "crates/web/js/engine.js"

SCENARIOS: dict[str, dict[str, Any]] = {
    "16 New Reno flows, FIFO": {
        "duration": "1010s",
        "seed": 1,
        "tcp": {"congestion": "new-reno", "recovery": "sack"},
        "dumbbell": {
            "rate": "10Mbit",
            "delay": "5ms",
            "overhead": "ppp",
            "queue": {"kind": "fifo", "limit": "30p"},
        },
        "traffic": [{"name": "bulk", "kind": "bulk", "flows": 16, "start": ["0s", "1s"]}],
    },
    "downloads, calls and pages, FQ-CoDel": {
        "duration": "300s",
        "seed": 1,
        "dumbbell": {"rate": "20Mbit", "delay": "10ms", "queue": {"kind": "fq-codel"}},
        "traffic": [
            {"name": "bulk", "kind": "bulk", "flows": 10},
            {"name": "calls", "kind": "voice", "flows": 5},
            {"name": "web", "kind": "web", "count": 5},
        ],
    },
}
RUN = """
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const { Engine } = await import(process.argv[1]);
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const engine = new Engine(await WebAssembly.instantiate(module));
for await (const line of createInterface({ input: process.stdin })) {
  const scenario = JSON.parse(line);
  const before = process.cpuUsage();
  const { packets, fingerprint } = engine.run(scenario);
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify([(user + system) / 1e6, packets, fingerprint]));
}
"""


def native(scenario: dict[str, Any]) -> tuple[float, int, str]:
    """Processor time in s, packets and fingerprint of a run in the engine."""
    made = forebay.Scenario.of(scenario)
    before = time.process_time()
    found = forebay.run(made)
    return time.process_time() - before, found.summary["packets"], found.fingerprint


def within(node: subprocess.Popen[str], scenario: dict[str, Any]) -> tuple[float, int, str]:
    """The same in the module."""
    assert node.stdin is not None and node.stdout is not None
    node.stdin.write(json.dumps(scenario) + "\n")
    node.stdin.flush()
    seconds, packets, fingerprint = json.loads(node.stdout.readline())
    return seconds, packets, fingerprint


def main(pairs: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        # Called so, it is a module for every version of node.
        script = shutil.copy(SCRIPT, Path(folder, "engine.mjs"))
        command = ["node", "--input-type=module", "-e", RUN, Path(script).as_uri(), str(MODULE)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as node:
            for name, scenario in SCENARIOS.items():
                first, packets, fingerprint = within(node, scenario)
                native(scenario)
                here: list[float] = []
                there: list[float] = []
                for _ in range(pairs):
                    for times, found in (
                        (there, within(node, scenario)),
                        (here, native(scenario)),
                    ):
                        assert found[1:] == (packets, fingerprint), f"{name}: {found}"
                        times.append(found[0])
                shares = [a / b for a, b in zip(here, there, strict=True)]
                speed = {
                    "in the module": statistics.median(there),
                    "in its first run": first,
                    "in the engine": statistics.median(here),
                }
                print(f"{name}, in millions of packets a second:")
                print(*(f"  {packets / each / 1e6:.2f} {where}" for where, each in speed.items()))
                middle, low, high = statistics.median(shares), min(shares), max(shares)
                print(
                    f"  {min(here) / min(there):.3f} of the engine's speed by the shortest runs, "
                    f"{middle:.3f} ({low:.3f} to {high:.3f}) by pairs"
                )
            node.communicate()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
