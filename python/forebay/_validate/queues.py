"""Single queues against queueing theory.

All have one link of 10 Mbit/s and Poisson traffic. Times and numbers count waiting packets, without
the packet in transmission. Exponential lengths are rounded to whole bytes, at least 1 B. With a
mean of 1000 B, this changes waits by less than one part in a million. If a link adds overhead, the
moments of the rounded law are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from forebay import _theory as theory
from forebay._theory import Moments
from forebay._validate.check import Check, Exact, Quantity, Summary, link, queue, traffic

FAMILY = "queues"

RATE = 10_000_000
"""Rate of the link, bit/s."""
SIZE = 1000
"""Mean length of packets, bytes."""
SERVICE = SIZE * 8 / RATE
"""Mean transmission time, seconds."""
WARMUP = 20
"""Seconds; an M/M/1 queue at utilization 0.9 forgets its beginning within 0.3 s."""

KLEINROCK = "Kleinrock 1975"


def checks() -> list[Check]:
    """All checks of this family."""
    return [
        *(_mm1(rho, packets) for rho, packets in ((0.3, 5e5), (0.6, 1e6), (0.9, 6e6))),
        *(_md1(rho, packets) for rho, packets in ((0.3, 3e5), (0.6, 5e5), (0.9, 3e6))),
        *(_bimodal(rho, packets) for rho, packets in ((0.3, 6e5), (0.6, 1e6), (0.9, 6e6))),
        _overhead(0.6, 1e6),
        *(_superposed(rho, packets) for rho, packets in ((0.6, 5e5), (0.9, 3e6))),
        *(
            _mm1k(load, limit, packets)
            for load, limit, packets in ((0.6, 4, 2e6), (0.9, 9, 1e6), (1.2, 9, 5e5))
        ),
        *(_priority(rho, packets) for rho, packets in ((0.3, 1e6), (0.6, 1e6), (0.9, 6e6))),
        _conservation(),
    ]


def _mm1(rho: float, packets: float) -> Check:
    quantities = [
        _utilization(rho),
        _wait("mean wait", float(theory.mm1_mean_wait(rho, SERVICE))),
        _waiting(float(theory.mm1_mean_waiting(rho))),
    ]
    if rho == 0.9:
        quantities += [
            Quantity(
                "standard deviation of the number waiting",
                "packets",
                float(theory.mm1_std_waiting(rho)),
                queue("std_packets"),
            ),
            Quantity(
                "99th percentile of the wait",
                "ms",
                float(theory.mm1_wait_quantile(rho, SERVICE, 0.99)) * 1e3,
                queue("p99_delay_ms"),
            ),
        ]
    return _check(
        f"mm1-{rho}",
        f"M/M/1, utilization {rho}",
        f"{KLEINROCK}, section 3.2",
        [_poisson("all", rho * RATE, SIZE, sizes="exponential")],
        quantities,
        rho / SERVICE,
        packets,
    )


def _md1(rho: float, packets: float) -> Check:
    wait = float(theory.md1_mean_wait(rho, SERVICE))
    return _check(
        f"md1-{rho}",
        f"M/D/1, utilization {rho}",
        f"{KLEINROCK}, section 5.6",
        [_poisson("all", rho * RATE, SIZE)],
        [_utilization(rho), _wait("mean wait", wait), _waiting(wait * rho / SERVICE)],
        rho / SERVICE,
        packets,
    )


def _bimodal(rho: float, packets: float) -> Check:
    short, long = 100, 1400
    # Half of the packets are short.
    each = rho * RATE / (8 * (short + long))
    service = theory.mixed_moments([(each, _transmission(short)), (each, _transmission(long))])
    wait = float(theory.mg1_mean_wait(2 * each, service))
    return _check(
        f"mg1-bimodal-{rho}",
        f"M/G/1, packets of {short} B and of {long} B, utilization {rho}",
        f"{KLEINROCK}, section 5.6 (Pollaczek and Khinchine)",
        [
            _poisson("short", each * short * 8, short),
            _poisson("long", each * long * 8, long),
        ],
        [
            _utilization(rho),
            _wait("mean wait", wait),
            _waiting(2 * each * wait),
            _class_wait("short", wait, short * 8 / RATE),
            _class_wait("long", wait, long * 8 / RATE),
        ],
        2 * each,
        packets,
    )


def _overhead(rho: float, packets: float) -> Check:
    header = 38
    lengths = theory.whole_exponential_moments(SIZE).shifted(header)
    service = lengths.scaled(8 / RATE)
    arrivals = rho / service.first
    wait = float(theory.mg1_mean_wait(arrivals, service))
    return _check(
        f"mg1-ethernet-{rho}",
        f"M/G/1, exponential lengths and 38 B of Ethernet overhead, utilization {rho}",
        f"{KLEINROCK}, section 5.6 (Pollaczek and Khinchine)",
        # Whole bit/s: the rate is wrong by less than one part in a million.
        [_poisson("all", arrivals * SIZE * 8, SIZE, sizes="exponential")],
        [_utilization(rho), _wait("mean wait", wait), _waiting(arrivals * wait)],
        arrivals,
        packets,
        overhead="ethernet",
    )


def _superposed(rho: float, packets: float) -> Check:
    flows = 20
    wait = float(theory.md1_mean_wait(rho, SERVICE))
    return _check(
        f"superposed-{rho}",
        f"{flows} Poisson sources together, utilization {rho}: M/D/1 as with one",
        f"{KLEINROCK}, section 5.6",
        [_poisson("all", rho * RATE / flows, SIZE, flows=flows)],
        [_utilization(rho), _wait("mean wait", wait), _waiting(wait * rho / SERVICE)],
        rho / SERVICE,
        packets,
    )


def _mm1k(load: float, limit: int, packets: float) -> Check:
    places = limit + 1
    lost = float(theory.mm1k_loss(load, places))
    waiting = float(theory.mm1k_mean_waiting(load, places))
    arrivals = load / SERVICE
    return _check(
        f"mm1k-{load}",
        f"M/M/1/K, room for {limit} waiting packets (K = {places}), load {load}",
        f"{KLEINROCK}, section 3.6",
        [_poisson("all", load * RATE, SIZE, sizes="exponential")],
        [
            Quantity("share of packets lost", "", lost, queue("loss")),
            _utilization(load * (1 - lost)),
            _wait("mean wait of those that got in", waiting / (arrivals * (1 - lost))),
            _waiting(waiting),
        ],
        arrivals,
        packets,
        queue={"kind": "fifo", "limit": f"{limit}p"},
    )


def _priority(rho: float, packets: float) -> Check:
    short, long = 200, 1200
    high, low = (rho * RATE / 2 / (8 * size) for size in (short, long))
    waits = theory.priority_mean_waits(
        [
            (high, theory.whole_exponential_moments(short).scaled(8 / RATE)),
            (low, theory.whole_exponential_moments(long).scaled(8 / RATE)),
        ]
    )
    return _check(
        f"priority-{rho}",
        f"Two classes with non-preemptive priority, half of the load each, utilization {rho}",
        "Cobham 1954",
        [
            _poisson("high", rho * RATE / 2, short, sizes="exponential", q=1),
            _poisson("low", rho * RATE / 2, long, sizes="exponential"),
        ],
        [
            _utilization(rho),
            _class_wait("high", float(waits[0]), short * 8 / RATE),
            _class_wait("low", float(waits[1]), long * 8 / RATE),
            _waiting(float(np.dot([high, low], waits))),
        ],
        high + low,
        packets,
        queue={"kind": "prio", "limit": "100000p"},
    )


def _conservation() -> Check:
    """Traffic ends a second before the run, so that nothing is left in the queue."""

    def missing(summary: Summary) -> float:
        count = summary["classes"]["all"]
        return float(count["offered"] - count["delivered"] - count["dropped"])

    check = _check(
        "conservation",
        "An overloaded queue that runs empty in the end: every packet is accounted for",
        "offered = delivered + dropped",
        [_poisson("all", 1.2 * RATE, SIZE, sizes="exponential", stop="99s")],
        [
            Quantity("packets unaccounted for", "packets", 0.0, missing, Exact()),
            Quantity(
                "drops that the queue and its users count differently",
                "packets",
                0.0,
                lambda each: queue("dropped")(each) - traffic("dropped", "all")(each),
                Exact(),
            ),
        ],
        1.0,
        100.0 - WARMUP,
        queue={"kind": "fifo", "limit": "9p"},
    )
    scenario = {**check.scenario, "warmup": "0s"}
    return replace(check, scenario=scenario, replications=3, quick=True)


def _check(
    name: str,
    title: str,
    source: str,
    sources: Sequence[Mapping[str, Any]],
    quantities: Sequence[Quantity],
    arrivals: float,
    packets: float,
    **changes: Any,
) -> Check:
    """A check of one queue; `packets` is the number a run, `changes` are fields of the link."""
    pipe = {
        "name": "link",
        "from": "a",
        "to": "b",
        "rate": f"{RATE}bit",
        "mtu": "65535B",
        "queue": {"kind": "fifo", "limit": "100000p"},
    }
    scenario = {
        "title": title,
        "duration": f"{round(packets / arrivals) + WARMUP}s",
        "warmup": f"{WARMUP}s",
        "link": [pipe | changes],
        "traffic": list(sources),
    }
    quick = packets <= 1e6
    runs = 20
    return Check(name, FAMILY, title, source, scenario, tuple(quantities), runs, quick)


def _poisson(name: str, rate: float, size: int, **fields: Any) -> dict[str, Any]:
    source = {"name": name, "kind": "poisson", "from": "a", "to": "b"}
    return source | {"rate": f"{round(rate)}bit", "size": f"{size}B"} | fields


def _transmission(size: int) -> Moments:
    return theory.fixed_moments(size * 8 / RATE)


def _utilization(value: float) -> Quantity:
    return Quantity("utilization", "", value, link("utilization"))


def _wait(name: str, seconds: float) -> Quantity:
    return Quantity(name, "ms", seconds * 1e3, queue("mean_delay_ms"))


def _waiting(packets: float) -> Quantity:
    return Quantity("mean number waiting", "packets", packets, queue("mean_packets"))


def _class_wait(name: str, seconds: float, service: float) -> Quantity:
    """Time from source to destination less the mean transmission time."""
    delay = traffic("mean_delay_ms", name)
    return Quantity(
        f'mean wait of "{name}"', "ms", seconds * 1e3, lambda each: delay(each) - service * 1e3
    )
