"""The cases of `forebay suite attack`, found anew: one attack on each kind, its worst find kept.

    python benches/worst_cases.py OUT [--minutes 0.25] [--kinds codel,pie] [--measure starvation]
        [--finds 3] [--results docs/attack/worst.json]

The network is the same for all: a download, a call and a sensor on 10 Mbit/s, whose path keeps its
rate and makes no errors, as Linux in virtual time can run nothing else. A case gets the first
find that is confirmed, or the worst, if none is, and the kind that does best in its network. Cases
that are there are left as they are. OUT keeps all runs, those in Linux too; called again, it goes
on. `--results` keeps the worst find of each kind, confirmed or not, the worst first: what is
confirmed of the ten worst is counted there, not in the cases, which prefer what is confirmed.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from forebay import _disk, _engine, _written, attack
from forebay._scenario import Scenario, to_toml
from forebay._suite import catalogue
from forebay.attack import words
from forebay.attack.confirm import CONFIRMED
from forebay.attack.finds import Found
from forebay.attack.outcome import Outcome
from forebay.attack.plan import Target
from forebay.attack.trials import Trials

NETWORK: dict[str, Any] = {
    "title": "A download, a call and a sensor",
    "duration": "20s",
    "warmup": "2s",
    "tcp": {"congestion": "cubic"},
    "dumbbell": {"rate": "10Mbit", "delay": "15ms"},
    "traffic": [
        {"name": "download", "kind": "bulk"},
        {"name": "call", "kind": "voice", "q": 1, "precedence": 1, "dscp": "EF"},
        {"name": "sensor", "kind": "cbr", "rate": "8kbit", "size": "120B"},
    ],
}
NAME = "attack"
BOUNDS = attack.Bounds(slow="none", loss="none", reorder="none", cut="none")
"""The usual ones, on a path that stays as it is: what Linux in virtual time can run."""
CANDIDATES = ("fq-codel", "cake", "drr", "fq-pie", "dualpi2", "cp-aqm", "codel", "pie", "fifo")
"""Kinds that may do better, those that most systems have first."""


def better(found: Found, target: Target, measure: str, kind: str) -> tuple[str, float]:
    """The kind that does best in the network of a find, and its harm there."""
    best = ("", math.inf)
    for other in CANDIDATES:
        if other == kind:
            continue
        harm = _harm(found, target, measure, {"kind": other})
        # What is nearly as good and comes first is taken.
        if harm < best[1] - 0.02 * max(1.0, abs(found.harm)):
            best = (other, harm)
    return best


def _harm(found: Found, target: Target, measure: str, queue: dict[str, Any]) -> float:
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="forebay-") as folder,
        Trials(target, measure, Path(folder), queue=queue) as trials,
    ):
        [harm] = trials.harms([found.small.plan], range(1, 4))
    return harm.mean


def case(outcome: Outcome, found: Found, kind: str, other: str) -> dict[str, Any]:
    """The file of a case."""
    document = found.scenario.document
    document["dumbbell"].pop("queue", None)
    document["title"] = NETWORK["title"]
    document.pop("seed")
    return {
        "title": title(found),
        "found": kind,
        "measure": outcome.measure.name,
        "joined": [
            outcome.target.name_of(at) for at in range(1, len(found.small.plan.joining) + 1)
        ],
        "confirmed": [each.how for each in found.confirmations if each.verdict == CONFIRMED],
        "about": words.in_short(outcome.target, found.small.plan),
        "change": f"Use {other}.",
        "better": {"kind": other},
        "seed": 1,
        "scenario": document,
    }


def title(found: Found) -> str:
    """What a find does, in a few words."""
    plan = found.small.plan
    parts = []
    if plan.slow is not None:
        parts.append("a link that slows down")
    if plan.loss is not None:
        parts.append("random loss")
    if plan.reorder is not None:
        parts.append("reordering")
    if plan.cut is not None:
        parts.append("a wire that loses everything at times")
    if plan.delay is not None:
        parts.append(f"a delay of {1000 * plan.delay:.3g} ms")
    kinds = {"cbr": "a flood", "poisson": "a flood", "on-off": "pulses", "bulk": "transfers",
             "files": "short transfers"}  # fmt: skip
    parts += dict.fromkeys(kinds[each.kind] for each in plan.joining)
    return ", ".join(parts)


def row(kind: str, found: Found, outcome: Outcome) -> dict[str, Any]:
    """A find for the results."""
    return {
        "kind": kind,
        "harm": float(f"{found.harm:.4g}"),
        "verdict": found.verdict,
        "about": words.in_short(outcome.target, found.small.plan),
        "confirmations": confirmations(found, outcome),
    }


def confirmations(found: Found, outcome: Outcome) -> list[dict[str, Any]]:
    """How a find was looked at again, and what came out."""
    return [
        {
            "how": each.how,
            "verdict": each.verdict,
            "harm": words.interval(outcome.measure, each.found),
            "why": each.why,
        }
        for each in found.confirmations
    ]


def main() -> None:
    """Attack every kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=0.25)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--measure", default="starvation")
    parser.add_argument("--finds", type=int, default=3)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    kinds = options.kinds.split(",") if options.kinds else list(catalogue.header(NAME).disciplines)
    scenario = Scenario.of(NETWORK, "network.toml")
    rows = []
    for kind in kinds:
        path = catalogue.HOME / NAME / f"{kind}-{options.measure}.toml"
        if path.exists() and options.results is None:
            continue
        outcome = attack.attack(
            scenario,
            options.out / f"{kind}-{options.measure}",
            discipline=kind,
            measure=options.measure,
            bounds=BOUNDS,
            seconds=60 * options.minutes,
            finds=options.finds,
            command=f"python benches/worst_cases.py --kinds {kind} --measure {options.measure} "
            f"--minutes {options.minutes:g}",
        )
        if not outcome.finds:
            print(kind, "nothing found", flush=True)
            continue
        rows.append(row(kind, outcome.finds[0], outcome))
        confirmed = [each for each in outcome.finds if each.verdict == CONFIRMED]
        found = (confirmed or outcome.finds)[0]
        told = [kind, found.verdict, f"{found.harm:.3f}", title(found)]
        if not path.exists():
            other, harm = better(found, outcome.target, options.measure, kind)
            _disk.write(path, to_toml(case(outcome, found, kind, other)))
            told += [other, f"{harm:.3f}"]
        print(*told, flush=True)
    if options.results is not None:
        rows.sort(key=lambda each: -each["harm"])
        kept = {
            "version": _engine.version,
            "measure": options.measure,
            "minutes": options.minutes,
            "finds": rows,
        }
        _disk.write(options.results, _written.dump(kept))
        ten = rows[:10]
        print(f"of the ten worst {sum(each['verdict'] == CONFIRMED for each in ten)} are confirmed")


if __name__ == "__main__":
    main()
