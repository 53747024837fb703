"""Whether `forebay why` names a cause that was put there.

    python benches/why.py docs/attack/why.json [--first 1000] [--count 500]

Each run has a network of its own (rate, delay, discipline, transfers, a call, sometimes pages and
an earlier step of the rate that is over) and one cause, of four kinds: a burst, a step of the
link's rate, a flow that does not react, a parameter of the queue. It asks at the instant at which
packets waited longest while the cause acted, as a person would. Networks in which the cause makes
less than 20 ms of delay more than without it, or less than half as much again, are drawn anew:
there is nothing to ask about. Seeds below 1000 were for development. What is done is kept.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from forebay import _disk, _engine, _written, run, stats
from forebay._engine import ScenarioError
from forebay._scenario import Scenario
from forebay.attack import why

CAUSES = ("burst", "step", "unresponsive", "parameter")
DURATION_S = 16.0
KINDS: dict[str, dict[str, Any]] = {
    "fifo": {"limit": "60p"},
    "codel": {},
    "pie": {},
    "red": {"limit": "200p"},
    "cobalt": {},
    "fq-codel": {},
}
WRONG: dict[str, dict[str, Any]] = {
    "fifo": {"limit": "600p"},
    "codel": {"target": "90ms"},
    "pie": {"target": "150ms"},
    "red": {"limit": "400p", "min_th": "100p", "max_th": "300p"},
    "cobalt": {"target": "90ms"},
}
"""Parameters that make delay, by kind."""


def draw(seed: int) -> tuple[str, Scenario, Scenario, tuple[float, float], str]:
    """A cause, the run with it and without it, when it acts in seconds, and what to be named."""
    rng = np.random.default_rng(seed)
    cause = CAUSES[seed % len(CAUSES)]
    rate = int(rng.choice([5, 10, 20, 40]))
    kind = str(rng.choice(list(WRONG) if cause == "parameter" else list(KINDS)))
    queue: dict[str, Any] = {"kind": kind, **KINDS[kind]}
    traffic: list[dict[str, Any]] = [
        {"name": "download", "kind": "bulk", "flows": int(rng.integers(1, 5))},
        {"name": "call", "kind": "voice"},
    ]
    if rng.random() < 0.5:
        traffic.append({"name": "people", "kind": "web", "flows": 3, "reading": "4s"})
    speed: Any = f"{rate}Mbit"
    at = float(rng.uniform(8.0, 11.0))
    until, named = DURATION_S - 0.5, ""
    steps = [["0s", speed]]
    if rng.random() < 0.4:
        steps += [["3s", f"{0.7 * rate:g}Mbit"], ["5s", speed]]
    calm = {
        "duration": f"{DURATION_S:g}s",
        "warmup": "2s",
        "seed": seed,
        "tcp": {"congestion": str(rng.choice(["cubic", "new-reno"]))},
        "dumbbell": {
            "rate": {"steps": steps} if len(steps) > 1 else speed,
            "delay": f"{int(rng.choice([5, 15, 40]))}ms",
            "queue": queue,
        },
        "traffic": traffic,
    }
    ill = json.loads(json.dumps(calm))
    if cause == "burst":
        length = float(rng.uniform(0.3, 1.0))
        until, named = at + length, "burst"
        entry = {"name": "burst", "kind": "cbr", "rate": f"{rng.uniform(1.2, 2.5) * rate:.3g}Mbit",
                 "start": f"{1000 * at:.0f}ms", "stop": f"{1000 * until:.0f}ms"}  # fmt: skip
        ill["traffic"].append(entry)
    elif cause == "step":
        named = "bottleneck"
        low = [f"{1000 * at:.0f}ms", f"{rng.uniform(0.1, 0.4) * rate:.3g}Mbit"]
        ill["dumbbell"]["rate"] = {"steps": [*steps, low]}
        until = min(until, at + 1.0)
    elif cause == "unresponsive":
        named = "flood"
        begins = 0.0 if rng.random() < 0.5 else at
        ill["traffic"].append(
            {"name": "flood", "kind": "cbr", "rate": f"{rng.uniform(0.9, 1.3) * rate:.3g}Mbit",
             "start": f"{1000 * begins:.0f}ms"}
        )  # fmt: skip
    else:
        parameters = WRONG[kind]
        named = "|".join([*parameters, "all parameters"])
        ill["dumbbell"]["queue"] = {**queue, **parameters}
    return (
        cause,
        Scenario.of(ill, f"{seed}.toml"),
        Scenario.of(calm, f"{seed}.toml"),
        (at, until),
        named,
    )


def worst(scenario: Scenario, between: tuple[float, float]) -> tuple[float, float]:
    """When packets waited longest between two instants, and how long, in s and ms."""
    result = run(scenario.with_("sample", "20ms"), threads=1)
    rows = result.queue.filter(
        (pl.col("link") == "bottleneck") & pl.col("time_s").is_between(*between)
    )
    row = rows.sort("mean_bytes", descending=True, maintain_order=True).row(0, named=True)
    return float(row["time_s"]), float(row["mean_bytes"])


def one(seed: int) -> dict[str, Any] | None:
    """One run; none if there is nothing to ask about."""
    cause, ill, calm, between, named = draw(seed)
    at, waits = worst(ill, between)
    _, otherwise = worst(calm, between)
    rate = first_rate(calm)
    if 8e3 * (waits - otherwise) / rate < 20 or waits < 1.5 * otherwise:
        return None
    try:
        answer = why(ill, at=f"{1000 * at:.0f}ms", jobs=1)
    except ScenarioError as error:
        return {"seed": seed, "cause": cause, "right": False, "said": str(error)}
    found = answer.cause
    right = found is not None and found.without.name in named.split("|")
    right = right and (cause != "step" or found is None or found.without.kind == "step")
    return {
        "seed": seed,
        "cause": cause,
        "queue": ill.document["dumbbell"]["queue"]["kind"],
        "right": right,
        "said": "" if found is None else found.without.what,
        "relief": None if found is None else round(found.relief, 2),
    }


def first_rate(calm: Scenario) -> float:
    """The rate of the link at the beginning, in bit/s."""
    rate = calm.document["dumbbell"]["rate"]
    text = rate["steps"][0][1] if isinstance(rate, dict) else rate
    return 1e6 * float(str(text).removesuffix("Mbit"))


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--count", type=int, default=500)
    options = parser.parse_args()
    kept: dict[str, Any] = {"version": _engine.version, "first": options.first, "next": None,
                            "nothing": 0, "runs": []}  # fmt: skip
    if (content := _disk.read_if_any(options.results)) is not None:
        kept = json.loads(content)
    seed = kept["next"] or options.first
    while len(kept["runs"]) < options.count:
        row = one(seed)
        seed += 1
        kept["next"] = seed
        if row is None:
            kept["nothing"] += 1
            continue
        kept["runs"].append(row)
        if len(kept["runs"]) % 10 == 0:
            _disk.write(options.results, _written.dump(kept))
    _disk.write(options.results, _written.dump(kept))
    for cause in (*CAUSES, ""):
        some = [row["right"] for row in kept["runs"] if cause in ("", row["cause"])]
        share = stats.proportion(some)
        print(f"{cause or 'all'}: {sum(some)} of {len(some)}, {share.low:.3f} to {share.high:.3f}")


if __name__ == "__main__":
    main()
