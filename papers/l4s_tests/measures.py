"""Measures that are more than an expression of columns."""

from __future__ import annotations

from typing import Any

from forebay.papers import Number, Sources, exactly
from forebay.papers.published import larger_error, predicted
from forebay.stats import Interval

FIRST, SECOND = "classes.first.goodput_bps", "classes.second.goodput_bps"


def error(sources: Sources, first_mbps: float, second_mbps: float, **row: Any) -> Interval:
    """The larger relative error of the two throughputs, %."""
    published = {FIRST: first_mbps, SECOND: second_mbps}
    return larger_error(sources, "rtt-fairness", row, published, 1e-6)


def in_range(sources: Sources, first_mbps: float, second_mbps: float, **row: Any) -> str:
    """Whether both published throughputs lie where one more run would, in 95 % of cases."""
    published = {FIRST: first_mbps, SECOND: second_mbps}
    return "yes" if predicted(sources, "rtt-fairness", row, published, 1e-6) else "no"


def inside(sources: Sources, **row: Any) -> Interval:
    """1 if a row is `in_range`, otherwise 0."""
    return exactly(int(in_range(sources, **row) == "yes"))


def shown(sources: Sources, **row: Any) -> bool:
    """All rows through DualPI2, and those of other queues that are more than 15 % away."""
    return str(row["title"]).endswith("dualpi2") or abs(error(sources, **row).mean) > 15


def both(sources: Sources, study: str, **row: Any) -> str:
    """What the two transfers deliver, in Mbit/s."""
    first, second = (
        sources.mean(Number(study=study, of=of, scale=1e-6), row) for of in (FIRST, SECOND)
    )
    return f"{first:.2f} / {second:.2f}"
