"""Intervals and samples put together: differences, quotients, counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forebay._engine import ScenarioError
from forebay.stats import Interval, Span


def surely(found: Sequence[Interval | None], sign: int = 1) -> Span:
    """How many of some differences are above zero; below it with a sign of -1.

    The interval goes from those that surely are to those that are not surely on the other side.
    """
    measured = [each for each in found if each is not None]
    ends = [(each.low, each.high) if sign > 0 else (each.high, each.low) for each in measured]
    yes = sum(near is not None and sign * near > 0 for near, _ in ends)
    no = sum(far is not None and sign * far < 0 for _, far in ends)
    most = len(measured) - no
    runs = max(each.samples for each in measured) if yes < most else 0
    mean = sum(sign * each.mean > 0 for each in measured)
    return Span(float(mean), (most - yes) / 2, runs, float(yes), float(most))


def span(found: Sequence[Interval]) -> Span:
    """From the least mean to the greatest."""
    low, high = (end(each.mean for each in found) for end in (min, max))
    return Span((low + high) / 2, (high - low) / 2, found[0].samples, low, high)


def apart(found: Interval, taken: Interval, scale: float) -> Interval:
    """The difference of two independent means, of which the second is still to be scaled."""
    width = math.hypot(found.half_width or 0.0, scale * (taken.half_width or 0.0))
    return Interval(found.mean - scale * taken.mean, width, min(found.samples, taken.samples))


def scaled(found: Interval | None, scale: float, less: float = 0.0) -> Interval | None:
    """An interval from which `less` is taken, then times `scale`."""
    if found is None or (scale == 1.0 and not less):
        return found
    half = None if found.half_width is None else abs(scale) * found.half_width
    mean = scale * (found.mean - less)
    if isinstance(found, Span):
        low, high = sorted((scale * (found.low - less), scale * (found.high - less)))
        return Span(mean, half, found.samples, low, high)
    return Interval(mean, half, found.samples)


def paired(
    first: Mapping[int, float],
    second: Mapping[int, float],
    combine: Callable[[float, float], float | None],
    points: Sequence[Mapping[str, Any]],
) -> dict[int, float]:
    """Two measures together, replication by replication.

    Raises:
        ScenarioError: no replication has both.
    """
    pairs = {run: combine(value, second[run]) for run, value in first.items() if run in second}
    found = {run: value for run, value in pairs.items() if value is not None}
    if not found:
        one, other = map(dict, points)
        raise ScenarioError(f"no replication has both {one} and {other}")
    return found


def percent(now: float, before: float) -> float | None:
    """The change in percent."""
    return 100 * (now / before - 1) if before else None


def quotient(above: float, below: float) -> float | None:
    """One number over another that is not zero."""
    return above / below if below else None


def means(runs: Sequence[Mapping[int, float]]) -> list[float]:
    """The mean over several points, within each replication that any has."""
    known = sorted({run for each in runs for run in each})
    return [
        math.fsum(found) / len(found)
        for found in ([each[run] for each in runs if run in each] for run in known)
    ]
