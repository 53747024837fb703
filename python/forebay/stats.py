"""Statistics over replications: Student's t intervals and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95
"""Confidence level of every interval unless another is given."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and how well it is known, in the unit of the samples."""

    mean: float
    half_width: float | None
    """Half the width of the confidence interval; none if fewer than two samples were given."""
    samples: int

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


def interval(samples: Sequence[float | None], level: float = LEVEL) -> Interval | None:
    """Mean of independent samples with its Student t interval; samples that are none are left out.

    Args:
        samples: one value a replication.
        level: confidence level, between 0 and 1.

    Returns:
        None if no sample is left.
    """
    from scipy.special import stdtrit  # a tenth of a second, of which few commands have need

    known = [sample for sample in samples if sample is not None]
    count = len(known)
    if count == 0:
        return None
    mean = math.fsum(known) / count
    if count == 1:
        return Interval(mean, None, 1)
    variance = math.fsum((sample - mean) ** 2 for sample in known) / (count - 1)
    quantile = float(stdtrit(count - 1, 0.5 + level / 2))
    return Interval(mean, quantile * math.sqrt(variance / count), count)


def paired_difference(
    first: Sequence[float | None], second: Sequence[float | None], level: float = LEVEL
) -> Interval | None:
    """Mean of `first - second`, replication by replication, with its Student t interval.

    Where both were run with the same random numbers the difference varies less than either, so
    the interval is narrower than one from two separate means.

    Raises:
        ValueError: the two have different lengths.
    """
    pairs = zip(first, second, strict=True)
    return interval([a - b for a, b in pairs if a is not None and b is not None], level)
