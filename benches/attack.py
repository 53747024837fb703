"""Whether attacks that are known are found unaided, and how long it takes, beside a random search.

    python benches/attack.py docs/attack/known.json [--minutes 2] [--seeds 11-13]

Each known attack is a small scenario, what is attacked, a measure, and a rule that says whether a
candidate is that attack: what it may pay, what it may do to the path, how it sends, and how much
harm it does. The rules were written with seed 1, which is not reported. The bounds are the usual
ones, the same for all. A search ends when it meets the attack, or after some minutes of processor
time; a random search draws from the same bounds. What is done is kept; called again, it goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forebay import _disk, _engine, _written
from forebay._scenario import Scenario
from forebay.attack.bounds import Bounds
from forebay.attack.plan import DATAGRAMS, Plan, Space, Target
from forebay.attack.search import Guide, Tried, search
from forebay.attack.trials import Trials

HOME = Path(__file__).parent / "attacks"
GUIDES: tuple[Guide, ...] = ("archive", "random")


@dataclass(frozen=True)
class Known:
    """A known attack."""

    name: str
    source: str
    rule: str
    """In words, what a candidate must be."""
    traffic: list[dict[str, Any]]
    queue: dict[str, Any]
    measure: str
    holds: Callable[[Tried, float], bool]
    """Of a candidate, and the harm in the scenario as it is."""
    tcp: dict[str, Any]
    plugin: str = ""
    again: Callable[[Trials, Tried], bool] = lambda _trials, _each: True
    """A second look at one that holds."""

    @property
    def scenario(self) -> Scenario:
        """A dumbbell of 10 Mbit/s and 30 ms, for 20 s."""
        document: dict[str, Any] = {
            "duration": "20s",
            "warmup": "2s",
            "dumbbell": {"rate": "10Mbit", "delay": "15ms", "queue": self.queue},
            "traffic": self.traffic,
            "tcp": self.tcp,
        }
        if self.plugin:
            document["plugins"] = [str(HOME / self.plugin)]
        return Scenario.of(document, f"{self.name}.toml", str(HOME))


def _clean(plan: Plan) -> bool:
    return all(each is None for each in (plan.slow, plan.loss, plan.reorder, plan.cut))


def _datagrams(plan: Plan) -> bool:
    """Whether nothing but datagrams joins."""
    return bool(plan.joining) and all(each.kind in DATAGRAMS for each in plan.joining)


def _pulses(plan: Plan, at_least: float = 0.0) -> bool:
    """Whether pulses make most of the load, and how high they rise."""
    load = sum(each.load for each in plan.joining if each.kind == "on-off")
    peak = max((each.rate for each in plan.joining if each.kind == "on-off"), default=0.0)
    return load > 0.5 * plan.load and peak >= at_least


def _phase(trials: Trials, each: Tried) -> bool:
    """Whether the harm halves if the delay changes by 1 % or 3 %: timing, not rates, does it."""
    delay = each.plan.delay or 0.015
    moved = [replace(each.plan, delay=delay * by) for by in (0.97, 0.99, 1.01, 1.03)]
    harms = trials.harms(moved, [0])
    return any(found.mean < 0.5 * each.harm.mean for found in harms)


BULK: list[dict[str, Any]] = [{"name": "download", "kind": "bulk"}]
CALL: list[dict[str, Any]] = [{"name": "call", "kind": "voice"}]
RENO = {"congestion": "new-reno"}
CUBIC = {"congestion": "cubic"}

KNOWN = [
    Known(
        "BBR's stall",
        "CC-Fuzz (D. Ray, S. Seshan, HotNets 2022)",
        "datagrams of at most 30 % on a clean path; BBR misses 90 % of its share",
        BULK,
        {"kind": "fifo", "limit": "100p"},
        "starvation",
        lambda each, _: (
            _clean(each.plan)
            and _datagrams(each.plan)
            and each.plan.load <= 0.3
            and each.harm.mean >= 0.9
        ),
        {"preset": "ns-3", "congestion": "bbr"},
    ),
    Known(
        "the shrew",
        "A. Kuzmanovic, E. Knightly, SIGCOMM 2003",
        "pulses of at most 20 % in the mean on a clean path; New Reno misses 70 % of its share",
        BULK,
        {"kind": "fifo", "limit": "50p"},
        "starvation",
        lambda each, _: (
            _clean(each.plan)
            and _datagrams(each.plan)
            and _pulses(each.plan)
            and each.plan.load <= 0.2
            and each.harm.mean >= 0.7
        ),
        {**RENO, "min_rto": "1s"},
    ),
    Known(
        "CoDel under a flood",
        "RFC 8289, section 4.4; RFC 8290, section 1",
        "datagrams of 100 % or more on a clean path; a call waits 40 targets (200 ms)",
        [*BULK, *CALL],
        {"kind": "codel"},
        "p99",
        lambda each, _: _clean(each.plan) and each.plan.load >= 1 and each.harm.mean >= 200,
        CUBIC,
    ),
    Known(
        "PIE's burst allowance",
        "RFC 8033, section 4.4",
        "pulses of less than the link in the mean on a clean path; a call alone waits 150 ms, ten "
        "targets",
        CALL,
        {"kind": "pie"},
        "p99",
        lambda each, _: (
            _clean(each.plan)
            and _pulses(each.plan, 1.0)
            and each.plan.load < 1
            and each.harm.mean >= 150
        ),
        CUBIC,
    ),
    Known(
        "a phase effect",
        "S. Floyd, V. Jacobson, Internetworking 3(3), 1992",
        "at most 10 % of datagrams on a clean path; of two transfers one has next to nothing "
        "(0.3 of at most 0.5), and half as much if the delay changes by 1 or 3 %",
        [{"name": "downloads", "kind": "bulk", "flows": 2}],
        {"kind": "fifo", "limit": "20p"},
        "unfairness",
        lambda each, _: _clean(each.plan) and each.plan.load <= 0.1 and each.harm.mean >= 0.3,
        RENO,
        again=_phase,
    ),
    Known(
        "RED's oscillation",
        "V. Misra, W.-B. Gong, D. Towsley, SIGCOMM 2000; C. Hollot et al., INFOCOM 2001",
        "no datagrams on a clean path; a third of the link idle between swings of the queue "
        "(standard deviation above the mean)",
        [{"name": "downloads", "kind": "bulk", "flows": 4}],
        {"kind": "red"},
        "utilization",
        lambda each, _: (
            _clean(each.plan)
            and each.plan.load == 0
            and each.harm.mean >= 0.33
            and int(each.harm.state.split("/")[4]) >= 1
        ),
        RENO,
    ),
    Known(
        "NCQ's flood of small packets",
        "the NCQ paper, section 3; docs/papers/ncq.md",
        "datagrams as short as the sensors', at most 30 %, on a clean path; the sensors wait five "
        "times as long as without",
        [
            {"name": "downloads", "kind": "bulk", "flows": 2},
            {"name": "sensors", "kind": "poisson", "rate": "2kbit", "size": "120B", "flows": 5},
        ],
        {"kind": "ncq", "limit": "100p"},
        "p99",
        lambda each, calm: (
            _clean(each.plan)
            and each.plan.delay is None
            and _datagrams(each.plan)
            and any(0 < joining.size < 130 for joining in each.plan.joining)
            and each.plan.load <= 0.3
            and each.harm.mean >= 5 * calm
        ),
        CUBIC,
    ),
    Known(
        "CP-AQM's ECN flood, before its mend",
        "crates/disciplines/src/admit/cp_aqm.rs, D4: marks were free",
        "datagrams on a clean path, most of them ECN-capable; a transfer and a call that are not "
        "miss 90 % of their share",
        [*BULK, *CALL],
        {"kind": "free-marks"},
        "starvation",
        lambda each, _: (
            _clean(each.plan)
            and _datagrams(each.plan)
            and sum(j.load for j in each.plan.joining if j.ecn != "not-ect") > 0.5 * each.plan.load
            and each.harm.mean >= 0.9
        ),
        CUBIC,
        plugin="free_marks.py",
    ),
]


def run(known: Known, guide: Guide, seed: int, minutes: float) -> dict[str, Any]:
    """Search for one attack once."""
    target = Target(known.scenario, None)
    space = Space(Bounds(), len(target.traffic), target.duration_s)
    with (
        tempfile.TemporaryDirectory(prefix="forebay-") as folder,
        Trials(target, known.measure, Path(folder)) as trials,
    ):
        [calm] = trials.harms([Plan()], [seed])
        met: list[Tried] = []

        def stop(each: Tried) -> bool:
            if not met and math.isfinite(each.harm.mean) and known.holds(each, calm.mean):
                met.append(each)
            return bool(met)

        def looked(each: Tried) -> bool:
            if not stop(each):
                return False
            if known.again(trials, each):
                return True
            met.clear()
            return False

        before = trials.cpu_s
        found = search(trials, space, seconds=60 * minutes, seed=seed, guide=guide, stop=looked)
        spent = trials.cpu_s - before
    row: dict[str, Any] = {
        "attack": known.name,
        "guide": guide,
        "seed": seed,
        "found": bool(met),
        "cpu_seconds": round(spent, 1),
        "candidates": found.tried,
    }
    if met:
        row |= {
            "harm": float(f"{met[0].harm.mean:.4g}"),
            "load": float(f"{met[0].plan.load:.3g}"),
            "plan": repr(met[0].plan),
        }
    return row


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seeds", default="11-13", help="first and last")
    parser.add_argument("--guides", default=",".join(GUIDES))
    parser.add_argument("--only", default="", help="part of the name of an attack")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    kept: dict[str, Any] = {"version": _engine.version, "minutes": options.minutes, "runs": []}
    if (content := _disk.read_if_any(options.results)) is not None:
        kept = json.loads(content)
    done = {(row["attack"], row["guide"], row["seed"]) for row in kept["runs"]}
    for seed in seeds:
        for guide in options.guides.split(","):
            for known in reversed(KNOWN):
                if (known.name, guide, seed) in done or options.only not in known.name:
                    continue
                row = run(known, guide, seed, options.minutes)
                kept["runs"].append(row)
                _disk.write(options.results, _written.dump(kept))
                print(json.dumps({k: v for k, v in row.items() if k != "plan"}), flush=True)


if __name__ == "__main__":
    main()
