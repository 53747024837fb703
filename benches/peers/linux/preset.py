"""`preset = "linux"` beside Linux 6.1 itself; writes docs/validation/linux.json.

Usage: python benches/peers/linux/preset.py [--seeds 3] [--jobs 2] [--only QUEUE] [--keep-linux]
                                            [--output FILE]

With --only, which may be repeated, rows of other queues stay as they are. With --keep-linux, what
the file has of Linux is not measured again, if kernel, seeds and scenario are the same: forebay's
side alone is a minute's work. Needs what `make virtual-linux` builds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee import Missing, run, versions

import forebay
from forebay import _engine, _written

FLOWS = (1, 2, 4, 16, 64)
ROUND_TRIPS = (2, 5, 20, 50)
CONTROLS = ("new-reno", "cubic")
MARKED_CONTROLS = ("dctcp", "cubic")
POINTS = ((4, 5), (16, 20), (64, 50))
"""Flows and round trip, ms, at which active queue management is compared."""
MARKED_POINTS = ((1, 20), *POINTS)
QUEUES: dict[str, dict[str, Any]] = {
    "tail drop": {"kind": "fifo", "limit": "30p"},
    "CoDel": {"kind": "codel", "limit": "200p"},
    "RED": {
        "kind": "red",
        "limit": "300KB",
        "min_th": "7.5KB",
        "max_th": "22.5KB",
        "max_p": 0.1,
        "weight": 0.5**9,
        "gentle": False,
        "mean_packet": "1500B",
        "gaps": "linux",
        "idle": "linux",
    },
    "CoDel, marking": {"kind": "codel", "limit": "200p", "ecn": True},
    # A threshold alone, of 20 packets.
    "step": {
        "kind": "codel",
        "limit": "200p",
        "target": "1s",
        "interval": "2s",
        "ecn": True,
        "ce_threshold": "24ms",
    },
    # Nearly the length of now counts. tc has no room for a probability of 1.
    "RED, marking": {
        "kind": "red",
        "limit": "300KB",
        "min_th": "30KB",
        "max_th": "180KB",
        "max_p": 0.5,
        "weight": 0.5,
        "gentle": False,
        "mean_packet": "1500B",
        "gaps": "linux",
        "idle": "linux",
        "ecn": True,
    },
    # The average moves within a gap, so it matters that Linux draws a number once a gap.
    "RED, marking, short memory": {
        "kind": "red",
        "limit": "300KB",
        "min_th": "7.5KB",
        "max_th": "45KB",
        "max_p": 0.1,
        "weight": 0.5**8,
        "gentle": False,
        "mean_packet": "1500B",
        "gaps": "linux",
        "idle": "linux",
        "ecn": True,
    },
}
RATE = 10_000_000
ACCESS_MS = 0.1
QUANTITIES = ("queue", "utilization", "loss", "marks")

Figures = dict[str, list[float]]
"""Each quantity, a value a seed."""


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    queue: str
    control: str
    flows: int
    round_trip: int
    """ms, without queue and transmission."""
    offload: bool = False
    """Segments leave in buffers (GSO), as in ordinary hosts."""

    @property
    def ecn(self) -> dict[str, bool]:
        """What it adds to TCP."""
        return {"ecn": True} if QUEUES[self.queue].get("ecn") else {}

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is compared."""
        return QUANTITIES if self.ecn else QUANTITIES[:-1]

    def scenario(self, seed: int) -> dict[str, Any]:
        """The scenario, the same for both."""
        delay = round((self.round_trip / 2 - 2 * ACCESS_MS) * 1000)
        link = {"rate": f"{RATE}bit", "delay": f"{delay}us", "queue": QUEUES[self.queue]}
        bulk = {"name": "bulk", "kind": "bulk", "flows": self.flows, "start": ["0s", "5s"]}
        host = {} if self.offload else {"stack": {"gso_max_segs": 1}}
        return {
            "duration": "110s",
            "warmup": "10s",
            "seed": seed,
            "tcp": {"preset": "linux", "congestion": self.control} | self.ecn | host,
            "dumbbell": link,
            "traffic": [bulk],
        }


CASES = [
    *(
        Case("tail drop", control, flows, round_trip)
        for control in CONTROLS
        for flows in FLOWS
        for round_trip in ROUND_TRIPS
    ),
    *(
        Case("tail drop", "bbr", flows, round_trip)
        for flows in FLOWS[:-1]
        for round_trip in ROUND_TRIPS[1:]
    ),
    *(
        Case(queue, control, flows, round_trip)
        for queue in ("CoDel", "RED")
        for control in CONTROLS
        for flows, round_trip in POINTS
    ),
    *(
        Case(queue, control, flows, round_trip)
        for queue in ("CoDel, marking", "step", "RED, marking", "RED, marking, short memory")
        for control in MARKED_CONTROLS
        for flows, round_trip in MARKED_POINTS
    ),
    *(
        Case("tail drop", control, flows, round_trip, offload=True)
        for control in (*CONTROLS, "bbr")
        for flows in (1, 4, 16)
        for round_trip in ROUND_TRIPS[1:]
    ),
    *(
        Case(queue, control, flows, round_trip, offload=True)
        for queue in ("CoDel", "RED")
        for control in CONTROLS
        for flows, round_trip in POINTS
    ),
    *(
        Case("step", "dctcp", flows, round_trip, offload=True)
        for flows, round_trip in MARKED_POINTS
    ),
]


def linux(case: Case, seeds: Sequence[int]) -> Figures:
    """What Linux gives."""
    found = [run(case.scenario(seed))[0] for seed in seeds]
    return {name: [getattr(each, name) for each in found] for name in case.quantities}


def ours(case: Case, seeds: Sequence[int]) -> Figures:
    """What forebay gives."""
    found = [
        json.loads(_engine.run(json.dumps(case.scenario(seed)), ".").summary) for seed in seeds
    ]
    queues = [each["queues"]["bottleneck"] for each in found]
    figures = {
        "queue": [each["mean_packets"] for each in queues],
        "utilization": [each["links"]["bottleneck"]["utilization"] for each in found],
        "loss": [each["loss"] for each in queues],
        "marks": [each["marked"] / each["offered"] for each in queues],
    }
    return {name: figures[name] for name in case.quantities}


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return float(sum(values)) / len(values)


def window(row: Mapping[str, Any]) -> float:
    """Segments of a flow in flight, with Linux's queue."""
    case = row["case"]
    in_flight = RATE * case["round_trip"] / 1000 / 8 / 1500
    return float(in_flight + mean(row["linux"]["queue"])) / int(case["flows"])


def misses(row: Mapping[str, Any]) -> list[str]:
    """Quantities that are further apart than wanted."""
    share = 0.02 if window(row) > 10 else None
    allowed = {"queue": share or 0.03, "loss": share or 0.05, "marks": share or 0.05}
    missed = []
    for name in row["linux"]:
        theirs, own = mean(row["linux"][name]), mean(row["forebay"][name])
        most = 0.005 if name == "utilization" else allowed[name] * theirs
        if abs(own - theirs) > most:
            missed.append(name)
    return missed


def section(document: Mapping[str, Any]) -> dict[str, Any]:
    """The section of the validation page."""
    rows = document["rows"]
    apart = [row for row in rows if misses(row)]
    return {
        "section": "Beside Linux itself",
        "order": 2,
        "version": forebay.__version__,
        "command": "python benches/peers/linux/preset.py",
        "text": [
            f'`preset = "linux"` is compared with Linux {document["linux"]} in virtual time: the '
            "kernel's TCP runs in one process, and its clock stops while there is work to do "
            "(`make virtual-linux`; `benches/peers/linux`). The scenarios are equal, to the "
            "nanosecond at which each flow starts: 10 Mbit/s, 100 s after 10 s of warm-up, "
            f"{document['seeds']} seeds, no other delay than that of the round trip (including "
            "two access links of 1 Gbit/s and 0.1 ms on each way), queues in waiting packets. "
            "The first tables are of hosts whose segments leave one by one (`gso_max_segs 1`), "
            "those called *offload* of ordinary hosts, whose segments leave in buffers (GSO).",
            f"{len(rows) - len(apart)} of {len(rows)} rows are within the goal: mean queue within "
            "3 %, utilization within half a point, loss and marks within 5 %, and if windows are "
            "above ten segments queue, loss and marks within 2 %. In the other rows, values "
            "outside the goal are **bold**.",
        ],
        "tables": [
            table(name, found, offload)
            for offload in (False, True)
            for name in QUEUES
            if (
                found := [
                    row
                    for row in rows
                    if (row["case"]["queue"], row["case"]["offload"]) == (name, offload)
                ]
            )
        ],
        "results": document,
    }


def table(queue: str, rows: Sequence[Mapping[str, Any]], offload: bool) -> dict[str, Any]:
    """One queue's rows, with hosts of one kind."""
    units = {"queue": "mean queue, packets", "utilization": "utilization", "loss": "loss, %"}
    units |= {"marks": "marked, %"}
    quantities = tuple(rows[0]["linux"])
    columns = [
        "TCP",
        "flows",
        "round trip",
        *(f"{units[name]}: forebay / Linux" for name in quantities),
    ]
    lines = []
    for row in rows:
        case, missed = row["case"], misses(row)
        line: list[Any] = [case["control"], case["flows"], f"{case['round_trip']} ms"]
        for name in quantities:
            scale = 100 if name in ("loss", "marks") else 1
            own, theirs = (f"{mean(row[who][name]) * scale:.4g}" for who in ("forebay", "linux"))
            line.append(f"**{own}** / {theirs}" if name in missed else f"{own} / {theirs}")
        lines.append(line)
    words = ", ".join(f"{key} {value}" for key, value in QUEUES[queue].items() if key != "kind")
    return {
        "heading": f"{queue}, offload" if offload else queue,
        "text": f"`{QUEUES[queue]['kind']}`: {words}.",
        "columns": columns,
        "rows": lines,
    }


def known(path: Path, version: str, seeds: int) -> dict[str, Figures]:
    """What the file has of Linux, by case."""
    if not path.exists():
        return {}
    document = json.loads(path.read_text("utf-8"))["results"]
    if (document["linux"], document["seeds"]) != (version, seeds):
        return {}
    return {json.dumps(row["scenario"]): row["linux"] for row in document["rows"]}


def rows_of(path: Path, version: str, seeds: int) -> dict[str, Any]:
    """The rows of the file, by scenario."""
    if not known(path, version, seeds):
        return {}
    rows = json.loads(path.read_text("utf-8"))["results"]["rows"]
    return {json.dumps(row["scenario"]): row for row in rows}


def differences(path: Path) -> dict[str, Any]:
    """The first decision that differs, by scenario, where the file has one."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text("utf-8"))["results"]["rows"]
    return {json.dumps(row["scenario"]): row.get("difference") for row in rows}


def main() -> int:
    """Run both, write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep-linux", action="store_true")
    parser.add_argument("--only", choices=QUEUES, action="append", help="may be repeated")
    parser.add_argument("--output", type=Path, default=Path("docs/validation/linux.json"))
    options = parser.parse_args()
    try:
        version = versions()["version"]
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    seeds = range(1, options.seeds + 1)
    kept = known(options.output, version, options.seeds) if options.keep_linux else {}

    def row(case: Case) -> dict[str, Any]:
        scenario = case.scenario(0)
        found = kept.get(json.dumps(scenario)) or linux(case, seeds)
        print(f"{case}", file=sys.stderr, flush=True)
        return {
            "case": vars(case),
            "scenario": scenario,
            "linux": found,
            "forebay": ours(case, seeds),
        }

    chosen = [case for case in CASES if case.queue in (options.only or QUEUES)]
    with ThreadPoolExecutor(options.jobs) as pool:
        measured = dict(zip(chosen, pool.map(row, chosen), strict=True))
    before = {} if options.only is None else rows_of(options.output, version, options.seeds)
    known_rows = (measured.get(case) or before.get(json.dumps(case.scenario(0))) for case in CASES)
    rows = [each for each in known_rows if each is not None]
    seen = differences(options.output)
    for each in rows:
        difference = seen.get(json.dumps(each["scenario"]))
        if difference and misses(each):
            each["difference"] = difference
    document = section({"linux": version, "seeds": options.seeds, "rows": rows})
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(_written.dump(document), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
