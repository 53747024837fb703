"""Why claims differ, in the words of the runs that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from cp_aqm_points import (
    COMBINATIONS,
    NAMES,
    QUEUE,
    USED,
    combination,
    keyed,
    tcp,
)

from forebay.papers import (
    Data,
)
from forebay.stats import Interval

NO_SACK = "New Reno recovery, no SACK"
STACKS = (
    "Linux",
    "initial window 3 (before 2.6.39)",
    "no quick acknowledgments",
    "quick acknowledgments also after 200 ms of silence",
    "no delayed acknowledgments",
    "growth by acknowledgments, not bytes (before 4.0)",
    "minimum RTO 1 s",
    "RTO at least 200 ms above the round-trip time",
    NO_SACK,
    "no PRR",
    "no timestamps",
    "no HyStart",
    "no limited transmit",
)
"""The rows of the axis "stack", in order."""


def stack_point(data: Data, stack: str) -> dict[str, Any]:
    """The values of the axis' columns."""
    [axis] = [each for each in data.study("stack").axes if each.name == "stack"]
    row = axis.rows[STACKS.index(stack)]
    written = [str(value).lower() if isinstance(value, bool) else value for value in row]
    return dict(zip(axis.columns, written, strict=True))


def stack_says(
    data: Data, key: str, discipline: str, point: tuple[int, str, str], stated: float
) -> str:
    """How far the conventions of the TCP stack move a number, beside what the paper states."""
    flows, congestion, delay = point
    where = {"flows": flows, "congestion": congestion, "delay": delay, "discipline": discipline}
    scale, unit = (1.0, "packets") if key == QUEUE else (100.0, "%")
    found = {
        stack: data.interval("stack", key, {**where, **stack_point(data, stack)}, scale=scale).mean
        for stack in STACKS
        if stack != NO_SACK
    }
    least, most = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    inside = found[least] <= stated <= found[most]
    return (
        f"{combination(*point)}, {discipline}: {found['Linux']:.4g} {unit} with Linux's "
        f"conventions; with one of them (but SACK) changed from {found[least]:.4g} ({least}) to "
        f"{found[most]:.4g} ({most}), so that the paper's {stated:g} "
        + ("is a matter of the stack" if inside else "is beyond all of them")
        + "."
    )


NSC = (
    "The authors' stack is a Linux of the Network Simulation Cradle, of a version that the paper "
    "does not name. "
)


def cp_3_why(data: Data) -> str:
    return NSC + stack_says(data, USED, "tail drop", (1, "cubic", "50ms"), 98)


def cp_4_why(data: Data) -> str:
    return NSC + " ".join(
        stack_says(data, QUEUE, "tail drop", (16, "new-reno", delay), stated)
        for delay, stated in (("5ms", 25.5), ("50ms", 22.5))
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
    return (
        f"The least, {used(name, worst):.3g} % at T_c = {worst['T_c'][:-1]} and c_max = "
        f"{worst['c_max']:g}, is a flow alone that repeats one episode ({timeouts:.3g} timeouts in "
        f"100 s). Beside 20 kb/s of small packets it has {used('noise', worst):.3g} % there, and "
        f"over the same parameters from {min(beside):.3g} % to {max(beside):.3g} %."
    )


NOISY = ("0p", "1p", "2p", "3p", "5p", "7p", "10p")
NOISY_C = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0)


def cp_8_why(data: Data) -> str:
    return locked(data, [tcp(1, "new-reno", "5ms", t, c) for t in NOISY[2:] for c in NOISY_C])


def cp_9_why(data: Data) -> str:
    one = locked(data, [tcp(1, "new-reno", "50ms", t, c) for t in NOISY for c in NOISY_C])
    many = {
        t: data.interval(*keyed(tcp(16, "new-reno", "50ms", t, 1.05), USED), scale=100).mean
        for t in ("0p", "1p", "5p")
    }
    said = ", ".join(f"{used:.3g} % at T_c = {t[:-1]}" for t, used in many.items())
    return f"{one} 16 flows with c_max = 1.05: {said}."


def cp_13_why(data: Data) -> str:
    small = [tcp(1, "cubic", "50ms", t, c) for t in NOISY[:5] for c in NOISY_C[3:]]
    return locked(data, small) + (
        " At T_c from 7 to 30 utilization follows T_c and c_max up to that of tail drop, "
        + stack_says(data, USED, "tail drop", (1, "cubic", "50ms"), 98)
    )


def counted(data: Data, point: tuple[int, str, str], c_max: float, key: str) -> str:
    """A number with windows that grow by bytes, by acknowledgments, and beside small packets."""
    flows, congestion, delay = point
    scale = 1.0 if key == QUEUE else 100.0
    there = tcp(*point, "5p", c_max)
    where = {"flows": flows, "congestion": congestion, "delay": delay, "c_max": c_max}
    ours = data.interval(*keyed(there, key), scale=scale).mean
    older = data.interval("counting", key, where, scale=scale).mean
    said = (
        f"{combination(*point)}, c_max = {c_max:g}: {ours:.4g}, {older:.4g} if windows grow by "
        "acknowledgments as in Linux before 4.0"
    )
    if flows == 1:
        beside = noisy(data, there, BYTES if key == QUEUE else USED).mean
        said += f", {beside:.4g} beside 20 kb/s of small packets"
    return said


def cp_10_why(data: Data) -> str:
    point = (16, "new-reno", "50ms")
    return f"Utilization in %: {counted(data, point, 1.2, USED)}. " + stack_says(
        data, USED, "CP-AQM", point, 95
    )


def cp_11_why(data: Data) -> str:
    def longest(c_max: float) -> tuple[int, str, str]:
        return max(
            COMBINATIONS,
            key=lambda each: (
                data.interval(*keyed(tcp(each[0], each[1], each[2], "5p", c_max), QUEUE)).mean
            ),
        )

    queues = "; ".join(counted(data, longest(c), c, QUEUE) for c in (1.05, 1.5))
    used = "; ".join(
        counted(data, (flows, congestion, "50ms"), 1.5, USED)
        for congestion in NAMES
        for flows in (1, 16)
    )
    return f"The longest queues, in packets: {queues}. Utilization in %: {used}."


def cp_12_why(data: Data) -> str:
    return NSC + " ".join(
        stack_says(data, QUEUE, discipline, (16, "cubic", "5ms"), stated)
        for discipline, stated in (("CP-AQM", 7), ("tail drop", 30))
    )
