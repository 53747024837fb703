"""What many papers plot and judge: curves over points, and measures of several classes together."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forebay import stats
from forebay.papers.data import Data, Where
from forebay.papers.declare import Series, Style
from forebay.papers.judge import exactly


def loss_of(classes: Sequence[str]) -> pl.Expr:
    """Packets dropped of those dropped and delivered, of several classes together."""
    dropped = pl.sum_horizontal(pl.col(f"classes.{each}.dropped") for each in classes)
    delivered = pl.sum_horizontal(pl.col(f"classes.{each}.delivered") for each in classes)
    return dropped / (dropped + delivered)


def delay_of(classes: Sequence[str]) -> pl.Expr:
    """Mean one-way delay of a packet of several classes together, in ms."""
    counts = {each: pl.col(f"classes.{each}.delivered") for each in classes}
    weighted = pl.sum_horizontal(
        count * pl.col(f"classes.{each}.mean_delay_ms") for each, count in counts.items()
    )
    return weighted / pl.sum_horizontal(counts.values())


def curve(
    data: Data,
    study: str,
    key: str | pl.Expr,
    label: str,
    x: Sequence[float],
    where: Sequence[Where],
    scale: float = 1.0,
) -> Series:
    """A measure at several points of a study, with its intervals."""
    return line(label, list(x), [data.interval(study, key, each, scale=scale) for each in where])


def line(
    label: str,
    x: Sequence[float] | Sequence[str],
    found: Sequence[stats.Interval],
    style: Style = "line",
) -> Series:
    """Intervals as a series."""
    means, low, high = ([getattr(each, end) for each in found] for end in ("mean", "low", "high"))
    return Series(label, x, means, low, high, style)


def mean_over(data: Data, study: str, key: pl.Expr, keep: pl.Expr) -> stats.Interval | None:
    """A measure's mean over several points, taken within each replication."""
    means = (
        data.runs(study)
        .filter(keep)
        .group_by("replication", maintain_order=True)
        .agg(key.mean().alias("value"))
    )
    return stats.interval(means["value"].to_list())


def total(data: Data, study: str, keys: Sequence[str], keep: pl.Expr) -> stats.Interval:
    """A sum of counts over all runs of some points."""
    runs = data.runs(study).filter(keep)
    return exactly(float(sum(runs[key].sum() for key in keys)))
