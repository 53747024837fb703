"""NCQ's analysis against hand calculation, published points and the simulator."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forebay import Scenario, run, stats
from forebay import _theory as theory
from forebay._theory import ncq

LOAD = ncq.traffic(0.6, 0.1, 0.0005, 0.005)


def test_equations_by_hand() -> None:
    # lambda = 0.6 / (0.1 x 0.5 ms + 0.9 x 5 ms) = 131.87 a second.
    rate = 0.6 / 0.00455
    squares = rate * (0.1 * 0.25e-6 + 0.9 * 25e-6)
    first = squares / (2 * (1 - rate * 0.1 * 0.0005))
    found = ncq.with_priority(LOAD)
    assert float(found.first) == pytest.approx(first + 0.0005)
    assert float(found.second) == pytest.approx(first / 0.4 + 0.005)
    assert float(ncq.without_priority(LOAD).first) == pytest.approx(0.6 * 0.00455 / 0.8 + 0.0005)
    exact = ncq.without_priority(LOAD, exact=True)
    assert float(exact.second) == pytest.approx(squares / 0.8 + 0.005)
    # Cobham's formula says the same as the general one.
    classes = [
        (rate * 0.1, theory.fixed_moments(0.0005)),
        (rate * 0.9, theory.fixed_moments(0.005)),
    ]
    assert theory.priority_mean_waits(classes) == pytest.approx(
        [float(found.first) - 0.0005, float(found.second) - 0.005]
    )


def test_thresholds_lie_between_none_and_all() -> None:
    none = ncq.with_threshold(LOAD, 0.0, reading="algorithm", exact=True)
    fifo = ncq.without_priority(LOAD, exact=True)
    every = ncq.with_threshold(LOAD, 1.0, reading="algorithm", exact=True)
    priority = ncq.with_priority(LOAD)
    for got, want in ((none, fifo), (every, priority)):
        assert float(got.first) == pytest.approx(float(want.first))
        assert float(got.second) == pytest.approx(float(want.second))
    # Conservation (Kleinrock): the work that waits is the same whoever goes first.
    one = ncq.with_threshold(LOAD, 0.05, reading="algorithm", exact=True)
    work = [
        float(LOAD.first * 0.0005 * (each.first - 0.0005))
        + float(LOAD.second * 0.005 * (each.second - 0.005))
        for each in (fifo, one, priority)
    ]
    assert work[1] == pytest.approx(work[0], rel=0.01) and work[2] == pytest.approx(work[0])
    assert float(ncq.favoured_share(LOAD, 0.05)) == pytest.approx(0.005)
    assert float(ncq.favoured_share(LOAD, 0.05, "algorithm")) == pytest.approx(0.5)
    assert float(ncq.favoured_share(LOAD, 0.5, "algorithm")) == 1.0


def test_tasks() -> None:
    assert float(ncq.packets_of_task(5e6, 1000)) == pytest.approx(5e6 / 960)
    assert np.allclose(ncq.task_time([0.1, 0.2], 10), [1, 2])
    with pytest.raises(ValueError, match="larger"):
        ncq.packets_of_task(1, 40)
    with pytest.raises(ValueError, match="below 1"):
        ncq.traffic(1.0, 0.1, 1, 1)


def measured(queue: dict[str, object], runs: int = 8) -> dict[str, stats.Interval]:
    """Mean queuing delays of both classes at u = 0.6, Poisson arrivals, 2 Mbit/s, in seconds."""
    # 125 B take 0.5 ms, 1250 B 5 ms.
    sources = [
        {
            "name": "one",
            "kind": "poisson",
            "size": "125B",
            "rate": f"{float(LOAD.first) * 1000}bit",
        },
        {
            "name": "two",
            "kind": "poisson",
            "size": "1250B",
            "rate": f"{float(LOAD.second) * 1e4}bit",
        },
    ]
    ends = {"from": "a", "to": "b"}
    scenario = Scenario.of(
        {
            "duration": "400s",
            "warmup": "10s",
            "link": [ends | {"name": "link", "rate": "2Mbit", "queue": queue}],
            "traffic": [source | ends for source in sources],
        }
    )
    delays: dict[str, list[float]] = {"one": [], "two": []}
    for seed in range(1, runs + 1):
        classes = run(scenario, seed=seed).summary["classes"]
        for name, values in delays.items():
            values.append(classes[name]["mean_delay_ms"] / 1000)
    found = {name: stats.interval(values) for name, values in delays.items()}
    return {name: interval for name, interval in found.items() if interval is not None}


def test_the_exact_forms_agree_with_the_simulator() -> None:
    fifo = measured({"kind": "fifo", "limit": "100000p"})
    exact, printed = ncq.without_priority(LOAD, exact=True), ncq.without_priority(LOAD)
    assert agree(fifo, exact)
    # Equation 9 leaves out that the sizes differ.
    assert fifo["two"].low is not None and float(printed.second) < fifo["two"].low
    # Without a limit class 1 always goes first: equations 1 to 6.
    assert agree(
        measured({"kind": "ncq", "limit": "100000p", "ncqthresh": 1.0}), ncq.with_priority(LOAD)
    )
    coin = {"kind": "ncq", "limit": "100000p", "ncqthresh": 0.05, "mode": "probabilistic"}
    # By the algorithm's reading half of class 1 is favoured.
    half = ncq.with_threshold(LOAD, 0.05, reading="algorithm", exact=True)
    found = measured(coin)
    assert agree(found, half)
    assert found["one"].mean < 0.8 * float(ncq.with_threshold(LOAD, 0.05, exact=True).first)
    # The running ratio favours who comes after many others, when the queue is long.
    ratio = measured(coin | {"mode": "threshold"})
    assert 0.9 < ratio["one"].mean / float(half.first) < 0.96


def agree(found: dict[str, stats.Interval], want: ncq.Delays) -> bool:
    """Whether the delays lie in the intervals: 99.9 % of eight runs, 5.4 standard errors."""
    for name, value in (("one", want.first), ("two", want.second)):
        half = found[name].half_width
        # Student's t for seven degrees of freedom: 2.365 at 95 %, 5.408 at 99.9 %.
        if half is None or abs(found[name].mean - float(value)) > half * 5.408 / 2.365:
            return False
    return True


def test_the_rating_of_a_call_at_published_points() -> None:
    # Cole and Rosenbluth's figure 2: 177.3 ms costs 4.3.
    assert float(ncq.r_factor(177.3, 0)) == pytest.approx(94.2 - 4.2552)
    assert float(ncq.r_factor(0, 0.02)) == pytest.approx(94.2 - 30 * math.log(1.3))
