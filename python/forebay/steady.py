"""The mean of a single long run: warm-up removal by MSER-5, and batch means.

Successive samples of one run depend on each other, so Student's interval over them is far too
narrow. Two classical remedies are joined here:

- **MSER-5** (K. P. White, M. J. Cobb, S. C. Spratt, *A comparison of five steady-state truncation
  heuristics for simulation*, WSC 2000): with Z_1..Z_m the means of five samples each, remove the d
  first of them for which sum((Z_j - mean)^2, j > d) / (m - d)^2 is least. A minimum that is not
  in the first half says that the run is too short to know its steady state.
- **Non-overlapping batch means** (B. Schmeiser, *Batch size effects in the analysis of simulation
  output*, Operations Research 30(3), 1982): what is left is cut into 10 to 30 batches of equal
  length, whose means are nearly independent and normal, and get Student's interval. The largest
  of 30, 20 and 10 whose means show no significant correlation at lag one is taken.

That a minimum in the second half decides nothing, and that the last five groups are not considered,
as their few values may lie close together by chance, is as K. Hoad, S. Robinson and R. Davies have
it (*Automating warm-up length estimation*, Journal of the Operational Research Society 61, 2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forebay import stats

__all__ = ["SteadyMean", "batch_means", "mean_of_run", "mser5"]

_GROUP = 5
"""Samples that MSER-5 joins."""
_LEAST = 2 * _GROUP * 10
"""Samples below which nothing is said."""
_BATCHES = (30, 20, 10)
_ONE_SIDED = 1.645


@dataclass(frozen=True, slots=True)
class SteadyMean:
    """The mean of a run's steady state.

    Example:
        >>> found = steady.mean_of_run([9.0] * 20 + [1.0, 2.0] * 200)
        >>> found.interval.mean, found.removed, found.correlated
        (1.5, 20, False)
    """

    interval: stats.Interval
    """Over the batches; `samples` is their number."""
    removed: int
    """Samples at the beginning that were taken for warm-up."""
    correlated: bool
    """Whether even the longest batches depend on each other: the interval is then too narrow."""


def mser5(samples: ArrayLike) -> int | None:
    """Samples at the beginning to remove as warm-up: a multiple of five.

    Args:
        samples: of one run, at equal distances, its beginning included.

    Returns:
        None if the run is too short to tell: the least error is not in its first half.

    Example:
        >>> steady.mser5([9.0] * 20 + [1.0, 2.0] * 200)
        20
    """
    values = _series(samples)
    groups = len(values) // _GROUP
    if groups < 2:
        return None
    means = values[: groups * _GROUP].reshape(groups, _GROUP).mean(axis=1)
    # Sums over the tail from every d on; centred first, so that no digits are lost.
    centred = means - means.mean()
    tail = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum((centred**2)[::-1])[::-1]
    left = np.arange(groups, 0, -1)
    error = np.maximum(squares - tail**2 / left, 0.0) / left**2
    # The last few have hardly anything left to differ.
    best = int(np.argmin(error[: max(1, groups - _GROUP)]))
    return None if best > groups // 2 else best * _GROUP


def batch_means(
    samples: ArrayLike, batches: int, level: float = stats.LEVEL
) -> tuple[stats.Interval, float]:
    """The mean of a stationary series with its interval, from means of equal batches.

    What does not fill the batches is left out at the beginning.

    Args:
        samples: at equal distances.
        batches: how many, at least 2 and at most as many as samples.
        level: confidence level of the interval.

    Returns:
        The interval, and the correlation of successive batches' means.

    Raises:
        ValueError: there are fewer samples than batches, or fewer than 2 batches.

    Example:
        >>> interval, correlation = steady.batch_means([1.0, 2.0] * 200, 10)
        >>> interval.mean, correlation
        (1.5, 0.0)
    """
    values = _series(samples)
    if not 2 <= batches <= len(values):
        raise ValueError(f"cannot make {batches} batches of {len(values)} samples")
    length = len(values) // batches
    means = values[len(values) - batches * length :].reshape(batches, length).mean(axis=1)
    interval = stats.interval(means.tolist(), level)
    assert interval is not None
    centred = means - means.mean()
    spread = float(centred @ centred)
    return interval, float(centred[1:] @ centred[:-1]) / spread if spread > 0.0 else 0.0


def mean_of_run(samples: ArrayLike, level: float = stats.LEVEL) -> SteadyMean | None:
    """The mean of a single run's steady state: warm-up removed, then batch means.

    Args:
        samples: of one run, at equal distances, its beginning included.
        level: confidence level of the interval.

    Returns:
        None if the run is too short to tell: fewer than 100 samples, or no end of the warm-up.

    Example:
        >>> steady.mean_of_run([9.0] * 20 + [1.0, 2.0] * 200).interval.mean
        1.5
    """
    values = _series(samples)
    removed = mser5(values) if len(values) >= _LEAST else None
    if removed is None:
        return None
    kept = values[removed:]
    for batches in _BATCHES:
        interval, correlation = batch_means(kept, batches, level)
        if correlation < _ONE_SIDED / math.sqrt(batches):
            return SteadyMean(interval, removed, False)
    return SteadyMean(interval, removed, True)


def _series(samples: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError("expected one series of samples")
    return values
