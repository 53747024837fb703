"""Forebay's disciplines inside ns-3, beside the same disciplines in forebay.

`make hosted` builds libforebay.a and the dumbbell with contrib/forebay, and prints a table of means
over seeds with 95 % intervals. Needs Debian's libns3-dev and g++. ns-3's TCP follows the convention
of benches/peers (docs/validation.md): what differs is the simulator around the discipline. A second
table shows that the discipline itself does not differ: every call that ns-3 makes of a hosted one
is recorded, and forebay's own, without ns-3 and the C interface, is given the same.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import peers
from engine import measure
from scipy import stats

ROOT = Path(__file__).parents[2]
CONTRIB = ROOT / "contrib" / "forebay" / "model" / "forebay-queue-disc.cc"
LIBRARY = ROOT / "target" / "release" / "libforebay.a"
RECORDED = ROOT / "target" / "release" / "examples" / "recorded"

QUEUES: dict[str, dict[str, Any]] = {
    "codel": {"limit": "100p"},
    "fq-codel": {"limit": "100p"},
    "pie": {"limit": "100p"},
    "red": {
        "limit": "100p",
        "min_th": "5p",
        "max_th": "15p",
        "max_p": 0.1,
        "weight": 0.002,
        "gentle": True,
        "mean_packet": "1500B",
    },
    "cp-aqm": {"limit": "100p"},
    "cq-aqm": {"queues": [{"limit": "60p"}, {"limit": "20p"}]},
}
OWN = ("codel", "fq-codel", "pie", "red")
"""Those that ns-3 has, too."""
NS3_RED = {"spare_short": True, "spare_first": True, "idle": "arrivals"}
"""Rules of ns-2 and ns-3 that are not in RED's paper."""
ALIKE = ("codel", "cp-aqm", "cq-aqm")
"""Those without chance, whose calls can be repeated."""
MEASURES = ("queue", "utilization", "loss")


def build(folder: Path) -> Path:
    """The ns-3 program with forebay's queue disc."""
    program = folder / "dumbbell"
    include = ROOT / "crates" / "abi" / "include"
    files = [peers.HERE / "dumbbell.cc", CONTRIB, LIBRARY]
    libraries = [f"-lns3-{name}" for name in peers.NS3_LIBRARIES]
    words: list[str | Path] = ["g++", "-std=c++17", "-O2", "-DFOREBAY", "-I", include]
    subprocess.run([*words, *files, "-o", program, *libraries], check=True)
    return program


def inside(
    program: Path, kind: str, settings: dict[str, Any], seed: int, *, rules: Any = None, **more: Any
) -> peers.Measured:
    """One run of ns-3 that hosts a discipline of forebay, with `rules` over its parameters."""
    # ns-3 ends a value at the first space.
    parameters = json.dumps(QUEUES[kind] | (rules or {}), separators=(",", ":"))
    own = {"queue": "forebay", "kind": kind, "parameters": parameters}
    return ns3(program, settings | own, seed, **more)


def ns3(program: Path, settings: dict[str, Any], seed: int, **more: Any) -> peers.Measured:
    """One run of ns-3; `more` are options of its program."""
    options = peers.program_options("ns-3", settings) | {"seed": seed} | more
    done = subprocess.run(
        [program, *peers.spelled("ns-3", options)], capture_output=True, text=True, check=True
    )
    return peers.Measured(**peers.parse(done.stdout))


def ours(kind: str, settings: dict[str, Any], seed: int) -> peers.Measured:
    """One run of forebay."""
    document = peers.scenario(settings | {"queue": kind}, {}, seed)
    document["dumbbell"]["queue"] = {"kind": kind} | QUEUES[kind]
    return peers.Measured(**measure(json.dumps(document)))


def again(kind: str, settings: dict[str, Any], calls: Path) -> dict[str, Any]:
    """What forebay's discipline does when it is given the calls that ns-3 made."""
    setting = [f"{settings['rate']:.0f}", "2", "1498"]
    with calls.open() as lines:
        done = subprocess.run(
            [RECORDED, kind, json.dumps(QUEUES[kind]), *setting],
            stdin=lines, capture_output=True, text=True, check=True,
        )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def below(calls: Path, warmup: float, threshold: int = 5 * 1498) -> float:
    """Share of the bytes let in that came while less than `threshold` bytes waited."""
    held: dict[str, int] = {}
    waiting = free = every = 0
    for line in calls.read_text().splitlines():
        what, time, name, *rest = line.split()
        if what != "A":
            waiting -= held.pop(name)
            continue
        if rest[-1] == "queued":
            size = held[name] = int(rest[0])
            if int(time) > warmup * 1e9:
                every += size
                free += size if waiting < threshold else 0
            waiting += size
    return free / every


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
    if not (LIBRARY.exists() and RECORDED.exists()):
        sys.exit("error: libforebay.a or the example `recorded` is missing; run make hosted")
    settings = peers.COMMON | {"duration": arguments.duration, "buffer": 100}
    seeds = range(1, arguments.seeds + 1)
    with tempfile.TemporaryDirectory() as folder:
        program, calls = build(Path(folder)), Path(folder) / "calls"
        print("| discipline | simulator | queue, packets | utilization | loss |")
        print("|---|---|---|---|---|")
        for kind in QUEUES:
            hosted = partial(inside, program, kind, settings)
            rows = {"forebay": partial(ours, kind, settings), "ns-3, hosting it": hosted}
            # The sender's answer to a loss, changed.
            rows["ns-3 with half-window, hosting it"] = partial(hosted, control="half-window")
            if kind in OWN:
                rows["ns-3's own"] = partial(ns3, program, settings | {"queue": kind})
            if kind == "red":
                rows["ns-3, hosting it with ns-3's rules"] = partial(hosted, rules=NS3_RED)
            for name, run in rows.items():
                runs = [run(seed) for seed in seeds]
                shown = [interval([getattr(each, key) for each in runs]) for key in MEASURES]
                print(f"| {kind} | {name} | {' | '.join(shown)} |", flush=True)
        print(
            "\n| discipline | sender of ns-3 | arrivals | dropped by either | different | below 5 |"
        )
        print("|---|---|---|---|---|---|")
        for kind in ALIKE:
            for control in ("new-reno", "half-window"):
                found, shares = [], []
                for seed in seeds:
                    inside(program, kind, settings, seed, control=control, calls=calls)
                    found.append(again(kind, settings, calls))
                    shares.append(100 * below(calls, settings["warmup"]))
                arrivals, different = (
                    sum(f[key] for f in found) for key in ("arrivals", "different")
                )
                dropped = " / ".join(str(sum(f["dropped"][who] for f in found)) for who in (0, 1))
                cells = [kind, control, arrivals, dropped, different, interval(shares) + " %"]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
