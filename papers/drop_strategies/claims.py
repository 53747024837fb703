"""The claims DS-1 to DS-9, and why some differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import polars as pl

from forebay.papers import Data, Part, exactly
from forebay.stats import Interval, interval

from .points import (
    ARRIVALS,
    AT_5_6,
    AT_8,
    AT_HALF,
    AVERAGE,
    CASES,
    GENTLE_RENO,
    GENTLE_SACK,
    GOODPUT,
    LEVELS,
    LOSS,
    MAIN,
    MAX_TH,
    OUT,
    QUEUE,
    RATES,
    RENO,
    SACK,
    SPREAD,
    STRATEGIES,
    Case,
    both,
    point,
    rates,
    traced,
)

WITHIN_10 = (-10.0, 10.0, "%")


def samples(data: Data, key: str, where: Mapping[str, Any]) -> dict[int, float]:
    """A measure of every replication of a point."""
    frame = data.runs(MAIN, where)
    return dict(zip(frame["replication"].to_list(), frame[key].to_list(), strict=True))


def combined(data: Data, terms: Sequence[tuple[float, str, Mapping[str, Any]]]) -> Interval | None:
    """Weighted sum of measures of several points, replication by replication."""
    columns = [(weight, samples(data, key, where)) for weight, key, where in terms]
    shared = set.intersection(*(set(column) for _, column in columns))
    sums = [sum(weight * column[each] for weight, column in columns) for each in sorted(shared)]
    return interval(sums)


def relative(
    data: Data, key: str, rate: str, first: tuple[Case, str], second: tuple[Case, str]
) -> Interval:
    """By how many percent the mean of one case and strategy is above another's, paired."""
    one, other = (point(rate, *case, strategy) for case, strategy in (first, second))
    base = data.interval(MAIN, key, other).mean
    return data.difference(MAIN, key, one, other, scale=100 / base)


def higher(
    data: Data, key: str, case: Case, strategy: str, above: float = 0.0
) -> tuple[Interval, int]:
    """At how many in-profile rates above some a strategy's measure is the higher one for certain,
    and of how many."""
    sign = 1.0 if strategy == ARRIVALS else -1.0
    chosen = [name for name, rate in rates(data).items() if rate > above]
    found = [both(data, key, rate, case, sign) for rate in chosen]
    return exactly(sum(each.low is not None and each.low > 0 for each in found)), len(found)


def ds_1(data: Data) -> Sequence[Part]:
    """Loss of all traffic, Reno and standard WRED."""
    count, of = higher(data, LOSS, RENO, ARRIVALS)
    what = f"in-profile rates, of {of}, at which drop-arrivals loses more"
    parts = [Part(what, "most: more than half", count, of // 2 + 1)]
    for name, rate in (("0bit", 0), ("4600kbit", 9.2)):
        found = relative(data, LOSS, name, (RENO, ARRIVALS), (RENO, QUEUE))
        what = f"loss with drop-arrivals against drop-from-queue at {rate} Mbit/s"
        parts.append(Part(what, "alike: within 10 %", found, *WITHIN_10))
    return parts


def ds_2(data: Data) -> Sequence[Part]:
    """Growth of out-of-profile loss, Reno and standard WRED."""
    ends = [point(rate, *RENO, ARRIVALS) for rate in ("400kbit", "3400kbit", "4600kbit")]
    below, above = 100 / (6.8 - 0.8), 100 / (9.2 - 6.8)
    weights = (-below, below + above, -above)
    growth = combined(data, [(weight, OUT, at) for weight, at in zip(weights, ends, strict=True)])
    what = "growth from 0.8 to 6.8 Mbit/s less growth from 6.8 to 9.2, drop-arrivals"
    count, of = higher(data, OUT, RENO, QUEUE, above=7.5)
    also = f"rates above 7.5 Mbit/s, of {of}, at which drop-from-queue loses more out of profile"
    return [
        Part(what, "faster below 7 Mbit/s", growth, 0.0, unit="% per Mbit/s"),
        Part(also, "may exceed it: at least one", count, 1),
    ]


def ds_3(data: Data) -> Sequence[Part]:
    """Throughput, Reno and standard WRED."""
    at = {name: point(name, *RENO, ARRIVALS) for name in rates(data)}
    means = {name: data.interval(MAIN, GOODPUT, each).mean for name, each in at.items()}
    lowest = exactly(RATES[min(means, key=lambda name: means[name])])
    what = "in-profile rate at which drop-arrivals has its lowest throughput"
    parts = [Part(what, "about 5.6 Mbit/s: 4.4 to 6.8", lowest, 4.4, 6.8, "Mbit/s")]
    for name, end, word in (("0bit", 0, "falls"), ("4600kbit", 9.2, "recovers")):
        found = data.difference(MAIN, GOODPUT, at[name], at[AT_5_6], scale=1e-6)
        what = f"throughput at {end} less that at 5.6 Mbit/s, drop-arrivals"
        parts.append(Part(what, word, found, 0.0, unit="Mbit/s"))
    count, of = higher(data, GOODPUT, RENO, ARRIVALS)
    what = f"in-profile rates, of {of}, at which drop-arrivals has the higher throughput"
    return [*parts, Part(what, "drop-from-queue stays higher: none", count, high=0)]


def crossings(data: Data, case: Case) -> int:
    """How often the average queue rises above max_th in the trace of drop-arrivals."""
    trace = traced(data, case, ARRIVALS).filter(pl.col("time_s") > 10)
    above = trace["average_queue"] > MAX_TH
    return int((above & ~above.shift(1, fill_value=False)).sum())


def oscillation(data: Data) -> list[Part]:
    """Deviation of the average queue with half the link in profile."""
    parts = []
    for case, name in CASES.items():
        what = f"deviation of the average queue at 5 Mbit/s, arrivals less from queue: {name}"
        found = both(data, SPREAD, AT_HALF, case)
        parts.append(Part(what, "larger with drop-arrivals", found, 0.0, unit="packets"))
    return parts


def ds_4(data: Data) -> Sequence[Part]:
    """Queue oscillation."""
    parts = oscillation(data)
    for case in (RENO, SACK):
        what = f"rises of the average queue above max_th in 120 s at 5 Mbit/s: {CASES[case]}"
        parts.append(Part(what, "frequently: 10 or more", exactly(crossings(data, case)), 10))
    return parts


def ds_5(data: Data) -> Sequence[Part]:
    """SACK against Reno, standard WRED, at 5.6 Mbit/s."""
    similar, higher_loss = (
        relative(data, OUT, AT_5_6, (SACK, strategy), (RENO, strategy))
        for strategy in (QUEUE, ARRIVALS)
    )
    signs = (
        (1e-6, RENO, QUEUE),
        (-1e-6, RENO, ARRIVALS),
        (-1e-6, SACK, QUEUE),
        (1e-6, SACK, ARRIVALS),
    )
    terms = [(sign, GOODPUT, point(AT_5_6, *case, strategy)) for sign, case, strategy in signs]
    cost_of, unit = combined(data, terms), "Mbit/s"
    what = "out-of-profile loss with SACK against Reno"
    less = "throughput that drop-arrivals costs Reno less what it costs SACK"
    own = "throughput of SACK, drop-arrivals less drop-from-queue"
    degraded = both(data, GOODPUT, AT_5_6, SACK, 1e-6)
    return [
        Part(f"{what}, drop-from-queue", "similar: within 10 %", similar, *WITHIN_10),
        Part(f"{what}, drop-arrivals", "higher with SACK", higher_loss, 0.0, unit="%"),
        Part(less, "less severe with SACK", cost_of, 0.0, unit=unit),
        Part(own, "degraded", degraded, high=0.0, unit=unit),
    ]


def ds_6(data: Data) -> Sequence[Part]:
    """Gentle WRED: loss and the length of the queue."""
    parts = []
    for case in (GENTLE_RENO, GENTLE_SACK):
        count, of = higher(data, LOSS, case, QUEUE)
        what = f"in-profile rates, of {of}, at which drop-from-queue loses more: {CASES[case]}"
        parts.append(Part(what, "higher: more than half", count, of // 2 + 1))
    for case in (GENTLE_RENO, GENTLE_SACK):
        found = relative(data, AVERAGE, AT_HALF, (case, ARRIVALS), (case, QUEUE))
        what = f"average queue of drop-arrivals above that of drop-from-queue: {CASES[case]}"
        parts.append(Part(what, "about twice as long: by 60 to 140 %", found, 60, 140, "%"))
    return parts


def ds_7(data: Data) -> Sequence[Part]:
    """Gentle WRED: throughput at 5.6 Mbit/s."""
    what = "throughput, drop-arrivals against drop-from-queue"
    sack, reno = (
        relative(data, GOODPUT, AT_5_6, (case, ARRIVALS), (case, QUEUE))
        for case in (GENTLE_SACK, GENTLE_RENO)
    )
    return [
        Part(f"{what}: SACK", "similar: within 2 %", sack, -2, 2, "%"),
        Part(f"{what}: Reno", "slightly lower", reno, high=0.0, unit="%"),
    ]


def ds_8(data: Data) -> Sequence[Part]:
    """In-profile loss."""
    dropped = sum(data.study(MAIN).runs[f"{LEVELS}.0.dropped"].to_list())
    return [Part("in-profile packets dropped in all runs", "none", exactly(dropped), 0, 0)]


def agreement(data: Data, conditioner: str) -> tuple[float, int]:
    """Of the differences between the strategies that TSW shows, how many point the same way."""
    signs = []
    for rate, case, key in product((AT_5_6, AT_8), CASES, (LOSS, OUT, GOODPUT, AVERAGE)):
        there = both(data, key, rate, case)
        if there.low is not None and there.high is not None and there.low * there.high > 0:
            first, second = (
                point(rate, *case, each) | {"profile.a.kind": conditioner} for each in STRATEGIES
            )
            here = data.difference("conditioners", key, first, second)
            signs.append(here.mean * there.mean > 0)
    return 100 * sum(signs) / len(signs), len(signs)


def ds_9(data: Data) -> Sequence[Part]:
    """Token bucket and CAR against TSW."""
    parts = []
    for conditioner in ("car", "token-bucket"):
        share, of = agreement(data, conditioner)
        what = f"differences, of {of}, that point the same way as with TSW: {conditioner}"
        parts.append(Part(what, "similar: nine in ten", exactly(share), 90, unit="%"))
    return parts
