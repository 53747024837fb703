"""One transfer on a testbed that the project had not seen; writes docs/validation/unseen.json.

Usage: python benches/peers/unseen.py FOLDER [--seeds 3] [--jobs 2] [--output FILE]

FOLDER is a checkout of github.com/sdatta97/imcbbrrepro (Datta and Fund, "Replication: When to Use
and When Not to Use BBR", IMC 2023; Apache License 2.0). Its trials with Ubuntu's Linux 5.15 are
read; means and deviations are kept beside ours. Only links of up to 100 Mbit/s are run.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tarfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from peers import HERE

import forebay
from forebay import _written

DATA = "data/re-when-to-use-bbr-515-*.tgz"
OUTPUT = HERE.resolve().parents[1] / "docs" / "validation" / "unseen.json"
CONTROLS = ("cubic", "bbr")
BUFFERS = (100, 10000)
"""In units of 1024 bytes, as tc has it."""
RATES = (10, 20, 50, 100)
ROUND_TRIPS = (5, 10, 25, 50, 75, 100, 150, 200)
SECONDS = 60
FRAME, PACKET = 1514, 1500
"""Bytes of a full packet with Ethernet's header, which bfifo and HTB count, and without it."""
RECEIVED = re.compile(r"([\d.]+) Kbits/sec +receiver")


@dataclass(frozen=True)
class Cell:
    """One set-up of the testbed."""

    control: str
    buffer: int
    rate: int
    """Mbit/s."""
    round_trip: int
    """ms."""

    def scenario(self) -> dict[str, Any]:
        """The set-up as forebay has it. iperf3 asked for 100 MB at both sockets."""
        limit = f"{self.buffer * 1024 * PACKET // FRAME}B"
        access = {"from": "sender", "to": "router", "rate": "10Gbit"}
        link = {"from": "router", "to": "receiver", "rate": f"{self.rate}Mbit", "delay": "0s"}
        tcp = {"preset": "linux", "congestion": self.control, "receive_window": "100MB"}
        return {
            "title": f"{self.control}, {self.rate} Mbit/s, {self.round_trip} ms, {self.buffer} KiB",
            "duration": f"{SECONDS}s",
            "link": [
                {"name": "access", "delay": f"{self.round_trip * 500}us"}
                | access
                | {"queue": {"kind": "fifo", "limit": "100000p"}},
                {"name": "bottleneck", "overhead": f"{FRAME - PACKET}B"}
                | link
                | {"queue": {"kind": "fifo", "limit": limit}},
            ],
            "traffic": [
                {"name": "flow", "kind": "bulk", "from": "sender", "to": "receiver"}
                | {"start": ["0s", "200ms"], "tcp": tcp | {"stack": {"so_sndbuf": "100MB"}}}
            ],
        }


CELLS = [Cell(*each) for each in product(CONTROLS, BUFFERS, RATES, ROUND_TRIPS)]


def trials(folder: Path) -> dict[Cell, list[float]]:
    """What the testbed measured, in Mbit/s.

    Raises:
        SystemExit: the folder has no such data.
    """
    [archive, *_] = [*sorted(folder.glob(DATA)), None]
    if archive is None:
        sys.exit(f"error: {folder / DATA} is not there; give a checkout of imcbbrrepro")
    found: dict[Cell, list[float]] = {}
    with tarfile.open(archive) as files:
        for member in files:
            given = files.extractfile(member)
            if given is None:
                continue
            buffer, rate, round_trip, _, control = Path(member.name).stem.split("_")
            if said := RECEIVED.search(given.read().decode("utf-8")):
                cell = Cell(control, int(buffer), int(rate), int(round_trip))
                found.setdefault(cell, []).append(float(said[1]) / 1000)
    return found


def run(cell: Cell, seed: int) -> float:
    """What arrived of a cell with one seed, in Mbit/s."""
    result = forebay.run(forebay.Scenario.of(cell.scenario()), seed=seed)
    return float(result.summary["classes"]["flow"]["goodput_bps"]) / 1e6


def fits(cell: Cell, ours: float, theirs: Sequence[float]) -> bool:
    """Whether a goodput fits: 3 % of the link's rate, or two deviations of the trials."""
    apart = abs(ours - statistics.mean(theirs))
    return apart <= max(0.03 * cell.rate, 2 * statistics.stdev(theirs))


def row(cell: Cell, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """A cell with both sides' means, the deviation of the trials, and whether it fits."""
    means = [statistics.mean(values) for values in (ours, theirs)]
    return {
        **vars(cell),
        "goodput": [*(round(each, 3) for each in means), round(statistics.stdev(theirs), 3)],
        "fits": fits(cell, means[0], theirs),
    }


def section(rows: Sequence[Mapping[str, Any]], seeds: int) -> dict[str, Any]:
    """The section of docs/validation.md."""
    near = sum(
        abs(ours - theirs) <= 0.01 * each["rate"]
        for each in rows
        for ours, theirs, _ in [each["goodput"]]
    )
    return {
        "section": "A testbed not seen before",
        "order": 3.5,
        "version": forebay.__version__,
        "command": "make validate-peers IMC2023=FOLDER",
        "text": [
            f"{sum(each['fits'] for each in rows)} of {len(rows)} goodputs of one CUBIC or BBR "
            "transfer fit another FABRIC testbed (Datta and Fund, IMC 2023; data: "
            "github.com/sdatta97/imcbbrrepro).",
            "Nothing was changed for them. A goodput fits if it is within 3 % of the link's rate, "
            f"or two standard deviations of the five trials; {near} are within 1 %. Values that do "
            "not fit are **bold**. The hosts had Linux 5.15 and 100 MB for each socket (iperf3 "
            "`-w 100M`), the router HTB "
            f'and `bfifo`. Here `preset = "linux"` runs with `so_sndbuf` and {seeds} seeds. '
            "Links above 100 Mbit/s were not run. Retransmissions are not judged: ours are 0.5 to "
            "0.8 of the testbed's where it has any. Whether its machines had offload is not said.",
        ],
        "tables": [_totals(rows), _cells(rows)],
        "results": list(rows),
    }


def _totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    every, good = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for each in rows:
        every[each["control"], each["buffer"]] += 1
        good[each["control"], each["buffer"]] += each["fits"]
    lines = [[*key, count, good[key]] for key, count in every.items()]
    return {
        "heading": "Goodputs that fit",
        "text": "",
        "columns": ["TCP", "buffer, KiB", "cells", "fit"],
        "rows": lines,
    }


def _cells(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines = []
    for each in rows:
        ours, theirs, deviation = each["goodput"]
        own = f"{ours:.2f}" if each["fits"] else f"**{ours:.2f}**"
        place = [each[name] for name in ("control", "buffer", "rate", "round_trip")]
        lines.append([*place, f"{own} / {theirs:.2f} ± {deviation:.2f}"])
    return {
        "heading": "One transfer alone",
        "text": "Each cell has forebay / testbed ± its standard deviation.",
        "columns": ["TCP", "buffer, KiB", "link, Mbit/s", "round trip, ms", "Mbit/s"],
        "rows": lines,
    }


def main() -> int:
    """Compare, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="a checkout of imcbbrrepro")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    theirs = trials(options.folder)
    asked = [(cell, seed) for cell in CELLS for seed in range(1, options.seeds + 1)]
    with ProcessPoolExecutor(options.jobs) as pool:
        values = list(pool.map(run, *zip(*asked, strict=True)))
    ours: dict[Cell, list[float]] = {}
    for (cell, _), value in zip(asked, values, strict=True):
        ours.setdefault(cell, []).append(value)
    rows = [row(cell, ours[cell], theirs[cell]) for cell in CELLS]
    options.output.write_text(_written.dump(section(rows, options.seeds)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
