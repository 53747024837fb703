"""The presets `linux-6.1` and `linux-6.12` beside these kernels.

Usage: python benches/peers/linux/preset.py [--kernel 6.12] [--jobs 2] [--only QUEUE] [--keep-linux]
                                            [--output FILE]

With --only, which may be repeated, rows of other queues and links stay as they are. With
--keep-linux, what the file has of Linux is not measured again, if kernel and scenario are the same:
forebay's side alone is a minute's work. The file is written after each row, so that a run that was
stopped goes on with --keep-linux. Writes docs/validation/linux.json or linux-6.12.json. Needs
what `make virtual-linux` builds.

A row has three seeds. It has ten where they leave open whether it is within the goal, and where
drops are drawn or few; short transfers have thirty where ten leave it open.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from referee import Missing, run, versions

import forebay
from forebay import _engine, _written
from forebay.lab.virtual.kernel import USUAL, VERSIONS

sys.path.append(str(Path(__file__).resolve().parents[1]))
import beside

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
LINKS: dict[str, dict[str, Any]] = {
    "policer": {"police": {"rate": "8Mbit", "burst": "30KB"}},
    "rate steps": {
        "rate": {"steps": [[f"{10 * at}s", "4Mbit" if at % 2 else "10Mbit"] for at in range(7)]},
        "reverse": {"rate": "10Mbit"},
    },
    "wire loss": {"loss": 0.005},
}
"""What else than a queue may be at the link."""
FILES = {"kind": "files", "size": "60KB", "arrivals": "fixed", "interval": "2s", "flows": 2}
"""Short transfers beside the bulk: two every two seconds."""
KINDS = (*QUEUES, *LINKS)
MIXES = ("cubic + bbr", "cubic + new-reno", "new-reno + bbr")
RATE = 10_000_000
ACCESS_MS = 0.1
QUANTITIES = (*beside.QUANTITIES, "marks")
SEEDS, MANY, MOST = 3, 10, 30

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
    link: str = ""
    """What is at the link beside the queue (`LINKS`)."""
    short: bool = False
    """Whether short transfers run beside the others."""
    mtu: int = 1500

    @property
    def ecn(self) -> dict[str, bool]:
        """What it adds to TCP."""
        return {"ecn": True} if QUEUES[self.queue].get("ecn") else {}

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is compared."""
        return QUANTITIES if self.ecn else QUANTITIES[:-1]

    @property
    def is_plain(self) -> bool:
        """Whether only flows of one kind, of usual packets, meet at the queue."""
        return not (self.link or self.short or self.mtu != 1500 or " + " in self.control)

    @property
    def controls(self) -> list[str]:
        """Those of its flows, which have equal shares of them."""
        return self.control.split(" + ")

    def scenario(self, seed: int, preset: str = "linux") -> dict[str, Any]:
        """The scenario, the same for both."""
        delay = round((self.round_trip / 2 - 2 * ACCESS_MS) * 1000)
        link = {"rate": f"{RATE}bit", "delay": f"{delay}us", "queue": QUEUES[self.queue]}
        host = {} if self.offload else {"stack": {"gso_max_segs": 1}}
        mtu = {} if self.mtu == 1500 else {"mtu": f"{self.mtu}B"}
        first, *others = self.controls
        bulk = {"kind": "bulk", "flows": self.flows // len(self.controls), "start": ["0s", "5s"]}
        traffic = [{"name": "bulk", **bulk}]
        traffic += [{"name": each, **bulk, "tcp": {"congestion": each}} for each in others]
        if self.short:
            traffic.append({"name": "short", **FILES, "start": ["0s", "2s"]})
        return {
            "duration": "110s" if self.is_plain else "70s",
            "warmup": "10s",
            "seed": seed,
            "tcp": {"preset": preset, "congestion": first} | self.ecn | mtu | host,
            "dumbbell": link | mtu | LINKS.get(self.link, {}),
            "traffic": traffic,
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
    *(
        case
        for offload in (False, True)
        for case in (
            *(Case("tail drop", mix, 4, 20, offload) for mix in MIXES),
            *(
                Case("tail drop", control, 4, 20, offload, link)
                for link in LINKS
                for control in ("cubic", "bbr")
            ),
            *(
                Case("tail drop", control, 2, 20, offload, short=True)
                for control in ("cubic", "bbr")
            ),
            *(
                Case("tail drop", control, 4, 20, offload, mtu=mtu)
                for mtu in (576, 9000)
                for control in ("cubic", "bbr")
            ),
        )
    ),
]
SECOND = [
    *(
        Case("tail drop", control, flows, round_trip, offload)
        for offload in (False, True)
        for control in (*CONTROLS, "bbr")
        for flows, round_trip in ((1, 50), (4, 20), (16, 20))
    ),
    *(
        Case(queue, "cubic", 16, 20, offload)
        for offload in (False, True)
        for queue in ("CoDel", "RED")
    ),
    *(
        Case("step", "dctcp", flows, round_trip, offload)
        for offload in (False, True)
        for flows, round_trip in MARKED_POINTS[:3]
    ),
    *(
        case
        for case in CASES
        if case.offload and not case.is_plain and case.control in ("cubic", *MIXES)
    ),
]
"""The rows of the second kernel: some of each kind."""


def linux(scenario: Mapping[str, Any], names: Sequence[str], seeds: Sequence[int]) -> Figures:
    """What Linux gives."""
    found = [run(scenario, seed=seed)[0] for seed in seeds]
    return {name: [getattr(each, name) for each in found] for name in names}


def ours(scenario: Mapping[str, Any], names: Sequence[str], seeds: Sequence[int]) -> Figures:
    """What forebay gives."""
    found = [
        json.loads(_engine.run(json.dumps({**scenario, "seed": seed}), ".").summary)
        for seed in seeds
    ]
    queues = [each["queues"]["bottleneck"] for each in found]
    figures = {
        "queue": [each["mean_packets"] for each in queues],
        "utilization": [each["links"]["bottleneck"]["utilization"] for each in found],
        "loss": [each["loss"] for each in queues],
        "marks": [each["marked"] / each["offered"] for each in queues],
    }
    return {name: figures[name] for name in names}


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return float(sum(values)) / len(values)


def title(version: str) -> str:
    """The heading of a kernel's section."""
    return "Beside Linux itself" if version == USUAL else f"Beside Linux {version}"


def about(version: str, made: str) -> list[str]:
    """What was run."""
    if version != USUAL:
        return [
            f'The same with `preset = "linux-{version}"` and Linux {made} '
            f"(`make virtual-linux KERNEL={version}`), in fewer rows: "
            "[what changed](linux-versions.md)."
        ]
    return [
        f'`preset = "linux"` is compared with Linux {made} in virtual time: the kernel\'s TCP runs '
        "in one process, and its clock stops while there is work to do (`make virtual-linux`; "
        "`benches/peers/linux`). The scenarios are equal, to the nanosecond at which each flow "
        "starts: 10 Mbit/s, 100 s after 10 s of warm-up (60 s where the link or the traffic is "
        f"special), queues in waiting packets. A row has {SEEDS} seeds; "
        f"{MANY} where these leave open whether it is within the goal, and where link or traffic "
        f"is special; {MOST} for some short transfers.",
        "There is no other delay than that of the round trip, which includes two access links of "
        "1 Gbit/s and 0.1 ms on each way. *Offload* are ordinary hosts, whose segments leave in "
        "buffers (GSO). In the other tables they leave one by one (`gso_max_segs 1`). Values "
        "outside the goal are **bold**.",
        "*Timeouts in a deep queue.* Two BBR and two CUBIC flows shared 10 Mbit/s, 40 ms and room "
        "for 266 packets, ten seeds of 110 s each. Both have timeouts of BBR: a loss is found "
        "while BBR sends nothing, because it probes the round trip (a window of four), and RACK's "
        "timer has run, so that the timeout counts from when the first segment was sent "
        "(`tcp_rearm_rto`). Linux has 2 in its 20 flows, forebay 14. What differs is when "
        "the queue overflows: within 0.4 s after such a probe began, 6 of Linux's recoveries "
        "begin, and 27 of forebay's; in the second before, 66 and 54. All recoveries are 598 and "
        "589. Why the cycles of BBR and CUBIC lock differently is not known. Traces differ "
        "first in the order of packets that reach the queue at the same time, and once in a "
        "SYN-ACK that Linux repeats when the last packet of the handshake was lost, which "
        "forebay does not.",
    ]


def section(document: Mapping[str, Any]) -> dict[str, Any]:
    """The section of the validation page."""
    version, rows = document["kernel"], document["rows"]
    judged = [beside.linux_row(row, document["linux"]) for row in rows]
    kinds = dict.fromkeys(_kind(row["case"]) for row in rows)
    option = "" if version == USUAL else f" --kernel {version}"
    return {
        "section": title(version),
        "order": 2 + list(VERSIONS).index(version) / 2,
        "version": forebay.__version__,
        "command": f"python benches/peers/linux/preset.py{option}",
        "text": about(version, document["linux"]),
        "tables": [
            table(
                kind,
                [
                    (row, found)
                    for row, found in zip(rows, judged, strict=True)
                    if _kind(row["case"]) == kind
                ],
            )
            for kind in sorted(kinds, key=lambda kind: ("offload" in kind, kind not in QUEUES))
        ],
        "results": document,
    }


def _kind(case: Mapping[str, Any]) -> str:
    """The table of a row."""
    special = case.get("link") or ("short beside bulk" if case.get("short") else "")
    special = special or (f"packets of {case['mtu']} bytes" if "mtu" in case else "")
    special = special or ("mixes of controls" if " + " in case["control"] else "")
    return f"{special or case['queue']}{', offload' if case['offload'] else ''}"


def table(kind: str, rows: Sequence[tuple[Mapping[str, Any], beside.Row]]) -> dict[str, Any]:
    """The rows of one kind."""
    units = {"queue": "mean queue, packets", "utilization": "utilization", "loss": "loss, %"}
    units |= {"marks": "marked, %"}
    first = rows[0][0]
    quantities = tuple(first["linux"])
    columns = [
        "TCP",
        "flows",
        "round trip",
        *(f"{units[name]}: forebay / Linux" for name in quantities),
    ]
    lines = []
    for row, found in rows:
        case = row["case"]
        line: list[Any] = [case["control"], case["flows"], f"{case['round_trip']} ms"]
        for name in quantities:
            scale = 100 if name in ("loss", "marks") else 1
            own, theirs = (f"{mean(row[who][name]) * scale:.4g}" for who in ("forebay", "linux"))
            line.append(f"**{own}** / {theirs}" if name in found.missed else f"{own} / {theirs}")
        lines.append(line)
    link = first["scenario"]["dumbbell"]
    queue = link["queue"]
    words = ", ".join(f"{key} {value}" for key, value in queue.items() if key != "kind")
    special = LINKS.get(first["case"].get("link", ""), {})
    more = "".join(f" The link has `{name} = {value}`." for name, value in special.items())
    if first["case"].get("short"):
        more += f" Beside the bulk run `{FILES}`."
    return {
        "heading": kind,
        "text": f"`{queue['kind']}`: {words}.{more}",
        "columns": columns,
        "rows": lines,
    }


def rows_of(path: Path, version: str) -> dict[str, Any]:
    """The rows of the file, by scenario, if they were measured with that kernel."""
    if not path.exists():
        return {}
    document = json.loads(path.read_text("utf-8"))["results"]
    if document["linux"] != version:
        return {}
    return {json.dumps(row["scenario"]): row for row in document["rows"]}


def measured(case: Case, version: str, made: str, before: Mapping[str, Any] | None) -> Any:
    """A row. What `before` has of Linux is not measured again."""
    scenario = case.scenario(0, "linux" if version == USUAL else f"linux-{version}")
    known: Figures = {} if before is None else before["linux"]
    plain = vars(Case("", "", 0, 0)) | {"offload": None}
    told = {name: value for name, value in vars(case).items() if value != plain[name]}
    row: dict[str, Any] = {"case": told, "scenario": scenario}

    def of(count: int) -> bool:
        seeds = range(1, count + 1)
        have = len(known["queue"]) if known else 0
        more = linux(scenario, case.quantities, seeds[have:])
        for name in case.quantities:
            known[name] = [*known.get(name, []), *more[name]]
        row["linux"] = {name: known[name][:count] for name in case.quantities}
        row["forebay"] = ours(scenario, case.quantities, seeds)
        return beside.linux_row(row, made).is_noise

    if (not case.is_plain or of(SEEDS)) and of(MANY) and case.short:
        of(MOST)
    if before and "difference" in before and beside.linux_row(row, made).missed:
        row["difference"] = before["difference"]
    return row


def main() -> int:
    """Run both, write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=VERSIONS, default=USUAL)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep-linux", action="store_true")
    parser.add_argument("--only", choices=KINDS, action="append", help="may be repeated")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    version = options.kernel
    try:
        made = versions(version)["version"]
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    name = "linux" if version == USUAL else f"linux-{version}"
    output = options.output or Path(f"docs/validation/{name}.json")
    before = rows_of(output, made)
    cases = CASES if version == USUAL else SECOND

    rows = {case: before.get(json.dumps(case.scenario(0, name))) for case in cases}
    writing = Lock()

    def fill(case: Case) -> None:
        known = rows[case] if options.keep_linux else None
        found = measured(case, version, made, known)
        print(f"{case}", file=sys.stderr, flush=True)
        with writing:
            rows[case] = found
            seen = [row for row in rows.values() if row is not None]
            document = section({"kernel": version, "linux": made, "rows": seen})
            output.write_text(_written.dump(document), "utf-8")

    output.parent.mkdir(parents=True, exist_ok=True)
    chosen = (case for case in cases if (case.link or case.queue) in (options.only or KINDS))
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(fill, chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
