"""How the validation page opens: the answer, how far forebay is from each referee, and the worst.

Also the parts of later sections that follow from rows beside a referee (`beside`): the rows that
miss the goal, each with the decision that differs, and the whole section of Linux 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import beside
from beside import BOUNDS, LIVE, NAMES, QUANTITIES, WIDE, WIDE_WINDOW, Document, Row
from dots import comment
from reasons import TOLERANCE

from forebay._report.page import anchor

Table = dict[str, Any]

GOAL = (
    f"**The goal** is a mean queue within {100 * BOUNDS['queue']:g} % of the referee's, loss and "
    f"marks within {100 * BOUNDS['loss']:g} %, and a utilization within "
    f"{100 * BOUNDS['utilization']:g} percentage points. If windows are above {WIDE_WINDOW:g} "
    f"segments, all but the utilization must be within {100 * WIDE:g} %. On a live link, all "
    f"must be within {100 * LIVE:g} %."
)


HOSTS = {
    "heading": "What the hosts were",
    "text": "A set-up that a referee has in all its scenarios is an assumption about hosts, not a "
    "result. All these links had about 10 Mbit/s; those of the testbeds, 10 to 100.",
    "columns": ["referee", "segments leave", "memory of sockets", "timers"],
    "rows": [
        [
            "Linux 6.1 and 6.12 in virtual time",
            "one by one, or in buffers (GSO), as the row says; no GRO",
            "the kernel's defaults with 4 GB or more",
            "250 Hz, to the nanosecond; nothing takes time",
        ],
        [
            "Linux 2.6.18 and 2.6.26 in NSC",
            "one by one",
            "1 MB",
            "1000 Hz",
        ],
        [
            "ns-2, ns-3.18, ns-3.37",
            "one by one",
            "without limit, or the window that the preset has",
            "exact",
        ],
        [
            "Linux live, over the gate",
            "one by one (offload off)",
            "the machine's defaults",
            "the machine's clock, on two shared cores",
        ],
    ],
}
UNKNOWN = {
    "heading": "What is not known",
    "text": "Only the testbeds were asked about the first two, and no referee about the others.",
    "columns": ["what", "why it may matter"],
    "rows": [
        ["links of 10 to 100 Mbit/s", "processors and network cards limit hosts"],
        ["BBRv3, Prague and AccECN", "Debian's kernels do not have them"],
        ["links above 100 Mbit/s", "as above"],
        ["receive coalescing (GRO, LRO) and card drivers", "acknowledgments become fewer"],
        ["`fq` as the host's own queue, and shared hosts", "pacing and bursts differ by flow"],
        ["paths that reorder, and paths of several congested links", "RACK and tail loss probes"],
        ["memory pressure, MTU probing, Fast Open, IPv6", "left out of the model"],
        ["BBRv2; Windows, Apple and FreeBSD hosts", "other stacks"],
    ],
}


def section(documents: Mapping[str, Document]) -> Document:
    """The opening; `documents` by the names of their files without `.json`."""
    rows = beside.rows_of(documents)
    asked = beside.by_referee(rows)
    text = []
    tables = []
    if rows:
        presets = [row for row in rows if row.is_preset]
        good = sum(not row.missed for row in presets)
        missed = _outside(rows)
        text = [
            "The same scenarios ran in forebay and in other programs, called *referees*: Linux "
            "kernels, other simulators, and Linux on a live link.",
            comment(rows),
            f"In {len(presets)} scenarios, one of forebay's TCP presets is compared with the stack "
            f"that it is named after. {good} of them are within the goal.{_testbeds(documents)}",
            f"In {len(rows) - len(presets)} more, a simulator is set up like forebay but follows "
            "its *own rules*, which no preset claims to follow.",
            f"{missed.every} scenarios are outside the goal. In {missed.named} a difference is "
            "named: a rule, or the first decision in which packet traces differ, which need not be "
            f"the whole cause. In {missed.overlapping} of these, and in {missed.noise} others, the "
            "95 % intervals overlap, so that more seeds are needed. "
            f"{missed.unknown} are not explained{_where(rows)}.",
            GOAL,
            "`benches/peers/trace_diff.py` names the first decision in which two packet traces "
            "(`tcp_trace`) differ.",
        ]
        tables = [_distances(asked), _worst(asked), HOSTS, UNKNOWN]
    if "disciplines" in documents:
        tables.append(_disciplines(documents["disciplines"]["results"]))
    if "closed-forms" in documents:
        tables.append(_theory(documents["closed-forms"]["results"]))
    return {"section": "In two minutes", "order": 0, "text": text, "tables": tables}


def _distances(asked: Mapping[str, Sequence[Row]]) -> Table:
    lines = []
    for referee, rows in asked.items():
        missed = _outside(rows)
        spreads = [_spread(rows, quantity) for quantity in QUANTITIES]
        good = f"{len(rows) - missed.every} of {len(rows)}"
        named = f"{missed.named} ({missed.overlapping})" if missed.named else "0"
        lines.append([referee, good, *spreads, named, missed.noise, missed.unknown])
    return {
        "heading": "How far forebay is from each referee",
        "text": "Each quantity has the median / the worst difference, over the scenarios in which "
        "the referee's value is not zero. The last three columns count the scenarios that miss the "
        "goal: those with a named difference (in brackets, of these, those whose intervals "
        "overlap), others whose intervals overlap, and the rest.",
        "columns": [
            "referee",
            "within the goal",
            *(f"{words}, {_unit(name)}" for name, words in QUANTITIES.items()),
            "difference named",
            "intervals overlap",
            beside.NOT_EXPLAINED,
        ],
        "rows": lines,
    }


@dataclass(frozen=True)
class Outside:
    """How many rows are outside the goal, each counted in one of `named`, `noise`, `unknown`."""

    named: int
    """A difference is named."""
    overlapping: int
    """Of these, the intervals overlap as well."""
    noise: int
    """None is named, and the intervals overlap."""
    unknown: int
    """None is named, and they do not."""

    @property
    def every(self) -> int:
        """All that are outside the goal."""
        return self.named + self.noise + self.unknown


def _outside(rows: Sequence[Row]) -> Outside:
    missed = [row for row in rows if row.missed]
    named = [row for row in missed if row.difference]
    others = [row for row in missed if not row.difference]
    noise = sum(row.is_noise for row in others)
    return Outside(len(named), sum(row.is_noise for row in named), noise, len(others) - noise)


def _where(rows: Sequence[Row]) -> str:
    """Where the rows are that nothing explains, if that can be said in few words."""
    unknown = [row for row in rows if row.missed and row.why == beside.NOT_EXPLAINED]
    if not unknown or any(row.is_preset for row in unknown):
        return ""
    return (
        ": there, with *own rules*, forebay is between both simulators or at most "
        f"{100 * TOLERANCE:g} % outside"
    )


def _testbeds(documents: Mapping[str, Document]) -> str:
    """How far forebay is from the testbeds, whose cells are not among the rows."""
    told = []
    if "testbed" in documents:
        cells = documents["testbed"]["results"]
        missed = [
            sum(any(name.endswith(unit) for name in cell["missed"]) for cell in cells)
            for unit in ("Mbit/s", "ms")
        ]
        told.append(
            f" [A testbed](#{anchor(documents['testbed']['section'])}) is not among them: of its "
            f"{len(cells)} cells, {missed[0]} miss in throughput and {missed[1]} in round-trip "
            "times, and the goal there, 95 %, is "
            f"{'missed' if max(missed) > 0.05 * len(cells) else 'reached'}."
        )
    if "unseen" in documents:
        cells = documents["unseen"]["results"]
        told.append(
            f" On [another](#{anchor(documents['unseen']['section'])}), "
            f"{sum(cell['fits'] for cell in cells)} of {len(cells)} goodputs fit."
        )
    return "".join(told)


def _unit(quantity: str) -> str:
    return "points" if quantity == "utilization" else "%"


def _spread(rows: Sequence[Row], quantity: str) -> str:
    middle, most = (
        f"{each:.{2 if each < 10 else 1 if each < 100 else 0}f}"
        for each in beside.spread(rows, quantity)
    )
    return f"{middle} / {most}"


def _worst(asked: Mapping[str, Sequence[Row]]) -> Table:
    lines = []
    for referee, rows in asked.items():
        row = max(rows, key=lambda row: row.excess)
        why = row.why.partition(" (time ")[0] if row.missed else "within the goal"
        lines.append([referee, row.scenario, *_apart(row, row.worst), why])
    return {
        "heading": "The worst scenario of each referee",
        "text": "This is the scenario that exceeds the goal most, or comes closest to it.",
        "columns": ["referee", "scenario", "quantity", "forebay / referee", "apart", "why"],
        "rows": lines,
    }


def _apart(row: Row, quantity: str) -> list[str]:
    """The quantity, both values, and how far apart they are."""
    pair = row.pairs[quantity]
    scale = 1 if quantity == "queue" else 100
    both = f"{scale * pair.ours:.4g} / {scale * pair.theirs:.4g}"
    if quantity == "utilization" or pair.theirs == 0:
        apart = f"{100 * (pair.ours - pair.theirs):+.2f} points"
    else:
        apart = f"{100 * pair.relative:+.1f} %"
    unit = "packets" if quantity == "queue" else "%"
    return [f"{NAMES[quantity]}, {unit}", both, apart]


def _disciplines(results: Mapping[str, Any]) -> Table:
    """The kernel's own disciplines: rows of laws that draw nothing, and of those that do."""
    lines = []
    kinds = dict.fromkeys(row["queue"]["kind"] for row in results["rows"])
    for kind in kinds:
        rows = [row for row in results["rows"] if row["queue"]["kind"] == kind]
        packets = sum(row["packets"] for row in rows)
        if "differ" in rows[0]:
            differ = sum(row["differ"] for row in rows)
            same = f"{100 * (1 - differ / packets):.4g} %"
            left = sum(row["kernel_apart"] + row["forebay_apart"] for row in rows)
            rest = f"{left} packets"
        else:
            apart = max(rows, key=lambda row: abs(_waits(row)))
            same = f"drawn; mean wait apart by {100 * _waits(apart):+.1f} % at most"
            rest = ", ".join(each for row in rows for each in row.get("open", [])) or "nothing"
        why = next((row["difference"] for row in rows if row.get("difference")), "")
        lines.append([kind, len(rows), packets, same, why, rest])
    return {
        "heading": "The kernel's own queue disciplines",
        "text": "forebay's disciplines and those of Linux "
        f"{results['linux']} got identical arrivals. To explain the differences, each law was "
        "written once more with Linux' arithmetic and rules, and with those of the paper or "
        "RFC. *Not explained* is what then still differs.",
        "columns": [
            "discipline",
            "replays",
            "packets",
            "same verdict",
            "why others differ",
            "not explained",
        ],
        "rows": lines,
    }


def _waits(row: Mapping[str, Any]) -> float:
    """How far apart the mean waits of a row are, as a share of the kernel's."""
    return float(row["forebay"]["wait_ms"]["mean"] / row["kernel"]["wait_ms"]["mean"] - 1)


def _theory(results: Sequence[Mapping[str, Any]]) -> Table:
    """The closed forms, by the rule that judges them."""
    lines = []
    for rule in dict.fromkeys(each["rule"] for each in results):
        those = [each for each in results if each["rule"] == rule]
        agree = sum(each["verdict"] == "agrees" for each in those)
        known = [each for each in those if each["reference"]]
        worst = max(map(_error, known), default=None)
        said = "" if worst is None else f"{100 * worst:.2g} %"
        lines.append([rule, f"{agree} of {len(those)}", said])
    return {
        "heading": "Closed forms",
        "text": "forebay was compared with queueing theory, with the shares that schedulers must "
        "give, and with TCP formulas. *Equal* means "
        "equal to the last digit in every run.",
        "columns": ["rule", "agree", "largest error of a mean"],
        "rows": lines,
    }


def _error(found: Mapping[str, Any]) -> float:
    return abs(float(found["mean"]) / float(found["reference"]) - 1)


def missed(rows: Sequence[Row]) -> Table | None:
    """The rows that miss the goal, with what differs in them; nothing if there are none."""
    lines = []
    for row in sorted((row for row in rows if row.missed), key=lambda row: -row.excess):
        for at, quantity in enumerate(row.missed):
            head = ["", "", ""] if at else [row.referee, row.scenario, _segments(row)]
            lines.append([*head, *_apart(row, quantity), "" if at else row.why])
    if not lines:
        return None
    count = sum(bool(row.missed) for row in rows)
    return {
        "heading": f"Outside the goal: {count} of {len(rows)}",
        "text": "The goal is at the top of this page. The last column has the first decision in "
        "which the two senders differ, found by comparing packet traces, with the state of both. "
        "If the decision is not known, it says so.",
        "columns": [
            *("referee", "scenario", "window, segments", "quantity", "forebay / referee", "apart"),
            "the decision that differs",
        ],
        "rows": lines,
    }


def _segments(row: Row) -> str:
    return "" if row.window is None else f"{row.window:.1f}"


def old_linux(rows: Sequence[Row]) -> Document:
    """The section of Linux 2.6, whose file has figures alone."""
    lines = [
        [
            row.referee.split()[1],
            row.scenario,
            _segments(row),
            *(" / ".join(_shown(row, name)) for name in QUANTITIES),
        ]
        for row in rows
    ]
    return {
        "section": "Beside Linux 2.6.18 and 2.6.26",
        "order": 3,
        "command": "python benches/peers/nsc/compare.py",
        "text": [
            "The presets `linux-2.6.18` and `linux-2.6.26` are compared with the kernels of 2006 "
            "and 2008, which the Network Simulation Cradle runs (`benches/peers/nsc`). The "
            "scenarios are a dumbbell of 10 Mbit/s with room for 30 packets. Flows start at the "
            "same instants in both programs.",
        ],
        "tables": [
            {
                "heading": "Tail drop",
                "text": "forebay / kernel.",
                "columns": [
                    *("kernel", "scenario", "window, segments"),
                    *("mean queue, packets", "utilization, %", "loss, %"),
                ],
                "rows": lines,
            }
        ],
    }


def _shown(row: Row, quantity: str) -> tuple[str, str]:
    scale = 1 if quantity == "queue" else 100
    pair = row.pairs[quantity]
    mark = "**" if quantity in row.missed else ""
    return f"{mark}{scale * pair.ours:.4g}{mark}", f"{scale * pair.theirs:.4g}"
