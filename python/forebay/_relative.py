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
    own = {class_: paired[goodput(class_)].to_list() for class_ in known}
    before = {class_: paired[f"\0{class_}"].to_list() for class_ in known}
    of = list(classes) or known
    found = {gain(class_): ratios([own[class_]], [before[class_]]) for class_ in known}
    found[EFFICIENCY] = ratios([own[each] for each in of], [before[each] for each in of])
    columns = [pl.Series(name, values, pl.Float64) for name, values in found.items()]
    return paired.with_columns(columns).select(*runs.columns, *found)


def ratios(
    own: Sequence[Sequence[float | None]], base: Sequence[Sequence[float | None]]
) -> list[float | None]:
    """Goodputs over those under the baseline, both summed over classes.

    Args:
        own: for each class a value a run; None counts as nothing.
        base: for the same classes, of the runs under the baseline.

    Returns:
        A value a run; None where the baseline's sum is 0 or is not known of every class, or where
        nothing was measured.
    """

    def ratio(values: Sequence[float | None], under: Sequence[float | None]) -> float | None:
        known = [each for each in values if each is not None]
        total = None if None in under else sum(each for each in under if each is not None)
        return sum(known) / total if known and total is not None and total > 0 else None

    pairs = zip(zip(*own, strict=True), zip(*base, strict=True), strict=True)
    return [ratio(values, under) for values, under in pairs]


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
    return f"; one of {', '.join(near)}" if near else ""
