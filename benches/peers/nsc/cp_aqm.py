"""The CP-AQM paper's combinations in Linux 2.6.18 and 2.6.26 of the Network Simulation Cradle.

Writes papers/cp_aqm/nsc.csv: means over seeds of the queue in packets, and of utilization and loss
in percent; see README.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

Points = Mapping[tuple[str, int, int], Sequence[tuple[int | None, float | None]]]
"""T_c and c_max by congestion control, flows and delay."""
OUT = Path(__file__).resolve().parents[3] / "papers" / "cp_aqm" / "nsc.csv"
CONTROLS = {"reno": "new-reno", "cubic": "cubic"}
PACKETS = 45_210
"""Bytes on the wire of a full queue."""
ALL = [*product(("reno", "cubic"), (1, 16), (5, 50))]
TAIL = (None, None)
AT_5 = ((5, 1.05), (5, 1.2), (5, 1.5))
ONE = {
    ("reno", 1, 5): ((0, 1.2), (0, 1.5), (0, 2.0), (1, 2.0), (2, 1.5)),
    ("reno", 1, 50): ((0, 2.0), (1, 2.0), (2, 2.0)),
    ("cubic", 1, 50): ((2, 1.2), (5, 2.0), (7, 1.5)),
}
"""T_c and c_max at which one flow has the least utilization in forebay."""
MANY = {("reno", 16, 5): ((2, 2.0),)}
"""The same of sixteen flows on the short path."""


def buckets(name: str, c_max: float) -> float:
    """Size of the bucket by what is chosen, in bytes."""
    if name == "B_CA = Q_max (1 + c_max) / 2":
        return PACKETS * (1 + c_max) / 2
    return 271_000 if name == "B_CA of 271 KB" else 1.5 * PACKETS


MEASURES = (
    ("queue", "queue", 1, 2),
    ("used", "utilization", 100, 2),
    ("loss", "loss", 100, 3),
)
"""Columns: name, measure of the driver, factor, digits."""

SETTINGS: tuple[tuple[str, str, int, Points, int], ...] = (
    ("as judged", "2.6.18", 345_000, dict.fromkeys(ALL, (TAIL, *AT_5)), 2),
    ("as judged", "2.6.18", 345_000, ONE, 2),
    ("as judged", "2.6.18", 345_000, MANY, 2),
    ("socket buffer of 1 MB", "2.6.18", 1_000_000, dict.fromkeys(ALL, (TAIL, *AT_5)), 1),
    ("Linux 2.6.26", "2.6.26", 345_000, dict.fromkeys(ALL, (TAIL, *AT_5)), 1),
    ("B_CA = Q_max (1 + c_max) / 2", "2.6.18", 345_000, dict.fromkeys(ALL, AT_5), 1),
    ("B_CA of 271 KB", "2.6.18", 345_000, dict.fromkeys(ALL, ((5, 1.2),)), 1),
)
"""What is chosen, as in the studies of the paper: kernel, socket buffer (bytes), points, seeds."""


def run(driver: Path, words: Mapping[str, Any]) -> dict[str, float]:
    """Measures of one run in a kernel."""
    command = [str(driver), *(f"{name}={value}" for name, value in words.items())]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(driver: Path, libraries: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Every point, averaged over seeds."""
    for title, version, buffer, points, seeds in SETTINGS:
        for (control, flows, delay), threshold, c_max in (
            (combination, *point) for combination, found in points.items() for point in found
        ):
            words = {
                "library": Path(libraries[version]).resolve(),
                "buffer": buffer,
                "congestion": control,
                "delay": delay / 1e3,
                "access_delay": 5e-5,
            }
            if threshold is not None and c_max is not None:
                bucket = buckets(title, c_max) + (1507 if threshold == 0 else 0)
                words |= {"threshold": threshold, "max_congestion": c_max, "bucket": bucket}
            found = []
            for seed in range(seeds):
                draw = random.Random(f"{seed}/{flows}/{delay}")
                starts = ",".join(f"{draw.uniform(0, 5):.9f}" for _ in range(flows))
                found.append(run(driver, words | {"starts": starts}))
            row = {
                "title": title,
                "discipline": "tail drop" if threshold is None else "CP-AQM",
                "congestion": CONTROLS[control],
                "flows": flows,
                "delay": f"{delay}ms",
                "T_c": None if threshold is None else f"{threshold}p",
                "c_max": c_max,
                "runs": seeds,
            }
            for name, measure, scale, digits in MEASURES:
                row[name] = round(scale * sum(each[measure] for each in found) / seeds, digits)
            yield row


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--driver", type=Path, required=True)
    parser.add_argument("--library", action="append", required=True, metavar="VERSION=PATH")
    given = parser.parse_args()
    libraries = dict(word.split("=", 1) for word in given.library)
    rows = []
    for row in measured(given.driver.resolve(), libraries):
        rows.append(row)
        print(row, flush=True)
    with OUT.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
