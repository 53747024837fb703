"""Gain and system efficiency: goodput beside that under a baseline discipline.

CQ-AQM paper, section IV: the *gain* of a class is its throughput over the same without preemption;
*system efficiency* is the mean throughput over flows over the same without preemption. Here the
baseline is any discipline of the same comparison. Both are ratios within one replication, whose
runs met the same random numbers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from forebay._engine import ScenarioError

if TYPE_CHECKING:
    import polars as pl

EFFICIENCY = "efficiency"
"""Key of system efficiency, a share of the baseline's (1 = as much)."""
_FIRST, _LAST = "classes.", ".goodput_bps"


def classes_of(keys: Iterable[str]) -> list[str]:
    """The classes whose goodput is among the measures."""
    return [
        key[len(_FIRST) : -len(_LAST)]
        for key in keys
        if key.startswith(_FIRST) and key.endswith(_LAST)
    ]


def goodput(class_: str) -> str:
    """The measure that is a class's goodput."""
    return f"{_FIRST}{class_}{_LAST}"


def gain(class_: str) -> str:
    """The measure that is a class's gain (1 = the baseline's goodput)."""
    return f"{_FIRST}{class_}.gain"


def relative(
    runs: pl.DataFrame, on: Sequence[str], baseline: str, classes: Sequence[str] = ()
) -> pl.DataFrame:
    """Runs with their gains and efficiency.

    Args:
        runs: a row a run, with `discipline` and measures.
        on: the columns that name the run under the baseline that a run is set against.
        baseline: the discipline whose gain is 1.
        classes: those whose flows make the efficiency; all unless given.

    Returns:
        `runs` with `classes.<class>.gain` and `efficiency`; null where there is no run under the
        baseline, or where its goodput is 0.

    Raises:
        ScenarioError: no such discipline or class.
    """
    import polars as pl

    def ratio(value: pl.Expr, base: pl.Expr) -> pl.Expr:
        return pl.when(base > 0).then(value / base)

    known = classes_of(runs.columns)
    labels = runs["discipline"].unique(maintain_order=True).to_list()
    if baseline not in labels:
        raise ScenarioError(
            f'baseline: no discipline is called "{baseline}"{_near(baseline, labels)}'
        )
    for class_ in classes:
        if class_ not in known:
            raise ScenarioError(f'efficiency: no class is called "{class_}"{_near(class_, known)}')
    base = runs.filter(pl.col("discipline") == baseline).select(
        *on, *(pl.col(goodput(class_)).alias(f"\0{class_}") for class_ in known)
    )
    paired = runs.join(base, on=on, how="left", maintain_order="left")
    of = list(classes) or known
    total = pl.sum_horizontal(pl.col(goodput(class_)) for class_ in of)
    before = pl.sum_horizontal((pl.col(f"\0{class_}") for class_ in of), ignore_nulls=False)
    return paired.with_columns(
        *(ratio(pl.col(goodput(each)), pl.col(f"\0{each}")).alias(gain(each)) for each in known),
        ratio(total, before).alias(EFFICIENCY),
    ).select(*runs.columns, *map(gain, known), EFFICIENCY)


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
    return f"; one of {', '.join(near)}" if near else ""
