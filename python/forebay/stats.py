"""Statistics over replications: Student's t intervals and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from forebay._engine import student

__all__ = [
    "LEVEL",
    "Interval",
    "Span",
    "inside",
    "interval",
    "paired_difference",
    "prediction",
    "proportion",
]

LEVEL = 0.95
"""Confidence level of every interval unless another is given.

Example:
    >>> stats.LEVEL
    0.95
"""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval, in the unit of the samples.

    Example:
        >>> goodput = forebay.Interval(mean=9.5, half_width=0.5, samples=10)
        >>> goodput.low, goodput.high, goodput.excludes_zero
        (9.0, 10.0, True)
    """

    mean: float
    """Mean of the samples."""
    half_width: float | None
    """Half the width of the confidence interval; none if fewer than two samples were given."""
    samples: int
    """How many there were."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero (never without an interval)."""
        return self.half_width is not None and abs(self.mean) > self.half_width


@dataclass(frozen=True, slots=True)
class Span(Interval):
    """A number that need not lie amid its interval.

    Example:
        >>> share = stats.proportion([True] * 9 + [False])
        >>> 0 < share.low < share.mean < share.high < 100
        True
    """

    lower: float
    """Lower end of the interval."""
    upper: float
    """Upper end of the interval."""

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.lower

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.upper


def proportion(held: Sequence[bool], level: float = LEVEL) -> Span:
    """Percent of independent samples for which something holds (Wilson 1927).

    Args:
        held: whether it holds, one value a sample.
        level: confidence level, between 0 and 1.

    Raises:
        ValueError: there are no samples.

    Example:
        >>> share = stats.proportion([True, True, True, False])
        >>> share.mean
        75.0
    """
    from scipy.special import ndtri

    count = len(held)
    if count == 0:
        raise ValueError("a share needs at least one sample")
    share = sum(held) / count
    z = float(ndtri(0.5 + level / 2))
    scale = 1 + z**2 / count
    centre = (share + z**2 / (2 * count)) / scale
    half = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / scale
    # At the ends the formula gives the end itself, but for rounding.
    low = 0.0 if share == 0.0 else centre - half
    high = 1.0 if share == 1.0 else centre + half
    return Span(100 * share, 50 * (high - low), count, 100 * low, 100 * high)


def prediction(samples: Sequence[float], level: float = LEVEL) -> Interval | None:
    """Where one more run would lie: mean and Student t prediction interval of independent samples.

    Args:
        samples: one value a run.
        level: of the interval, between 0 and 1.

    Returns:
        None if there are fewer than two samples.

    Example:
        >>> found = stats.prediction([9.0, 10.0, 11.0])
        >>> found.mean, round(found.low, 1), round(found.high, 1)
        (10.0, 5.0, 15.0)
    """
    mean = interval(samples, level)
    if mean is None or mean.half_width is None:
        return None
    return Interval(mean.mean, mean.half_width * math.sqrt(mean.samples + 1), mean.samples)


def interval(samples: Sequence[float | None], level: float = LEVEL) -> Interval | None:
    """Mean of independent samples with its Student t interval; samples that are None are left out.

    Args:
        samples: one value a replication.
        level: confidence level, between 0 and 1.

    Returns:
        None if no sample is left.

    Example:
        >>> found = forebay.interval([9.0, 10.0, 11.0])
        >>> found.mean, round(found.half_width, 2), found.samples
        (10.0, 2.48, 3)
    """
    known = [sample for sample in samples if sample is not None]
    count = len(known)
    if count == 0:
        return None
    mean = math.fsum(known) / count
    if count == 1:
        return Interval(mean, None, 1)
    variance = math.fsum((sample - mean) ** 2 for sample in known) / (count - 1)
    quantile = student(count - 1, 0.5 + level / 2)
    return Interval(mean, quantile * math.sqrt(variance / count), count)


def inside(found: Interval | None, low: float, high: float) -> bool | None:
    """Whether a whole interval lies within bounds (True) or without (False).

    Args:
        found: the interval, in the unit of the bounds; none if it is not known.
        low: lower bound.
        high: upper bound.

    Returns:
        None if it has an end on either side, or is not known: more runs are needed.

    Example:
        >>> stats.inside(forebay.Interval(5.0, 1.0, 10), 3.0, 7.0)
        True
    """
    if found is None or found.low is None or found.high is None or math.isnan(found.mean):
        return None
    if low <= found.low and found.high <= high:
        return True
    return False if found.high < low or high < found.low else None


def paired_difference(
    first: Sequence[float | None], second: Sequence[float | None], level: float = LEVEL
) -> Interval | None:
    """Mean of `first - second`, replication by replication, with its Student t interval.

    Where both were run with the same random numbers the difference varies less than either, so
    the interval is narrower than one from two separate means.

    Args:
        first: one value a replication; what was not measured is None.
        second: of the same replications.
        level: confidence level, between 0 and 1.

    Raises:
        ValueError: the two have different lengths.

    Example:
        >>> fifo, codel = [80.0, 95.0, 88.0], [21.0, 34.0, 30.0]
        >>> round(forebay.paired_difference(fifo, codel).mean, 1)
        59.3
    """
    pairs = zip(first, second, strict=True)
    return interval([a - b for a, b in pairs if a is not None and b is not None], level)
