"""What conventions of the TCP stack do together, for sixteen flows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from forebay.papers import Data, Table

from .points import QUEUE, RENO, combination, measure
from .stacks import PLACES, STACKS, Place, allowed, written

SIXTEEN = [each for each in PLACES if each[1][1][0] == 16]
"""The numbers of the claims that are about sixteen flows."""
WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
JUDGED = ["CP-4", "CP-11", "CP-12"]
"""Claims of which no convention alone explains a queue."""


@dataclass(frozen=True)
class Changed:
    """A stack of the study "combined"."""

    names: tuple[str, ...]
    """The conventions in which it differs from the one that the claims are judged with."""
    columns: tuple[tuple[str, Any], ...]
    """The values of the study's columns but for congestion control and delay."""
    kept: float
    """The share of the window that CUBIC keeps."""
    renamed: bool
    """Whether that share is another one."""

    @property
    def words(self) -> str:
        return " and ".join(f"“{name}”" for name in self.names)


@cache
def stacks(data: Data) -> tuple[Changed, ...]:
    """All stacks, that of the claims first."""
    axes = data.study("combined").axes
    [congestion] = [axis for axis in axes if axis.name == "congestion"]
    free = [axis for axis in axes if axis.name not in ("congestion", "delay")]
    shares = [row[1] for row in congestion.rows if row[0] != RENO]
    found = []
    for at, share in enumerate(shares):
        for steps in product(*(range(len(axis.rows)) for axis in free)):
            chosen = list(zip(free, steps, strict=True))
            names = [axis.labels[step] for axis, step in chosen if step]
            columns = [
                each
                for axis, step in chosen
                for each in zip(axis.columns, written(axis.rows[step]), strict=True)
            ]
            if at:
                names.append(congestion.labels[-1])
            assert {*names} <= {*STACKS}
            found.append(Changed(tuple(names), tuple(columns), share, at > 0))
    return tuple(found)


def for_flows(data: Data, congestion: str) -> list[Changed]:
    """The stacks that differ for a congestion control: what CUBIC keeps is nothing to New Reno."""
    return [each for each in stacks(data) if not (congestion == RENO and each.renamed)]


@cache
def mean(data: Data, stack: Changed, place: Place) -> float:
    """A number with a stack."""
    discipline, (_, congestion, delay), key = place
    kept = stacks(data)[0].kept if congestion == RENO else stack.kept
    where = {
        **dict(stack.columns),
        "tcp.congestion": congestion,
        "tcp.legacy.cubic_beta": kept,
        "delay": delay,
        "discipline": discipline,
    }
    return measure(data, "combined", key, where).mean


def fits(data: Data, stack: Changed, place: Place, low: float, high: float) -> bool:
    """Whether a number is in a range with a stack."""
    return low <= mean(data, stack, place) <= high


def in_range(data: Data, stack: Changed) -> list[bool]:
    """Which of the numbers of sixteen flows are in the range that the claims allow."""
    return [fits(data, stack, place, low, high) for _, place, low, high in SIXTEEN]


def together(data: Data, place: Place, low: float, high: float) -> str:
    """The fewest conventions that together bring a number to where the paper has it, for one that
    none brings there alone; nothing if the number is not in the study."""
    if place not in [each for _, each, _, _ in SIXTEEN]:
        return ""
    every = [each for each in for_flows(data, place[1][1]) if len(each.names) > 1]
    inside = [each for each in every if fits(data, each, place, low, high)]
    if not inside:
        return f"Nor does any of {len(every)} combinations of conventions bring it there."
    fewest = min(len(each.names) for each in inside)
    tried = sum(len(each.names) == fewest for each in every)
    best = sorted(
        (each for each in inside if len(each.names) == fewest),
        key=lambda each: -sum(in_range(data, each)),
    )
    told = "; ".join(f"{mean(data, each, place):.4g} with {each.words}" for each in best[:3])
    return (
        f"With {WORDS[fewest]} changed together it is in range in {len(best)} of {tried} "
        f"[combinations](#conventions-combined): {told}."
    )


def hits(data: Data) -> list[int]:
    """How many of the numbers of sixteen flows each stack has in range, the judged one first."""
    return [sum(in_range(data, each)) for each in stacks(data)]


def no_one(data: Data) -> str:
    """How near one stack comes to all numbers."""
    ours, *others = hits(data)
    most = max(others)
    if most == len(SIXTEEN):
        return ""
    return (
        f"No one stack fits all: of {len(SIXTEEN)} numbers of sixteen flows the best of "
        f"{len(others)} combinations has {most} in range, and the judged stack {ours}. Which Linux "
        "the authors had is not known."
    )


def place_words(place: Place) -> str:
    discipline, point, key = place
    return f"{combination(*point)}, {discipline}: {'packets' if key == QUEUE else '%'}"


def combined_tables(data: Data) -> list[Table]:
    counted = []
    for claim, place, low, high in SIXTEEN:
        every = for_flows(data, place[1][1])
        row: list[Any] = [claim, place_words(place), allowed(low, high),
                          f"{mean(data, every[0], place):.4g}"]  # fmt: skip
        changed = [[each for each in every if len(each.names) == count] for count in (1, 2, 3)]
        for some in (*changed, every):
            good = sum(fits(data, each, place, low, high) for each in some)
            row.append(f"{good} of {len(some)}")
        counted.append(row)

    ours, *others = stacks(data)
    counts = dict(zip(stacks(data), hits(data), strict=True))
    best = sorted(others, key=lambda each: (-counts[each], len(each.names)))
    shown = [each for each in SIXTEEN if each[0] in JUDGED and each[1][2] == QUEUE]
    rows = [
        [
            "; ".join(each.names) or "none",
            f"{counts[each]} of {len(SIXTEEN)}",
            *(
                f"{mean(data, each, place):.4g}"
                + ("" if fits(data, each, place, low, high) else " ✗")
                for _, place, low, high in shown
            ),
        ]
        for each in (ours, *best[:10])
    ]
    columns = [f"{claim}: {place_words(place)}" for claim, place, _, _ in shown]
    return [
        Table(["claim", "number", "allowed", "ours", "in range with one changed", "two", "three",
               "all"], counted, "Number by number"),
        Table(["changed", "in range", *columns], rows, "The stacks with the most numbers in range"),
    ]  # fmt: skip
