"""What the tests published, and the same points of our studies."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl
import tomllib

from forebay.papers import Data
from forebay.papers.data import Where
from forebay.papers.points import samples, texts
from forebay.stats import Interval, prediction

HERE = Path(__file__).parent
TEXT = texts(HERE)
MAIN, CLASSIC, TODAY, CHOICES = "rtt-fairness", "classic", "today", "choices"
FIRST, SECOND = (f"classes.{each}.goodput_bps" for each in ("first", "second"))
NEAR = 15.0
"""How far a throughput may be from the published one, in percent."""


def _read(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def _senders(study: str) -> Mapping[str, str]:
    """The columns' text for each congestion control, as the study writes its table."""
    axes = tomllib.loads((HERE / f"{study}.toml").read_text("utf-8"))["axis"]
    values = next(axis["values"] for axis in axes if axis["name"] == "first")
    return {value["congestion"]: json.dumps(value) for value in values}


def throughputs(data: Data, study: str, where: Where) -> tuple[Interval, Interval]:
    """What the two transfers of a point deliver, in Mbit/s."""
    first, second = (data.interval(study, key, where, scale=1e-6) for key in (FIRST, SECOND))
    return first, second


@dataclass(frozen=True)
class Row:
    """A published run of scenario 1: two transfers, and what each delivered in its last minute."""

    queue: str
    """Rate and queue, such as "50Mbit dualpi2"."""
    controls: tuple[str, str]
    """Congestion control of the first and of the second transfer."""
    rtts: tuple[int, int]
    """Their round-trip times without queueing, in ms."""
    stated: tuple[float, float]
    """What they delivered, in Mbit/s."""

    def where(self, study: str) -> Where:
        """The point of a study that repeats it."""
        senders = _senders(study)
        return {
            "title": self.queue,
            "link.first-access.delay": f"{self.rtts[0] // 2}ms",
            "link.second-access.delay": f"{self.rtts[1] // 2}ms",
            "first": senders[self.controls[0]],
            "second": senders[self.controls[1]],
        }

    def found(self, data: Data, study: str = MAIN) -> tuple[Interval, Interval]:
        """What they deliver here, in Mbit/s."""
        return throughputs(data, study, self.where(study))

    def error(self, data: Data, study: str = MAIN) -> float:
        """The larger of the two relative errors, in percent, with its sign."""
        found = self.found(data, study)
        errors = [100 * (a.mean / b - 1) for a, b in zip(found, self.stated, strict=True)]
        return max(errors, key=abs)

    def is_predicted(self, data: Data) -> bool:
        """Whether both published throughputs lie where one more run would, in 95 % of cases."""
        where = self.where(MAIN)
        ranges = (prediction(list(samples(data, MAIN, key, where, 1e-6).values()))
                  for key in (FIRST, SECOND))  # fmt: skip
        return all(
            one is not None
            and one.half_width is not None
            and abs(value - one.mean) <= one.half_width
            for one, value in zip(ranges, self.stated, strict=True)
        )

    def ratio(self, data: Data, study: str = MAIN) -> Interval:
        """Throughput of the second over that of the first, in the same run."""
        return data.interval(study, pl.col(SECOND) / pl.col(FIRST), self.where(study))


@dataclass(frozen=True)
class Shared:
    """A published run of scenario 6: Prague and a rival in one queue with classic marks."""

    queue: str
    rival: str
    """ "cubic-ecn" and the like."""
    stated: tuple[float, float]
    """What Prague and the rival delivered, in Mbit/s."""

    @property
    def where(self) -> Where:
        """The point of the study that repeats it."""
        control, ecn = self.rival.split("-")
        return {
            "title": self.queue,
            "traffic.second.tcp.congestion": {"reno": "linux-reno"}.get(control, control),
            "traffic.second.tcp.ecn": ecn == "ecn",
        }

    def found(self, data: Data) -> tuple[Interval, Interval]:
        """What they deliver here, in Mbit/s."""
        return throughputs(data, CLASSIC, self.where)

    def ratio(self, data: Data) -> Interval:
        """Prague's throughput over the rival's, in the same run."""
        return data.interval(CLASSIC, pl.col(FIRST) / pl.col(SECOND), self.where)


ROWS = [
    Row(
        each["queue"],
        (each["first"], each["second"]),
        (int(each["first_rtt_ms"]), int(each["second_rtt_ms"])),
        (float(each["first_mbps"]), float(each["second_mbps"])),
    )
    for each in _read("rtt-fairness.csv")
]
"""Scenario 1, in the published order."""
SHARED = [
    Shared(each["queue"], each["rival"], (float(each["prague_mbps"]), float(each["rival_mbps"])))
    for each in _read("classic.csv")
]
"""Scenario 6, without adaptive RED."""
QUEUES = list(dict.fromkeys(row.queue for row in ROWS))


def run_rows(data: Data, queue: str) -> list[Row]:
    """The rows of a queue that were run; a quick run has fewer."""
    run = data.study(MAIN).runs
    known = set(run.select("title", "link.first-access.delay", "link.second-access.delay").rows())
    return [
        row
        for row in ROWS
        if row.queue == queue and (queue, f"{row.rtts[0] // 2}ms", f"{row.rtts[1] // 2}ms") in known
    ]


def changed(data: Data, choice: str) -> tuple[Interval, Interval]:
    """What two transfers deliver with one thing changed, in Mbit/s."""
    return throughputs(data, CHOICES, {"title": choice})


def near_rows(data: Data, queue: str) -> int:
    """How many rows of a queue have both throughputs near the published ones."""
    return sum(abs(row.error(data)) <= NEAR for row in run_rows(data, queue))
