"""What the authors published, and the same points of our studies."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forebay.papers import Data
from forebay.papers.data import Where
from forebay.papers.points import samples, texts
from forebay.stats import Interval, prediction

HERE = Path(__file__).parent
TEXT = texts(HERE)
OVERLOAD, HEADLINE = "overload", "headline"
NEAR = 15.0
"""How far a throughput may be from the published one, in percent."""
LOADS = {10: "9881kbit", 20: "19763kbit", 50: "49406kbit", 75: "74110kbit", 100: "98813kbit"}
"""What a nominal load really was, as the study writes it."""
RATES = (12, 40, 120, 200)
"""Mbit/s."""
RTTS = {5: "2300us", 10: "4800us", 20: "9800us", 50: "24800us", 100: "49800us"}
"""A round-trip time in ms, and the bottleneck's delay."""
PACKET_BITS = 8 * 1500
SHORT = "traffic.short-prague.start"


@dataclass(frozen=True)
class Row:
    """A published run of the overload experiments."""

    protection: int
    """Share of the link that classic packets keep, in percent."""
    datagrams: str
    load: int
    """Nominal, in Mbit/s."""
    prague: float
    """What it delivers after 5 s, in Mbit/s."""
    cubic: float
    delay: float | None
    """Mean queueing delay of Prague's packets in ms."""

    @property
    def where(self) -> Where:
        """The point of the study."""
        return {
            "protection": self.protection / 100,
            # Their script sends what it calls ECT(0) with a type of service of 0.
            "datagrams": "not-ect" if self.datagrams == "ect0" else self.datagrams,
            "load": LOADS[self.load],
        }

    def found(self, data: Data) -> tuple[Interval, Interval]:
        """What Prague and CUBIC deliver here, in Mbit/s."""
        one, other = (
            data.interval(OVERLOAD, f"classes.{each}.goodput_bps", self.where, scale=1e-6)
            for each in ("prague", "cubic")
        )
        return one, other

    def waits(self, data: Data, name: str = "prague") -> Interval:
        """Mean queueing delay here, in ms."""
        return data.interval(OVERLOAD, f"classes.{name}.mean_wait_ms", self.where)

    def error(self, data: Data) -> float:
        """The larger of the two relative errors, in percent, with its sign."""
        pairs = zip(self.found(data), (self.prague, self.cubic), strict=True)
        return max((100 * (here.mean / stated - 1) for here, stated in pairs), key=abs)

    def is_predicted(self, data: Data) -> bool:
        """Whether both published throughputs lie where one more run would, in 95 % of cases."""
        for name, stated in (("prague", self.prague), ("cubic", self.cubic)):
            key = f"classes.{name}.goodput_bps"
            one = prediction(list(samples(data, OVERLOAD, key, self.where, 1e-6).values()))
            if one is None or one.half_width is None or abs(stated - one.mean) > one.half_width:
                return False
        return True


def _rows() -> Iterator[Row]:
    with (HERE / "overload.csv").open(encoding="utf-8", newline="") as file:
        for each in csv.DictReader(file):
            delay = each["prague_delay_ms"]
            yield Row(
                int(each["protection"]),
                each["datagrams"],
                int(each["load"]),
                float(each["prague_mbps"]),
                float(each["cubic_mbps"]),
                float(delay) if delay else None,
            )


ROWS = list(_rows())
"""The overload experiments with one kind of datagrams."""


def row(protection: int, datagrams: str, load: int) -> Row:
    """One of them."""
    wanted = (protection, datagrams, load)
    return next(each for each in ROWS if (each.protection, each.datagrams, each.load) == wanted)


def run_rows(data: Data) -> list[Row]:
    """Those that were run; a quick run has fewer."""
    runs = data.study(OVERLOAD).runs
    paths = list(row(10, "ect1", 50).where)
    known = set(runs.select(paths).rows())
    return [each for each in ROWS if tuple(each.where.values()) in known]


def near(data: Data) -> list[Row]:
    """Those whose throughputs are both near the published ones."""
    return [each for each in run_rows(data) if abs(each.error(data)) <= NEAR]


def headline(rate: int, rtt: int, short: bool) -> Where:
    """A point of the other study."""
    return {
        "dumbbell.rate": f"{rate}Mbit",
        "rtt": RTTS[rtt],
        SHORT: "0s" if short else "9h",
    }


def queueing(data: Data, quantile: str, where: Where, rate: int, rtt: int) -> Interval:
    """A quantile of Prague's queueing delay in ms: its delay beyond that of an empty path."""
    way = rtt / 2 + PACKET_BITS / (1e3 * rate) + 2 * PACKET_BITS / 1e7
    key = pl.col(f"classes.prague.{quantile}_delay_ms") - way
    return data.interval(HEADLINE, key, where)


def settings(data: Data) -> list[tuple[int, int, bool]]:
    """Rates, round-trip times, and whether short transfers come beside, as they were run."""
    known = set(data.study(HEADLINE).runs.select("dumbbell.rate", "rtt", SHORT).rows())
    return [
        (rate, rtt, short)
        for short in (False, True)
        for rate in RATES
        for rtt in RTTS
        if tuple(headline(rate, rtt, short).values()) in known
    ]
