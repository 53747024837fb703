"""Queue disciplines against the kernel's own; writes docs/validation/disciplines.json.

Usage: python benches/peers/linux/disciplines.py [--seeds 8] [--seconds 30] [--only KIND]

Each discipline is given the same arrivals twice: in forebay and in Linux 6.1 in virtual time.
Needs what `make virtual-linux` builds, and cargo. A row that was measured with the same inputs is
kept.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import draws
import law
import numpy as np
import replay
import scipy.stats
from referee import Missing, run, versions
from replay import MTU, Arrivals, Verdicts

import forebay
from forebay import _engine
from forebay.lab.virtual.machine import EPOCH
from forebay.validate.kept import Kept, digest

HERE = Path(__file__).resolve().parent
LAWFUL: list[dict[str, Any]] = [
    {"kind": "fifo", "limit": "50p"},
    {"kind": "codel", "ecn": False},
    {"kind": "codel", "ecn": True},
    {"kind": "fq-codel", "ecn": False},
    {"kind": "fq-codel", "ecn": True},
]
"""Disciplines that draw nothing."""

RED = {
    "kind": "red",
    "limit": "300KB",
    "min_th": "15KB",
    "max_th": "45KB",
    "max_p": 0.25,
    "weight": 0.5**9,
    "gentle": False,
    "mean_packet": "1000B",
}
LEVELS = [
    {"min_th": "30KB", "max_th": "60KB", "max_p": 0.1},
    {"min_th": "15KB", "max_th": "45KB", "max_p": 0.5},
]
# Linux's updates come at whole ticks of 4 ms.
PIE = {"t_update": "16ms", "ecn": True}
DRAWING: list[dict[str, Any]] = [
    {**RED, "ecn": False},
    {**RED, "ecn": True},
    {
        **{key: RED[key] for key in ("limit", "weight", "gentle", "mean_packet")},
        "kind": "wred",
        "levels": LEVELS,
    },
    {"kind": "pie", **PIE},
    {"kind": "fq-pie", **PIE},
]
"""Disciplines that draw random numbers."""

SHAPED = {"kind": "cake", "bandwidth": "9Mbit"}
SOURCED: list[dict[str, Any]] = [
    {"kind": "cake", "diffserv": "besteffort", "isolation": "flows"},
    {**SHAPED, "diffserv": "besteffort", "isolation": "flows"},
    {"kind": "cake"},
    {
        **SHAPED,
        **{"diffserv": "diffserv4", "overhead": 44, "framing": "atm", "mpu": "96B"},
        # Which no queue fills: the kernel's limit counts something else.
        "memory_limit": "64MB",
    },
]
"""Disciplines whose source is Linux's: nothing else says what they should do."""

# Bursts of which tc's ticks cut nothing off.
LEAF = {"rate": "1Mbit", "ceil": "9Mbit", "burst": "1600B", "cburst": "2250B"}
ROOT = {"rate": "9Mbit", "burst": "2250B", "cburst": "2250B"}
TREES: list[dict[str, Any]] = [
    # Two share what is lent by bytes, behind one of a higher priority; one is held at its ceiling.
    {
        "kind": "htb",
        "classes": [
            {
                **ROOT,
                "classes": [
                    {**LEAF, "rate": "2Mbit"},
                    {**LEAF, "priority": 1, "queue": {"kind": "fifo", "limit": "50p"}},
                    {**LEAF, "priority": 1, "quantum": "3KB"},
                    {**LEAF, "ceil": "1500kbit", "cburst": "1500B"},
                ],
            }
        ],
    },
    # Branches that lend to each other, over queues that have a law.
    {
        "kind": "htb",
        "classes": [
            {
                **ROOT,
                "classes": [
                    {
                        **{"rate": "6Mbit", "ceil": "8Mbit", "burst": "1500B", "cburst": "1600B"},
                        "classes": [LEAF, {**LEAF, "burst": "30KB", "queue": {"kind": "codel"}}],
                    },
                    {
                        **{"rate": "3Mbit", "ceil": "9Mbit", "burst": "1500B", "cburst": "2250B"},
                        "classes": [
                            {**LEAF, "queue": {"kind": "fq-codel"}},
                            {**LEAF, "priority": 7, "queue": {"kind": "fifo", "limit": "20p"}},
                        ],
                    },
                ],
            }
        ],
    },
]
"""Trees of classes."""

# A byte takes a whole number of nanoseconds.
THIN = {"kind": "cake", "bandwidth": "125kbit", "diffserv": "besteffort", "isolation": "flows"}
FILTERS = [{**THIN, "ack_filter": name} for name in ("none", "conservative", "aggressive")]
"""CAKE where acknowledgments wait."""


@dataclass(frozen=True)
class Trace:
    """Arrivals, and the link that they come to."""

    name: str
    about: str
    arrivals: Arrivals
    rate: int
    acknowledges: bool = False
    """Whether its packets are acknowledgments, for what looks at them."""


def traces(seconds: int) -> list[Trace]:
    """One recorded trace, and one made up of packets of all sizes."""
    tree = {
        "duration": f"{seconds}s",
        "tcp": {"preset": "linux", "ecn": True},
        "dumbbell": {"rate": "10Mbit", "delay": "20ms", "queue": {"kind": "fifo", "limit": "30p"}},
        "traffic": [{"name": "bulk", "kind": "bulk", "flows": 16, "start": ["0s", "5s"]}],
    }
    _, seen = run(tree)
    every = replay.recorded(seen)
    # Every other flow understands marks, and has the higher drop precedence.
    every["tos"] = np.where(every["flow"] % 2 == 1, replay.ECT | 4, 0)
    return [
        Trace(
            "recorded",
            "16 CUBIC flows of Linux as they reached a link of 10 Mbit/s, onto 9.6 Mbit/s",
            every,
            9_600_000,
        ),
        Trace(
            "mixed",
            "8 flows of Poisson arrivals of 64, 576 and 1500 bytes, 10.5 onto 10 Mbit/s",
            replay.poisson(1, 10.5e6, seconds, 8, precedences=2),
            10_000_000,
        ),
        Trace(
            "acknowledgments",
            "what the receivers of such flows answer to drops and marks, onto 125 kbit/s",
            answers(tree, seconds),
            10_000_000,
            acknowledges=True,
        ),
    ]


def answers(tree: Mapping[str, Any], seconds: int) -> Arrivals:
    """The acknowledgments of a run in which the queue marks some packets and drops others."""
    queue = {"kind": "codel", "ecn": True, "limit": "25p"}
    _, seen = run({**tree, "dumbbell": {**tree["dumbbell"], "queue": queue}}, trace=seconds)
    return replay.acknowledgments(seen)


def whole(queue: Mapping[str, Any]) -> dict[str, Any]:
    """A queue table with all its defaults."""
    tree = {
        "duration": "1s",
        "dumbbell": {"rate": "10Mbit", "queue": dict(queue)},
        "traffic": [{"name": "bulk", "kind": "bulk"}],
    }
    return dict(json.loads(_engine.plan(json.dumps(tree), "."))["links"][0]["queue"])


def differing(one: Verdicts, other: Verdicts) -> int:
    """Packets with another outcome."""
    return int((one.outcome != other.outcome).sum())


OUTCOMES = ("sent", "marked", "dropped")


def verdicts(kernel: Verdicts, ours: Verdicts) -> dict[str, dict[str, int]]:
    """Packets by forebay's verdict, and of these by the kernel's."""
    return {
        one: {
            other: int(((ours.outcome == a) & (kernel.outcome == b)).sum())
            for b, other in enumerate(OUTCOMES)
        }
        for a, one in enumerate(OUTCOMES)
    }


def apart(one: Verdicts, other: Verdicts) -> int:
    """Packets with another outcome, or that left at another time."""
    return int(((one.left != other.left) | (one.marked != other.marked)).sum())


def lawful(trace: Trace, given: Mapping[str, Any]) -> dict[str, Any]:
    """What became of the packets under a discipline that draws nothing."""
    queue = whole(given)
    kernel = replay.kernel(trace.arrivals, queue, trace.rate, 1)
    ours = replay.ours(trace.arrivals, queue, trace.rate, 1)
    row = {
        "trace": trace.name,
        "queue": dict(given),
        "packets": len(trace.arrivals),
        "kernel": counts(kernel),
        "forebay": counts(ours),
        "differ": differing(kernel, ours),
        "verdicts": verdicts(kernel, ours),
    }
    if queue["kind"] == "fifo":
        return row | {"kernel_apart": apart(kernel, ours), "forebay_apart": apart(kernel, ours)}

    def under(how: law.Arithmetic) -> Verdicts:
        return judged(*law.Law(trace.arrivals, queue, trace.rate, MTU, how).run())

    by_source, by_ours = under(law.Arithmetic()), under(law.Forebay())
    return row | {
        "kernel_apart": apart(kernel, under(law.Linux(EPOCH))),
        "forebay_apart": apart(ours, by_ours),
        "idle_apart": differing(by_source, by_ours),
        "idle_asks": counts(by_source),
    }


def judged(left: Sequence[float], marked: Sequence[bool]) -> Verdicts:
    """What a law in Python found."""
    return Verdicts(np.array(left).astype(np.int64), np.array(marked))


def counts(verdicts: Verdicts) -> dict[str, int]:
    """Packets by outcome."""
    each = np.bincount(verdicts.outcome, minlength=len(OUTCOMES))
    return {name: int(count) for name, count in zip(OUTCOMES, each, strict=True)}


def seeded(
    trace: Trace, queue: Mapping[str, Any], seeds: int
) -> tuple[list[Verdicts], list[Verdicts]]:
    """The kernel's verdicts and ours, a run a seed."""
    kernel, ours = (
        [ask(trace.arrivals, queue, trace.rate, seed) for seed in range(seeds)]
        for ask in (replay.kernel, replay.ours)
    )
    return kernel, ours


def drawing(trace: Trace, given: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    """The distribution of what became of them under one that does."""
    queue = whole(given)
    kernel, ours = seeded(trace, queue, seeds)

    def by(rules: draws.Rules) -> list[Verdicts]:
        return [
            judged(*draws.run(trace.arrivals, queue, trace.rate, seed, rules))
            for seed in range(seeds)
        ]

    row = {"trace": trace.name, "queue": dict(given), "packets": len(trace.arrivals)}
    several = {
        "kernel": kernel,
        "forebay": ours,
        "source": by(draws.SOURCE),
        "linux": by(draws.LINUX),
        "changed": by(draws.ONE_CHANGED[draws.LAWS[queue["kind"]]]),
    }
    for name, runs in several.items():
        row[name] = measured(trace, runs)
    distance = scipy.stats.ks_2samp(gaps(kernel), gaps(ours)).statistic
    return row | {"gap_distance": float(distance), "open": unexplained(row)}


def sourced(trace: Trace, given: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    """What became of them in both, where Linux is the source."""
    queue = whole(given)
    kernel, ours = seeded(trace, queue, seeds)
    row: dict[str, Any] = {"trace": trace.name, "queue": dict(given)}
    row["packets"] = len(trace.arrivals)
    row["other_times"] = apart(kernel[0], ours[0])
    for name, runs in (("kernel", kernel), ("forebay", ours)):
        row[name] = measured(trace, runs)
    return row | {"open": [words for name, words in MEASURES.items() if is_apart(row, name)]}


def measured(trace: Trace, runs: Sequence[Verdicts]) -> dict[str, dict[str, float | None]]:
    """Means over the runs."""
    return {
        "dropped": estimate([float((each.left < 0).mean()) for each in runs]),
        "marked": estimate([float(each.marked.mean()) for each in runs]),
        "wait_ms": estimate([wait(trace, each) for each in runs]),
    }


MEASURES = {"dropped": "drops", "marked": "marks", "wait_ms": "mean wait"}


def unexplained(row: Mapping[str, Any]) -> list[str]:
    """Where forebay is apart from its source's rules, or the kernel from Linux's.

    That is where the difference of two means is more than both intervals' half-widths together.
    """
    return [
        f"{who}: {words}"
        for who, rules in (("forebay", "source"), ("kernel", "linux"))
        for name, words in MEASURES.items()
        if is_apart(row, name, who, rules)
    ]


def is_apart(
    row: Mapping[str, Any], name: str, one: str = "kernel", other: str = "forebay"
) -> bool:
    """Whether two means are further apart than both intervals' half-widths together."""
    first, second = row[one][name], row[other][name]
    room = (first["half_width"] or 0) + (second["half_width"] or 0)
    return bool(abs(first["mean"] - second["mean"]) > room)


def estimate(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and half-width of the 95 % interval."""
    found = forebay.interval(list(values))
    assert found is not None, "there is at least one run"
    return {"mean": found.mean, "half_width": found.half_width}


def wait(trace: Trace, verdicts: Verdicts) -> float:
    """Mean wait of what was sent, ms."""
    sent = verdicts.left >= 0
    return float((verdicts.left[sent] - trace.arrivals["time"][sent]).mean()) / 1e6


def gaps(runs: Sequence[Verdicts]) -> Any:
    """Arrivals from one signal, a drop or a mark, to the next."""
    return np.concatenate([np.diff(np.flatnonzero(each.outcome > 0)) for each in runs])


def section(document: Mapping[str, Any]) -> dict[str, Any]:
    """The section of the validation page."""
    lawful = [row for row in document["rows"] if "differ" in row]
    drawing = [row for row in document["rows"] if "source" in row]
    sourced = [row for row in document["rows"] if "other_times" in row]
    explained = sum(row["kernel_apart"] == row["forebay_apart"] == 0 for row in lawful)
    said = ". ".join(f"*{name}*: {about}" for name, about in document["traces"].items())
    return {
        "section": "Queue disciplines beside the kernel's own",
        "order": 3,
        "version": forebay.__version__,
        "command": "python benches/peers/linux/disciplines.py",
        "text": [
            f"The same arrivals through forebay's disciplines and those of Linux "
            f"{document['linux']} in virtual time, with the same link behind them; nothing answers "
            f"a drop. The arrivals last {document['seconds']} s. {said}.",
        ],
        "tables": [
            {
                "heading": "Laws without random numbers",
                "text": LAW_TEXT.format(explained=explained, rows=len(lawful)),
                "columns": [
                    *("arrivals", "discipline", "packets", "dropped: forebay / Linux"),
                    *("marked: forebay / Linux", "other verdict, forebay and Linux"),
                    *("apart, law and Linux", "apart, law and forebay"),
                    *("other verdict if an idle link asked", "dropped / marked then"),
                ],
                "rows": [lawful_line(row) for row in lawful],
            },
            {
                "heading": "Verdict by verdict",
                "text": VERDICTS_TEXT,
                "columns": ["arrivals", "discipline", *(f"{a} / {b}" for a, b in PAIRS)],
                "rows": [
                    [
                        *(row["trace"], described(row["queue"])),
                        *(row["verdicts"][a][b] for a, b in PAIRS),
                    ]
                    for row in lawful
                ],
            },
            {
                "heading": "Laws that draw",
                "text": DRAW_TEXT.format(
                    seeds=document["seeds"],
                    rows=len(drawing),
                    explained=sum(not row["open"] for row in drawing),
                    idle=most(drawing, ("red", "wred"), "source"),
                    capped=most(drawing, ("pie", "fq-pie"), "linux"),
                ),
                "columns": [
                    *("arrivals", "discipline", "dropped, %: forebay / Linux"),
                    *("marked, %: forebay / Linux", "mean wait, ms: forebay / Linux"),
                    *("the same by source / by Linux's rules", "with one rule changed"),
                    *("distance of gaps", "open"),
                ],
                "rows": [drawing_line(row) for row in drawing],
            },
            {
                "heading": "Laws whose source is Linux",
                "text": SOURCED_TEXT.format(seeds=document["seeds"]),
                "columns": [
                    *("arrivals", "discipline", "packets", "other time or verdict, first seed"),
                    *("dropped, %: forebay / Linux", "marked, %: forebay / Linux"),
                    *("mean wait, ms: forebay / Linux", "open"),
                ],
                "rows": [sourced_line(row) for row in sourced],
            },
        ],
        "results": dict(document),
    }


LAW_TEXT = (
    "Beside both stands the law once more in plain Python (`benches/peers/linux/law.py`), once "
    "with the arithmetic of the RFCs and once with Linux's. The columns *apart* count packets "
    "that left at another nanosecond or with another verdict than that says; in {explained} of "
    "{rows} rows there are none, so that what forebay and Linux differ in is that arithmetic and "
    "nothing else: Linux's clock of 1024 ns; its root of 16 bits, for which one step of Newton's "
    "iteration "
    "is made at a time, so that the third drop comes half an interval after the second, where RFC "
    "8289 has interval / sqrt(2); in FQ-CoDel the backlog of all queues where RFC 8289 has the "
    "queue's own, an emptied new queue that is forgotten at once if there is no old one, and a "
    "packet that finds nothing waiting, which passes the discipline by. Where forebay is not the "
    "RFC's: an idle link does not ask the empty queues of FQ-CoDel, so that one that ran empty "
    "stays on its list until the next packet (D1 of `schedule/fair.rs`), and CoDel's state is left "
    "until then: a discipline has no timers, and is asked when there is something to send. The "
    "last two columns have the packets that would have another verdict if it asked, and what would "
    "be dropped and marked then."
)
VERDICTS_TEXT = (
    "Packets by forebay's verdict / Linux's. Where one has dropped and the other has not, the "
    "delays of all that follows are others, and the two go on to drop other packets."
)
PAIRS = [(a, b) for a in OUTCOMES for b in OUTCOMES]
DRAW_TEXT = (
    "{seeds} seeds; mean and 95 % interval. Beside them stands the mean wait of the same law in "
    "plain Python (`benches/peers/linux/draws.py`), by its source and by Linux's rules: what these "
    "two differ by is what the rules explain. *Open* is where forebay and its source's rules, or "
    "Linux and Linux's, are further apart than both intervals; {explained} of {rows} rows have "
    "nothing open.\n\n"
    "RED and GRED: Linux draws gaps of 1 to 1/p arrivals, figure 2 of the paper gives 1 to 1/p - "
    "1. Linux counts an arrival that finds nothing waiting while the last packet is being sent as "
    "a length of zero. The paper takes the idle time of an empty queue; forebay's begins when "
    "the link falls idle, so that such an arrival changes nothing (D1 of `admit/average.rs`). "
    "*With one rule changed* has the source's rules with that one of Linux's: {idle:.2f} ms more "
    "at most.\n\n"
    "PIE: Linux asks for the delay of the last departure where RFC 8033 has that of the last "
    "update, lets the probability decay by 1/64 rather than 2 %, and adds 2 % for delays above "
    "250 ms, which FQ-PIE's queues reach. Its probability may rise above 1, because what is looked "
    "for is the overflow of a word in which 1 is 2^56: a queue whose packets are all dropped goes "
    "on being dropped until the probability is below 1 again, and waits less. RFC 8033 bounds it "
    "(appendix A). *With one rule changed* has Linux's rules with the probability held at 1: "
    "{capped:.2f} ms more at most. Updates of Linux come a tick of 4 ms later than it is told, "
    "which the harness takes into account: told RFC 8033's 15 ms, Linux updates every 20 ms.\n\n"
    "*Distance of gaps* is the Kolmogorov-Smirnov distance between the distributions of the gaps "
    "from one drop or mark to the next, in arrivals, of forebay and Linux."
)
SOURCED_TEXT = (
    "{seeds} seeds; mean and 95 % interval. Both CAKEs round the bytes of a flow's round at "
    "random, so "
    "that single packets part sooner or later; where the rounding decides nothing, as in the "
    "second row, none leaves at another nanosecond. All flows are of one pair of hosts. With 32 "
    "seeds the second row of *mixed* has nothing open. The ACK filter finds the same "
    "acknowledgments to drop. HTB draws "
    "nothing: it differs only by the laws of its leaves. Over FIFOs every packet leaves at the "
    "kernel's nanosecond. Most of the difference is FQ-CoDel's. Its arrivals of *mixed* were "
    "replayed alone, on a link of the 2.5 Mbit/s that the leaf had. They wait 47.5 ms by forebay's "
    "law in plain Python and 41.0 ms by Linux's. One rule makes it 41.7 ms: Linux's looks at the "
    "backlog of all its queues before it spares one that holds no more than a packet. The first "
    "packet of *recorded* "
    "with another fate is a drop of CoDel's, which Linux's root of 16 bits puts a packet earlier. "
    "*Open* is what is further apart than both "
    "intervals."
)
CODEL = "Linux's clock of 1024 ns and its root of 16 bits, one step of Newton's iteration at a time"
CURVE = "Linux's gaps of 1 to 1/p arrivals, and arrivals during the last transmission that count"
READ = ("disciplines", "replay", "law", "draws", "qdisc", "records")
"""The scripts by which a row comes about."""
WHY = {
    "codel": CODEL,
    "fq-codel": f"{CODEL}; the backlog of all queues in place of the queue's own",
    "red": CURVE,
    "wred": CURVE,
    "pie": "Linux asks for the delay of the last departure, not that of the last update",
    "fq-pie": "2 % more at each update above 250 ms, and a probability that may rise above 1",
    "cake": "the bytes of a round, which both round at random",
    "htb": "the law of the leaves; the tree itself has no difference",
}
"""Why Linux's verdicts are others, in a few words."""


def most(rows: Sequence[Mapping[str, Any]], kinds: Sequence[str], rules: str) -> float:
    """By how much the one changed rule moves the mean wait, ms: the most of all rows."""
    moved = [
        row["changed"]["wait_ms"]["mean"] - row[rules]["wait_ms"]["mean"]
        for row in rows
        if row["queue"]["kind"] in kinds
    ]
    return max(moved, key=abs, default=0.0)


def described(queue: Mapping[str, Any]) -> str:
    """A discipline, as short as it can be told from the others."""
    return f"{queue['kind']}, marks" if queue.get("ecn") else str(queue["kind"])


def lawful_line(row: Mapping[str, Any]) -> list[Any]:
    """A line of the first table."""
    both = [f"{row['forebay'][name]} / {row['kernel'][name]}" for name in ("dropped", "marked")]
    head = [row["trace"], described(row["queue"]), row["packets"], *both, row["differ"]]
    asked = "{dropped} / {marked}".format(**row["idle_asks"]) if "idle_asks" in row else ""
    return [*head, row["kernel_apart"], row["forebay_apart"], row.get("idle_apart", ""), asked]


def pair(
    row: Mapping[str, Any], name: str, scale: float, whose: Sequence[str] = ("forebay", "kernel")
) -> str:
    """Means and intervals of two."""
    each = (row[who][name] for who in whose)
    return " / ".join(
        f"{one['mean'] * scale:.4g} ± {one['half_width'] * scale:.1g}" for one in each
    )


def drawing_line(row: Mapping[str, Any]) -> list[Any]:
    """A line of the second table."""
    cells = [pair(row, "dropped", 100), pair(row, "marked", 100), pair(row, "wait_ms", 1)]
    cells.append(pair(row, "wait_ms", 1, ("source", "linux")))
    cells.append(pair(row, "wait_ms", 1, ("changed",)))
    distance = f"{row['gap_distance']:.3f}"
    return [row["trace"], described(row["queue"]), *cells, distance, ", ".join(row["open"])]


def branch(table: Mapping[str, Any]) -> str:
    """A class of a tree in one line: its rates, and what is below it."""
    rates = f"{table['rate']} to {table.get('ceil', table['rate'])}"
    if "classes" in table:
        return f"{rates} over ({'; '.join(map(branch, table['classes']))})"
    more = [f"priority {table['priority']}"] if "priority" in table else []
    more += [f"{name} {table[name]}" for name in ("quantum",) if name in table]
    more += [" ".join(table["queue"].values())] if "queue" in table else []
    return ", ".join([rates, *more])


def sourced_line(row: Mapping[str, Any]) -> list[Any]:
    """A line of the third table."""
    queue = row["queue"]
    fields = [f"{name} {value}" for name, value in queue.items() if name not in ("kind", "classes")]
    fields += ["; ".join(map(branch, queue["classes"]))] if "classes" in queue else []
    head = [row["trace"], ", ".join([queue["kind"], *fields]), row["packets"]]
    cells = [pair(row, "dropped", 100), pair(row, "marked", 100), pair(row, "wait_ms", 1)]
    return [*head, row["other_times"], *cells, ", ".join(row["open"])]


def main() -> int:
    """Compare all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--only", metavar="KIND", help="keep what OUTPUT has of other kinds")
    parser.add_argument("--output", type=Path, default=Path("docs/validation/disciplines.json"))
    options = parser.parse_args()
    try:
        made = versions()
        seen = traces(options.seconds)
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    drawn = functools.partial(drawing, seeds=options.seeds)
    by_source = functools.partial(sourced, seeds=options.seeds)
    asked: list[tuple[dict[str, Any], Callable[..., dict[str, Any]]]] = [
        *((each, lawful) for each in LAWFUL),
        *((each, drawn) for each in DRAWING),
        *((each, by_source) for each in [*SOURCED, *TREES]),
    ]
    filters = [(each, by_source) for each in FILTERS]
    kept = Kept(replay.ROOT / "target" / "validation" / "disciplines.jsonl")
    # What decides beside the arrivals: kernel, engine, laws and what they are asked by.
    inputs = {
        "linux": made,
        "programs": digest(Path(replay.engine()), *(HERE / f"{name}.py" for name in READ)),
    }
    before = json.loads(options.output.read_text("utf-8"))["results"] if options.only else {}
    rows: list[dict[str, Any]] = []
    for trace in seen:
        arrivals = {
            "trace": trace.name,
            "arrivals": hashlib.sha256(trace.arrivals.tobytes()).hexdigest(),
        }
        rows += [
            row
            for row in before.get("rows", ())
            if (row["trace"], row["queue"]["kind"] == options.only) == (trace.name, False)
        ]
        for queue, judge in filters if trace.acknowledges else asked:
            if options.only not in (None, queue["kind"]):
                continue
            given = inputs | arrivals | {"rate": trace.rate, "queue": queue, "seeds": options.seeds}
            row = kept.of(given, functools.partial(judge, trace, queue))
            rows.append({**row, "difference": WHY.get(queue["kind"], "")})
            print(rows[-1], file=sys.stderr, flush=True)
    document = {
        "linux": made["version"],
        "seeds": options.seeds,
        "seconds": options.seconds,
        "traces": {trace.name: trace.about for trace in seen},
        "rows": rows,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(section(document), indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
