"""How the claims are judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from forebay.papers import (
    Data,
    Part,
    exactly,
)
from forebay.stats import Interval

from .points import (
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
    apart,
    combination,
    extreme,
    measure,
    over,
    policed,
    tail,
    threshold_packets,
)


def cp_1(data: Data) -> list[Part]:
    def at(delay: str, key: str) -> Interval:
        return measure(data, "tail-drop-udp", key, {"delay": delay})

    return [
        part
        for delay in ("5ms", "25ms", "50ms")
        for part in (
            Part(f"utilization, {delay[:-2]} ms", "100 %", at(delay, USED), 99.95, 100, "%"),
            Part(f"queue, {delay[:-2]} ms", "always full", at(delay, QUEUE), 29, 30, "packets"),
        )
    ]


def full(data: Data, congestion: str, delays: Iterable[int], paper: str) -> list[Part]:
    """Tail drop, one flow: delays up to which the link is full."""
    return [
        Part(f"utilization, {delay} ms", paper, tail(data, 1, congestion, f"{delay}ms", USED),
             CLOSE, unit="%")
        for delay in delays
    ]  # fmt: skip


def cp_2(data: Data) -> list[Part]:
    def at(delay: str, key: str) -> Interval:
        return tail(data, 1, RENO, delay, key)

    return [
        *full(data, RENO, (5, 10, 15, 20), "full up to about 20 ms"),
        about("utilization, 50 ms", at("50ms", USED), 92.7, "%", POINTS),
        about("queue, 5 ms", at("5ms", QUEUE), 20, "packets", PACKETS),
        about("queue, 50 ms", at("50ms", QUEUE), 10, "packets", PACKETS),
    ]


def cp_3(data: Data) -> list[Part]:
    def longer(delay: str) -> Interval:
        cubic, reno = ({"congestion": each, "delay": delay} for each in (CUBIC, RENO))
        return data.difference("tail-drop-1", QUEUE, cubic, reno)

    at_50 = tail(data, 1, CUBIC, "50ms", USED)
    return [
        *full(data, CUBIC, (5, 15, 25), "full up to 25 ms"),
        about("utilization, 50 ms", at_50, 98, "%", POINTS, "about 98 %"),
        *(
            Part(f"queue, Cubic - New Reno, {delay} ms", "longer", longer(f"{delay}ms"), 0.0,
                 unit="packets")
            for delay in (5, 25, 50)
        ),
    ]  # fmt: skip


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
    policing = [c for c in C_MAX if c > 1]

    def beyond(threshold: str, c_max: float) -> Interval:
        """The queue less T_c."""
        found = data.interval("udp-constant", QUEUE, {"T_c": threshold, "c_max": c_max})
        return Interval(found.mean - threshold_packets(threshold), found.half_width, found.samples)

    def spread(threshold: str) -> Interval:
        """The queue of the c_max with the longest less that of the one with the shortest."""
        ascending = sorted(policing, key=lambda c: beyond(threshold, c).mean)
        longest, shortest = ascending[-1], ascending[0]
        longer, shorter = ({"T_c": threshold, "c_max": c} for c in (longest, shortest))
        return data.difference("udp-constant", QUEUE, longer, shorter)

    # At T_c = Q_max nothing is above the threshold, and the queue is always full.
    below = [t for t in T_C if t != "30p"]
    beside = [beyond(t, c) for t in below for c in policing]
    used = extreme(
        (measure(data, "udp-constant", USED, {"T_c": t, "c_max": c}) for t in T_C for c in C_MAX),
        min,
    )
    return [
        *(
            Part(f"{word} of queue - T_c", "oscillates around T_c, exceeds it by a very few "
                 "packets", extreme(beside, pick), -3, 3, "packets")
            for word, pick in (("greatest", max), ("least", min))
        ),
        Part("greatest difference between values of c_max", "no impact",
             extreme(map(spread, below), max), -PACKETS, PACKETS, "packets"),
        Part("least utilization", "100 %", used, 99.95, unit="%"),
    ]  # fmt: skip


def cp_6(data: Data) -> list[Part]:
    def at(rate: int, c_max: float) -> dict[str, Any]:
        return {"rate": RATES[rate], "T_c": "10p", "c_max": c_max}

    def less(what: str, paper: str, one: dict[str, Any], other: dict[str, Any]) -> Part:
        found = data.difference("udp-rates", QUEUE, one, other)
        return Part(what, paper, found, 0.0, unit="packets")

    longer = [
        Part(f"exponential - periodic, T_c = 10, c_max = {c:g}", "longer",
             apart(data.interval("udp-rates", QUEUE, at(15, c)),
                   data.interval("udp-constant", QUEUE, {"T_c": "10p", "c_max": c})),
             0.0, unit="packets")
        for c in (1.05, 1.2, 2.0)
    ]  # fmt: skip
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
    one, many = (1, RENO, "5ms"), (16, RENO, "5ms")
    return [
        Part("least utilization, 1 flow, T_c >= 2", "mostly 100 %",
             over(data, one, T_C[2:], C_MAX, min), CLOSE, unit="%"),
        Part("least utilization, 1 flow, T_c in {0, 1}, c_max >= 1.2", "between 86 % and 99 %",
             over(data, one, T_C[:2], C_MAX[5:], min), 86 - POINTS, 99 + POINTS, "%"),
        Part("least utilization, 16 flows, T_c >= 2", "exactly or close to 100 %",
             over(data, many, T_C[2:], C_MAX, min), CLOSE, unit="%"),
    ]  # fmt: skip


def cp_9(data: Data) -> list[Part]:
    one, many = (1, RENO, "50ms"), (16, RENO, "50ms")
    return [
        about("utilization, 1 flow, c_max = 1", policed(data, *one, USED, "5p", 1.0), 92.5, "%",
              POINTS),
        Part("least utilization, 1 flow", "80 % to 90 %", over(data, one, T_C, C_MAX[1:], min),
             80 - POINTS, 90 + POINTS, "%"),
        Part("greatest utilization, 1 flow, T_c <= 5, c_max >= 1.2",
             "80 % to 90 %, in particular for small T_c and large c_max",
             over(data, one, T_C[:5], C_MAX[5:], max), 80 - POINTS, 90 + POINTS, "%"),
        Part("least utilization, 16 flows, c_max <= 1.05",
             "significantly reduced utilization can be avoided",
             over(data, many, T_C, C_MAX[:4], min), 98, unit="%"),
    ]  # fmt: skip


def longest(data: Data, c_max: float) -> Interval:
    """The longest queue of the eight combinations at T_c = 5."""
    return extreme((policed(data, *each, QUEUE, "5p", c_max) for each in COMBINATIONS), max)


def cp_10(data: Data) -> list[Part]:
    return [
        Part("longest queue of the eight combinations", "at most 12 packets", longest(data, 1.2),
             high=12.5, unit="packets"),
        about("utilization, 16 New Reno, 50 ms", policed(data, 16, RENO, "50ms", USED), 95, "%",
              POINTS),
    ]  # fmt: skip


def cp_11(data: Data) -> list[Part]:
    def used(flows: int, congestion: str, c_max: float) -> Interval:
        return policed(data, flows, congestion, "50ms", USED, "5p", c_max)

    return [
        about("longest queue, c_max = 1.05", longest(data, 1.05), 15, "packets", PACKETS,
              "may reach 15 packets"),
        Part("utilization, c_max = 1.05, 16 New Reno, 50 ms", "almost full", used(16, RENO, 1.05),
             98, unit="%"),
        Part("longest queue, c_max = 1.5", "at most 9 packets", longest(data, 1.5), high=9.5,
             unit="packets"),
        *(
            about(f"utilization, c_max = 1.5, {combination(*each, '50ms')}", used(*each, 1.5),
                  value, "%", POINTS)
            for each, value in AT_1_5.items()
        ),
    ]  # fmt: skip


def cp_12(data: Data) -> list[Part]:
    point = (16, CUBIC, "5ms")
    return [
        about("queue, T_c = 5, c_max = 1.2", policed(data, *point, QUEUE), 7, "packets", PACKETS,
              "only 7 packets"),
        about("queue of tail drop", tail(data, *point, QUEUE), 30, "packets", PACKETS),
    ]  # fmt: skip


def cp_13(data: Data) -> list[Part]:
    point = (1, CUBIC, "50ms")
    return [
        Part(f"{word} utilization, {where}", paper, over(data, point, thresholds, c_max, pick),
             low - POINTS, high + POINTS, "%")
        for where, thresholds, c_max, paper, low, high in (
            ("T_c >= 7", T_C[5:], C_MAX[1:], "about 98 %", 98, 98),
            ("T_c <= 5, c_max >= 1.2", T_C[:5], C_MAX[5:], "between 94 % and 98 %", 94, 98),
        )
        for word, pick in (("greatest", max), ("least", min))
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


CLAIMS = {
    "CP-1": cp_1, "CP-2": cp_2, "CP-3": cp_3, "CP-4": cp_4, "CP-5": cp_5, "CP-6": cp_6,
    "CP-7": cp_7, "CP-8": cp_8, "CP-9": cp_9, "CP-10": cp_10, "CP-11": cp_11, "CP-12": cp_12,
    "CP-13": cp_13, "CP-14": cp_14,
}  # fmt: skip
