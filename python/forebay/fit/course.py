"""The rate that stretches of packets have in common, and its course if it changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forebay.fit.measurement import Numbers

FEW = 40
"""Fewer stretches of packets do not tell a rate."""
ALIKE = 0.01
"""Rates within this share of each other are one."""
AGREE = 0.3
"""Share of stretches of a length that agree, unless clocks and timers blur what they say."""
COMMON = 0.08
"""Least share of the stretches that a mode has."""
_WINDOW_S = 0.1
"""Shortest time over which a rate that changes is told."""
_HARDLY = 0.02
"""Share of stretches that is luck."""
_STEP = 0.08
"""Rates of neighbouring times within this share of each other are one."""

Course = tuple[tuple[float, float], ...]
"""From when on, in s, the link has which rate, in bit/s; the first one from 0 on."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A rate that is common."""

    rate: float
    """In bit/s."""
    error: float
    """Twice its standard error, as a share of it."""
    share: float
    """Of the stretches."""


def highest_mode(rates: Numbers) -> Mode | None:
    """The highest rate that a common share of the stretches has."""
    ordered = np.sort(rates)
    last = np.searchsorted(ordered, ordered * (1 + 2 * ALIKE), side="right")
    mass = (last - np.arange(len(ordered))) / len(ordered)
    enough = np.flatnonzero(mass >= max(COMMON, 0.25 * float(mass.max())))
    if not len(enough):
        return None
    # The densest place within the highest common range.
    top = int(enough[-1])
    near = enough[ordered[enough] >= ordered[top] * (1 - 2 * ALIKE)]
    best = int(near[np.argmax(mass[near])])
    chosen = ordered[best : last[best]]
    middle = float(np.median(chosen))
    error = float(np.std(chosen)) / middle / np.sqrt(max(1.0, len(chosen) / 16))
    return Mode(middle, 2 * float(error), float(mass[best]))


def course_of(begin: Numbers, rates: Numbers) -> Course:
    """The course of a rate, in steps; empty if there are too few stretches.

    Others' packets leave the rate of stretches as it is that have none of them, so that the highest
    common rate of a time is taken, and where none is common, what the stretches have together.

    Args:
        begin: when each stretch began, in s, in order.
        rates: its rate in bit/s.
    """
    steps: list[tuple[float, list[float]]] = []
    for at, own in _windows(begin, rates):
        mode = highest_mode(own)
        # Equal bytes a stretch, so that times add up.
        rate = float(len(own) / np.sum(1 / own))
        if mode is not None and mode.share >= AGREE:
            rate = mode.rate
        if steps and abs(rate / np.mean(steps[-1][1]) - 1) < _STEP:
            steps[-1][1].append(rate)
        else:
            steps.append((at, [rate]))
    found = [(at, float(np.mean(each))) for at, each in steps]
    if not found:
        return ()
    return ((0.0, found[0][1]), *found[1:])


def slower(begin: Numbers, rates: Numbers, usual: float) -> float:
    """Share of the time in which stretches agree on less than the usual rate, and none has it.

    Where others' packets come between, some stretches still have the link's rate.
    """
    windows = _windows(begin, rates)
    if not windows:
        return 0.0
    # A slower rate needs longer windows.
    took = np.diff([*(at for at, _ in windows), float(begin[-1])])
    found = []
    for _, own in windows:
        mode = highest_mode(own)
        fast = np.mean(own > usual * (1 - 3 * ALIKE))
        found.append(mode is not None and mode.share >= AGREE and bool(fast < _HARDLY))
    return float(np.sum(took[found]) / max(1e-9, np.sum(took)))


def _windows(begin: Numbers, rates: Numbers) -> list[tuple[float, Numbers]]:
    """The stretches of equal times, each with enough of them, and when each time begins."""
    if len(rates) < 2 * FEW:
        return []
    edges = np.searchsorted(begin, np.arange(begin[0], begin[-1], _WINDOW_S)).tolist()
    found: list[tuple[float, Numbers]] = []
    low = 0
    for high in [*edges[1:], len(begin)]:
        if high - low >= FEW:
            found.append((float(begin[low]), rates[low:high]))
            low = high
    return found


def mean_of(course: Course, begin: float, end: float) -> float:
    """The mean rate from `begin` to `end`, in bit/s."""
    at = np.array([each for each, _ in course])
    rate = np.array([each for _, each in course])
    edges = np.clip(np.concatenate([at, [end]]), begin, end)
    took = np.diff(edges)
    return float(np.sum(took * rate) / max(1e-9, np.sum(took)))
