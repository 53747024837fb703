"""Measures that are more than an expression of columns."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import polars as pl

from forebay.papers import Number, Sources, exactly
from forebay.stats import Interval, interval

PACKETS = 30
"""Q_max in packets."""
NAMED = (1.05, 1.2, 1.5, 2.0)
"""Values of c_max above 1 that the text names (sections 3.3 and 4.3 to 4.5)."""


def spread(sources: Sources) -> Interval | None:
    """Longest queue of periodic UDP less the shortest over c_max, greatest over T_c; packets.

    At T_c = Q_max, nothing is above the threshold, and the queue is always full.
    """
    found = []
    for row in sources.rows("below", Number(study="udp"), {}):
        queue = Number(study="udp", of="queue", at={"intervals": "cbr", "T_c": row["T_c"]})
        means = {
            each["c_max"]: sources.data.interval(
                "udp", sources.expression("udp", "queue", {}), {**queue.at, **each}
            ).mean
            for each in sources.rows("policing", queue, {})
        }
        longest, shortest = (pick(means, key=lambda c: means[c]) for pick in (max, min))
        pair = queue.model_copy(update={"less": {"c_max": shortest}})
        found.append(sources.interval(pair, {"c_max": longest}))
    return max((each for each in found if each is not None), key=lambda each: each.mean)


def _by_equation_2(sources: Sources) -> list[tuple[float, float, float, float]]:
    """Of each run: the average queue by equation 2 and in the simulation, packets; and the time
    above T_c in times of that below, likewise."""
    threshold, most = 10, 1.2
    table = sources.data.table("equation-2", "queue")
    table = table.filter(pl.col("link") == "bottleneck", pl.col("time_s") >= 10)
    found = []
    for _, run in table.group_by("replication", maintain_order=True):
        queue = run["mean_packets"]
        above, below = queue.filter(queue >= threshold), queue.filter(queue < threshold)
        high, low = float(above.mean()), float(below.mean())  # type: ignore[arg-type]
        ratio = (PACKETS - threshold) / ((high - threshold) * (most - 1))
        average = (low + high * ratio) / (1 + ratio)
        found.append((average, float(queue.mean()), ratio, len(above) / len(below)))  # type: ignore[arg-type]
    return found


def model_error(sources: Sources) -> Interval | None:
    """Equation 2's average queue less the simulated one, packets.

    The equation has the simulation's queues above and below the threshold.
    """
    return interval([model - simulated for model, simulated, *_ in _by_equation_2(sources)])


def model_ratio(sources: Sources) -> Interval | None:
    """Time above the threshold in times of that below, by equation 2 over that simulated."""
    return interval([model / simulated for *_, model, simulated in _by_equation_2(sources)])


@cache
def _as_packets_see(seed: int, seconds: float = 60.0) -> tuple[float, float, float]:
    """Exponential UDP of 15 Mb/s through a bucket and a queue, without forebay's engine.

    T_c is 10 packets and c_max is 1.2. A unit of time is one transmission. Returned are equation
    2's ratio over the simulated one, both counted in accepted packets with the queue that they
    find; and the time above T_c in times of that below, by equation 2 and simulated.
    """
    threshold, most, load = 10, 1.2, 1.5
    rng = random.Random(seed)
    end, warmup = (duration * 10e6 / (8 * 1507) for duration in (seconds + 10, 10))
    full = 1.5 * PACKETS
    tokens, refilled = full, 0.0
    queue, now, busy_until = 0, 0.0, 0.0
    seen, time = [0, 0], [0.0, 0.0]
    found = sum_of_time = 0.0

    def stays(until: float) -> float:
        """The queue stays as it is from now on; returns `until`."""
        nonlocal sum_of_time
        if until > warmup:
            time[queue >= threshold] += until - now
            sum_of_time += (until - now) * queue * (queue >= threshold)
        return until

    while now < end:
        arrival = now + rng.expovariate(load)
        while busy_until <= arrival and queue:
            now = stays(busy_until)
            queue -= 1
            busy_until += 1
        now = stays(arrival)
        tokens, refilled = min(full, tokens + now - refilled), now
        above = queue >= threshold
        slope = (most - 1) / (PACKETS - threshold)
        price = 1 + (queue - threshold) * slope if above else 0.0
        if queue == PACKETS or price > tokens:
            continue
        tokens -= price
        if now > warmup:
            seen[above] += 1
            found += queue * above
        if busy_until <= now:
            busy_until = now + 1
        else:
            queue += 1

    def by_equation_2(mean: float) -> float:
        return (PACKETS - threshold) / ((mean - threshold) * (most - 1))

    below, above_it = seen
    ratio = by_equation_2(found / above_it) / (above_it / below)
    return ratio, by_equation_2(sum_of_time / time[1]), time[1] / time[0]


def ratio_as_seen(_: Sources) -> Interval | None:
    """Equation 2's ratio over the simulated one, in accepted packets with the queue they find."""
    return interval([_as_packets_see(seed)[0] for seed in range(1, 6)])


def by_the_clock(_: Sources, by: str) -> Interval | None:
    """Time above the threshold in times of that below, by the "model" or the "simulation"."""
    return interval([_as_packets_see(seed)[1 if by == "model" else 2] for seed in range(1, 6)])


def most_used(_: Sources, load: float) -> Interval:
    """Most of the link, in percent, that equation 1 lets exponential UDP use; T_c = 0, c_max = 2.

    With `load` arrivals a transmission. A share p of the accepted packets find nobody waiting. As
    many transmissions leave nobody waiting (the queue goes up and down by one). Each of these is
    followed by e^-load / load of idle time, so at most 1 / (1 + p e^-load / load) is used. The
    others find a packet or more and are charged 1 + 1 / 30 at least, of an allowance of the link's
    rate, so at most 1 / (1 + (1 - p) / 30) is used. Most is used at the p where the two are equal.
    """
    idle = math.exp(-load) / load
    p = 1 / (1 + PACKETS * idle)
    return exactly(100 / (1 + p * idle))


def gain_of_tail_drop(_: Sources, tail: float, policed: float) -> Interval:
    """What the paper prints for 16 New Reno flows at 50 ms: tail drop less CP-AQM with T_c = 5."""
    return exactly(tail - policed)


def differing(sources: Sources) -> Interval:
    """Runs of TCP with c_max = 1 that differ from the same under tail drop in any event."""
    on = ["flows", "access", "congestion", "delay", "replication"]
    tail = sources.points("tail-drop", {"title": "as judged"}).select(*on, "fingerprint")
    policed = sources.points("tcp", {"c_max": 1.0}).select(*on, "fingerprint")
    both = policed.join(tail, on=on, suffix=" of tail drop")
    other = both.filter(pl.col("fingerprint") != pl.col("fingerprint of tail drop"))
    return exactly(other.height)


def steps(sources: Sources) -> list[dict[str, Any]]:
    """Steps to the next larger T_c, and to the next smaller c_max, of those that were run."""
    return _steps(sources, sorted({c for c in sources.points("tcp", {})["c_max"] if c > 1}))


def named_steps(sources: Sources) -> list[dict[str, Any]]:
    """The same for the values of c_max that the text names."""
    return _steps(sources, NAMED)


def _steps(sources: Sources, values: Sequence[float]) -> list[dict[str, Any]]:
    """Steps of T_c and c_max. At T_c = Q_max, c_max has no effect."""
    thresholds = sorted(set(sources.points("tcp", {})["T_c"]), key=_packets)
    found = [
        {"T_c": t, "c_max": c, "next_T_c": larger, "next_c_max": c}
        for t, larger in pairwise(thresholds)
        for c in values
    ]
    return found + [
        {"T_c": t, "c_max": c, "next_T_c": t, "next_c_max": smaller}
        for smaller, c in pairwise(values)
        for t in thresholds
        if _packets(t) < 30
    ]


def worst(sources: Sources) -> list[dict[str, Any]]:
    """The combination, of seven without one New Reno flow at 5 ms, with the most exceptions.

    An exception is a step after which the queue is shorter.
    """
    return _worst(sources, "steps", 1e-9)


def named_worst(sources: Sources) -> list[dict[str, Any]]:
    """The same for the values of c_max that the text names, and half a packet."""
    return _worst(sources, "named_steps", 0.5)


def _worst(sources: Sources, over: str, by: float) -> list[dict[str, Any]]:
    count = Number(
        study="tcp",
        of="queue",
        less={"T_c": "{next_T_c}", "c_max": "{next_c_max}"},
        over={"call": over},
        take="between",
        ends=[by],
    )

    def exceptions(values: Any) -> float:
        found = sources.interval(count, values)
        return 0.0 if found is None else found.mean

    _, *others = sources.rows("eight", Number(study="tcp"), {})
    return [dict(max(others, key=exceptions))]


def smallest(sources: Sources) -> list[dict[str, Any]]:
    """The smallest c_max above 1 that was run."""
    return [{"c_max": min(c for c in sources.points("tcp", {})["c_max"] if c > 1)}]


def longest(sources: Sources, c_max: float) -> str:
    """The combination with the longest queue at T_c = 5."""
    queue = Number(study="tcp", of="queue", at={"T_c": "5p", "c_max": c_max})

    def mean(values: Any) -> float:
        found = sources.interval(queue, values)
        return -math.inf if found is None else found.mean

    return str(max(sources.rows("eight", queue, {}), key=mean)["name"])


def full_from(sources: Sources) -> Interval:
    """Least T_c from which on exponential UDP of 15 Mb/s fills the link, in packets."""
    for row in sources.rows("thresholds", Number(study="udp"), {}):
        at = {"intervals": "poisson", "T_c": row["T_c"]}
        least = Number(study="udp", of="used", at=at, over={"c_max": [1.2, 2.0]}, take="least")
        found = sources.interval(least)
        if found is not None and found.mean > 99.5:
            return exactly(row["packets"])
    raise AssertionError("no T_c fills the link")


def apart(sources: Sources, of: str) -> Interval:
    """Greatest distance from the kernel, under tail drop and at T_c = 5, in the measure's unit."""
    places: list[tuple[Number, str]] = [
        (Number(study="tail-drop", of=of, at={"title": "as judged"}), "kernel-tail-drop"),
        *(
            (Number(study="tcp", of=of, at={"T_c": "5p", "c_max": c}), "kernel")
            for c in (1.05, 1.2, 1.5)
        ),
    ]
    found = []
    for number, rows in places:
        for each in sources.rows("eight", number, {}):
            theirs = sources.mean(Number(lookup=rows, of=of), {**each, **number.at})
            found.append(abs(sources.mean(number, each) - theirs))
    return exactly(max(found))


def _packets(threshold: str) -> int:
    return int(threshold.removesuffix("p"))


def _policer(point: Mapping[str, Any]) -> tuple[int, float]:
    """T_c in packets and c_max of a point."""
    threshold = int(str(point["dumbbell.queue.threshold"]).removesuffix("p"))
    return threshold, float(point["dumbbell.queue.max_congestion"])


def bucket_by_rule(point: Mapping[str, Any]) -> dict[str, Any]:
    """B_CA = (Q_max - T_c) (1 + c_max) / 2, with PPP, and at least one packet."""
    threshold, most = _policer(point)
    size = max(1507.0, (PACKETS - threshold) * 1507 * (1 + most) / 2)
    return {"dumbbell.queue.bucket": f"{round(size)}B"}


def arriving_counts(point: Mapping[str, Any]) -> dict[str, Any]:
    """The same congestion one packet earlier: T_c - 1, and c_max where it is reached."""
    threshold, most = _policer(point)
    if not 0 < threshold < PACKETS or most == 1:
        return {}
    slope = (most - 1) / (PACKETS - threshold)
    return {
        "dumbbell.queue.threshold": f"{threshold - 1}p",
        "dumbbell.queue.max_congestion": 1 + slope * (PACKETS - threshold + 1),
    }
