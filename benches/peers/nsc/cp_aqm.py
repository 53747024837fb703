"""The CP-AQM paper's combinations in Linux 2.6.18 and 2.6.26 of the Network Simulation Cradle.

Writes papers/cp_aqm/nsc.json: means over seeds of queue, utilization and loss; see README.md.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[3] / "papers" / "cp_aqm" / "nsc.json"
CONTROLS = {"reno": "new-reno", "cubic": "cubic"}
CONSTANT = 67_815
SETTINGS = (
    ("as judged", "2.6.18", 345_000, False, 2),
    ("socket buffer of 1 MB", "2.6.18", 1_000_000, False, 1),
    ("Linux 2.6.26", "2.6.26", 345_000, False, 1),
    ("B_CA = Q_max (1 + c_max) / 2", "2.6.18", 345_000, True, 1),
)
"""What is chosen, as in papers/cp_aqm/points.py: kernel, socket buffer (bytes), whether the bucket
follows c_max, seeds."""


def run(driver: Path, words: Mapping[str, Any]) -> dict[str, float]:
    """Measures of one run in a kernel."""
    command = [str(driver), *(f"{name}={value}" for name, value in words.items())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--driver", type=Path, required=True)
    parser.add_argument("--library", action="append", required=True, metavar="VERSION=PATH")
    given = parser.parse_args()
    libraries = dict(word.split("=", 1) for word in given.library)
    rows = []
    for (title, version, buffer, follows, seeds), c_max, control, flows, delay in product(
        SETTINGS, (None, 1.05, 1.2, 1.5), CONTROLS, (1, 16), (5, 50)
    ):
        if follows and c_max is None:
            continue
        words = {
            "library": Path(libraries[version]).resolve(),
            "buffer": buffer,
            "congestion": control,
            "delay": delay / 1e3,
            "access_delay": 5e-5,
        }
        if c_max is not None:
            bucket = 45_210 * (1 + c_max) / 2 if follows else CONSTANT
            words |= {"threshold": 5, "max_congestion": c_max, "bucket": bucket}
        found = []
        for seed in range(seeds):
            draw = random.Random(f"{seed}/{flows}/{delay}")
            starts = ",".join(f"{draw.uniform(0, 5):.9f}" for _ in range(flows))
            found.append(run(given.driver.resolve(), words | {"starts": starts}))
        row = {
            "choice": title,
            "congestion": CONTROLS[control],
            "flows": flows,
            "delay": f"{delay}ms",
            "c_max": c_max,
            "runs": seeds,
        }
        for name, digits in (("queue", 2), ("utilization", 4), ("loss", 5)):
            row[name] = round(sum(each[name] for each in found) / seeds, digits)
        rows.append(row)
        print(json.dumps(row), flush=True)
    lines = ",\n".join(f" {json.dumps(row)}" for row in rows)
    OUT.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
