"""Presets of forebay's TCP beside the stacks they match; writes docs/validation/stacks.json.

Usage: python benches/peers/stacks.py [--seeds 5] [--jobs 2] [--only STACK] [--ns318 PROGRAM]
                                      [--output FILE]

ns-2 and ns-3 are Debian's. ns-3.18 is not packaged any more: PROGRAM is a dumbbell of it that takes
the options of dumbbell.cc. What is not run again stays as it stands in the file, if the stack's
version is the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare import Summary, summarize
from engine import measure
from peers import Measured, Toolbox, parse, seconds, spelled

from forebay import _written

FLOWS = (1, 2, 4, 16, 64)
DELAYS = (0.002, 0.005, 0.02, 0.05)
RED_POINTS = ((4, 0.005), (16, 0.02), (64, 0.05))
RATE = 10e6
PACKET = 1500
ACCESS = 0.0002
"""One-way delay of both access links together, s."""
BOUNDS = {"queue": 0.03, "loss": 0.05}
"""Relative; where windows are above ten segments 2 %."""
WIDE = 0.02
WIDE_WINDOW = 10
UTILIZATION = 0.005


@dataclass(frozen=True)
class Stack:
    """A preset and what it is compared with."""

    tcp: Mapping[str, Any]
    """forebay's `tcp` table."""
    referee: str
    options: Mapping[str, Any]
    """Of the referee's program."""
    seeds: int | None = None
    """If not as many as for the others."""


NS2 = {"initial_window": 2, "initial_rto": 3.0, "delayed_ack": 0, "tick": 0.01}
"""What dumbbell.tcl sets otherwise than ns-2's defaults, set back."""


def ns2(recovery: str, tcp: str) -> Stack:
    """One of ns-2's senders."""
    conventions = {"preset": "ns-2", "recovery": recovery, "mtu": "1500B"}
    return Stack(conventions | {"receive_window": "150MB"}, "ns-2", NS2 | {"tcp": tcp})


STACKS = {
    "ns-2 Reno": ns2("reno", "reno"),
    "ns-2 Newreno": ns2("new-reno", "newreno"),
    "ns-2 Sack1": ns2("sack", "sack"),
    "ns-3.18 New Reno": Stack({"preset": "ns-3.18", "mtu": "1500B"}, "ns-3.18", {}),
    "ns-3.37 CUBIC": Stack(
        {"preset": "ns-3", "mtu": "1500B"},
        "ns-3",
        {
            "tcp": "cubic",
            "recovery": "prr",
            "timestamps": 1,
            "hystart": 1,
            "min_rto": 1.0,
            "initial_rto": 1.0,
            "delayed_ack": 0.2,
            "buffers": 131_072,
        },
    ),
}
"""By the names of the page."""

NOTES: dict[str, str] = {
    "ns-3.37 CUBIC": "the preset has ns-3.37's numbers, not its rules: CUBIC here is RFC 9438's, "
    "with its Reno-friendly region (first reason of the comparison with ns-2 and ns-3)",
}
"""Why a stack's rows are apart."""

ROW_NOTES: dict[tuple[str, str, int, float], str] = {}
"""Why a single row is apart: stack, queue, flows, delay."""


@dataclass(frozen=True)
class Point:
    """One scenario of one stack."""

    stack: str
    queue: str
    flows: int
    delay: float

    @property
    def settings(self) -> dict[str, Any]:
        """What every program is told. Few flows have long cycles, and so longer runs."""
        return {
            "queue": self.queue,
            "flows": self.flows,
            "delay": self.delay,
            "buffer": 30 if self.queue == "fifo" else 200,
            "duration": 420.0 if self.flows <= 2 else 220.0 if self.flows <= 4 else 120.0,
            "warmup": 20.0,
        }

    @property
    def name(self) -> dict[str, Any]:
        """What names it in the file."""
        return {
            "stack": self.stack,
            "queue": self.queue,
            "flows": self.flows,
            "delay": self.delay,
        }

    def window(self, queue: float) -> float:
        """Mean window of a flow in segments, with `queue` packets waiting."""
        on_path = RATE * 2 * (self.delay + ACCESS) / 8 / PACKET
        return (on_path + queue) / self.flows


@dataclass
class Run:
    """A point with what is known of it and what is under way."""

    point: Point
    known: dict[str, Summary]
    running: dict[str, list[Future[Measured]]] = field(default_factory=dict)


def points(stacks: Iterable[str]) -> list[Point]:
    """Tail drop at every combination, RED at three."""
    return [
        Point(stack, queue, flows, delay)
        for stack in stacks
        for queue, places in (
            ("fifo", [(flows, delay) for flows in FLOWS for delay in DELAYS]),
            ("red", RED_POINTS),
        )
        for flows, delay in places
    ]


def scenario(point: Point, seed: int) -> str:
    """The scenario for forebay, as JSON."""
    settings = point.settings
    queue: dict[str, Any] = {"kind": point.queue, "limit": f"{settings['buffer']}p"}
    if point.queue == "red":
        queue |= {"min_th": "5p", "max_th": "15p", "max_p": 0.1, "weight": 0.002}
        queue |= {"gentle": True, "mean_packet": f"{PACKET}B"}
        queue |= {"spare_short": True, "spare_first": True, "idle": "arrivals"}
    return json.dumps(
        {
            "duration": seconds(settings["duration"]),
            "warmup": seconds(settings["warmup"]),
            "seed": seed,
            "tcp": dict(STACKS[point.stack].tcp),
            "dumbbell": {
                "rate": f"{int(RATE)}bit",
                "delay": seconds(point.delay),
                "queue": queue,
            },
            "traffic": [
                {"name": "bulk", "kind": "bulk", "flows": point.flows, "start": ["0s", "5s"]}
            ],
        }
    )


def ours(point: Point, seed: int) -> Measured:
    """One run of forebay."""
    return Measured(**measure(scenario(point, seed)))


def theirs(tools: Toolbox, point: Point, seed: int) -> Measured:
    """One run of the referee."""
    stack = STACKS[point.stack]
    options = point.settings | dict(stack.options) | {"seed": seed}
    command = tools.commands[stack.referee] + spelled(stack.referee, options)
    return Measured(**parse(tools.output(command)))


def main() -> int:
    """Run what is asked for, write the section of the validation page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=STACKS, action="append", help="may be repeated")
    parser.add_argument("--ns318", type=Path, help="a dumbbell in ns-3.18")
    parser.add_argument("--output", type=Path, default=Path("docs/validation/stacks.json"))
    options = parser.parse_args()
    document: dict[str, Any] = {}
    if options.output.exists():
        document = json.loads(options.output.read_text("utf-8"))
    before = {key(row): row for row in document.get("results", {}).get("rows", [])}
    versions = dict(document.get("results", {}).get("versions", {}))
    with tempfile.TemporaryDirectory() as folder:
        tools = Toolbox(Path(folder))
        if options.ns318:
            tools.commands["ns-3.18"] = [str(options.ns318.resolve())]
            tools.versions["ns-3.18"] = "3.18"
        missing = {stack.referee for stack in STACKS.values()} - {*tools.commands}
        for name in sorted(missing):
            print(f"{name} is missing: its figures stay as they are in the file", file=sys.stderr)
        with ThreadPoolExecutor(options.jobs) as pool:
            runs = []
            for point in points(STACKS):
                run = Run(point, dict(before.get(key(point.name), {"found": {}})["found"]))
                if options.only is None or point.stack in options.only:
                    seeds = range(1, options.seeds + 1)
                    referee = STACKS[point.stack].referee
                    run.running["forebay"] = [pool.submit(ours, point, seed) for seed in seeds]
                    if referee in tools.commands:
                        run.running[referee] = [
                            pool.submit(theirs, tools, point, seed) for seed in seeds
                        ]
                runs.append(run)
            rows = [collect(run) for run in runs]
        versions |= tools.versions
    found = [row for row in rows if len(row["found"]) == 2]
    results = {"seeds": options.seeds, "versions": versions, "rows": found}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(_written.dump(section(results)), "utf-8")
    return 0


def key(row: Mapping[str, Any]) -> str:
    """The name of a row as one word."""
    return "/".join(str(row[part]) for part in ("stack", "queue", "flows", "delay"))


def collect(run: Run) -> dict[str, Any]:
    """The results of a point, once they are there."""
    found = run.known | {
        name: summarize([future.result() for future in futures])
        for name, futures in run.running.items()
    }
    if run.running:
        print(key(run.point.name), file=sys.stderr, flush=True)
    return run.point.name | {"found": found}


def point_of(row: Mapping[str, Any]) -> Point:
    """The point of a row."""
    return Point(row["stack"], row["queue"], row["flows"], row["delay"])


def pair(row: Mapping[str, Any], quantity: str) -> tuple[float, float, float]:
    """Forebay's mean, the referee's, and the sum of both intervals' half-widths."""
    mine = row["found"]["forebay"][quantity]
    other = row["found"][STACKS[row["stack"]].referee][quantity]
    return mine["mean"], other["mean"], (mine["half_width"] or 0) + (other["half_width"] or 0)


def misses(row: Mapping[str, Any]) -> list[str]:
    """The quantities that are outside the bounds."""
    wide = point_of(row).window(pair(row, "queue")[1]) > WIDE_WINDOW
    found = []
    for quantity, bound in BOUNDS.items():
        mine, other, _ = pair(row, quantity)
        # A loss of one packet in ten thousand is a handful of packets a run.
        near = 1e-5 if quantity == "loss" else 0.05
        if abs(mine - other) > max((WIDE if wide else bound) * other, near):
            found.append(quantity)
    mine, other, _ = pair(row, "utilization")
    return found + (["utilization"] if abs(mine - other) > UTILIZATION else [])


def within_noise(row: Mapping[str, Any]) -> bool:
    """Whether the intervals overlap in everything that is outside the bounds."""
    return all(
        abs(mine - other) <= widths
        for mine, other, widths in (pair(row, quantity) for quantity in misses(row))
    )


def verdict(row: Mapping[str, Any]) -> str:
    """What the last column says."""
    if not misses(row):
        return "within"
    told = ", ".join(misses(row))
    if within_noise(row):
        return f"{told}: intervals overlap"
    point = point_of(row)
    place = (point.stack, point.queue, point.flows, point.delay)
    return f"**{told}**: {ROW_NOTES.get(place) or NOTES.get(point.stack) or 'open'}"


def shown(row: Mapping[str, Any], quantity: str) -> str:
    """Both means and how far apart they are."""
    mine, other, _ = pair(row, quantity)
    if quantity == "utilization":
        return f"{mine:.4f} / {other:.4f}"
    scale, digits = (100, 3) if quantity == "loss" else (1, 2)
    apart = f" ({100 * (mine / other - 1):+.1f} %)" if other > 0 else ""
    return f"{scale * mine:.{digits}f} / {scale * other:.{digits}f}{apart}"


def section(results: Mapping[str, Any]) -> dict[str, Any]:
    """The section of the validation page."""
    versions = results["versions"]
    heads, tables = [], []
    left_out = [name for name in STACKS if name not in {row["stack"] for row in results["rows"]}]
    for name, stack in STACKS.items():
        rows = [row for row in results["rows"] if row["stack"] == name]
        if not rows:
            continue
        missed = [row for row in rows if misses(row)]
        noisy = sum(within_noise(row) for row in missed)
        worst = max(rows, key=lambda row: abs(pair(row, "queue")[0] / pair(row, "queue")[1] - 1))
        mine, other, _ = pair(worst, "queue")
        heads.append(
            f"- {name} ({stack.referee} {versions[stack.referee]}): {len(rows) - len(missed)} of "
            f"{len(rows)} scenarios are within the goal, and {noisy} more have overlapping "
            "intervals. The largest difference of the mean queue is "
            f"{100 * (mine / other - 1):+.1f} % ({worst['flows']} flows, "
            f"{1000 * worst['delay']:g} ms, {worst['queue']})."
        )
        tables.append(
            {
                "heading": name,
                "text": "",
                "columns": [
                    "queue",
                    "flows",
                    "delay",
                    "window, segments",
                    "mean queue: forebay / referee",
                    "utilization",
                    "loss, %",
                    "verdict",
                ],
                "rows": [
                    [
                        "tail drop" if row["queue"] == "fifo" else "RED",
                        row["flows"],
                        f"{1000 * row['delay']:g} ms",
                        f"{point_of(row).window(pair(row, 'queue')[1]):.1f}",
                        shown(row, "queue"),
                        shown(row, "utilization"),
                        shown(row, "loss"),
                        verdict(row),
                    ]
                    for row in rows
                ],
            }
        )
    return {
        "section": "Stacks of the past beside themselves",
        "order": 3,
        "version": versions["forebay"],
        "command": "make validate-peers",
        "text": [
            "Every preset runs in the dumbbell of the comparison with ns-2 and ns-3, and is "
            "compared with the stack that it is named after. Both have the defaults of that "
            "stack and packets of 1500 bytes. Tail drop has room for 30 packets. RED (thresholds "
            "of 5 and 15 packets, gentle, room for 200) has the rules of ns-2 (`spare_short`, "
            "`spare_first`, `idle`), which ns-3.18 has as well.",
            "The goal is a mean queue within "
            "3 %, a utilization within half a point and a loss within 5 %, or queue and loss "
            "within 2 % if windows are above ten segments. Values are means of "
            f"{results['seeds']} seeds, measured from 20 s to 120 s, with four flows to 220 s, "
            "with fewer to 420 s. ns-3.18 was built from its sources by hand, and its figures "
            "are kept.",
            "\n".join(heads),
            *([f"Not measured yet: {'; '.join(left_out)}."] if left_out else []),
        ],
        "tables": tables,
        "results": results,
    }


if __name__ == "__main__":
    sys.exit(main())
