"""What conventions of the TCP stack move, one at a time and all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay.papers import Data, Part
from forebay.stats import Interval

from .points import (
    COMBINATIONS,
    CUBIC,
    QUEUE,
    RENO,
    SCALES,
    USED,
    apart,
    measure,
)

OURS = "Linux 3.2"
STANDARD = {
    RENO: ("new-reno", "New Reno by bytes (RFC 5681)"),
    CUBIC: ("cubic", "CUBIC of RFC 9438"),
}
"""Congestion control as the RFCs have it, which the study "curve" has in place of Linux's."""
CURVES = tuple(name for _, name in STANDARD.values())
NO_SACK = "New Reno recovery, no SACK"
LESS = "CUBIC keeps 0.6 of the window (in no version)"
UNLIKELY = (NO_SACK, LESS)
"""Conventions of no Linux' default, for what they would show."""
INITIAL_WINDOW = "initial window 3 (before 2.6.39)"
HALVING = "rate halving, no PRR (before 3.2)"
HYSTART = "no HyStart (before 2.6.29)"
EVERY = "no delayed acknowledgments"
STACKS = (
    OURS,
    HALVING,
    "neither: the window falls at once (RFC 6675)",
    "no FACK (RFC 6675; from 4.15)",
    "lost retransmissions wait for the timer (RFC 6675)",
    "slow start by bytes (from 3.13)",
    "slow start ends at the threshold (from 4.2)",
    "CUBIC keeps 0.8 of the window (before 2.6.25)",
    LESS,
    INITIAL_WINDOW,
    HYSTART,
    "no quick acknowledgments at the start",
    "no quick acknowledgments after silence",
    EVERY,
    "minimum RTO 1 s",
    "RTO down to 200 ms, however long the path",
    "no timestamps",
    "no limited transmit",
    NO_SACK,
    "no F-RTO (before 2.6.24)",
    "acknowledgments wait 40 ms, whatever the gaps",
)
"""The rows of the axis "stack", in order."""
DISCIPLINES = ("tail drop", "c_max = 1.05", "c_max = 1.2", "c_max = 1.5")
"""The disciplines that the numbers of claims are about in every combination; T_c = 5."""


def stack_point(data: Data, stack: str) -> dict[str, Any]:
    """The values of the axis' columns."""
    [axis] = [each for each in data.study("stack").axes if each.name == "stack"]
    return dict(zip(axis.columns, written(axis.rows[STACKS.index(stack)]), strict=True))


def written(row: Sequence[Any]) -> list[Any]:
    """Values of an axis as results hold them."""
    return [str(value).lower() if isinstance(value, bool) else value for value in row]


def conventions(congestion: str) -> tuple[str, ...]:
    """The conventions that are changed, one at a time."""
    return (*STACKS[1:], STANDARD[congestion][1])


def with_stack(
    data: Data, stack: str, discipline: str, point: tuple[int, str, str], key: str
) -> Interval:
    """A measure of a combination, with one convention changed."""
    flows, congestion, delay = point
    where = {"flows": flows, "delay": delay, "discipline": discipline}
    if stack in CURVES:
        where["congestion"] = STANDARD[congestion][0]
        return measure(data, "curve", key, where)
    where |= {"congestion": congestion, **stack_point(data, stack)}
    return measure(data, "stack", key, where)


def moved(
    data: Data, stack: str, discipline: str, point: tuple[int, str, str], key: str
) -> Interval:
    """By how much changing one convention moves a measure, paired run by run."""
    flows, congestion, delay = point
    there = {"flows": flows, "delay": delay, "discipline": discipline}
    ours = {**there, "congestion": congestion, **stack_point(data, OURS)}
    if stack in CURVES:
        # Of another study, with the same seeds, and not paired here.
        return apart(
            with_stack(data, stack, discipline, point, key), measure(data, "stack", key, ours)
        )
    changed = {**there, "congestion": congestion, **stack_point(data, stack)}
    return data.difference("stack", key, changed, ours, scale=SCALES.get(key, 1.0))


# Whole stacks


class Stack:
    """Results with another stack, by the names of the studies that the claims are judged with."""

    def __init__(self, data: Data, preset: str, congestion: Mapping[str, str]) -> None:
        self._data, self._preset, self._congestion = data, preset, congestion

    def _where(self, name: str, where: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
        study, _, flows = name.rpartition("-")
        changed = {"tcp.preset": self._preset, "flows": int(flows), **(where or {})}
        changed["tcp.congestion"] = self._congestion[changed.pop("congestion")]
        return {"tail-drop": "stacks-tail-drop", "tcp": "stacks-cp-aqm"}[study], changed

    def interval(
        self, name: str, key: str, where: Mapping[str, Any] | None = None, *, scale: float = 1.0
    ) -> Interval:
        """As `Data.interval`."""
        study, there = self._where(name, where)
        return self._data.interval(study, key, there, scale=scale)

    def difference(
        self,
        name: str,
        key: str,
        first: Mapping[str, Any],
        second: Mapping[str, Any],
        *,
        scale: float = 1.0,
    ) -> Interval:
        """As `Data.difference`."""
        study, one = self._where(name, first)
        _, other = self._where(name, second)
        return self._data.difference(study, key, one, other, scale=scale)


def cell(part: Part) -> str:
    """A number, and a mark if it is not in the range that the paper's words allow."""
    assert part.found is not None
    mark = {"reproduced": "", "differs": " ✗", "not testable": " ?"}[part.verdict]
    return f"{part.found.mean:.4g}{mark}"


def largest(
    data: Data, discipline: str, point: tuple[int, str, str], key: str, count: int = 4
) -> str:
    """The conventions that move a measure most, with by how much."""
    found = {
        stack: moved(data, stack, discipline, point, key)
        for stack in conventions(point[1])
        if stack not in UNLIKELY
    }
    least = 0.05
    sure = [
        (stack, each)
        for stack, each in found.items()
        if each.excludes_zero and abs(each.mean) >= least
    ]
    sure.sort(key=lambda one: -abs(one[1].mean))
    return "; ".join(f"{stack} {each.mean:+.3g}" for stack, each in sure[:count]) or "none"


def allowed(low: float, high: float) -> str:
    """A range in words."""
    if high == float("inf"):
        return f"at least {low:g}"
    return f"at most {high:g}" if low == float("-inf") else f"{low:g} to {high:g}"


Place = tuple[str, tuple[int, str, str], str]
"""Discipline, combination and measure of a number."""
PLACES: Sequence[tuple[str, Place, float, float]] = (
    ("CP-2", ("tail drop", (1, RENO, "5ms"), QUEUE), 19, 21),
    ("CP-2", ("tail drop", (1, RENO, "50ms"), QUEUE), 9, 11),
    ("CP-3, CP-13", ("tail drop", (1, CUBIC, "50ms"), USED), 97, 99),
    ("CP-4", ("tail drop", (16, RENO, "5ms"), QUEUE), 21.5, 26.5),
    ("CP-4", ("tail drop", (16, RENO, "50ms"), QUEUE), 21.5, 26.5),
    ("CP-4", ("tail drop", (16, CUBIC, "50ms"), QUEUE), 25, 31),
    ("CP-4", ("tail drop", (16, CUBIC, "50ms"), "queues.bottleneck.loss"), 3, 13),
    ("CP-10", ("c_max = 1.2", (16, RENO, "5ms"), QUEUE), float("-inf"), 12.5),
    ("CP-10", ("c_max = 1.2", (1, RENO, "5ms"), QUEUE), float("-inf"), 12.5),
    ("CP-10", ("c_max = 1.2", (16, RENO, "50ms"), USED), 94, 96),
    ("CP-11", ("c_max = 1.05", (16, RENO, "50ms"), QUEUE), float("-inf"), 16),
    ("CP-11", ("c_max = 1.5", (1, RENO, "5ms"), QUEUE), float("-inf"), 9.5),
    ("CP-11", ("c_max = 1.5", (16, RENO, "5ms"), QUEUE), float("-inf"), 9.5),
    ("CP-11", ("c_max = 1.5", (1, RENO, "50ms"), USED), 81, 83),
    ("CP-11", ("c_max = 1.5", (16, RENO, "50ms"), USED), 93, 95),
    ("CP-11", ("c_max = 1.5", (1, CUBIC, "50ms"), USED), 95, 97),
    ("CP-11", ("c_max = 1.5", (16, CUBIC, "50ms"), USED), 98, 100),
    ("CP-12", ("c_max = 1.2", (16, CUBIC, "5ms"), QUEUE), 6, 8),
    ("CP-12", ("tail drop", (16, CUBIC, "5ms"), QUEUE), 29, 31),
)
"""Numbers of the claims at the parameters of the study "stack", and what the claims allow."""

assert all(place[1] in COMBINATIONS for _, place, _, _ in PLACES)
