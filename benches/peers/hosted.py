"""Forebay's disciplines inside ns-3, beside the same disciplines in forebay.

`make hosted` builds libforebay.a and the dumbbell with contrib/forebay, and prints a table of means
over seeds with 95 % intervals. Needs Debian's libns3-dev and g++. ns-3's TCP follows the convention
of benches/peers (docs/validation.md): what differs is the simulator around the discipline.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import peers
from scipy import stats

ROOT = Path(__file__).parents[2]
CONTRIB = ROOT / "contrib" / "forebay" / "forebay-queue-disc.cc"
LIBRARY = ROOT / "target" / "release" / "libforebay.a"

QUEUES: dict[str, dict[str, Any]] = {
    "codel": {"limit": "100p"},
    "cp-aqm": {"limit": "100p"},
    "cq-aqm": {"queues": [{"limit": "60p"}, {"limit": "20p"}]},
}
MEASURES = ("queue", "utilization", "loss")


def build(folder: Path) -> Path:
    """The ns-3 program with forebay's queue disc."""
    program = folder / "dumbbell"
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-DFOREBAY", "-I", ROOT / "crates" / "abi" / "include"]
        + [peers.HERE / "dumbbell.cc", CONTRIB, LIBRARY, "-o", program]
        + [f"-lns3-{name}" for name in peers.NS3_LIBRARIES],
        check=True,
    )
    return program


def inside(program: Path, kind: str, settings: dict[str, Any], seed: int) -> peers.Measured:
    """One run of ns-3 that hosts a discipline of forebay."""
    # ns-3 ends a value at the first space.
    parameters = json.dumps(QUEUES[kind], separators=(",", ":"))
    own = {"queue": "forebay", "kind": kind, "parameters": parameters}
    return ns3(program, settings | own, seed)


def ns3(program: Path, settings: dict[str, Any], seed: int) -> peers.Measured:
    """One run of ns-3."""
    options = peers.program_options("ns-3", settings) | {"seed": seed}
    done = subprocess.run(
        [program, *peers.spelled("ns-3", options)], capture_output=True, text=True, check=True
    )
    return peers.Measured(**peers.parse(done.stdout))


def ours(kind: str, settings: dict[str, Any], seed: int) -> peers.Measured:
    """One run of forebay."""
    document = peers.scenario(settings | {"queue": kind}, {}, seed)
    document["dumbbell"]["queue"] = {"kind": kind} | QUEUES[kind]
    return peers.Measured(**peers.measure(json.dumps(document)))


def interval(values: list[float]) -> str:
    """Mean and half of its 95 % interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.4g} ± {half:.2g}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--duration", type=float, default=60.0)
    arguments = parser.parse_args()
    if not LIBRARY.exists():
        sys.exit("error: libforebay.a is missing; run make library")
    settings = peers.COMMON | {"duration": arguments.duration, "buffer": 100}
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        print("| discipline | simulator | queue, packets | utilization | loss |")
        print("|---|---|---|---|---|")
        for kind in QUEUES:
            rows = {
                "forebay": lambda seed, kind=kind: ours(kind, settings, seed),
                "ns-3, hosting it": lambda seed, kind=kind: inside(program, kind, settings, seed),
            }
            if kind == "codel":
                own = settings | {"queue": "codel"}
                rows["ns-3's own"] = lambda seed, own=own: ns3(program, own, seed)
            for name, run in rows.items():
                runs = [run(seed) for seed in range(1, arguments.seeds + 1)]
                shown = [interval([getattr(each, key) for each in runs]) for key in MEASURES]
                print(f"| {kind} | {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
