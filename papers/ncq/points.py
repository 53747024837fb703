"""Points of the studies, and the measures that figures and claims share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forebay import stats
from forebay.papers import Data
from forebay.papers.data import Where
from forebay.papers.points import change, ratio, ratios, texts

TEXT = texts(Path(__file__).parent)
TAIL, BEST = "drop-tail", "NCQ 5 %"
VARIANTS = (TAIL, "NCQ 1 %", "NCQ 3 %", BEST)
ROUTERS = ("no router", "1 router", "2 routers", "3 routers", "4 routers")
LOADS = [f"traffic.{name}.flows" for name in (
    "ftp-along", "ftp-cross-ab", "ftp-cross-bc", "ftp-cross-cd", "ftp-back", "calls-along",
    "calls-back")]  # fmt: skip
TAKEN, TAKEN_SENSORS = "all within 1 s, RTO 0.2 s", "as taken"
STATED_GAIN = 10.43
"""Of the small flows' goodput in scenario 1, times, as the paper has it."""
PACKETS = ("120B", "240B", "480B", "1040B")
"""Sizes of the small packets in study `limit`."""
ARRIVING = "drops arriving, "
BUFFERS = {"50 packets": "50 p, ", "200 packets": "200 p, "}
"""Other buffers of scenario 1, and what their disciplines are called before their own name."""
SMALL_GOODPUT = "classes.small.transfer_goodput_bps"
LARGE_GOODPUT = "classes.congestive.transfer_goodput_bps"
SMALL_TIME = "classes.small.mean_completion_s"
MEAN_TIME, WORST_TIME = "system.mean_completion_s", "system.max_completion_s"
SENSORS = "classes.sensors.goodput_bps"
RATING = "classes.calls.r_factor"
CALLS, FTP = "classes.calls.goodput_bps", "classes.ftp.goodput_bps"
ASI = "classes.calls.asi_by_flow"
SHORT = "classes.short.mean_completion_s"
BULK = "classes.bulk.goodput_bps"
MANY, FEW = "as many", "one of ten"
KINDS = {"10 %": (10, "1MB"), "20 %": (5, "1MB"), "short": (10, "100KB")}
"""Loads of scenario 1: one flow of so many is small, and the size of the others' files."""


@dataclass(frozen=True)
class View:
    """Scenario 1's runs, or those under one choice of what the paper leaves open."""

    data: Data
    choice: str | None = None
    prefix: str = ""
    """What the disciplines of this choice are called before their own name."""

    @property
    def study(self) -> str:
        """Its name."""
        return "ftp" if self.choice is None else "starts"

    def at(self, kind: str, n: int, label: str) -> Where:
        """`n` flows of a load."""
        of, size = KINDS[kind]
        where: Where = {
            "traffic.congestive.flows": n - n // of,
            "traffic.small.flows": n // of,
            "traffic.congestive.size": size,
        }
        if self.choice is None:
            return {**where, "title": kind, "discipline": label}
        return {**where, "title": self.choice, "discipline": prefixed(self.prefix, label)}

    def ratio(self, key: str, kind: str, n: int, label: str = BEST) -> stats.Interval:
        """A measure over drop-tail's."""
        return ratio(self.data, self.study, key, self.at(kind, n, label), self.at(kind, n, TAIL))

    def ratios(self, key: str, kind: str, n: int, label: str = BEST) -> list[float]:
        """The same of each run."""
        return ratios(self.data, self.study, key, self.at(kind, n, label), self.at(kind, n, TAIL))

    def change(self, key: str, kind: str, n: int, label: str = BEST) -> stats.Interval:
        """The same, in percent of change."""
        return change(self.data, self.study, key, self.at(kind, n, label), self.at(kind, n, TAIL))

    def less(self, key: str, kind: str, n: int, label: str = BEST) -> stats.Interval:
        """A measure less drop-tail's."""
        one, other = self.at(kind, n, label), self.at(kind, n, TAIL)
        return self.data.difference(self.study, key, one, other)


def prefixed(prefix: str, label: str) -> str:
    """A discipline of a choice; drop-tail itself always drops what arrives."""
    return label if prefix == ARRIVING and label == TAIL else prefix + label


def choices(data: Data, starts: bool = False) -> list[View]:
    """Every choice that is an axis' step, or only those of start and timeout."""
    titles = data.study("starts").runs["title"].unique(maintain_order=True).to_list()
    return [View(data, each) for each in titles if not starts or "RTO" in each]


@dataclass(frozen=True)
class SensorView:
    """Scenario 2's runs, or those under one choice of what the paper leaves open."""

    data: Data
    choice: str | None = None
    prefix: str = ""
    """What the disciplines of this choice are called before their own name."""

    @property
    def study(self) -> str:
        """Its name."""
        return "sensors" if self.choice is None else "sensors-choices"

    @property
    def flows(self) -> list[int]:
        """The numbers of FTP flows that were run."""
        return sorted(set(self.data.runs(self.study)["flows"].to_list()))

    def at(self, n: int, label: str) -> Where:
        """`n` FTP flows beside the sensors."""
        where: Where = {"flows": n, "discipline": prefixed(self.prefix, label)}
        return where if self.choice is None else {**where, "title": self.choice}

    def change(self, key: str, n: int, label: str = BEST, other: str = TAIL) -> stats.Interval:
        """A measure against another discipline's, in percent of change."""
        return change(self.data, self.study, key, self.at(n, label), self.at(n, other))

    def less(self, key: str | pl.Expr, n: int) -> stats.Interval:
        """A measure less drop-tail's."""
        return self.data.difference(self.study, key, self.at(n, BEST), self.at(n, TAIL))


def sensor_choices(data: Data) -> list[SensorView]:
    """Every choice of scenario 2 that is an axis' step."""
    titles = data.study("sensors-choices").runs["title"].unique(maintain_order=True).to_list()
    return [SensorView(data, each) for each in titles]


def calls_at(kind: str, n: int, label: str) -> Where:
    calls = n if kind == MANY else n // 10
    ftp = n if kind == MANY else n - n // 10
    return {"title": kind, "traffic.ftp.flows": ftp, "traffic.calls.flows": calls,
            "discipline": label}  # fmt: skip


def potential() -> pl.Expr:
    """Energy potential with what the sensors send as the largest throughput."""
    sent, got = pl.col("classes.sensors.sent_bps"), pl.col(SENSORS)
    return 1 - 0.5 * (sent - got) / sent


def completed(data: Data, until: float) -> dict[str, list[int]]:
    """Tasks that have ended at a time, of every run."""
    table = data.table("tasks", "class").filter(pl.col("time_s") <= until)
    done = table.group_by("discipline", "replication").agg(pl.col("completed").sum())
    done = done.sort("replication")
    return {label: done.filter(discipline=label)["completed"].to_list() for label in VARIANTS}


def deployed(data: Data) -> pl.DataFrame:
    """Scenario 4: a row for each load and number of routers, with the change against drop-tail."""
    runs = data.runs("deployment")
    both = runs.join(runs.filter(title=ROUTERS[0]), on=LOADS, suffix=".base")

    def gain(key: str) -> pl.Expr:
        return 100 * (pl.col(key) / pl.col(f"{key}.base") - 1)

    return both.select(
        pl.col("title").alias("routers"),
        ftp=gain("classes.ftp.goodput_bps"),
        calls=gain("classes.calls.goodput_bps"),
        r=gain("classes.calls.r_factor"),
        asi=gain("classes.calls.asi_by_flow"),
        asi_printed=gain("classes.calls.asi"),
        loss=100 * pl.col("classes.calls.loss.base"),
    )


def share(
    values: Sequence[float], low: float = -math.inf, high: float = math.inf
) -> stats.Interval:
    """Percent of the values above `low` and up to `high`."""
    return stats.proportion([low < value <= high for value in values])


RATINGS = (50, 60, 70, 80, 90)
"""Lower ends of poor, low, medium, high and best (table 2)."""


def rated(data: Data, n: int, label: str) -> list[float | None]:
    """R of each call of all runs, with as many calls as flows; none if it said nothing."""
    table = data.table("calls", "flows")
    at = calls_at(MANY, n, label)
    found: list[float | None] = table.filter(
        [pl.col(column) == value for column, value in at.items()], pl.col("class") == "calls"
    )["r_factor"].to_list()
    return found


def level(r: float) -> int:
    """Its rating: 0 below poor, 5 best."""
    return sum(r >= each for each in RATINGS)


def limited(packet: str, label: str) -> Where:
    """A size of the small packets, and a discipline."""
    return {"traffic.small.tcp.mtu": packet, "discipline": label}


def cost_of(data: Data, packet: str) -> stats.Interval:
    """Change of the congestive flows' goodput beside small packets of this size, %."""
    return change(data, "limit", LARGE_GOODPUT, limited(packet, BEST), limited(packet, TAIL))
