"""Speed and memory beside ns-2 and ns-3: writes speed.json and speed.md.

Usage: python benches/peers/bench.py [--repeats 5] [--quick] [--output docs/validation]

Rates are delivered data segments per CPU second, each received once. The simulators take turns, so
that a slow spell of the machine meets all of them; medians are given. Nothing is measured inside
the peers (no queue monitor, no traces), while forebay keeps all its statistics.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from peers import Case, Measured, Toolbox, machine
from render import render_speed


@dataclass(frozen=True)
class Load:
    """A scenario to time."""

    name: str
    case: Case
    repeats: int
    """Runs at most; the slow ones are repeated less."""
    simulators: tuple[str, ...] = ("forebay", "ns-2", "ns-3")


def small(duration: float) -> Case:
    """16 flows at 10 Mbit/s."""
    return Case("speed", {"duration": duration, "warmup": 0.0, "delayed_ack": 0.04})


def large(flows: int, rate: float, buffer: int, duration: float = 10.0) -> Case:
    """Many flows over 10 ms, with room for one bandwidth-delay product."""
    options = {"flows": flows, "rate": rate, "delay": 0.01, "buffer": buffer}
    return Case(
        "speed", options | {"duration": duration, "warmup": 0.0, "spread": 1.0, "delayed_ack": 0.04}
    )


# One bandwidth-delay product of 1 Gbit/s and 20.4 ms there and back: 1700 packets of 1500 bytes.
LOADS = (
    Load("16 flows, 10 Mbit/s, 110 s", small(110.0), 5),
    Load("16 flows, 10 Mbit/s, 1010 s", small(1010.0), 3),
    Load("1000 flows, 1 Gbit/s, 10 s", large(1000, 1e9, 1700), 3),
    # The link grows with the flows, so that each has the share it had above.
    Load("100 000 flows, 100 Gbit/s, 1 s", large(100_000, 100e9, 170_000, 1.0), 3, ("forebay",)),
)


def main() -> int:
    """Run every load in turns, write the JSON and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="at most so many runs of each")
    parser.add_argument("--quick", action="store_true", help="leave out the runs of minutes")
    parser.add_argument("--output", type=Path, default=Path("docs/validation"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = Toolbox(Path(folder))
        document = {
            "versions": tools.versions,
            "machine": machine(),
            "date": date.today().isoformat(),
            "loads": [timed(tools, load, options.repeats, options.quick) for load in LOADS],
        }
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "speed.json").write_text(json.dumps(document, indent=1) + "\n")
    (options.output / "speed.md").write_text(render_speed(document))
    return 0


def timed(tools: Toolbox, load: Load, repeats: int, quick: bool) -> dict[str, Any]:
    """The medians of one load in every simulator that is installed."""
    present = ("forebay", *tools.commands)
    simulators = [
        simulator
        for simulator in load.simulators
        if simulator in present and not (quick and is_slow(simulator, load.case))
    ]
    runs: dict[str, list[Measured]] = {simulator: [] for simulator in simulators}
    for turn in range(min(repeats, load.repeats)):
        for simulator in simulators:
            if turn > 0 and is_slow(simulator, load.case):
                continue
            more = {} if simulator == "forebay" else {"monitor": 0}
            runs[simulator].append(tools.run(simulator, load.case, turn + 1, **more))
            print(f"{load.name}: {simulator} {runs[simulator][-1]}", file=sys.stderr)
    return {
        "name": load.name,
        "options": dict(load.case.options),
        "results": {simulator: medians(found) for simulator, found in runs.items()},
    }


def is_slow(simulator: str, case: Case) -> bool:
    """Whether the run takes minutes, and so is made once."""
    return simulator == "ns-3" and case.settings["flows"] >= 1000


def medians(runs: list[Measured]) -> dict[str, float]:
    """Medians over the runs, each quantity by itself."""

    def of(value: Any) -> float:
        return statistics.median(value(run) for run in runs)

    return {
        "runs": len(runs),
        "segments": of(lambda run: run.segments),
        # The peers' clocks tick in hundredths of a second.
        "run_rate": of(lambda run: run.segments / max(run.run_cpu, 0.01)),
        "process_rate": of(lambda run: run.segments / run.cpu),
        "run_cpu": of(lambda run: run.run_cpu),
        "cpu": of(lambda run: run.cpu),
        "memory": of(lambda run: run.memory),
    }


if __name__ == "__main__":
    sys.exit(main())
