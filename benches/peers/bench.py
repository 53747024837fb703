"""Speed and memory beside ns-2 and ns-3: writes docs/validation/speed.json.

Usage: python benches/peers/bench.py [--repeats 5] [--htsim FOLDER] [--output FILE]

FOLDER is a checkout of github.com/Broadcom/csg-htsim, which is built in place.

Rates are delivered data segments per CPU second, each received once. The simulators take turns, so
that a slow spell of the machine meets all of them; medians are given. Nothing is measured inside
the peers (no queue monitor, no traces), while forebay keeps all its statistics.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import SIMULATORS, Case, Measured, Toolbox, machine
from render import speed_section

from forebay import _written


@dataclass(frozen=True)
class Load:
    """A scenario to time."""

    name: str
    case: Case
    repeats: int
    """Runs at most; the slow ones are repeated less."""


def small(duration: float) -> Case:
    """16 flows at 10 Mbit/s."""
    return Case("speed", {"duration": duration, "warmup": 0.0, "delayed_ack": 0.04})


def large(flows: int, rate: float, buffer: int, duration: float, *only: str) -> Case:
    """Many flows over 10 ms, with room for one bandwidth-delay product."""
    options = {"flows": flows, "rate": rate, "delay": 0.01, "buffer": buffer}
    options |= {"duration": duration, "warmup": 0.0, "spread": 1.0, "delayed_ack": 0.04}
    return Case("speed", options, only or SIMULATORS)


BESIDE_HTSIM = ("forebay", "htsim")


def plain(flows: int, access: bool) -> Load:
    """What htsim can do: New Reno without SACK, an acknowledgment for each segment."""
    case = small(1010.0) if flows == 16 else large(flows, 1e9, 1700, 10.0)
    options = {**case.options, "tcp": "newreno", "delayed_ack": 0.0, "access": access}
    rate = "10 Mbit/s, 1010 s" if flows == 16 else "1 Gbit/s, 10 s"
    hops = "" if access else ", no access links"
    return Load(f"{flows} New Reno flows, {rate}{hops}", Case("speed", options, BESIDE_HTSIM), 5)


# One bandwidth-delay product of 1 Gbit/s and 20.4 ms there and back: 1700 packets of 1500 bytes.
LOADS = (
    Load("16 flows, 10 Mbit/s, 110 s", small(110.0), 5),
    Load("16 flows, 10 Mbit/s, 1010 s", small(1010.0), 3),
    Load("1000 flows, 1 Gbit/s, 10 s", large(1000, 1e9, 1700, 10.0), 3),
    # The link grows with the flows, so that each has the share it had above.
    *(plain(flows, access) for flows in (16, 1000) for access in (True, False)),
    Load("100 000 flows, 100 Gbit/s, 3 s", large(100_000, 100e9, 170_000, 3.0, "forebay"), 3),
)


def main() -> int:
    """Run every load in turns, write the section of the validation page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="at most so many runs of each")
    parser.add_argument("--htsim", type=Path, metavar="FOLDER", help="a checkout of csg-htsim")
    parser.add_argument("--output", type=Path, default=Path("docs/validation/speed.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = Toolbox(Path(folder), options.htsim)
        if not {"ns-2", "ns-3"} <= set(tools.commands):
            print(
                "error: ns-2 or ns-3 is missing; apt-get install ns2 libns3-dev g++",
                file=sys.stderr,
            )
            return 2
        document = {
            "versions": tools.versions,
            "machine": machine(),
            "loads": [
                timed(tools, load, options.repeats)
                for load in LOADS
                if "htsim" in tools.commands or load.case.simulators != BESIDE_HTSIM
            ],
        }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(_written.dump(speed_section(document)), "utf-8")
    return 0


def timed(tools: Toolbox, load: Load, repeats: int) -> dict[str, Any]:
    """The medians of one load in every simulator."""
    runs: dict[str, list[Measured]] = {simulator: [] for simulator in load.case.simulators}
    for turn in range(min(repeats, load.repeats)):
        for simulator, done in runs.items():
            if turn > 0 and done[0].cpu is not None and done[0].cpu > SLOW:
                continue
            more = {} if simulator in BESIDE_HTSIM else {"monitor": 0}
            done.append(tools.run(simulator, load.case, turn + 1, alone=True, **more))
            print(f"{load.name}: {simulator} {done[-1]}", file=sys.stderr, flush=True)
    return {
        "name": load.name,
        "options": dict(load.case.options),
        "results": {simulator: medians(done) for simulator, done in runs.items()},
    }


SLOW = 60.0
"""A run of more CPU seconds is made once."""


def medians(runs: list[Measured]) -> dict[str, float | None]:
    """Medians over the runs, each quantity by itself."""

    def of(value: Callable[[Measured], Any]) -> float:
        return float(statistics.median(value(run) for run in runs))

    return {
        "runs": len(runs),
        "segments": of(lambda run: run.segments),
        # The peers' clocks tick in hundredths of a second.
        "run_rate": of(lambda run: run.segments / max(run.run_cpu, 0.01)),
        "process_rate": of(lambda run: run.segments / (run.cpu or math.nan)),
        "run_cpu": of(lambda run: run.run_cpu),
        "cpu": of(lambda run: run.cpu),
        "memory": of(lambda run: run.memory),
        "grown": None if runs[0].grown is None else of(lambda run: run.grown),
    }


if __name__ == "__main__":
    sys.exit(main())
