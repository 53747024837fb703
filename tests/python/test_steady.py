"""Warm-up removal and batch means on processes whose means and variances are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from forebay import steady


def autoregressive(
    length: int, phi: float, seed: int, mean: float = 10.0, start: float | None = None
) -> NDArray[np.float64]:
    """x' = mean + phi (x - mean) + noise of variance 1; from `start`, or stationary."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=length)
    values = np.empty(length)
    at = mean + rng.normal() / np.sqrt(1 - phi**2) if start is None else start
    for number in range(length):
        at = mean + phi * (at - mean) + noise[number]
        values[number] = at
    return values


def mser5_by_definition(values: NDArray[np.float64]) -> int:
    means = values[: len(values) // 5 * 5].reshape(-1, 5).mean(axis=1)
    errors = [
        ((means[d:] - means[d:].mean()) ** 2).sum() / (len(means) - d) ** 2
        for d in range(len(means) - 5)
    ]
    return int(np.argmin(errors)) * 5


@pytest.mark.parametrize("seed", range(10))
def test_mser5_is_its_definition(seed: int) -> None:
    values = autoregressive(600, 0.5, seed, start=60.0)
    assert steady.mser5(values) == mser5_by_definition(values)


def test_mser5_removes_a_step_and_little_of_what_is_steady() -> None:
    rng = np.random.default_rng(1)
    step = np.concatenate([np.full(100, 50.0), 10 + rng.normal(size=900)])
    assert steady.mser5(step) == 100
    removed = [steady.mser5(10 + rng.normal(size=1000)) for _ in range(50)]
    assert np.median([each for each in removed if each is not None]) <= 100
    ramp = np.arange(1000.0)
    assert steady.mser5(ramp) is None, "a run that never becomes steady"
    assert steady.mser5(np.full(200, 3.0)) == 0
    assert steady.mser5([1.0, 2.0]) is None


def test_batch_means_by_hand() -> None:
    interval, correlation = steady.batch_means([9, 1, 3, 2, 4, 6, 8], 3)
    # The first is left over; batches 2, 3, 7 of mean 4 and variance 7; t(2, 0.975) = 4.30265.
    assert interval.mean == 4.0
    assert interval.half_width == pytest.approx(4.30265 * (7 / 3) ** 0.5, rel=1e-5)
    # (-2)(-1) + (-1)(3) over 4 + 1 + 9.
    assert correlation == pytest.approx(-1 / 14)
    with pytest.raises(ValueError, match="batches"):
        steady.batch_means([1.0], 2)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    covered = naive = told = 0
    runs = 300
    for seed in range(runs):
        values = autoregressive(2000, 0.8, seed, start=30.0)
        naive += abs(values.mean() - 10.0) <= 1.96 * values.std() / len(values) ** 0.5
        known = steady.mean_of_run(values)
        if known is None:
            continue
        told += 1
        assert known.interval.half_width is not None
        covered += abs(known.interval.mean - 10.0) <= known.interval.half_width
    assert told >= 0.9 * runs
    # 95 %, less three standard deviations of the estimate, 1.3 points each.
    assert covered / told >= 0.91
    assert naive / runs < 0.6, "samples taken for independent would have hidden the error"


def test_too_short_a_run_says_nothing() -> None:
    assert steady.mean_of_run(np.ones(99)) is None
    assert steady.mean_of_run(np.arange(300.0)) is None


def test_batches_that_depend_on_each_other_are_told() -> None:
    slow = steady.mean_of_run(10 + np.sin(np.linspace(0, 4 * np.pi, 1000)))
    assert slow is None or slow.correlated
