"""forebay's disciplines beside Linux' own in the lab: a section of docs/validation.md.

.venv/bin/python benches/lab_kernel.py --out docs/validation/lab-kernel.json

Linux is told every parameter of forebay's discipline. A row that is measured is written beside the
output at once, so that a bench that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
from pathlib import Path
from typing import Any

from lab import write

from forebay import Scenario, lab
from forebay._comparison import Comparison
from forebay._engine import version
from forebay.lab.virtual import kernel
from forebay.stats import Interval

sys.path.append(str(Path(__file__).parent / "peers" / "linux"))

from disciplines import PIE, RED
from qdisc import Link, commands

LINK = Link(10_000_000, 1500, [])
HTB = ["class add parent 1: classid 1:1 htb rate 8mbit burst 1600b cburst 1500b"]
CASES: dict[str, dict[str, Any]] = {
    "fifo": {"kind": "fifo", "limit": "100p"},
    "codel": {"kind": "codel"},
    "codel, marks": {"kind": "codel", "ecn": True},
    "fq-codel": {"kind": "fq-codel", "ecn": False},
    "pie": {"kind": "pie", **PIE, "ecn": False},
    "red": {**RED, "ecn": False},
    "cake": {"kind": "cake"},
    "cake at 9 Mbit/s": {"kind": "cake", "bandwidth": "9Mbit"},
    "htb over codel": {
        "kind": "htb",
        "classify": {"kind": "one"},
        "classes": [
            {"rate": "8Mbit", "burst": "1600B", "cburst": "1500B", "queue": {"kind": "codel"}}
        ],
    },
}
NEAR = 1e-5
EQUAL = "in every run the same number of drops, and all means equal to 10 parts in a million"
ROOT_OF_LINUX = "Linux' clock of 1024 ns and its root of 16 bits"
DRAWS = "draws other random numbers"
TICKS = f"{DRAWS}, and its updates come at ticks of the kernel"
HASHES = "hashes flows by other numbers"
REASONS = {
    "codel": ROOT_OF_LINUX,
    "codel, marks": ROOT_OF_LINUX,
    "fq-codel": f"{ROOT_OF_LINUX}; its CoDel looks at what all queues hold",
    "pie": TICKS,
    "red": DRAWS,
    "cake": HASHES,
    "cake at 9 Mbit/s": HASHES,
    "htb over codel": ROOT_OF_LINUX,
}
"""What is known of differences; the first sections compare verdict by verdict."""


def scenario(name: str) -> Scenario:
    """Eight transfers and a Poisson stream on 10 Mbit/s."""
    return Scenario.of(
        {
            "title": name,
            "duration": "25s",
            "warmup": "5s",
            "tcp": {"preset": "linux", "congestion": "cubic", "ecn": name.endswith("marks")},
            "dumbbell": {"rate": "10Mbit", "delay": "20ms", "queue": CASES[name]},
            "traffic": [
                {"kind": "bulk", "flows": 8, "start": ["0s", "2s"]},
                {"kind": "poisson", "name": "stream", "rate": "500kbit", "size": "200B"},
            ],
        }
    )


def of_linux(name: str) -> dict[str, Any]:
    """Linux' discipline with the same parameters, as a scenario writes it."""
    if name == "htb over codel":
        below = "qdisc add parent 1:1 codel limit 1000 target 5ms interval 100ms noecn"
        return {"kind": "kernel", "qdisc": "htb", "options": "default 1", "commands": [*HTB, below]}
    queue = scenario(name).effective()["dumbbell"]["queue"]
    (first,) = commands(queue, LINK)
    qdisc, *words = first[first.index("1:") + 1 :]
    return {"kind": "kernel", "qdisc": qdisc, "options": shlex.join(words)}


def compare(name: str, runs: int) -> list[Any]:
    """A row of the table."""
    linux = of_linux(name)
    both = [CASES[name] | {"label": "forebay"}, linux | {"label": "Linux"}]
    found = lab.compare(scenario(name), both, replications=runs, kernel=kernel.found())
    words = [f"{linux['qdisc']} {linux['options']}", *linux.get("commands", [])]
    cells: list[Any] = [name, ", ".join(f"`{each}`" for each in words)]
    for key, scale in (("mean_packets", 1), ("p99_delay_ms", 1), ("loss", 100), ("marked", 1)):
        cells += [_text(found.queue_interval(each, key), scale) for each in ("forebay", "Linux")]
    cells += [_text(found.utilization(each), 100) for each in ("forebay", "Linux")]
    cells.append(_said(found))
    print(*cells, sep="  ", file=sys.stderr, flush=True)
    return cells


def _said(found: Comparison) -> str:
    """Whether both count the same in every run."""
    ours, linux = (
        [run.result.summary["queues"]["bottleneck"] for run in found.runs_of(each)]
        for each in ("forebay", "Linux")
    )
    counts = ("offered", "drops", "marked", "max_packets")
    means = ("mean_packets", "mean_bytes", "mean_delay_ms", "p99_delay_ms")
    # tc has run in one guest, whose processes then draw other ports and read the clock elsewhere.
    alike = all(
        all(one[key] == other[key] for key in counts)
        and all(math.isclose(one[key], other[key], rel_tol=NEAR) for key in means)
        for one, other in zip(ours, linux, strict=True)
    )
    return EQUAL if alike else ""


def _text(interval: Interval | None, scale: float) -> str:
    if interval is None:
        return ""
    half = interval.half_width
    return f"{interval.mean * scale:.4g}" + ("" if half is None else f" ± {half * scale:.2g}")


def section(rows: list[list[Any]], runs: int) -> dict[str, Any]:
    """The section of what was measured."""
    sides = ("mean queue", "p99 wait, ms", "loss, %", "marks", "utilization, %")
    columns = [f"{what}, {side}" for what in sides for side in ("forebay", "Linux")]
    made = kernel.found().marks["version"]
    return {
        "section": "forebay's disciplines and Linux' own in one lab",
        "order": 6,
        "version": version,
        "command": shlex.join(["python", "benches/lab_kernel.py", *sys.argv[1:]]),
        "text": [
            f"`forebay lab --virtual` (Debian's Linux {made} in user mode) ran with one link of "
            "10 Mbit/s and 20 ms, eight CUBIC transfers of Linux and a Poisson stream of 0.5 "
            f"Mbit/s. 20 s were measured after 5 s, in {runs} runs with seeds 1 to {runs}, with "
            "95 % intervals. The link had forebay's discipline in one run and that of Linux in "
            "the other ([lab.md](lab.md#disciplines-of-linux-itself)). Sender, receiver, link "
            "and meters were the same. The mean queue counts packets that wait.",
            "In a closed loop, one drop more or less changes everything that follows. So if a "
            "discipline uses random numbers, the two agree only in the mean. *Queue disciplines "
            "beside the kernel's own*, above, compares verdict by verdict.",
        ],
        "tables": [
            {
                "heading": "The same parameters, the same traffic",
                "text": "",
                "columns": ["discipline", "Linux'", *columns, ""],
                "rows": [[*row[:-1], row[-1] or REASONS.get(row[0], "")] for row in rows],
            }
        ],
    }


def main() -> None:
    """Measure, and write the section."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="runs of 25 s on each side")
    arguments.add_argument("--out", type=Path, required=True, help="where the section goes")
    options = arguments.parse_args()
    part = options.out.with_suffix(".part")
    done = json.loads(part.read_text("utf-8")) if part.exists() else {}
    for name in CASES:
        if name not in done:
            done[name] = compare(name, options.runs)
            part.write_text(json.dumps(done), "utf-8")
    write(section([done[name] for name in CASES], options.runs), options.out)
    part.unlink()


if __name__ == "__main__":
    main()
