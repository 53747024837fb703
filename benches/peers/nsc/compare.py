"""Linux 2.6 of the Network Simulation Cradle beside forebay's presets; see README.md.

Writes a table of all cases, and exits with 1 if a case is further apart than the presets promise.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from forebay import _engine

DEFAULT = Path(__file__).resolve().parents[3] / "docs" / "validation" / "linux-2.6.json"
FLOWS = (1, 2, 4, 16, 64)
ROUND_TRIPS = (2, 5, 20, 50)
"""Without queue, in ms."""
CONTROLS = {"reno": "new-reno", "cubic": "cubic"}
"""Congestion control as the kernel calls it, and as forebay does."""
DURATION, WARMUP = 110, 10
LIMIT = 30
ACCESS_MS = 0.4
"""Four access links of 0.1 ms there and back."""
QUEUE, UTILIZATION, LOSS = 0.03, 0.005, 0.05
"""How far apart a case may be: of the queue, absolute, of the loss."""


@dataclass(frozen=True)
class Case:
    """A dumbbell of 10 Mbit/s with bulk flows."""

    version: str
    congestion: str
    flows: int
    round_trip_ms: int

    def starts(self) -> list[float]:
        """In the first 5 s, between ticks of the kernel's clock; the same for every version."""
        draw = random.Random(f"{self.flows}/{self.round_trip_ms}")
        return [
            draw.randrange(5000) / 1e3 + draw.randrange(1000, 999_000) / 1e9
            for _ in range(self.flows)
        ]

    def delay_ms(self) -> float:
        """Of the congested link, one way."""
        return (self.round_trip_ms - ACCESS_MS) / 2


def cases(versions: Sequence[str]) -> Iterator[Case]:
    """All of them."""
    for version, congestion, flows, rtt in product(versions, CONTROLS, FLOWS, ROUND_TRIPS):
        yield Case(version, congestion, flows, rtt)


def in_kernel(case: Case, driver: Path, library: Path) -> dict[str, float]:
    """Runs the case in the kernel."""
    words = {
        "library": library.resolve(),
        "congestion": case.congestion,
        "starts": ",".join(f"{start:.9f}" for start in case.starts()),
        "delay": f"{case.delay_ms() / 1e3:.6f}",
        "duration": DURATION,
        "warmup": WARMUP,
        "limit": LIMIT,
    }
    command = [str(driver.resolve()), *(f"{name}={value}" for name, value in words.items())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {name: found[name] for name in ("queue", "utilization", "loss")}


def scenario(case: Case) -> dict[str, Any]:
    """The case as forebay's scenario."""
    return {
        "duration": f"{DURATION}s",
        "warmup": f"{WARMUP}s",
        "tcp": {
            "preset": f"linux-{case.version}",
            "congestion": CONTROLS[case.congestion],
        },
        "dumbbell": {
            "rate": "10Mbit",
            "delay": f"{round(case.delay_ms() * 1e3)}us",
            "overhead": "ppp",
            "queue": {"kind": "fifo", "limit": f"{LIMIT}p"},
        },
        "traffic": [
            {"name": f"bulk-{flow}", "kind": "bulk", "start": f"{round(start * 1e9)}ns"}
            for flow, start in enumerate(case.starts())
        ],
    }


def simulated(case: Case) -> dict[str, float]:
    """Runs the case in forebay."""
    summary = json.loads(_engine.run(json.dumps(scenario(case)), ".").summary)
    queue, link = summary["queues"]["bottleneck"], summary["links"]["bottleneck"]
    return {
        "queue": queue["mean_packets"],
        "utilization": link["utilization"],
        "loss": queue["loss"],
    }


def apart(kernel: Mapping[str, float], ours: Mapping[str, float]) -> dict[str, float]:
    """Differences, relative but for the utilization."""
    return {
        "queue": ours["queue"] / kernel["queue"] - 1,
        "utilization": ours["utilization"] - kernel["utilization"],
        "loss": ours["loss"] / kernel["loss"] - 1 if kernel["loss"] else ours["loss"],
    }


def agrees(difference: Mapping[str, float]) -> bool:
    """Whether a case is as near as the presets promise."""
    bounds = {"queue": QUEUE, "utilization": UTILIZATION, "loss": LOSS}
    return all(abs(difference[name]) <= bound for name, bound in bounds.items())


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--driver", type=Path, required=True)
    parser.add_argument(
        "--library", action="append", required=True, metavar="VERSION=PATH", help="2.6.18 or 2.6.26"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT)
    given = parser.parse_args()
    libraries = dict(word.split("=", 1) for word in given.library)
    rows = []
    for case in cases(list(libraries)):
        kernel = in_kernel(case, given.driver, Path(libraries[case.version]))
        ours = simulated(case)
        difference = apart(kernel, ours)
        row = {**asdict(case), "kernel": kernel, "forebay": ours, "difference": difference}
        rows.append(row | {"agrees": agrees(difference)})
        print(json.dumps(rows[-1]), flush=True)
    kept = {"version": _engine.version, "commit": _engine.commit, "cases": rows}
    given.out.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return 0 if all(row["agrees"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
