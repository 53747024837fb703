"""The analysis of non-congestive queuing, equations 1 to 22.

Source: L. Mamatas and V. Tsaoussidis, *Differentiating Services with Non-Congestive Queuing (NCQ)*,
IEEE Transactions on Computers 58(5), 2009, section 4.

Two classes of packets arrive at one link: class 1 is small and non-congestive, class 2 congestive.
Both are Poisson, and within a class all packets take the same time (M/D/1 mixtures). Arguments and
results are arrays, which broadcast; rates in packets a second, times in seconds. "Waiting" excludes
the packet's own transmission, "queuing delay" includes it, as in the paper.

Where the paper simplifies, `exact=True` gives the exact form, by Pollaczek and Khinchine's formula
and Cobham's (`forebay._theory.mg1_mean_wait`, `priority_mean_waits`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from forebay._theory import Numbers, Values

Reading = Literal["printed", "algorithm"]
"""How much is favoured: see `favoured_share`."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Two classes of packets: the paper's table 1."""

    first: Values
    """lambda_1, packets of class 1 a second."""
    second: Values
    """lambda_2."""
    first_service: Values
    """T_S1, seconds that a packet of class 1 takes."""
    second_service: Values
    """T_S2."""

    @property
    def rate(self) -> Values:
        """Packets a second, lambda."""
        return self.first + self.second

    @property
    def utilization(self) -> Values:
        """u_2 = u_np, equation 7."""
        return self.first * self.first_service + self.second * self.second_service

    @property
    def mean_service(self) -> Values:
        """T_Snp, equation 8, seconds."""
        return self.utilization / self.rate


@dataclass(frozen=True, slots=True)
class Delays:
    """Mean queuing delays in seconds."""

    first: Values
    """T_Q1, of class 1."""
    second: Values
    """T_Q2, of class 2."""
    system: Values
    """T_Q, of all packets."""


def traffic(
    utilization: Numbers, share: Numbers, first_service: Numbers, second_service: Numbers
) -> Traffic:
    """The traffic that loads a link to `utilization`.

    Args:
        utilization: at least 0 and below 1.
        share: part of the packets that is of class 1, above 0 to 1.
        first_service: T_S1, seconds.
        second_service: T_S2, seconds.

    Raises:
        ValueError: a utilization or share out of range.
    """
    u, part = np.asarray(utilization, float), np.asarray(share, float)
    if ((u < 0) | (u >= 1)).any():
        raise ValueError(f"utilization must be at least 0 and below 1, got {u}")
    if ((part <= 0) | (part > 1)).any():
        raise ValueError(f"the share of class 1 must be above 0 and at most 1, got {part}")
    one, two = np.asarray(first_service, float), np.asarray(second_service, float)
    rate = u / (part * one + (1 - part) * two)
    return Traffic(rate * part, rate * (1 - part), one, two)


def with_priority(load: Traffic) -> Delays:
    """Case 1: class 1 goes first, equations 1 to 6.

    Exact as printed: with one service time a class, lambda T_S^2 is lambda E[S^2].
    """
    return _delays(load, *_cobham(load.first, load.second, load.first_service, load.second_service))


def without_priority(load: Traffic, *, exact: bool = False) -> Delays:
    """Case 2: one queue, equations 7 to 12.

    As printed, equation 9 takes the wait of an M/D/1 queue with the mean service time, u T_S / (2
    (1 - u)); exact is lambda E[S^2] / (2 (1 - u)), which is never less.
    """
    u = load.utilization
    if exact:
        squares = load.first * load.first_service**2 + load.second * load.second_service**2
        wait = squares / (2 * (1 - u))
    else:
        wait = u * load.mean_service / (2 * (1 - u))
    return _delays(load, wait, wait)


def favoured_share(load: Traffic, ncqthresh: Numbers, reading: Reading = "printed") -> Values:
    """Part of class 1 that goes first, the paper's kthresh.

    Args:
        load: the traffic.
        ncqthresh: 0 to 1.
        reading: "printed" is (lambda_1 / lambda) ncqthresh, which favours (lambda_1 / lambda)^2
            ncqthresh of all packets; "algorithm" is what the pseudo-code of section 3 does: it
            favours up to ncqthresh of all packets, hence min(1, ncqthresh lambda / lambda_1).
    """
    threshold = np.asarray(ncqthresh, float)
    part = load.first / load.rate
    if reading == "printed":
        return np.asarray(part * threshold)
    return np.asarray(np.minimum(1.0, threshold / part))


def with_threshold(
    load: Traffic,
    ncqthresh: Numbers,
    *,
    reading: Reading = "printed",
    exact: bool = False,
) -> Delays:
    """Case 3: a part of class 1 goes first, equations 13 to 19.

    As printed, the lower queue's packets all take the mean of their service times, T'_S2 squared
    for E[S^2]; exact takes the mixture. Either way favour falls on packets independently of the
    queue, as `mode = "probabilistic"` does. The algorithm's running ratio favours the packet that
    comes after many others, which is when the queue is long: class 1 then waits less than this (by
    7 % at utilization 0.6 with 10 % of small packets and a threshold of 0.05).
    """
    k = favoured_share(load, ncqthresh, reading)
    high = k * load.first
    left = (1 - k) * load.first
    low = left + load.second
    service = (left * load.first_service + load.second * load.second_service) / low
    if exact:
        squares = load.first * load.first_service**2 + load.second * load.second_service**2
        u1, u2 = high * load.first_service, load.utilization
        first, second = squares / (2 * (1 - u1)), squares / (2 * (1 - u1) * (1 - u2))
    else:
        first, second = _cobham(high, low, load.first_service, service)
    return _delays(load, k * first + (1 - k) * second, second)


def packets_of_task(data: Numbers, packet: Numbers, overhead: Numbers = 40) -> Values:
    """Packets that a task takes, equation 20.

    Args:
        data: the task, bytes.
        packet: size of the packets, bytes.
        overhead: headers in each, bytes; less than `packet`.

    Raises:
        ValueError: packets that hold nothing but headers.
    """
    room = np.asarray(packet, float) - np.asarray(overhead, float)
    if (room <= 0).any():
        raise ValueError("packets must be larger than their headers")
    return np.asarray(np.asarray(data, float) / room)


def task_time(delay: Numbers, packets: Numbers) -> Values:
    """Seconds that a task takes whose packets are delayed one after another, equation 21."""
    return np.asarray(np.asarray(delay, float) * np.asarray(packets, float))


def r_factor(delay_ms: Numbers, loss: Numbers) -> Values:
    """Transmission rating of a call of G.711, 94.2 at best, equation 22.

    R = 94.2 - 0.024 d - 0.11 (d - 177.3) H(d - 177.3) - 30 ln(1 + 15 e): the E-model of ITU-T G.107
    reduced to delay and loss by R. Cole and J. Rosenbluth, *Voice over IP performance monitoring*,
    ACM CCR 31(2), 2001. The engine computes it for every run (docs/summary.md).

    Args:
        delay_ms: d, mouth to ear, milliseconds.
        loss: e, share of packets lost, 0 to 1.
    """
    delay, lost = np.asarray(delay_ms, float), np.asarray(loss, float)
    late = np.maximum(delay - 177.3, 0.0)
    return np.asarray(94.2 - 0.024 * delay - 0.11 * late - 30.0 * np.log1p(15.0 * lost))


def _cobham(
    first: Values, second: Values, first_service: Values, second_service: Values
) -> tuple[Values, Values]:
    """Equations 1 and 2 (13 and 14)."""
    u1 = first * first_service
    u2 = u1 + second * second_service
    squares = first * first_service**2 + second * second_service**2
    return squares / (2 * (1 - u1)), squares / (2 * (1 - u1) * (1 - u2))


def _delays(load: Traffic, first: Values, second: Values) -> Delays:
    """Equations 3 to 6: waits of the classes to queuing delays."""
    one, two = first + load.first_service, second + load.second_service
    system = (load.first * one + load.second * two) / load.rate
    return Delays(np.asarray(one), np.asarray(two), np.asarray(system))
