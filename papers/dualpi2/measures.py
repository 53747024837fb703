"""Measures that are more than an expression of columns."""

from __future__ import annotations

from typing import Any

from forebay.papers import Number, Sources, exactly
from forebay.papers.published import larger_error, predicted
from forebay.stats import Interval

PRAGUE, CUBIC = "classes.prague.goodput_bps", "classes.cubic.goodput_bps"


def error(sources: Sources, prague_mbps: float, cubic_mbps: float, **row: Any) -> Interval:
    """The larger relative error of the two throughputs, %."""
    published = {PRAGUE: prague_mbps, CUBIC: cubic_mbps}
    return larger_error(sources, "overload", row, published, 1e-6)


def in_range(sources: Sources, prague_mbps: float, cubic_mbps: float, **row: Any) -> str:
    """Whether both published throughputs lie where one more run would, in 95 % of cases."""
    published = {PRAGUE: prague_mbps, CUBIC: cubic_mbps}
    return "yes" if predicted(sources, "overload", row, published, 1e-6) else "no"


def in_range_rows(sources: Sources, at_most: float = 100) -> Interval:
    """How many rows are `in_range`, with datagrams of at most so many Mbit/s."""
    rows = sources.rows("published", Number(study="overload"), {})
    asked = [row for row in rows if row["mbps"] <= at_most]
    return exactly(sum(in_range(sources, **row) == "yes" for row in asked))


def benefit(sources: Sources, **row: Any) -> Interval:
    """What datagrams with ECT(1) deliver, over those that are not ECN-capable."""
    goodput = Number(study="overload", of="classes.udp.goodput_bps")
    one, plain = (sources.mean(goodput, {**row, "datagrams": d}) for d in ("ect1", "not-ect"))
    return exactly(one / plain)
