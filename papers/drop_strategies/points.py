"""Points of the studies: what figures, claims and sections ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from forebay.papers import Data
from forebay.papers.points import texts
from forebay.stats import Interval

HERE = Path(__file__).parent
MAIN, CHOICES, TRACES, CONDITIONERS = "strategies", "choices", "traces", "conditioners"
LONGER = "round-trips"
ELSEWHERE, MIDDLE = "cross traffic ends at R3", "round trips of 24 to 48 ms"
LEFT_OUT = "no drop deferred"
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
JITTER = "classes.downloads.jitter_ms"
PERIOD = "classes.downloads.loss_period.mean"
LEVELS = "queues.congested.drop_precedence"
MAX_TH = 45
NONE, AT_HALF, AT_5_6, AT_8, MOST = "0bit", "2500kbit", "2800kbit", "4000kbit", "4600kbit"
VICTIMS = ("arrivals", "last", "first", "random")
KINDS = [(kind, tcp) for kind in ("wred", "wrt") for tcp in ("reno", "sack")]
"""Mechanisms and TCP of the victims that are shown; RIO comes to the same as WRED there."""
METHODS = {
    "arrivals": "drop-arrivals",
    "last": "indexed: last or first",
    "random": "indexed: random",
    "walk-last": "walking: last",
    "walk-first": "walking: first",
}


TEXT = texts(HERE)


def point(rate: str, tcp: str, gentle: bool, strategy: str) -> dict[str, Any]:
    """A point of a study, by the values of its axes."""
    return {
        "profile.a.rate": rate,
        "tcp": tcp,
        "gentle": json.dumps(gentle),
        "strategy": strategy,
    }


@dataclass(frozen=True)
class View:
    """The simulations of a study, or those of one choice in it."""

    data: Data
    study: str = MAIN
    choice: str | None = None

    @property
    def rates(self) -> dict[str, float]:
        """The in-profile rates that were run, in Mbit/s by what the study calls them."""
        run = set(self.data.study(self.study).runs["profile.a.rate"].to_list())
        return {name: rate for name, rate in RATES.items() if name in run}

    def at(self, rate: str, case: Case, strategy: str) -> dict[str, Any]:
        """A point."""
        found = point(rate, *case, strategy)
        return found if self.choice is None else {"title": self.choice, **found}

    def interval(
        self, key: str, rate: str, case: Case, strategy: str, scale: float = 1.0
    ) -> Interval:
        """A measure of a point."""
        return self.data.interval(self.study, key, self.at(rate, case, strategy), scale=scale)

    def mean(self, key: str, rate: str, case: Case, strategy: str, scale: float = 1.0) -> float:
        """Its mean."""
        return self.interval(key, rate, case, strategy, scale).mean

    def less(
        self,
        key: str,
        first: tuple[str, Case, str],
        second: tuple[str, Case, str],
        scale: float = 1.0,
    ) -> Interval:
        """A measure of one point less that of another, paired."""
        one, other = self.at(*first), self.at(*second)
        return self.data.difference(self.study, key, one, other, scale=scale)

    def both(self, key: str, rate: str, case: Case, scale: float = 1.0) -> Interval:
        """Drop-arrivals less drop-from-queue, paired."""
        return self.less(key, (rate, case, ARRIVALS), (rate, case, QUEUE), scale)


def victim(kind: str, tcp: str, which: str) -> dict[str, Any]:
    """A point of the study over victims."""
    return {"discipline": f"{kind}, {which}", "tcp": tcp}


def traced(data: Data, case: Case, strategy: str) -> pl.DataFrame:
    """The congested queue over time."""
    tcp, gentle = case
    table = data.table("traces", "queue").filter(pl.col("link") == "congested")
    return table.filter(tcp=tcp, gentle=json.dumps(gentle), strategy=strategy, replication=1)


def measured_cost() -> Mapping[str, Any]:
    """What the benchmark wrote."""
    found: Mapping[str, Any] = json.loads((HERE / "cost.json").read_text("utf-8"))
    return found


def chosen(data: Data) -> list[View]:
    """Every choice of what the paper leaves open."""
    titles = data.study(CHOICES).runs["title"].unique(maintain_order=True)
    return [View(data, CHOICES, each) for each in titles]
