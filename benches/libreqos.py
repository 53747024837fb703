"""LibreQoS' shaper beside forebay's in one virtual kernel: HTB with CAKE, by tc, from its files.

.venv/bin/python benches/libreqos.py --runs 3

Both shape the circuits of examples/networks/village.json with the same rates, and Linux sends the
same traffic over the same link (docs/lab.md). LibreQoS finds a packet's class by its address in
eBPF, which a virtual kernel does not have, so circuits are told apart by their DS field here.

Linux' tree is measured twice: with forebay's bursts, which `tc` also chooses where timers have a
resolution of 1 ns, and with those that `tc` chooses in a virtual kernel.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from forebay import Scenario, _engine, lab
from forebay.stats import interval

NETWORKS = Path(__file__).parents[1] / "examples" / "networks"
LINK = ("1Gbit", "1Gbit")
SPAN = {"duration": "25s", "warmup": "5s"}
CAKE = {"kind": "cake", "diffserv": "besteffort"}
BURSTS = "burst 1600b cburst 1600b"
"""What `tc` gives every class where a tick is 1 ns, and forebay too."""


def read() -> dict[str, Any]:
    """The tree down and the circuits by leaf."""
    tree, devices = (
        ((NETWORKS / name).read_text("utf-8"), name)
        for name in ("village.json", "village-devices.csv")
    )
    found = _engine.subscribers(tree, devices, None, LINK, "10Mbit", json.dumps(CAKE))
    read: dict[str, Any] = json.loads(found)
    return read


def ours(found: dict[str, Any]) -> dict[str, Any]:
    """The tree of forebay, whose leaves are chosen by the class that the lab's gate gives."""
    leaves = len(found["circuits"]) + 1
    return {**found["down"], "classify": {"kind": "class", "queues": leaves}}


def of_linux(found: dict[str, Any], bursts: str) -> dict[str, Any]:
    """The same tree of tc's classes, as LibreQoS makes them, with these `bursts`."""
    commands = []
    minors, leaves = count(1), count()

    def add(classes: list[dict[str, Any]], parent: str) -> Iterator[str]:
        for each in classes:
            minor = f"1:{next(minors):x}"
            rates = f"rate {_tc(each['rate'])} ceil {_tc(each['ceil'])}"
            yield f"class add parent {parent} classid {minor} htb {rates} {bursts}"
            if "classes" in each:
                yield from add(each["classes"], minor)
                continue
            kind = each.get("queue", CAKE)["kind"]
            inner = "cake besteffort" if kind == "cake" else kind.replace("-", "_")
            yield f"qdisc add parent {minor} {inner}"
            leaf = next(leaves)
            if leaf > 0:
                match = f"u32 match ip dsfield {leaf << 2:#x} 0xfc"
                yield f"filter add parent 1: protocol ip prio 1 {match} classid {minor}"

    commands = list(add(found["down"]["classes"], "1:"))
    return {"kind": "kernel", "qdisc": "htb", "options": "default 2", "commands": commands}


def _tc(rate: str) -> str:
    """A rate as tc reads it: `1Mbit` is the same there, in small letters."""
    return rate.lower()


def scenario(found: dict[str, Any], queue: dict[str, Any]) -> Scenario:
    """Each circuit has a call and one download, every second one four."""
    traffic: list[dict[str, Any]] = []
    for leaf, circuit in enumerate(found["circuits"], 1):
        marks = {
            "dscp": leaf,
            "q": leaf,
            "start": ["0s", "1s"],
            "from": "internet",
            "to": "village",
        }
        name = circuit["circuit"]
        flows = 4 if leaf % 2 == 0 else 1
        traffic.append({"kind": "bulk", "class": name, "name": name, "flows": flows, **marks})
        traffic.append({"kind": "voice", "class": "calls", "name": f"call {name}", **marks})
    return Scenario.of(
        {
            "title": "The village",
            **SPAN,
            "tcp": {"preset": "linux", "congestion": "cubic"},
            "link": [
                {
                    "name": "down",
                    "from": "internet",
                    "to": "village",
                    "rate": LINK[0],
                    "delay": "15ms",
                    "queue": queue,
                    "reverse": {"rate": LINK[1]},
                }
            ],
            "traffic": traffic,
        }
    )


def spent() -> float:
    """Processor time of the guests that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fairness(rates: list[float]) -> float:
    """Jain's index."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def measured(found: dict[str, Any], result: Any) -> dict[str, float]:
    """The numbers of a run."""
    classes, queue = result.summary["classes"], result.summary["queues"]["down"]
    rate = {each["circuit"]: classes[each["circuit"]]["goodput_bps"] for each in found["circuits"]}
    sites: dict[str, list[float]] = {}
    for each in found["circuits"]:
        sites.setdefault(each["node"], []).append(rate[each["circuit"]])
    return {
        **{f"goodput of {site}, Mbit/s": sum(rates) / 1e6 for site, rates in sites.items()},
        **{f"Jain's index in {site}": fairness(rates) for site, rates in sites.items()},
        "calls' p50 delay, ms": classes["calls"]["p50_delay_ms"],
        "calls' p99 delay, ms": classes["calls"]["p99_delay_ms"],
        "mean time in the queue, ms": queue["mean_delay_ms"],
        "dropped, %": 100 * queue["loss"],
    }


def main() -> None:
    """Measure both, and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=3, help="runs of each, seeds 1 and up")
    arguments.add_argument("--gate", type=Path, help="the library of the gate")
    options = arguments.parse_args()
    found = read()
    rows: dict[str, dict[str, list[float]]] = {}
    for seed in range(1, options.runs + 1):
        for name, queue in (
            ("forebay", ours(found)),
            ("Linux", of_linux(found, BURSTS)),
            ("tc", of_linux(found, "")),
        ):
            before = spent()
            result = lab.virtual.run(scenario(found, queue), seed=seed, gate=options.gate)
            numbers = measured(found, result) | {"processor time of a run, s": spent() - before}
            for what, value in numbers.items():
                rows.setdefault(what, {}).setdefault(name, []).append(value)
    print(f"| {options.runs} runs, 95 % intervals | forebay | HTB and CAKE | with tc's bursts |")
    print("|---|---|---|---|")
    for what, sides in rows.items():
        cells = []
        for values in sides.values():
            found_ = interval(values)
            assert found_ is not None
            half = found_.half_width
            cells.append(f"{found_.mean:.4g}" + ("" if half is None else f" ± {half:.2g}"))
        print(f"| {what} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
