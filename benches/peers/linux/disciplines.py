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

import disciplines_page
import draws
import law
import numpy as np
import replay
import scipy.stats
from referee import Missing, run, versions
from replay import MTU, OUTCOMES, Arrivals, Verdicts

import forebay
from forebay import _engine, _written
from forebay.lab.virtual.machine import EPOCH

sys.path.append(str(Path(__file__).resolve().parents[1]))
from kept import Kept, digest

HERE = Path(__file__).resolve().parent
LAWFUL: list[dict[str, Any]] = [
    {"kind": "fifo", "limit": "50p"},
    {"kind": "codel", "ecn": False},
    {"kind": "codel", "ecn": True},
    {"kind": "fq-codel", "ecn": False},
    {"kind": "fq-codel", "ecn": True},
    {"kind": "fq-codel", "ecn": False, "backlog": "all"},
    {"kind": "fq-codel", "ecn": True, "backlog": "all"},
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
        "tcp": {"preset": "linux", "ecn": True, "stack": {"gso_max_segs": 1}},
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
    options.output.write_text(_written.dump(disciplines_page.section(document)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
