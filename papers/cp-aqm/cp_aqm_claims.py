"""How the claims are judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl
from cp_aqm_points import (
    AT_1_5,
    C_MAX,
    CLOSE,
    COMBINATIONS,
    CUBIC,
    FULL,
    LOSS,
    NAMES,
    PACKETS,
    POINTS,
    QUEUE,
    RATES,
    RENO,
    T_C,
    USED,
    about,
    combination,
    extreme,
    keyed,
    tail,
    tcp,
    threshold_packets,
)

from forebay.papers import (
    Data,
    Part,
    exactly,
)
from forebay.stats import Interval


def cp_1(data: Data) -> list[Part]:
    def at(delay: str, key: str, scale: float) -> Interval:
        return data.interval("tail-drop-udp", key, {"delay": delay}, scale=scale)

    return [
        part
        for delay in ("5ms", "25ms", "50ms")
        for part in (
            Part(f"utilization, {delay[:-2]} ms", "100 %", at(delay, USED, 100), 99.95, 100, "%"),
            Part(f"queue, {delay[:-2]} ms", "always full", at(delay, QUEUE, 1), 29, 30, "packets"),
        )
    ]


def cp_2(data: Data) -> list[Part]:
    full = [
        Part(f"utilization, {delay} ms", "full up to about 20 ms",
             tail(data, 1, RENO, f"{delay}ms", USED), CLOSE, unit="%")
        for delay in (5, 10, 15, 20)
    ]  # fmt: skip
    return [
        *full,
        about("utilization, 50 ms", tail(data, 1, RENO, "50ms", USED), 92.7, "%", POINTS),
        about("queue, 5 ms", tail(data, 1, RENO, "5ms", QUEUE), 20, "packets", PACKETS),
        about("queue, 50 ms", tail(data, 1, RENO, "50ms", QUEUE), 10, "packets", PACKETS),
    ]


def cp_3(data: Data) -> list[Part]:
    longer = [
        Part(
            f"queue, Cubic - New Reno, {delay}",
            "longer",
            data.difference(
                "tail-drop-1",
                QUEUE,
                {"congestion": CUBIC, "delay": delay},
                {"congestion": RENO, "delay": delay},
            ),
            0.0,
            unit="packets",
        )
        for delay in ("5ms", "25ms", "50ms")
    ]
    full = [
        Part(f"utilization, {delay} ms", "full up to 25 ms",
             tail(data, 1, CUBIC, f"{delay}ms", USED), CLOSE, unit="%")
        for delay in (5, 15, 25)
    ]  # fmt: skip
    at_50 = tail(data, 1, CUBIC, "50ms", USED)
    return [*full, about("utilization, 50 ms", at_50, 98, "%", POINTS, "about 98 %"), *longer]


def cp_4(data: Data) -> list[Part]:
    parts = []
    for congestion, queue, loss in (
        (CUBIC, (26.0, 30.0), (4.0, 12.0)),
        (RENO, (22.5, 25.5), (2.5, 9.0)),
    ):
        name = NAMES[congestion]
        for delay in ("5ms", "50ms"):
            at = f"{name}, {delay[:-2]} ms"
            used = tail(data, 16, congestion, delay, USED)
            parts += [
                Part(f"utilization, {at}", "100 %", used, FULL, unit="%"),
                Part(f"queue, {at}", f"between {queue[0]:g} and {queue[1]:g}",
                     tail(data, 16, congestion, delay, QUEUE),
                     queue[0] - PACKETS, queue[1] + PACKETS, "packets"),
                Part(f"loss, {at}", f"between {loss[0]:g} % and {loss[1]:g} %",
                     tail(data, 16, congestion, delay, LOSS),
                     loss[0] - POINTS, loss[1] + POINTS, "%"),
            ]  # fmt: skip
    return parts


def cp_5(data: Data) -> list[Part]:
    def queue(threshold: str, c_max: float) -> float:
        return data.interval("udp-constant", QUEUE, {"T_c": threshold, "c_max": c_max}).mean

    policed = [c for c in C_MAX if c > 1]
    # At T_c = Q_max nothing is above the threshold, and the queue is always full.
    below = [t for t in T_C if t != "30p"]
    away = max(abs(queue(t, c) - threshold_packets(t)) for t in below for c in policed)
    spread = max(
        max(queue(t, c) for c in policed) - min(queue(t, c) for c in policed) for t in below
    )
    used = extreme(
        data,
        [("udp-constant", {"T_c": t, "c_max": c}) for t in T_C for c in C_MAX],
        USED,
        min,
        100.0,
    )
    return [
        Part("greatest distance of the queue from T_c", "oscillates around T_c, exceeds it by a "
             "very few packets", exactly(away), 0, 3, "packets"),
        Part("greatest difference between values of c_max", "no impact", exactly(spread), 0,
             PACKETS, "packets"),
        Part("least utilization", "100 %", used, 99.95, unit="%"),
    ]  # fmt: skip


def cp_6(data: Data) -> list[Part]:
    def at(rate: int, c_max: float) -> dict[str, Any]:
        return {"rate": RATES[rate], "T_c": "10p", "c_max": c_max}

    def less(what: str, paper: str, one: dict[str, Any], other: dict[str, Any]) -> Part:
        found = data.difference("udp-rates", QUEUE, one, other)
        return Part(what, paper, found, 0.0, unit="packets")

    periodic = {
        c: data.interval("udp-constant", QUEUE, {"T_c": "10p", "c_max": c}).mean
        for c in (1.05, 1.2, 2.0)
    }
    longer = []
    for c, other in periodic.items():
        found = data.interval("udp-rates", QUEUE, at(15, c))
        beyond = Interval(found.mean - other, found.half_width, found.samples)
        longer.append(Part(f"exponential - periodic, T_c = 10, c_max = {c:g}", "longer", beyond,
                           0.0, unit="packets"))  # fmt: skip
    # Equation 2, by its own numbers.
    below, capacity, q_max, t_c, c_max, above = 2.4, 10e6, 30, 10, 1.2, 15
    t_above = capacity * below / (capacity * (above - t_c) / (q_max - t_c) * (c_max - 1))
    mean = (9 * below + above * t_above) / (below + t_above)
    return [
        *longer,
        less("c_max 1.05 - 1.2", "deviations increase with smaller c_max", at(15, 1.05),
             at(15, 1.2)),
        less("c_max 1.2 - 2", "deviations increase with smaller c_max", at(15, 1.2), at(15, 2.0)),
        less("12 Mb/s - 15 Mb/s, c_max = 1.2", "larger", at(12, 1.2), at(15, 1.2)),
        less("15 Mb/s - 20 Mb/s, c_max = 1.2", "20 Mb/s smaller", at(15, 1.2), at(20, 1.2)),
        Part("equation 2's time above", "48 ms", exactly(t_above), 47.95, 48.05, "ms"),
        Part("equation 2's average", "14.7 packets", exactly(mean), 14.65, 14.75, "packets"),
    ]  # fmt: skip


def cp_7(data: Data) -> list[Part]:
    parts = []
    for flows in (1, 16):
        on = ["congestion", "delay", "replication"]
        tail_drop = data.runs(f"tail-drop-{flows}").select(*on, "fingerprint")
        policed = data.runs(f"tcp-{flows}", {"c_max": 1.0}).select(*on, "T_c", "fingerprint")
        both = policed.join(tail_drop, on=on, suffix=" of tail drop")
        other = both.filter(pl.col("fingerprint") != pl.col("fingerprint of tail drop"))
        what = f"runs of {flows} TCP that differ from tail drop in any event, of {both.height}"
        parts.append(Part(what, "equal", exactly(other.height), 0, 0))
        if both.is_empty():
            raise AssertionError("no run of tail drop has a partner")
    drops = sum(
        float(data.runs(name, {"c_max": 1.0})["queues.bottleneck.drops.policed"].sum())
        for name in ("udp-constant", "udp-exponential")
    )
    return [*parts, Part("packets of UDP that the policer drops", "none", exactly(drops), 0, 0)]


def cp_8(data: Data) -> list[Part]:
    def over(flows: int, thresholds: Iterable[str], c_max: Iterable[float]) -> Interval:
        points = [tcp(flows, RENO, "5ms", t, c) for t in thresholds for c in c_max]
        return extreme(data, points, USED, min, 100.0)

    return [
        Part("least utilization, 1 flow, T_c >= 2", "mostly 100 %", over(1, T_C[2:], C_MAX), CLOSE,
             unit="%"),
        Part("least utilization, 1 flow, T_c in {0, 1}, c_max >= 1.2", "between 86 % and 99 %",
             over(1, T_C[:2], C_MAX[5:]), 86 - POINTS, 99 + POINTS, "%"),
        Part("least utilization, 16 flows, T_c >= 2", "exactly or close to 100 %",
             over(16, T_C[2:], C_MAX), CLOSE, unit="%"),
    ]  # fmt: skip


def cp_9(data: Data) -> list[Part]:
    def over(flows: int, thresholds: Iterable[str], c_max: Iterable[float], pick: Any) -> Interval:
        points = [tcp(flows, RENO, "50ms", t, c) for t in thresholds for c in c_max]
        return extreme(data, points, USED, pick, 100.0)

    small = T_C[:5]
    return [
        about("utilization, 1 flow, c_max = 1", over(1, ["5p"], [1.0], min), 92.5, "%", POINTS),
        Part("least utilization, 1 flow", "80 % to 90 %", over(1, T_C, C_MAX[1:], min),
             80 - POINTS, 90 + POINTS, "%"),
        Part("greatest utilization, 1 flow, T_c <= 5, c_max >= 1.2",
             "80 % to 90 %, in particular for small T_c and large c_max",
             over(1, small, C_MAX[5:], max), 80 - POINTS, 90 + POINTS, "%"),
        Part("least utilization, 16 flows, c_max <= 1.05",
             "significantly reduced utilization can be avoided", over(16, T_C, C_MAX[:4], min),
             98, unit="%"),
    ]  # fmt: skip


def longest(data: Data, c_max: float) -> Interval:
    return extreme(data, [tcp(*each, "5p", c_max) for each in COMBINATIONS], QUEUE, max)


def used_at_50(data: Data, flows: int, congestion: str, c_max: float) -> Interval:
    return data.interval(*keyed(tcp(flows, congestion, "50ms", "5p", c_max), USED), scale=100)


def cp_10(data: Data) -> list[Part]:
    return [
        Part("longest queue of the eight combinations", "at most 12 packets", longest(data, 1.2),
             high=12.5, unit="packets"),
        about("utilization, 16 New Reno, 50 ms", used_at_50(data, 16, RENO, 1.2), 95, "%",
              POINTS),
    ]  # fmt: skip


def cp_11(data: Data) -> list[Part]:
    return [
        about("longest queue, c_max = 1.05", longest(data, 1.05), 15, "packets", PACKETS,
              "may reach 15 packets"),
        Part("utilization, c_max = 1.05, 16 New Reno, 50 ms", "almost full",
             used_at_50(data, 16, RENO, 1.05), 98, unit="%"),
        Part("longest queue, c_max = 1.5", "at most 9 packets", longest(data, 1.5), high=9.5,
             unit="packets"),
        *(
            about(f"utilization, c_max = 1.5, {combination(flows, congestion, '50ms')}",
                  used_at_50(data, flows, congestion, 1.5), value, "%", POINTS)
            for (flows, congestion), value in AT_1_5.items()
        ),
    ]  # fmt: skip


def cp_12(data: Data) -> list[Part]:
    found = data.interval(*keyed(tcp(16, CUBIC, "5ms"), QUEUE))
    tail_drop = tail(data, 16, CUBIC, "5ms", QUEUE)
    return [
        about("queue, T_c = 5, c_max = 1.2", found, 7, "packets", PACKETS, "only 7 packets"),
        about("queue of tail drop", tail_drop, 30, "packets", PACKETS),
    ]


def cp_13(data: Data) -> list[Part]:
    def over(thresholds: Iterable[str], c_max: Iterable[float], pick: Any) -> Interval:
        points = [tcp(1, CUBIC, "50ms", t, c) for t in thresholds for c in c_max]
        return extreme(data, points, USED, pick, 100.0)

    small, large = T_C[:5], C_MAX[5:]
    return [
        about("greatest utilization, T_c >= 7", over(T_C[5:], C_MAX[1:], max), 98, "%", POINTS,
              "about 98 %"),
        about("least utilization, T_c >= 7", over(T_C[5:], C_MAX[1:], min), 98, "%", POINTS,
              "about 98 %"),
        Part("greatest utilization, T_c <= 5, c_max >= 1.2", "between 94 % and 98 %",
             over(small, large, max), 94 - POINTS, 98 + POINTS, "%"),
        Part("least utilization, T_c <= 5, c_max >= 1.2", "between 94 % and 98 %",
             over(small, large, min), 94 - POINTS, 98 + POINTS, "%"),
    ]  # fmt: skip


def cp_14(data: Data) -> list[Part]:
    policed, overflow, longest = (
        data.study("burst").runs[f"queues.bottleneck.{key}"].to_list()
        for key in ("drops.policed", "drops.overflow", "max_packets")
    )
    return [
        Part("packets that the policer drops, all T_c and c_max", "none", exactly(sum(policed)),
             0, 0),
        Part("packets that do not fit", "", exactly(sum(overflow)), 0, 0),
        Part("shortest of the longest queues", "the whole buffer, 30 packets",
             exactly(min(longest)), 30, 30, "packets"),
    ]  # fmt: skip
