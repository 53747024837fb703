"""Closed forms against numbers from textbooks, papers and other formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forebay import _theory as theory
from forebay._theory import Moments, fixed_moments


def exponential(mean: float) -> Moments:
    return Moments(mean, 2 * mean * mean)


def test_mm1_by_hand() -> None:
    # Utilization 0.8, service 1: 4 in the system, of whom 3.2 wait; the time in the system is
    # 5 services, of which one is served.
    assert theory.mm1_mean_wait(0.8, 1.0) == pytest.approx(4.0)
    assert theory.mm1_mean_waiting(0.8) == pytest.approx(3.2)
    k = np.arange(2000)
    probability, waiting = 0.2 * 0.8**k, np.maximum(k - 1, 0)
    mean = (probability * waiting).sum()
    variance = (probability * waiting**2).sum() - mean**2
    assert theory.mm1_std_waiting(0.8) == pytest.approx(math.sqrt(variance))


def test_wait_quantile_inverts_the_distribution() -> None:
    wait = float(theory.mm1_wait_quantile(0.9, 0.5, 0.99))
    assert 0.9 * math.exp(-(1 - 0.9) * wait / 0.5) == pytest.approx(0.01)
    # With utilization 0.3 seven of ten do not wait.
    assert theory.mm1_wait_quantile(0.3, 0.5, 0.5) == 0


def test_arrays_broadcast() -> None:
    waits = theory.mm1_mean_wait([0.5, 0.9], 2.0)
    assert waits == pytest.approx([2.0, 18.0])
    assert theory.mm1k_loss([0.5, 1.0], 3) == pytest.approx([1 / 15, 1 / 4])


@pytest.mark.parametrize("rho", [1.0, 1.2, -0.1, [0.5, 1.0]])
def test_unstable_queues_are_refused(rho: float | list[float]) -> None:
    with pytest.raises(ValueError, match="below 1"):
        theory.mm1_mean_wait(rho, 1.0)


def test_mm1k_by_hand() -> None:
    # K = 2, load 1/2: probabilities 4/7, 2/7, 1/7; one waits in the last.
    assert theory.mm1k_distribution(0.5, 2) == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert theory.mm1k_loss(0.5, 2) == pytest.approx(1 / 7)
    assert theory.mm1k_mean_waiting(0.5, 2) == pytest.approx(1 / 7)
    # At load 1 all numbers are equally likely; a large K is M/M/1.
    assert theory.mm1k_loss(1.0, 9) == pytest.approx(0.1)
    assert theory.mm1k_mean_waiting(0.8, 500) == pytest.approx(3.2)


def test_pollaczek_khinchine_contains_mm1_and_md1() -> None:
    spread = exponential(2.0)
    assert theory.mg1_mean_wait(0.4, spread) == pytest.approx(theory.mm1_mean_wait(0.8, 2.0))
    assert theory.mg1_mean_wait(0.4, fixed_moments(2.0)) == pytest.approx(4.0)
    assert theory.md1_mean_wait(0.8, 2.0) == pytest.approx(4.0)
    # Half of the packets take 1, half take 3: E[S] = 2, E[S^2] = 5; 0.25 * 5 / (2 * 0.5).
    mixed = theory.mixed_moments([(1.0, fixed_moments(1.0)), (1.0, fixed_moments(3.0))])
    assert mixed == Moments(2.0, 5.0)
    assert theory.mg1_mean_wait(0.25, mixed) == pytest.approx(1.25)


def test_moments_scale_and_shift() -> None:
    assert fixed_moments(3.0).shifted(2.0) == Moments(5.0, 25.0)
    assert fixed_moments(3.0).scaled(2.0) == Moments(6.0, 36.0)


def test_whole_bytes_hardly_change_moments() -> None:
    whole, ideal = theory.whole_exponential_moments(1000), exponential(1000)
    assert whole.first == pytest.approx(ideal.first, rel=1e-6)
    assert whole.second == pytest.approx(ideal.second, rel=1e-6)
    lengths = np.clip(np.floor(np.random.default_rng(1).exponential(3.0, 10**6) + 0.5), 1, 65_535)
    small = theory.whole_exponential_moments(3)
    assert small.first == pytest.approx(lengths.mean(), rel=5e-3)
    assert small.second == pytest.approx((lengths**2).mean(), rel=1e-2)


def test_priority_keeps_the_conservation_law() -> None:
    # Two classes, exponential service of mean 1, load 0.4 each: R = 0.8, 0.8 / 0.6 and
    # 0.8 / (0.6 * 0.2).
    service = exponential(1.0)
    waits = theory.priority_mean_waits([(0.4, service), (0.4, service)])
    assert waits == pytest.approx([4 / 3, 20 / 3])
    # The sum of load times wait is what it is without priorities.
    assert 0.4 * waits.sum() == pytest.approx(0.8 * theory.mm1_mean_wait(0.8, 1.0))


def test_shares_by_weight() -> None:
    inf = math.inf
    assert theory.weighted_shares([1, 3], inf) == pytest.approx([0.25, 0.75])
    # The first needs less than its half, the others divide the rest 1:3.
    shares = theory.weighted_shares([4, 1, 3], [2.0, inf, inf], capacity=10.0)
    assert shares == pytest.approx([2.0, 2.0, 6.0])
    # Satisfying one lets another be satisfied.
    assert theory.weighted_shares([1, 1, 1], [0.1, 0.4, inf]) == pytest.approx([0.1, 0.4, 0.5])
    assert theory.weighted_shares([1, 1], [0.1, 0.2]) == pytest.approx([0.1, 0.2])


def test_square_root_law() -> None:
    # Mathis et al. 1997, table 1: C = 1.22 and, with delayed acknowledgments, 0.87.
    assert theory.square_root_window(1.0) == pytest.approx(1.22, abs=0.005)
    assert theory.square_root_window(1.0, 2) == pytest.approx(0.87, abs=0.005)
    # Ott, Kemperman and Mathis 1996: 1.3098.
    assert theory.square_root_window_random(1.0) == pytest.approx(1.3098, abs=5e-5)
    assert theory.window_rate(10, 1460, 0.1) == pytest.approx(1_168_000)


def test_random_losses_by_simulating_the_recursion() -> None:
    rng = np.random.default_rng(2)
    window = np.full(20_000, 1.0)
    for _ in range(50):
        window = np.sqrt((window / 2) ** 2 + 2 * rng.exponential(1.0, window.shape))
    assert theory.square_root_window_random(1.0) == pytest.approx(2 / window.mean(), rel=0.01)


@pytest.mark.parametrize(
    ("round_trip", "loss", "segments"),
    # RFC 9438, section 5.1, tables 1 and 2: Reno-friendly above, cubic below.
    [
        (0.1, 1e-2, 12),
        (0.1, 1e-3, 38),
        (0.1, 1e-4, 187),
        (0.1, 1e-5, 1054),
        (0.1, 1e-6, 5926),
        (0.1, 1e-7, 33_325),
        (0.1, 1e-8, 187_400),
        (0.01, 1e-4, 120),
        (0.01, 1e-6, 1200),
    ],
)
def test_cubic_response(round_trip: float, loss: float, segments: float) -> None:
    assert theory.cubic_window(loss, round_trip) == pytest.approx(segments, rel=0.03)


def test_cubic_fluid_scales_as_the_response_function() -> None:
    # Where only the cubic counts the window goes as (RTT / p)^(3/4).
    near = theory.cubic_window_random(1e-3, 3.0, flows=400, losses=60)
    far = theory.cubic_window_random(1e-4, 3.0, flows=400, losses=60)
    assert far / near == pytest.approx(10**0.75, rel=0.04)
    # Random losses favour the window, as they do Reno's (1.31 against 1.22).
    assert 1.0 < near / float(theory.cubic_window(1e-3, 3.0)) < 1.2


def test_dctcp_comes_back_to_the_same_alpha() -> None:
    # One marked round trip in ten, step by step.
    alpha = 1.0
    for number in range(1000):
        before = alpha
        alpha = alpha * (1 - 1 / 16) + (1 / 16 if number % 10 == 0 else 0.0)
        if number == 990:
            assert theory.dctcp_alpha(10, 1 / 16) == pytest.approx(before, rel=1e-9)
    # All marked: one. A window of 500 with g = 1/16: the drop, and two round trips.
    assert theory.dctcp_alpha(1, 1 / 16) == pytest.approx(1.0)
    rounds = theory.dctcp_rounds(500, 1 / 16)
    assert rounds == pytest.approx(501 * float(theory.dctcp_alpha(rounds, 1 / 16)) / 2 + 2)
    assert 13 < rounds < 14
