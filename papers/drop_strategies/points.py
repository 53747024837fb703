"""Points of the studies: what figures, claims and sections ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from forebay.papers import Data
from forebay.stats import Interval

HERE = Path(__file__).parent
MAIN, FAR, TRACES, MOVED = "strategies", "far", "traces", "round-trips"
SPACED, GAPS = "spacing", "gaps"
ARRIVALS, QUEUE = "drop-arrivals", "drop-from-queue"
STRATEGIES = (ARRIVALS, QUEUE)
Case = tuple[str, bool]
"""TCP, and whether WRED is gentle."""
CASES: dict[Case, str] = {
    ("reno", False): "Reno, standard WRED",
    ("sack", False): "SACK, standard WRED",
    ("reno", True): "Reno, gentle WRED",
    ("sack", True): "SACK, gentle WRED",
}
RENO, SACK, GENTLE_RENO, GENTLE_SACK = CASES
RATES = {"0bit": 0.0} | {f"{400 + 300 * step}kbit": 0.8 + 0.6 * step for step in range(15)}
"""In-profile rates of A and B in Mbit/s together, by what the study calls A's."""
LOSS = "classes.downloads.loss"
OUT = "queues.congested.drop_precedence.1.loss"
GOODPUT = "classes.downloads.goodput_bps"
AVERAGE = "queues.congested.variables.average_queue.mean"
SPREAD = "queues.congested.variables.average_queue.std"
HIGHEST = "queues.congested.variables.average_queue.max"
TIMEOUTS = "classes.downloads.timeouts"
LEVELS = "queues.congested.drop_precedence"
MAX_TH = 45
AT_HALF, AT_5_6, AT_8 = "2500kbit", "2800kbit", "4000kbit"
ROUND_TRIPS = ("12 to 24 ms", "16 to 32 ms", "24 to 48 ms", "40 to 80 ms", "80 to 160 ms")
MECHANISMS = ("wred", "rio", "wrt")
VICTIMS = ("arrivals", "last", "first", "random")
KINDS = [(kind, tcp) for kind in MECHANISMS for tcp in ("reno", "sack")]
METHODS = {
    "arrivals": "drop-arrivals",
    "last": "indexed: last or first",
    "random": "indexed: random",
    "walk-last": "walking: last",
    "walk-first": "walking: first",
}


def text(name: str) -> str:
    """Words of the page."""
    return (HERE / f"{name}.md").read_text("utf-8").strip()


def point(rate: str, tcp: str, gentle: bool, strategy: str) -> dict[str, Any]:
    """A point of a study, by the values of its axes."""
    return {
        "profile.a.rate": rate,
        "tcp": tcp,
        "gentle": json.dumps(gentle),
        "strategy": strategy,
    }


def both(data: Data, key: str, rate: str, case: Case, scale: float = 1.0) -> Interval:
    """Drop-arrivals less drop-from-queue, paired."""
    first, second = (point(rate, *case, strategy) for strategy in STRATEGIES)
    return data.difference(MAIN, key, first, second, scale=scale)


def rates(data: Data, study: str = MAIN) -> dict[str, float]:
    """The in-profile rates that a study runs."""
    run = set(data.study(study).runs["profile.a.rate"].to_list())
    return {name: rate for name, rate in RATES.items() if name in run}


def victim(kind: str, tcp: str, which: str) -> dict[str, Any]:
    """A point of the study over victims."""
    return {"discipline": f"{kind}, {which}", "tcp": tcp}


def moved(data: Data, title: str, wait: bool, key: str, gentle: bool) -> tuple[float, float]:
    """Means with drop-arrivals and with drop-from-queue in the study over round trips (Reno)."""
    where = {"title": title, "wait": json.dumps(wait), "gentle": json.dumps(gentle)}
    return means(data, MOVED, key, where)


def means(data: Data, study: str, key: str, where: Mapping[str, Any]) -> tuple[float, float]:
    """Means with drop-arrivals and with drop-from-queue."""
    at = [{**where, "strategy": strategy} for strategy in STRATEGIES]
    one, other = (data.interval(study, key, each).mean for each in at)
    return one, other


def traced(data: Data, case: Case, strategy: str) -> pl.DataFrame:
    """The congested queue over time."""
    tcp, gentle = case
    table = data.table("traces", "queue").filter(pl.col("link") == "congested")
    return table.filter(tcp=tcp, gentle=json.dumps(gentle), strategy=strategy, replication=1)


def measured_cost() -> Mapping[str, Any]:
    """What the benchmark wrote."""
    found: Mapping[str, Any] = json.loads((HERE / "cost.json").read_text("utf-8"))
    return found
