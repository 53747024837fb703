"""What many papers plot and judge: curves over points, and measures of several classes together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from forebay import stats
from forebay._engine import ScenarioError
from forebay.papers.data import Data, Where
from forebay.papers.declare import Table
from forebay.papers.judge import Part, exactly, verdict_of
from forebay.report.panel import Series, Style

Measure = tuple[str | pl.Expr, float]
"""A measure, and the factor that brings it to the unit of its column."""
MARKS = {"reproduced": "yes", "differs": "no", "not testable": "?"}


def texts(folder: Path) -> dict[str, str]:
    """Words of a page: what the Markdown files of a paper's folder hold, by the headings in them.

    What stands before the first heading is called like the file.
    """
    found = {}
    for path in sorted(folder.glob("*.md")):
        name = path.stem
        for part in re.split(r"(?m)^(?=# )", path.read_text("utf-8")):
            if part.startswith("# "):
                head, _, part = part.partition("\n")
                name = head[2:]
            if part.strip():
                found[name] = part.strip()
    return found


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


def samples(
    data: Data, study: str, key: str | pl.Expr, where: Where, scale: float = 1.0
) -> dict[int, float]:
    """A measure of every replication of a point that has it."""
    value = pl.col(key) if isinstance(key, str) else key
    rows = data.runs(study, where).select("replication", value.alias("value")).iter_rows()
    return {run: scale * found for run, found in rows if found is not None}


def ratios(data: Data, study: str, key: str | pl.Expr, first: Where, second: Where) -> list[float]:
    """A measure of one point over that of another, replication by replication.

    Raises:
        ScenarioError: no replication has both.
    """
    one, other = (samples(data, study, key, where) for where in (first, second))
    found = [one[run] / other[run] for run in sorted(one) if other.get(run)]
    if not found:
        raise ScenarioError(f'study "{study}": no replication has both {first} and {second}')
    return found


def mean(values: Sequence[float]) -> stats.Interval:
    """The interval of samples of which there are some."""
    found = stats.interval(values)
    assert found is not None
    return found


def ratio(
    data: Data, study: str, key: str | pl.Expr, first: Where, second: Where
) -> stats.Interval:
    """Mean of `ratios`."""
    return mean(ratios(data, study, key, first, second))


def change(
    data: Data, study: str, key: str | pl.Expr, first: Where, second: Where
) -> stats.Interval:
    """Mean of `ratios` less one, in percent."""
    return mean([100 * (each - 1) for each in ratios(data, study, key, first, second)])


def surely(found: Sequence[stats.Interval], sign: int = 1) -> stats.Span:
    """How many of some differences are above zero; below it with a sign of -1.

    The interval goes from those that surely are to those that are not surely on the other side.
    """
    ends = [(each.low, each.high) if sign > 0 else (each.high, each.low) for each in found]
    yes = sum(near is not None and sign * near > 0 for near, _ in ends)
    no = sum(far is not None and sign * far < 0 for _, far in ends)
    most = len(found) - no
    runs = max(each.samples for each in found) if yes < most else 0
    mean = sum(sign * each.mean > 0 for each in found)
    return stats.Span(float(mean), (most - yes) / 2, runs, float(yes), float(most))


def table(
    data: Data,
    study: str,
    head: Sequence[str],
    rows: Sequence[tuple[Sequence[Any], Where]],
    columns: Mapping[str, Measure],
    heading: str = "",
    text: str = "",
) -> Table:
    """Measures of points of a study: what names a row stands first in it."""
    cells = [
        [
            *names,
            *(data.interval(study, key, at, scale=scale) for key, scale in columns.values()),
        ]
        for names, at in rows
    ]
    return Table([*head, *columns], cells, heading, text)


def verdicts(parts: Sequence[Part]) -> str:
    """Whether a claim holds, and how many of its numbers: "yes, 3 of 3"."""
    good = sum(part.verdict == "reproduced" for part in parts)
    return f"{MARKS[verdict_of(parts)]}, {good} of {len(parts)}"
