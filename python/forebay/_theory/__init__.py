"""Closed forms for queues, schedulers and TCP.

Arguments are numbers or numpy arrays, which broadcast; results are numpy values. Units: rates of
arrival in packets a second, times in seconds, sizes in bytes, rates of links in bit/s, unless a
function says otherwise. "Waiting" excludes the packet in service, "in the system" includes it.

Sources:
    Kleinrock 1975: L. Kleinrock, Queueing Systems, volume 1, Wiley 1975.
    Cobham 1954: A. Cobham, Priority assignment in waiting line problems, Operations Research 2.
    Mathis 1997: M. Mathis, J. Semke, J. Mahdavi, T. Ott, The macroscopic behavior of the TCP
        congestion avoidance algorithm, Computer Communication Review 27(3).
    Ott 1996: T. Ott, J. Kemperman, M. Mathis, The stationary behavior of ideal TCP congestion
        avoidance.
    RFC 8257: S. Bensley et al., Data Center TCP (DCTCP), 2017.
    RFC 9438: L. Xu et al., CUBIC for fast and long-distance networks, 2023.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.optimize import brentq

Numbers = float | npt.ArrayLike
"""What the functions take."""
Values = npt.NDArray[np.float64]
"""What they give: an array of the arguments' common shape, of no dimension for plain numbers."""


@dataclass(frozen=True, slots=True)
class Moments:
    """First and second moment of a random variable."""

    first: float
    """Mean."""
    second: float
    """Mean of the square."""

    def scaled(self, factor: float) -> Moments:
        """Moments of the variable times `factor`."""
        return Moments(self.first * factor, self.second * factor * factor)

    def shifted(self, offset: float) -> Moments:
        """Moments of the variable plus `offset`."""
        return Moments(self.first + offset, self.second + 2 * offset * self.first + offset**2)


def fixed_moments(value: float) -> Moments:
    """Moments of a constant."""
    return Moments(value, value * value)


def whole_exponential_moments(mean: float, least: int = 1, most: int = 65_535) -> Moments:
    """Moments of an exponential variable rounded to whole numbers and kept in `least` to `most`.

    That is how a source draws packet lengths. With a mean of 1000 bytes the moments differ from
    the continuous ones by less than one part in a million.
    """
    # E[L] = sum of P(L >= k) over k >= 1, E[L^2] = sum of (2k - 1) P(L >= k).
    k = np.arange(1, most + 1, dtype=np.float64)
    tail = np.where(k <= least, 1.0, np.exp(-(k - 0.5) / mean))
    return Moments(float(tail.sum()), float(((2 * k - 1) * tail).sum()))


def mixed_moments(parts: Sequence[tuple[float, Moments]]) -> Moments:
    """Moments of a variable that is one of several, each with a weight (its share or rate)."""
    total = math.fsum(weight for weight, _ in parts)
    return Moments(
        math.fsum(weight * part.first for weight, part in parts) / total,
        math.fsum(weight * part.second for weight, part in parts) / total,
    )


def mm1_mean_wait(utilization: Numbers, service: Numbers) -> Values:
    """Mean waiting time in an M/M/1 queue, seconds (Kleinrock 1975, section 3.2).

    Args:
        utilization: arrival rate times mean service time, at least 0 and below 1.
        service: mean service time, seconds.
    """
    rho = _below_one(utilization)
    return np.asarray(rho * _array(service) / (1 - rho))


def mm1_mean_waiting(utilization: Numbers) -> Values:
    """Mean number waiting in an M/M/1 queue (Kleinrock 1975, section 3.2)."""
    rho = _below_one(utilization)
    return np.asarray(rho * rho / (1 - rho))


def mm1_std_waiting(utilization: Numbers) -> Values:
    """Standard deviation over time of the number waiting in an M/M/1 queue.

    From p_k = (1 - rho) rho^k (Kleinrock 1975, section 3.2) for the number k in the system, of
    which max(k - 1, 0) wait: the variance is rho^2 (1 + rho - rho^2) / (1 - rho)^2.
    """
    rho = _below_one(utilization)
    return np.asarray(rho * np.sqrt(1 + rho - rho * rho) / (1 - rho))


def mm1_wait_quantile(utilization: Numbers, service: Numbers, share: Numbers) -> Values:
    """Waiting time in an M/M/1 queue that the `share` of packets does not exceed, seconds.

    From P(W > t) = rho exp(-(1 - rho) t / service) (Kleinrock 1975, section 5.12).
    """
    rho = _below_one(utilization)
    late = np.log(rho / (1 - _array(share)))
    return np.asarray(np.maximum(0.0, _array(service) / (1 - rho) * late))


def mm1k_loss(load: Numbers, places: Numbers) -> Values:
    """Share of packets lost by an M/M/1/K queue (Kleinrock 1975, section 3.6).

    Args:
        load: arrival rate times mean service time; may be above 1.
        places: K, room in the system, the packet in service included: a queue that holds
            `limit` packets beside the one in service has K = `limit` + 1.
    """
    return mm1k_distribution(load, places)[..., -1]


def mm1k_distribution(load: Numbers, places: Numbers) -> Values:
    """Probabilities of 0 to K packets in an M/M/1/K system, along a new last axis.

    `places` is one number, K; Kleinrock 1975, section 3.6: p_k is in proportion to rho^k.
    """
    k = np.arange(int(np.asarray(places)) + 1)
    weights = _array(load)[..., np.newaxis] ** k
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def mm1k_mean_waiting(load: Numbers, places: Numbers) -> Values:
    """Mean number waiting in an M/M/1/K system."""
    probabilities = mm1k_distribution(load, places)
    waiting = np.maximum(np.arange(probabilities.shape[-1]) - 1, 0)
    return np.asarray((probabilities * waiting).sum(axis=-1))


def mg1_mean_wait(arrivals: Numbers, service: Moments) -> Values:
    """Mean waiting time in an M/G/1 queue, seconds: Pollaczek and Khinchine's formula.

    Kleinrock 1975, section 5.6: lambda E[S^2] / (2 (1 - lambda E[S])).

    Args:
        arrivals: Poisson arrivals a second.
        service: moments of the service time, seconds and seconds squared.
    """
    rate = _array(arrivals)
    rho = _below_one(rate * service.first)
    return np.asarray(rate * service.second / (2 * (1 - rho)))


def md1_mean_wait(utilization: Numbers, service: Numbers) -> Values:
    """Mean waiting time in an M/D/1 queue, seconds: half that of M/M/1 (section 5.6)."""
    return np.asarray(mm1_mean_wait(utilization, service) / 2)


def priority_mean_waits(classes: Sequence[tuple[float, Moments]]) -> Values:
    """Mean waiting time of each class under non-preemptive priority, seconds (Cobham 1954).

    W_k = R / ((1 - sigma_(k-1)) (1 - sigma_k)), with R = sum of lambda_i E[S_i^2] / 2 over all
    classes and sigma_k the load of classes 1 to k.

    Args:
        classes: for each, highest priority first, its Poisson arrivals a second and the moments
            of its service time in seconds.
    """
    residual = math.fsum(rate * service.second for rate, service in classes) / 2
    loads = np.cumsum([0.0, *(rate * service.first for rate, service in classes)])
    _below_one(loads)
    return np.asarray(residual / ((1 - loads[:-1]) * (1 - loads[1:])))


def weighted_shares(weights: Numbers, demands: Numbers, capacity: float = 1.0) -> Values:
    """Rates under generalised processor sharing: max-min fair by weight.

    Who demands less than its share gets its demand, and the rest is divided by weight among the
    others (A. Parekh and R. Gallager, A generalized processor sharing approach to flow control in
    integrated services networks, IEEE/ACM Transactions on Networking 1(3), 1993, section II).

    Args:
        weights: one positive number a class.
        demands: what each class offers, in the unit of `capacity`; infinity if it always has more.
        capacity: what there is to share.
    """
    weight, demand = np.broadcast_arrays(_array(weights), _array(demands))
    rates = np.zeros(weight.shape)
    hungry = np.ones(weight.shape, dtype=bool)
    left = capacity
    while hungry.any():
        shares = np.where(hungry, weight, 0.0) * left / weight[hungry].sum()
        content = hungry & (demand <= shares)
        if not content.any():
            rates[hungry] = shares[hungry]
            break
        rates[content] = demand[content]
        left -= float(demand[content].sum())
        hungry &= ~content
    return rates


def square_root_window(loss: Numbers, acknowledged: Numbers = 1) -> Values:
    """Mean window of TCP in segments if every 1/p-th segment is lost (Mathis 1997, equation 3).

    sqrt(3 / (2 b p)): sqrt(3/2) / sqrt(p), or sqrt(3/4) / sqrt(p) for a sender that grows by
    acknowledgments while the receiver delays them.

    Args:
        loss: p, above 0.
        acknowledged: b, segments for which the window grows as for one: 2 with delayed
            acknowledgments if the sender counts acknowledgments, 1 if it counts bytes (RFC 3465).
    """
    return np.asarray(np.sqrt(3 / (2 * _array(acknowledged) * _array(loss))))


def square_root_window_random(loss: Numbers) -> Values:
    """Mean window of ideal TCP in segments if losses are independent: 1.31 / sqrt(p) (Ott 1996).

    Between losses the window W grows by 1/W a segment, so that W^2 grows by 2; segments between
    losses are exponential with mean 1/p. Just before a loss W^2 = (2/p) Z with Z = sum of
    4^-k E_k, the E_k exponential of mean 1. Per loss, 1/p segments are sent in E[W]/2 round
    trips: the mean window is sqrt(2/p) / E[sqrt Z].
    """
    return np.asarray(math.sqrt(2) / _mean_root() / np.sqrt(_array(loss)))


def _mean_root() -> float:
    """E[sqrt Z]: the integral of (1 - f(s)) s^(-3/2) / (2 sqrt pi), f being Z's transform."""
    quarters = 0.25 ** np.arange(40)

    def integrand(u: float) -> float:
        # s = u^2 takes the root out of the origin.
        return -math.expm1(-float(np.log1p(u * u * quarters).sum())) / (u * u)

    near, _ = quad(integrand, 0, 1)
    far, _ = quad(integrand, 1, math.inf)
    return (near + far) / math.sqrt(math.pi)


def window_rate(window: Numbers, segment: Numbers, round_trip: Numbers) -> Values:
    """Throughput in bit/s of `window` segments of `segment` bytes a round trip of given seconds."""
    return np.asarray(_array(window) * _array(segment) * 8 / _array(round_trip))


CUBIC_C = 0.4
"""C of CUBIC, segments / s^3 (RFC 9438, section 5)."""
CUBIC_BETA = 0.7
"""Multiplicative decrease of CUBIC (RFC 9438, section 4.6)."""


def cubic_window(loss: Numbers, round_trip: Numbers) -> Values:
    """Mean window of CUBIC in segments if every 1/p-th is lost (RFC 9438, section 5.1).

    The larger of 1.054 (RTT / p)^(3/4) and Reno's sqrt(3/2) / sqrt(p), to which the
    Reno-friendly region holds it (section 4.3).

    Args:
        loss: p, above 0.
        round_trip: RTT, seconds.
    """
    constant = (CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))) ** 0.25
    cubic = constant * (_array(round_trip) / _array(loss)) ** 0.75
    return np.asarray(np.maximum(cubic, square_root_window(loss)))


def cubic_window_random(
    loss: float, round_trip: float, *, flows: int = 1000, losses: int = 100, seed: int = 1
) -> float:
    """Mean window of CUBIC in segments if losses are independent, by a fluid model.

    RFC 9438 gives a formula for periodic losses only. Here each of many flows follows the RFC's
    window as a function of time, in steps of a round trip: W_cubic (section 4.2) or, if larger,
    W_est (section 4.3, with alpha = 1 above the window before the loss); a loss meets
    it at the rate p W / RTT, reduces it to 0.7 W (section 4.6) and sets W_max with fast
    convergence (section 4.7). No packets, no queue, no recovery, no timeouts. Two seeds
    differ by less than 0.5 % with the default numbers.

    Args:
        loss: p, above 0.
        round_trip: RTT, seconds.
        flows: flows followed side by side.
        losses: losses of a flow on average.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    alpha = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
    start = float(cubic_window(loss, round_trip))
    rounds = math.ceil(losses / (loss * start))
    before = np.full(flows, start)
    w_max, reno, epoch = before.copy(), before * CUBIC_BETA, np.zeros(flows)
    origin = np.cbrt((w_max - reno) / CUBIC_C)
    total, counted = 0.0, 0
    for step in range(rounds):
        since = epoch - origin
        window = np.maximum(CUBIC_C * since * since * since + w_max, reno)
        if step >= rounds // 5:
            total += float(window.sum())
            counted += flows
        # All grow; those that lose are set back below.
        reno += np.where(reno >= before, 1.0, alpha)
        epoch += round_trip
        lost = np.flatnonzero(rng.random(flows) < -np.expm1(-loss * window))
        at = window[lost]
        # Fast convergence compares with the W_max of the epoch that ends.
        w_max[lost] = np.where(at < w_max[lost], at * (1 + CUBIC_BETA) / 2, at)
        before[lost], reno[lost], epoch[lost] = at, CUBIC_BETA * at, 0.0
        origin[lost] = np.cbrt(np.maximum(w_max[lost] - reno[lost], 0.0) / CUBIC_C)
    return total / counted


def dctcp_alpha(rounds: Numbers, gain: Numbers) -> Values:
    """DCTCP's average share of marked bytes when marks come, in the long run.

    RFC 8257, section 3.3: alpha = (1 - g) alpha + g M after every round trip. If of `rounds` round
    trips one is marked, and wholly (M = 1), alpha comes back to g (1-g)^(n-1) / (1 - (1-g)^n) just
    before it.

    Args:
        rounds: n, from one marked round trip to the next; need not be whole.
        gain: g.
    """
    n, g = _array(rounds), _array(gain)
    return np.asarray(g * (1 - g) ** (n - 1) / (1 - (1 - g) ** n))


def dctcp_rounds(window: float, gain: float) -> float:
    """Round trips from one mark to the next of one DCTCP flow that is marked above a threshold.

    RFC 8257, section 3.3, as rounds of a flow alone: the window that fills path and threshold is
    passed by one segment, all packets of a round trip are marked until the reduction by half of
    alpha arrives, and their acknowledgments let nothing grow; then the window grows by a segment a
    round trip. So n = (W + 1) alpha(n) / 2 + 2.

    Args:
        window: W, segments on the path and in the queue below the threshold.
        gain: g.
    """

    def excess(rounds: float) -> float:
        return rounds - 2 - (window + 1) * float(dctcp_alpha(rounds, gain)) / 2

    return float(brentq(excess, 1.0, window + 3))


def _array(value: Any) -> Values:
    return np.asarray(value, dtype=np.float64)


def _below_one(utilization: Any) -> Values:
    rho = _array(utilization)
    if ((rho < 0) | (rho >= 1)).any():
        raise ValueError(f"utilization must be at least 0 and below 1, got {utilization}")
    return rho
