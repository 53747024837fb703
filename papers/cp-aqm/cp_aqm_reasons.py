"""Why claims differ, in the words of the runs that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from cp_aqm_points import (
    AT_1_5,
    COMBINATIONS,
    CUBIC,
    LOSS,
    QUEUE,
    RENO,
    USED,
    keyed,
    tcp,
)
from cp_aqm_stacks import says

from forebay.papers import (
    Data,
)
from forebay.stats import Interval


def cp_2_why(data: Data) -> str:
    return " ".join(
        says(data, "tail drop", (1, RENO, delay), QUEUE, low, high)
        for delay, low, high in (("5ms", 19, 21), ("50ms", 9, 11))
    )


def cp_3_why(data: Data) -> str:
    return says(data, "tail drop", (1, CUBIC, "50ms"), USED, 97, 99)


def cp_4_why(data: Data) -> str:
    return " ".join(
        says(data, "tail drop", point, key, low, high)
        for point, key, low, high in (
            ((16, CUBIC, "50ms"), LOSS, 3, 13),
            ((16, RENO, "5ms"), QUEUE, 21.5, 26.5),
            ((16, RENO, "50ms"), QUEUE, 21.5, 26.5),
        )
    )


BYTES = pl.col("queues.bottleneck.mean_bytes") / 1500
"""The queue in packets of full size, where there are small ones as well."""


def noisy(data: Data, point: tuple[str, dict[str, Any]], key: str | pl.Expr) -> Interval:
    """The same point of one flow, beside small packets."""
    return data.interval(
        "noise", key, point[1], scale=100.0 if isinstance(key, str) and key == USED else 1.0
    )


def locked(data: Data, points: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The point of the least utilization, and what becomes of it beside small packets."""

    def used(name: str, where: Mapping[str, Any]) -> float:
        return data.interval(name, USED, where, scale=100).mean

    name, worst = min(points, key=lambda each: used(*each))
    timeouts = data.interval(name, "classes.tcp.timeouts", worst).mean
    beside = [used("noise", where) for _, where in points]
    alone = used(name, worst)
    there = used("noise", worst)
    episode = (
        "; a flow alone repeats one episode for ever, and beside"
        if abs(alone - there) > 2
        else ", and beside"
    )
    return (
        f"The least, {alone:.3g} %, is at T_c = {worst['T_c'][:-1]} and c_max = "
        f"{worst['c_max']:g}, with {timeouts:.3g} timeouts in 100 s{episode} 20 kb/s of small "
        f"packets it has {there:.3g} % there, and over the same parameters from {min(beside):.3g} "
        f"% to {max(beside):.3g} %."
    )


NOISY = ("0p", "1p", "2p", "3p", "5p", "7p", "10p")
NOISY_C = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0)


def cp_8_why(data: Data) -> str:
    return locked(data, [tcp(1, RENO, "5ms", t, c) for t in NOISY[2:] for c in NOISY_C])


def cp_9_why(data: Data) -> str:
    one = locked(data, [tcp(1, RENO, "50ms", t, c) for t in NOISY for c in NOISY_C])
    many = {
        t: data.interval(*keyed(tcp(16, RENO, "50ms", t, 1.05), USED), scale=100).mean
        for t in ("0p", "1p", "5p")
    }
    said = ", ".join(f"{used:.3g} % at T_c = {t[:-1]}" for t, used in many.items())
    return f"{one} 16 flows with c_max = 1.05: {said}."


def cp_13_why(data: Data) -> str:
    small = [tcp(1, CUBIC, "50ms", t, c) for t in NOISY[:5] for c in NOISY_C[3:]]
    above = says(data, "tail drop", (1, CUBIC, "50ms"), USED, 97, 99)
    return f"{locked(data, small)} Above, utilization rises with T_c to that of tail drop. {above}"


def cp_10_why(data: Data) -> str:
    return says(data, "c_max = 1.2", (16, RENO, "50ms"), USED, 94, 96)


def longest_at(data: Data, c_max: float) -> tuple[int, str, str]:
    """The combination with the longest queue at T_c = 5."""
    return max(
        COMBINATIONS,
        key=lambda each: (
            data.interval(*keyed(tcp(each[0], each[1], each[2], "5p", c_max), QUEUE)).mean
        ),
    )


def by_rule(data: Data, point: tuple[int, str, str], c_max: float, key: str) -> Interval:
    """A measure with the bucket that the rule gives at T_c = 5."""
    flows, congestion, delay = point
    where = {"flows": flows, "congestion": congestion, "delay": delay,
             "discipline": f"c_max = {c_max:g}"}  # fmt: skip
    return data.interval("bucket-rule", key, where, scale=1.0 if key == QUEUE else 100.0)


def cp_11_why(data: Data) -> str:
    said = [
        says(data, f"c_max = {c:g}", longest_at(data, c), QUEUE, low, high)
        for c, low, high in ((1.05, 14, 16), (1.5, 0, 9.5))
    ]
    longest = {
        c: max(by_rule(data, each, c, QUEUE).mean for each in COMBINATIONS) for c in (1.05, 1.5)
    }
    said.append(
        "With the bucket by the formula of section 3.3 at each c_max, in place of its largest "
        f"value, the longest queues are {longest[1.05]:.3g} and {longest[1.5]:.3g} packets."
    )
    for (flows, congestion), value in AT_1_5.items():
        point = (flows, congestion, "50ms")
        part = says(data, "c_max = 1.5", point, USED, value - 1, value + 1)
        if flows == 1:
            beside = noisy(data, tcp(*point, "5p", 1.5), USED).mean
            part = f"{part[:-1]}; {beside:.4g} beside 20 kb/s of small packets."
        said.append(part)
    return " ".join(said)


def cp_12_why(data: Data) -> str:
    return " ".join(
        says(data, discipline, (16, CUBIC, "5ms"), QUEUE, low, high)
        for discipline, low, high in (("c_max = 1.2", 6, 8), ("tail drop", 29, 31))
    )
