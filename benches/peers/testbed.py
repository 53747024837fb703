"""Prague beside one classic transfer on a public testbed; writes docs/validation/testbed.json.

Usage: python benches/peers/testbed.py FOLDER [--seeds 10] [--jobs 2] [--only CONTROL]...
                                       [--queue QUEUE]... [--output FILE]

FOLDER is a checkout of github.com/fatihsarpkaya/L4S-PAM2025 (Sarpkaya et al., "To adopt or not to
adopt L4S-compatible congestion control?", PAM 2025). It has no licence, so nothing of it is in this
tree: its trials are read, and means and deviations are kept beside ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kept import Kept, digest
from peers import HERE, KEPT

import forebay
from forebay import _engine, _written

TRIALS = Path("Data/1vs1 flow experiments/Prague vs Classic")
OUTPUT = HERE.resolve().parents[1] / "docs" / "validation" / "testbed.json"
BUFFERS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Bandwidth-delay products of 100 Mbit/s and 10 ms."""
BDP = 125_000
FRAME, PACKET = 1514, 1500
"""Bytes of a full packet with Ethernet's header, which bfifo and HTB count, and without it."""
FLOWS = ("prague", "classic")
SECONDS = 60

CONTROLS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "CUBIC": ("cubic_noecn", {"congestion": "cubic"}),
    "CUBIC with ECN": ("cubic_ecn", {"congestion": "cubic", "ecn": True}),
    "BBR v1": ("bbrv1_noecn", {"congestion": "bbr"}),
    "BBR v3": ("bbrv3_noecn", {"congestion": "bbr3"}),
    "BBR v3 with ECN": ("bbrv3_ecn", {"congestion": "bbr3", "ecn": True}),
}
"""The name of the testbed's files, and the classic transfer's TCP."""

QUEUES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "FIFO": ("FIFO", {"kind": "fifo"}),
    "PIE": ("pie_drop", {"kind": "pie", "target": "5ms"}),
    "CoDel": ("Codel_drop", {"kind": "codel"}),
    "CoDel, marking": ("Codel", {"kind": "codel", "ecn": True}),
    "step at 5 ms": ("single_queue_FQ", {"kind": "step", "threshold": "5ms"}),
    "FQ-CoDel": ("FQ_Codel", {"kind": "fq-codel", "ecn": True, "backlog": "all"}),
    "FQ-CoDel, step for L4S": (
        "FQ_Codel_L4S",
        {"kind": "fq-codel", "ecn": True, "backlog": "all", "ce_threshold": "1ms"}
        | {"ce_threshold_l4s": True},
    ),
    "DualPI2": (
        "DualPI2",
        {"kind": "dualpi2", "target": "5ms", "step_packets": 2}
        | {"alpha": 41 / 256 * 64 / 127, "beta": 819 / 256 * 64 / 127},
    ),
}
"""The testbed's name, and ours. DualPI2 is that of L4STeam's Linux 5.15: its step is for packets
that find two waiting (`apply_step`), and its gains are 64/127 of those that it names, because
`calculate_probability` divides by 127 what counts in units of 64 ns. Linux 6.17 divides by 64. Its
buffer is 10 000 packets whatever the cell says."""


@dataclass(frozen=True)
class Cell:
    """One set-up of the testbed."""

    control: str
    queue: str
    buffer: float
    """In bandwidth-delay products."""

    def scenario(self) -> dict[str, Any]:
        """The set-up as forebay has it: 5 ms each way, then 100 Mbit/s."""
        queue = dict(QUEUES[self.queue][1])
        if self.queue == "FIFO":
            queue["limit"] = f"{int(self.buffer * BDP) * PACKET // FRAME}B"
        elif self.queue != "DualPI2":
            queue["limit"] = f"{int(self.buffer * BDP) // PACKET + 1}p"
        classic = {"preset": "linux"} | CONTROLS[self.control][1]
        prague = {"preset": "linux", "congestion": "prague", "ecn": True, "accurate_ecn": True}
        wide = {"rate": "10Gbit", "delay": "5ms", "queue": {"kind": "fifo", "limit": "60000p"}}
        link = {"from": "router", "to": "server", "rate": "100Mbit", "delay": "0s"}
        return {
            "title": f"Prague beside {self.control}, {self.queue}, {self.buffer:g} BDP",
            "duration": f"{SECONDS}s",
            "link": [
                *({"name": flow, "from": flow, "to": "router"} | wide for flow in FLOWS),
                {"name": "bottleneck", "overhead": f"{FRAME - PACKET}B", "queue": queue} | link,
            ],
            "traffic": [
                {"name": flow, "kind": "bulk", "from": flow, "to": "server"}
                | {"start": ["0s", "200ms"], "tcp": tcp}
                for flow, tcp in zip(FLOWS, (prague, classic), strict=True)
            ],
        }


Quantities = dict[str, list[float]]
"""Each quantity's values, a trial or a seed each: `prague Mbit/s`, `classic ms`, ..."""


def names() -> list[str]:
    """The four quantities of a cell."""
    return [f"{flow} {unit}" for unit in ("Mbit/s", "ms") for flow in FLOWS]


def trials(folder: Path) -> dict[Cell, Quantities]:
    """What the testbed measured.

    Raises:
        SystemExit: the folder has no such data.
    """
    found: dict[Cell, Quantities] = {}
    queues = {theirs: ours for ours, (theirs, _) in QUEUES.items()}
    for control, (name, _) in CONTROLS.items():
        for unit, kind in (("Mbit/s", "tput"), ("ms", "srtt")):
            for flow, side in zip(FLOWS, ("L4S", "legacy"), strict=True):
                path = folder / TRIALS / f"{name}_{kind}_tx_{side}.json"
                if not path.is_file():
                    sys.exit(f"error: {path} is not there; give a checkout of L4S-PAM2025")
                for key, value in json.loads(path.read_text("utf-8")).items():
                    # prague_0.5_100_10_FQ_Codel_5_0_3_0_TRIAL
                    _, buffer, _, _, *queue, _, _, _, _, _ = key.split("_")
                    if (ours := queues.get("_".join(queue))) is not None:
                        cell = found.setdefault(Cell(control, ours, float(buffer)), {})
                        cell.setdefault(f"{flow} {unit}", []).append(value)
    return found


def run(cell: Cell, seed: int) -> list[float]:
    """The quantities of a cell with one seed.

    As iperf3 reports them: what arrived, over the whole time, and the mean of the smoothed
    round-trip times at the end of each second.
    """
    session = forebay.open(forebay.Scenario.of(cell.scenario()), seed=seed)
    round_trips: dict[str, list[float]] = {flow: [] for flow in FLOWS}
    arrived = dict.fromkeys(FLOWS, 0)
    for second in range(1, SECONDS + 1):
        for row in session.advance_to(f"{second}s").flows.iter_rows(named=True):
            arrived[row["traffic"]] = row["delivered_bytes"]
            if row["srtt_ms"] is not None:
                round_trips[row["traffic"]].append(row["srtt_ms"])
    rates = [arrived[flow] * 8 / SECONDS / 1e6 for flow in FLOWS]
    return rates + [statistics.mean(round_trips[flow]) for flow in FLOWS]


def fits(name: str, ours: float, theirs: Sequence[float]) -> bool:
    """Whether a quantity fits: 3 Mbit/s or two deviations of the trials; 2 ms or 10 %."""
    mean = statistics.mean(theirs)
    if name.endswith("ms"):
        return abs(ours - mean) <= max(2, 0.1 * mean)
    return abs(ours - mean) <= max(3, 2 * statistics.stdev(theirs))


def row(cell: Cell, ours: Mapping[str, Sequence[float]], theirs: Quantities) -> dict[str, Any]:
    """A cell with both sides' means, the deviations of the trials, and what does not fit."""
    sides = {
        name: [round(statistics.mean(values), 2) for values in (ours[name], theirs[name])]
        + [round(statistics.stdev(theirs[name]), 2)]
        for name in names()
    }
    missed = [name for name in names() if not fits(name, statistics.mean(ours[name]), theirs[name])]
    return {
        "control": cell.control,
        "queue": cell.queue,
        "buffer": cell.buffer,
        "quantities": sides,
        "missed": missed,
    }


def counted(rows: Iterable[Mapping[str, Any]], key: str) -> dict[str, tuple[int, int, int]]:
    """By the values of `key`: cells, and those whose throughputs and whose round trips fit."""
    every, rates, trips = Counter[str](), Counter[str](), Counter[str]()
    for each in rows:
        every[each[key]] += 1
        rates[each[key]] += not any(name.endswith("Mbit/s") for name in each["missed"])
        trips[each[key]] += not any(name.endswith("ms") for name in each["missed"])
    return {name: (count, rates[name], trips[name]) for name, count in every.items()}


def section(rows: Sequence[Mapping[str, Any]], seeds: int) -> dict[str, Any]:
    """The section of docs/validation.md."""
    return {
        "section": "A public testbed",
        "order": 3,
        "version": forebay.__version__,
        "command": "make validate-peers PAM2025=FOLDER",
        "counted": 1,
        "text": [_counts(rows), *_words(seeds)],
        "tables": [*_totals(rows), _tried(rows), *_cells(rows)],
        "results": list(rows),
    }


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    every, rates, trips = (
        sum(each) for each in zip(*counted(rows, "control").values(), strict=True)
    )
    return (
        f"Of {every} cells, {rates} fit in throughput and {trips} in round-trip times. The goal is "
        "95 % of both."
    )


def _words(seeds: int) -> Iterator[str]:
    yield (
        "Sarpkaya and others measured Prague beside one classic transfer on hosts of the FABRIC "
        "testbed (PAM 2025; data: github.com/fatihsarpkaya/L4S-PAM2025). The link has 100 Mbit/s, "
        "the round trip 10 ms, the buffer 0.5 to 8 bandwidth-delay products (BDP)."
    )
    yield (
        "Each cell of *To adopt or not to adopt L4S-compatible congestion control?* has ten trials "
        "of 60 s. Here the same set-ups run with "
        f'`preset = "linux"` for both transfers, and with {seeds} seeds. The hosts had L4STeam\'s '
        "Linux 5.15 (Prague, DualPI2), Linux 5.13 (CUBIC, BBR v1) and 6.4 (BBR v3). Offload was "
        "off at their interfaces, but TCP makes buffers of several segments nevertheless."
    )
    yield (
        "A throughput fits if it is within 3 Mbit/s or two standard deviations of the trials, and "
        "a mean smoothed round-trip time if it is within 2 ms or 10 %. A cell fits if both "
        "transfers do. Values that do not are **bold**. Not compared are Linux' `fq`, which "
        "forebay lacks, and BBR v2."
    )
    yield (
        "*Prague and losses.* The kernel's module owes half of its window after a loss, and pays "
        "one segment per acknowledgment (`prague_enter_loss`, `prague_update_cwnd`), while the "
        "receiver answers for several segments at a time. So it keeps sending into a full queue, "
        "loses more, and is reduced again. With the Prague of its draft, which halves the window "
        "at once, the cells beside BBR in a deep FIFO are far off: 61, 82 and 86 Mbit/s at 2, 4 "
        "and 8 BDP, where the testbed has 42, 56 and 63."
    )
    yield (
        "*What does not fit.* How evenly packets arrive matters where CoDel marks: "
        "with access delays drawn from 4.6 to 5.6 ms every 2 ms, CUBIC's cell at 1 BDP has 81 and "
        "14 Mbit/s in place of 89 and 6. The hosts were virtual machines, and their evenness is "
        "not known. Even Prague alone in its queue (FQ-CoDel, 4 BDP) has two round trips in the "
        "testbed, 15.4 ms in some trials and 19.5 ms in others."
    )
    yield (
        "*What the hosts must have done.* Beside CUBIC behind the step, some trials of Prague have "
        "0.09 to 0.15 Mbit/s at 2, 4 and 8 BDP, where two segments a round trip are 0.9, 0.5 and "
        "0.3. So its module was later than ours (0.6): from 0.7 on it keeps a rate, of 0.1 "
        "Mbit/s at least. That very version is not public to us; 0.7 as published later fits no "
        "better. And wherever Prague has less than 15 Mbit/s of one queue, marked or not, its "
        "round trip is no more than 0.6 ms longer than the other's: its receiver acknowledged "
        "every segment. The kernel's source says so only for the first segment after a mark "
        "begins or ends (`tcp_ecn_received_counters`), which the stack does. If every segment "
        "is acknowledged, more round trips fit and fewer throughputs. BBR v3 here is that of "
        "the draft; the testbed's is the kernel's."
    )
    yield (
        "*What its bytes say.* The kernel adds the AccECN option, 12 bytes, to every segment of "
        "data (`tcp_established_options`, `tcp_ecn_option` 2). FQ-CoDel shares bytes, and there "
        "the testbed's Prague has 0.988 to 0.994 of CUBIC's goodput (2 to 8 BDP): 1436 / 1448 is "
        "0.992. Here the option is on acknowledgments, and the two are equal. It decides no cell."
    )


TRIED = {
    "FIFO": "0.5 BDP, CUBIC with ECN: A 31 Mbit/s, B 48; testbed 41, here 49",
    "PIE": "0.5 BDP, CUBIC: A 34 Mbit/s, B 49; testbed 40, here 46",
    "CoDel": "0.5 BDP, CUBIC with ECN: A 31 Mbit/s, B 49; testbed 42, here 47",
    "CoDel, marking": "CUBIC, 4 BDP: A 16.6 ms, B 16.7; testbed 18.8, here 16.7. C: see above",
    "step at 5 ms": "CUBIC, 2 BDP: A 26.6 ms, B 67.4; testbed 24.9, here 35.7",
    "FQ-CoDel": "CUBIC, 8 BDP: A 16.6 ms, B 16.4; testbed 19.2, here 16.7",
    "FQ-CoDel, step for L4S": "0.5 BDP: A 47.7 to 48.9 Mbit/s, B 47.7 to 48.7; testbed 43.1 to "
    "44.1 whatever it runs beside, here 47.6 to 48.6",
    "DualPI2": "0.5 BDP, BBR v3: A 31.4 Mbit/s, B 30.7 (5 seeds); testbed 37.7, here 31.6. "
    "BBR v1: testbed 12.4 to 12.7, here 9.6",
}
"""Prague in a typical cell that misses, with each thing that was tried."""


def _tried(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines = [
        [queue, every - rates, every - trips, TRIED[queue]]
        for queue, (every, rates, trips) in counted(rows, "queue").items()
        if queue in TRIED
    ]
    return {
        "heading": "What was tried where cells do not fit",
        "text": "A: the receiver of Prague acknowledges every segment. Of 200 cells 163 then fit "
        "in throughput and 169 in round trips; before, with the same engine, 181 and 154. B: the "
        "Prague of version 0.7, as published later. C: access delays that change. None is a rule "
        "that the testbed's kernel is known to have, so none was kept.",
        "columns": ["queue", "throughput missed", "round trip missed", "Prague in one such cell"],
        "rows": lines,
    }


def _totals(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    counts = counted(rows, "control")
    every = [sum(count[at] for count in counts.values()) for at in range(3)]
    for key, head, last in (
        ("control", "Prague beside", [["all", *every]]),
        ("queue", "queue", []),
    ):
        lines = [[name, *count] for name, count in counted(rows, key).items()]
        yield {
            "heading": f"Cells that fit, by {key}",
            "text": "",
            "columns": [head, "cells", "throughput fits", "round trip fits"],
            "rows": lines + last,
        }


def _cells(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for control in dict.fromkeys(each["control"] for each in rows):
        lines = []
        for each in rows:
            if each["control"] == control:
                shown = [_shown(name, each) for name in names()]
                lines.append([each["queue"], f"{each['buffer']:g}", *shown])
        yield {
            "heading": f"Prague beside {control}",
            "text": "Each cell has forebay / testbed ± its standard deviation.",
            "columns": ["queue", "BDP", *names()],
            "rows": lines,
        }


def _shown(name: str, each: Mapping[str, Any]) -> str:
    ours, theirs, deviation = each["quantities"][name]
    shown = f"{ours:.1f}"
    return f"{f'**{shown}**' if name in each['missed'] else shown} / {theirs:.1f} ± {deviation:.1f}"


def measured(cells: Sequence[Cell], seeds: int, jobs: int) -> dict[Cell, dict[str, list[float]]]:
    """Our side of every cell. What the same engine has measured is not run again."""
    kept = Kept(KEPT / "testbed.jsonl")
    engine = digest(Path(_engine.__file__))
    asked = [(cell, seed) for cell in cells for seed in range(1, seeds + 1)]
    inputs = [{"engine": engine, "seed": seed, "scenario": cell.scenario()} for cell, seed in asked]
    known = [json.dumps(each, sort_keys=True) in kept.known for each in inputs]
    with ProcessPoolExecutor(jobs) as pool:
        new = [
            None if here else pool.submit(run, *each)
            for each, here in zip(asked, known, strict=True)
        ]
        found: dict[Cell, dict[str, list[float]]] = {}
        for (cell, _), given, future in zip(asked, inputs, new, strict=True):
            values = kept.of(given, future.result if future else list)
            for name, value in zip(names(), values, strict=True):
                found.setdefault(cell, {}).setdefault(name, []).append(value)
    return found


def main() -> int:
    """Compare, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="a checkout of L4S-PAM2025")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=CONTROLS, action="append", help="may repeat")
    parser.add_argument("--queue", choices=QUEUES, action="append", help="may repeat")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    theirs = trials(options.folder)
    cells = [
        Cell(control, queue, buffer)
        for control in options.only or CONTROLS
        for queue in options.queue or QUEUES
        for buffer in BUFFERS
    ]
    ours = measured(cells, options.seeds, options.jobs)
    rows = [row(cell, ours[cell], theirs[cell]) for cell in cells]
    for each in rows:
        shown = "  ".join(_shown(name, each) for name in names())
        print(f"{each['control']:15} {each['queue']:22} {each['buffer']:3g}  {shown}")
    for name, count in (*counted(rows, "control").items(), *counted(rows, "queue").items()):
        print(f"{name}: {count[1]} and {count[2]} of {count[0]} cells fit")
    options.output.write_text(_written.dump(section(rows, options.seeds)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
