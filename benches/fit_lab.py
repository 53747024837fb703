"""`forebay fit` on real Linux: what it finds of a link, and whether that foretells another load.

    .venv/bin/python benches/fit_lab.py run [--links 50] [--folder DIR]
    .venv/bin/python benches/fit_lab.py table [--folder DIR]

Links have 1 to 30 Mbit/s, 5 to 200 ms, a buffer of 0.5 to 10 times their product, and a queue
discipline of Linux 6.1 in virtual time (`make virtual-linux gate`). Each is loaded by four
transfers of Linux TCP beside probes, as for benches/fit.py, and fitted from the capture. Then
another load is put on the same link: two transfers that begin 2 s apart, and calls with a tenth of
the rate. What the fitted scenario says of it is compared with what the lab measures (two seeds;
five of the simulation), beside fits of rate and round trip alone: a FIFO of 1000 packets, and one
of their product.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from forebay import _engine, lab
from forebay import run as simulate
from forebay._scenario import Scenario
from forebay.fit import fit
from forebay.fit.candidates import KINDS
from forebay.fit.measurement import Flow
from forebay.fit.trial import Load, Route, document

SECONDS = 25.0
QDISCS = {"fifo": "pfifo", "codel": "codel", "fq-codel": "fq_codel", "pie": "pie", "red": "red",
          "cake": "cake"}  # fmt: skip


def link(number: int) -> dict[str, Any]:
    """A link by its number."""
    luck = np.random.default_rng([3, number])

    def between(low: float, high: float) -> float:
        return float(np.exp(luck.uniform(np.log(low), np.log(high))))

    rate, rtt = between(1e6, 30e6), between(0.005, 0.2)
    room = max(12, round(between(0.5, 10) * rate * rtt / 8 / 1500))
    kind = KINDS[int(luck.integers(len(KINDS)))]
    return {"number": number, "rate": rate, "rtt": rtt, "room": room * 1500.0, "kind": kind}


def queue(of: dict[str, Any]) -> dict[str, Any]:
    """Its discipline, as tc sets it up."""
    room, bits = round(of["room"]), f"{of['rate']:.0f}bit"
    least = max(1500, room // 12)
    options = {
        "cake": f"bandwidth {bits} besteffort memlimit {max(room, 30_000)}",
        "red": f"limit {room} min {least} max {3 * least} avpkt 1500 probability 0.1 "
               f"burst {max(2, round(5 * least / 3 / 1500) + 1)} bandwidth {bits}",
    }  # fmt: skip
    text = options.get(of["kind"], f"limit {room // 1500}")
    return {"kind": "kernel", "qdisc": QDISCS[of["kind"]], "options": text}


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


def plain(rate: float, rtt: float) -> dict[str, dict[str, float]]:
    """The same by rate and round trip alone: a FIFO of the usual room, and one of their product."""
    product = max(10, round(rate * rtt / 8 / 1500))
    rooms = {"usual": 1000, "product": product}
    return {
        name: foretold(Route(rate, rtt, {"kind": "fifo", "limit": f"{room}p"}))
        for name, room in rooms.items()
    }


def one(number: int) -> dict[str, Any]:
    """Measure, fit and foretell a link."""
    of = link(number)
    row: dict[str, Any] = of | {"forebay": _engine.version}
    path = Route(of["rate"], of["rtt"], queue(of))
    flows = tuple(Flow(3.0 + at / 100, 3.0 + SECONDS) for at in range(4))
    whole = document(path, Load(flows, 3.2 + SECONDS, 0.05), 1)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forebay-lab-") as folder:
        there = Path(folder)
        lab.virtual.run(Scenario.of(whole, "lab"), seed=number + 1, captures=there / "seen")
        found = fit([there / "seen" / f"seed-{number + 1}"], there / "fit", jobs=2)
    row["found"] = {
        name: [each.value, each.low, each.high] for name, each in found.estimates.items()
    }
    row["discipline"] = found.discipline.kind
    row["weights"] = found.discipline.weights
    truth = [lab.virtual.run(Scenario.of(other(path), "lab"), seed=at).summary for at in (1, 2)]
    row["truth"] = mean([told(each) for each in truth])
    assert found.scenario is not None
    fitted = found.scenario.document["link"][0]
    rate = float(json.loads(_engine.quantity(fitted["rate"], "rate"))["value"])
    rtt = 2 * float(json.loads(_engine.quantity(fitted["delay"], "time"))["value"])
    row["fitted"] = foretold(Route(rate, rtt, fitted["queue"]))
    row |= plain(rate, rtt)
    row["took_s"] = round(time.monotonic() - begin, 1)
    return row


def rows(path: Path) -> list[dict[str, Any]]:
    """Results so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(links: int, folder: Path) -> None:
    """Do the links that have not been done."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lab.jsonl"
    known = {row["number"] for row in rows(path)}
    with path.open("a") as file:
        for number in range(links):
            if number in known:
                continue
            try:
                row = one(number)
            except Exception as error:
                row = link(number) | {"error": f"{type(error).__name__}: {error}"}
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(number, row.get("error", row.get("discipline")), file=sys.stderr)


def table(folder: Path) -> None:
    """Print what was found, and what it foretold."""
    found = rows(folder / "lab.jsonl")
    good = [row for row in found if "error" not in row]
    print(f"{len(found)} links, {len(found) - len(good)} failed\n")
    print("| | decided | right, of those |\n|---|---|---|")
    for name, relative, absolute in (("rate", 0.02, 0), ("rtt", 0.02, 0.001), ("buffer", 0.1, 0)):
        key = {"buffer": "room"}.get(name, name)
        part = [row for row in good if row["found"][name][0] is not None]
        right = [
            abs(row["found"][name][0] - row[key]) <= max(relative * row[key], absolute)
            for row in part
        ]
        print(f"| {name} | {len(part)} of {len(good)} | {sum(right)} |")
    part = [row for row in good if row["discipline"] is not None]
    right = [row["discipline"] == row["kind"] for row in part]
    print(f"| discipline | {len(part)} of {len(good)} | {sum(right)} |\n")
    print("| foretold | links | queue within 10 % | median error | shares within 10 points |")
    print("|---|---|---|---|---|")
    for title, chosen in (("all", good), ("discipline decided", part)):
        for way in ("fitted", "usual", "product"):
            errors = [
                abs(row[way]["queue"] / max(row["truth"]["queue"], 1.0) - 1) for row in chosen
            ]
            shares = [
                max(
                    abs(row[way][key] - row["truth"][key])
                    for key in row["truth"]
                    if key.startswith("share")
                )
                for row in chosen
            ]
            print(
                f"| {title}: {way} | {len(chosen)} | {sum(e <= 0.1 for e in errors)} | "
                f"{100 * np.median(errors):.0f} % | {sum(s <= 10 for s in shares)} |"
            )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", choices=("run", "table"))
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--folder", type=Path, default=Path("out/fit-bench"))
    asked = parser.parse_args()
    if asked.act == "run":
        run(asked.links, asked.folder)
    table(asked.folder)


if __name__ == "__main__":
    main()
