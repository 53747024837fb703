from __future__ import annotations

import pytest
from scipy import stats as scipy_stats

from forebay import interval, paired_difference, stats


def test_interval_of_five_samples() -> None:
    # Mean 12, sample variance 10/4, t(4 degrees, 0.975) = 2.776445 from the table.
    found = interval([10.0, 12.0, 11.0, 13.0, 14.0])
    assert found is not None
    assert found.mean == pytest.approx(12.0)
    assert found.half_width == pytest.approx(2.776445 * (2.5 / 5) ** 0.5, rel=1e-6)
    assert found.samples == 5


def test_interval_agrees_with_scipy() -> None:
    samples = [0.3, 7.1, 2.2, 5.8, 4.4, 4.9, 1.0]
    found = interval(samples, level=0.9)
    expected = scipy_stats.ttest_1samp(samples, 0.0).confidence_interval(0.9)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_absent_samples_are_left_out() -> None:
    found = interval([None, 3.0, None, 5.0])
    assert found is not None
    assert (found.mean, found.samples) == (4.0, 2)
    assert interval([None, None]) is None
    assert interval([]) is None


def test_one_sample_has_no_interval() -> None:
    found = interval([3.0])
    assert found is not None
    assert (found.mean, found.half_width, found.low, found.high) == (3.0, None, None, None)
    assert not found.excludes_zero


def test_paired_difference_is_narrower_than_either() -> None:
    # Differences 1, 2, 3: mean 2, standard deviation 1, t(2 degrees, 0.975) = 4.302653.
    found = paired_difference([10.0, 20.0, 30.0], [9.0, 18.0, 27.0])
    assert found is not None
    assert found.mean == pytest.approx(2.0)
    assert found.half_width == pytest.approx(4.302653 / 3**0.5, rel=1e-6)
    assert not found.excludes_zero


def test_pairs_with_an_absent_half_are_left_out() -> None:
    found = paired_difference([1.0, None, 3.0], [0.0, 5.0, None])
    assert found is not None
    assert (found.mean, found.samples) == (1.0, 1)
    with pytest.raises(ValueError, match="shorter"):
        paired_difference([1.0, 2.0], [1.0])


def test_shares_stay_between_0_and_100() -> None:
    # Wilson's interval by hand: 0 of 50, 95 %: 0 to z^2 / (n + z^2).
    none, all_ = stats.proportion([False] * 50), stats.proportion([True] * 50)
    assert (
        none.mean == 0.0
        and none.low == pytest.approx(0.0)
        and none.high == pytest.approx(7.135, abs=0.001)
    )
    assert all_.high == pytest.approx(100.0) and all_.low == pytest.approx(100 - none.high)
    half = stats.proportion([True, False] * 10)
    assert (half.low + half.high) / 2 == pytest.approx(half.mean) == 50.0
    with pytest.raises(ValueError, match="at least one"):
        stats.proportion([])


def test_one_more_run_varies_more_than_the_mean() -> None:
    # Mean 2, deviation 1, t(2) = 4.3027: 4.3027 * sqrt(1 + 1/3).
    found = stats.prediction([1.0, 2.0, 3.0])
    assert found is not None and found.half_width == pytest.approx(
        4.3027 * (4 / 3) ** 0.5, abs=1e-3
    )
    assert stats.prediction([1.0]) is None
