"""Points of the studies, and the measures that figures and claims share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from forebay.papers import Data, Series
from forebay.papers.data import Where
from forebay.papers.points import curve, delay_of, loss_of, ratio, texts
from forebay.stats import Interval

TEXT = texts(Path(__file__).parent)
PAYLOAD_BITS = 460 * 8
"""Of a TCP packet of 500 B."""
WINDOW = 8
PAIR_BYTES = 680 / 0.333 + 18_618
"""Bytes a second of a voice flow (68 B every 20 ms, on for 200 of 333 ms) and a bursty one."""
LINE_BYTES = 187_500
OTHERS, PAIRS = "others", "traffic.voice-p0.flows"
NONE, LOW, HIGH, CQ = "none", "35/45", "40/45", "CQ-AQM"
TAKEN = "as taken"
TCP_AXIS, PAIRS_AXIS = "number of TCP flows", "background load, % of the line"


def load(pairs: int) -> float:
    """Background of so many pairs of voice and bursty data, % of the line."""
    return 100 * pairs * PAIR_BYTES / LINE_BYTES


def pps(class_: str, flows: str = "") -> pl.Expr:
    """Throughput of a flow, packets/s."""
    found = pl.col(f"classes.{class_}.goodput_bps") / PAYLOAD_BITS
    return found / pl.col(flows) if flows else found


def queueing(classes: Sequence[str]) -> pl.Expr:
    """Mean time of a packet in the scheduler, ms; without choice of a path it holds 15 ms."""
    return delay_of(classes) - 15.0


def delivered(classes: Sequence[str]) -> pl.Expr:
    """Share of the packets offered that is not lost."""
    return 1 - loss_of(classes)


@dataclass(frozen=True)
class View:
    """The runs of a study, or those of one choice in it; a step is a number of flows or pairs."""

    data: Data
    study: str
    column: str
    preemptive: tuple[str, ...]
    choice: str | None = None

    @property
    def steps(self) -> list[int]:
        """Numbers of flows or pairs that were run."""
        found = self.data.study(self.study).runs[self.column].unique().sort()
        return [int(each) + 1 for each in found]

    def at(self, step: int, variant: str) -> Where:
        """A point; what is run with the first choice only has its title."""
        where = {self.column: step - 1, "discipline": variant}
        if self.choice is None:
            return where
        known = self.data.study(self.study).runs.filter(discipline=variant)["title"].to_list()
        return where | {"title": self.choice if self.choice in known else TAKEN}

    def interval(self, key: str | pl.Expr, step: int, variant: str, scale: float = 1.0) -> Interval:
        """A measure of a point."""
        return self.data.interval(self.study, key, self.at(step, variant), scale=scale)

    def less(
        self,
        key: str | pl.Expr,
        first: tuple[int, str],
        second: tuple[int, str],
        scale: float = 1.0,
    ) -> Interval:
        """A measure of one point less that of another, paired."""
        one, other = self.at(*first), self.at(*second)
        return self.data.difference(self.study, key, one, other, scale=scale)

    def times(
        self, key: str | pl.Expr, first: tuple[int, str], second: tuple[int, str]
    ) -> Interval:
        """A measure of one point over that of another, paired."""
        return ratio(self.data, self.study, key, self.at(*first), self.at(*second))

    def curves(
        self, keys: dict[str, str | pl.Expr], variants: Sequence[str], scale: float = 1.0
    ) -> list[Series]:
        """Measures over the steps, a curve for each and each variant."""
        loads = self.column != OTHERS
        x = [load(step) if loads else step for step in self.steps]
        return [
            curve(
                self.data,
                self.study,
                key,
                f"{label}, {variant}" if label else variant,
                x,
                [self.at(step, variant) for step in self.steps],
                scale,
            )
            for variant in variants
            for label, key in keys.items()
        ]

    def of(self, choice: str, *preemptive: str) -> View:
        """The same under another choice."""
        return replace(self, choice=choice, preemptive=preemptive or self.preemptive)


Q0, Q1 = ("tcp", "bursty"), ("voice",)


def tcp(data: Data, study: str = "tcp") -> View:
    """TCP alone."""
    return View(data, study, OTHERS, (LOW, HIGH))


def mixed(data: Data, study: str = "mixed") -> View:
    """TCP beside voice and bursty data."""
    return View(data, study, PAIRS, (CQ,))


def of_p(p: int, kinds: Sequence[str] = (*Q0, *Q1)) -> list[str]:
    """Classes of one precedence in mixed traffic."""
    return [f"{kind}-p{p}" for kind in kinds]


TCP_DELIVERED = delivered(["p1", "p0"])
ALL_DELIVERED = delivered([*of_p(1), *of_p(0)])
P1_PPS, P0_PPS = pps("p1"), pps("p0", OTHERS)
TCP1_PPS = pps("tcp-p1")
TCP1_DELAY = queueing(["tcp-p1"])
