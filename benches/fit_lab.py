"""`forebay fit` on real Linux: what it finds of a link, and whether that foretells another load.

    .venv/bin/python benches/fit_lab.py run [--set check] [--links 50] [--folder DIR]
    .venv/bin/python benches/fit_lab.py table [--set check]

Links have 1 to 30 Mbit/s, 5 to 200 ms, a buffer of 0.5 to 10 times their product, and a queue
discipline of Linux 6.1 in virtual time (`make virtual-linux gate`). Each is loaded by four
transfers of Linux TCP beside probes, as for benches/fit.py, and fitted from the capture. Then
another load is put on the same link: two transfers that begin 2 s apart, and calls with a tenth of
the rate. What the fitted scenario says of it is compared with what the lab measures (three seeds;
five of the simulation). Beside it stands what the engine says of the link's own parameters, which
no fit can better, and of rate and round trip alone: a FIFO of 1000 packets, and one of their
product.

Captures and what the lab measured are kept in the folder, so that another fit needs no lab. A line
is added to docs/fit/linux-SET.csv for each link; the same command goes on where it was stopped.
`train` is for whoever changes the fit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from fit import RESULTS, acts, add, bounds, confusion, judged, rows
from fit import told as columns

from forebay import _engine, lab
from forebay import run as simulate
from forebay._scenario import Scenario
from forebay.fit import fit
from forebay.fit.candidates import KINDS, red_of_linux
from forebay.fit.measurement import Flow
from forebay.fit.readers.packets import Packets
from forebay.fit.trial import Load, Route, document, recorded

SECONDS = 25.0
SEEDS = (1, 2, 3)
LOAD = Load(tuple(Flow(3.0 + at / 100, 3.0 + SECONDS) for at in range(4)), 3.2 + SECONDS, 0.05)
SETS = {"train": 3, "check": 4}
TRUESIZE = 2304
"""Bytes that Linux counts for a packet of 1500 (its memory of 2 KiB, and its description)."""
QDISCS = {"fifo": "pfifo", "codel": "codel", "fq-codel": "fq_codel", "pie": "pie", "red": "red",
          "cake": "cake"}  # fmt: skip


def link(of_set: str, number: int) -> dict[str, Any]:
    """A link by its number."""
    luck = np.random.default_rng([SETS[of_set], number])

    def between(low: float, high: float) -> float:
        return float(np.exp(luck.uniform(np.log(low), np.log(high))))

    rate, rtt = between(1e6, 30e6), between(0.005, 0.2)
    packets = max(12, round(between(0.5, 10) * rate * rtt / 8 / 1500))
    kind = KINDS[int(luck.integers(len(KINDS)))]
    room = packets * 1500.0
    # CAKE's memory counts what the kernel takes for a packet.
    held = max(room, 30_000) * 1500 / TRUESIZE if kind == "cake" else room
    of = {"number": number, "rate": rate, "rtt": rtt, "room": room, "kind": kind}
    return of | {"holds": held}


def queue(of: dict[str, Any]) -> dict[str, Any]:
    """Its discipline, as tc sets it up."""
    room, bits = round(of["room"]), f"{of['rate']:.0f}bit"
    # tc asks for more than a packet.
    least = max(2000, room // 12)
    options = {
        "cake": f"bandwidth {bits} besteffort memlimit {max(room, 30_000)}",
        "red": f"limit {room} min {least} max {3 * least} avpkt 1500 probability 0.1 "
               f"burst {max(2, round(5 * least / 3 / 1500) + 1)} bandwidth {bits}",
    }  # fmt: skip
    text = options.get(of["kind"], f"limit {room // 1500}")
    return {"kind": "kernel", "qdisc": QDISCS[of["kind"]], "options": text}


def own_queue(of: dict[str, Any]) -> dict[str, Any]:
    """The same discipline in the engine, with the link's own parameters."""
    room = round(of["room"])
    if of["kind"] == "red":
        return red_of_linux(max(2000, room // 12) / 1500) | {"limit": f"{room}B"}
    if of["kind"] == "cake":
        memory = f"{of['holds']:.0f}B"
        return {"kind": "cake", "bandwidth": f"{of['rate']:.0f}bit", "memory_limit": memory}
    rules = {"pie": {"t_update": "20ms"}, "fq-codel": {"backlog": "all"}}.get(of["kind"], {})
    return {"kind": of["kind"], "limit": f"{room // 1500}p"} | rules


def other(path: Route, begin: float = 0.0) -> dict[str, Any]:
    """The other load on a path."""
    whole = document(path, Load((Flow(begin, 30.0),), 30.0))
    own = {"from": "sender", "to": "receiver"}
    whole["traffic"] = [
        own | {"name": "first", "kind": "bulk", "start": "0s"},
        own | {"name": "second", "kind": "bulk", "start": "2s"},
        own | {"name": "calls", "kind": "cbr", "size": "200B", "rate": f"{path.rate / 10:.0f}bit"},
    ]
    return whole | {"warmup": "6s"}


def told(summary: dict[str, Any]) -> dict[str, float]:
    """The mean wait in ms, and each class's share of what arrived."""
    goodput = {name: each["goodput_bps"] or 0.0 for name, each in summary["classes"].items()}
    total = sum(goodput.values())
    shares = {f"share.{name}": 100 * value / total for name, value in goodput.items()}
    return {"queue": float(summary["queues"]["uplink"]["mean_bytes"])} | shares


def mean(several: list[dict[str, float]]) -> dict[str, float]:
    """Means over runs."""
    return {name: float(np.mean([each[name] for each in several])) for name in several[0]}


def foretold(path: Route) -> dict[str, float]:
    """What the simulation says of the other load on a path."""
    made = Scenario.of(other(path), "foretold")
    return mean([told(simulate(made, seed=seed).summary) for seed in range(1, 6)])


def measured(of: dict[str, Any], folder: Path) -> list[dict[str, float]]:
    """Measure a link in the lab, and what another load gets on it, unless that has been done."""
    kept = folder / "truth.json"
    if not kept.exists():
        path = Route(of["rate"], of["rtt"], queue(of))
        whole = document(path, LOAD)
        seed = of["number"] + 1
        lab.virtual.run(Scenario.of(whole, "lab"), seed=seed, captures=folder / "seen")
        runs = [lab.virtual.run(Scenario.of(other(path), "lab"), seed=at) for at in SEEDS]
        kept.write_text(json.dumps([told(each.summary) for each in runs]))
    found: list[dict[str, float]] = json.loads(kept.read_text())
    return found


def one(of: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Measure, fit and foretell a link."""
    row: dict[str, Any] = of | {"forebay": _engine.version}
    begin = time.monotonic()
    truth = measured(of, folder)
    [capture] = (folder / "seen").iterdir()
    found = fit([capture], folder / "fit")

    def packets(kind: str) -> Packets:
        path = Route(of["rate"], of["rtt"], own_queue(of | {"kind": kind}))
        return recorded(document(path, LOAD)).packets

    row |= columns(found) | {"acts": acts(of["kind"], found, packets)}
    assert found.scenario is not None
    fitted = found.scenario.document["link"][0]
    rate = float(json.loads(_engine.quantity(fitted["rate"], "rate"))["value"])
    rtt = 2 * float(json.loads(_engine.quantity(fitted["delay"], "time"))["value"])
    product = max(10, round(of["rate"] * of["rtt"] / 8 / 1500))
    # By rate and round trip alone: a FIFO of the usual room, and one of their product.
    rooms = {"usual": 1000, "product": product}
    ways = {"truth": mean(truth), "fitted": foretold(Route(rate, rtt, fitted["queue"]))}
    ways["known"] = foretold(Route(of["rate"], of["rtt"], own_queue(of)))
    for name, room in rooms.items():
        fifo = {"kind": "fifo", "limit": f"{room}p"}
        ways[name] = foretold(Route(of["rate"], of["rtt"], fifo))
    for way, each in ways.items():
        row |= {f"{way}.{name}": value for name, value in each.items()}
    spread = float(np.std([each["queue"] for each in truth], ddof=1))
    return row | {"truth.spread": spread, "took_s": round(time.monotonic() - begin, 1)}


def run(of_set: str, links: int, folder: Path, path: Path) -> None:
    """Do the links that have not been done."""
    known = {row["number"] for row in rows(path)}
    for number in range(links):
        if number in known:
            continue
        of = link(of_set, number)
        own = folder / of_set / str(number)
        own.mkdir(parents=True, exist_ok=True)
        try:
            row = one(of, own)
        except Exception as error:
            row = of | {"error": f"{type(error).__name__}: {error}"}
        add(path, row)
        print(number, row.get("error", row.get("named")), file=sys.stderr)


def table(path: Path) -> None:
    """Print what was found, and what it foretold."""
    found = rows(path)
    good = [row | {"room": row["holds"]} for row in found if row["error"] is None]
    print(f"{len(found)} links, {len(found) - len(good)} failed\n")
    print("| | decided | right, of those | interval holds the truth |\n|---|---|---|---|")
    for name in ("rate", "rtt", "buffer"):
        all_, right, between = judged(good, name)
        print(f"| {name} | {len(right)} of {all_} | {sum(right)} | {sum(between)} |")
    part = [row for row in good if row["named"] is not None]
    right = [row["named"] in (row["kind"], row["acts"]) for row in part]
    print(f"| discipline | {len(part)} of {len(good)} | {sum(right)} | – |\n")
    least = bounds(good)
    print(f"Of {len(least)} least buffers, {sum(least)} are true.\n")
    print("| foretold | links | queue within 10 % | median error | shares within 10 points |")
    print("|---|---|---|---|---|")
    for title, chosen in (("all", good), ("discipline decided", part)):
        for way in ("fitted", "known", "usual", "product"):
            errors = [abs(row[f"{way}.queue"] / max(row["truth.queue"], 1.0) - 1) for row in chosen]
            names = [name for name in (chosen or [{}])[0] if name.startswith(f"{way}.share")]
            off = [
                max(abs(row[name] - row[name.replace(way, "truth", 1)]) for name in names)
                for row in chosen
            ]
            print(
                f"| {title}: {way} | {len(chosen)} | {sum(e <= 0.1 for e in errors)} | "
                f"{100 * np.median(errors):.0f} % | {sum(s <= 10 for s in off)} |"
            )
    confusion(good)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", choices=("run", "table"))
    parser.add_argument("--set", default="check", choices=SETS, dest="of_set")
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--folder", type=Path, default=Path("out/fit-bench"))
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    path = asked.results or RESULTS / f"linux-{asked.of_set}.csv"
    if asked.act == "run":
        run(asked.of_set, asked.links, asked.folder, path)
    table(path)


if __name__ == "__main__":
    main()
