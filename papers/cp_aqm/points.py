"""The points of the studies, and how the text's numbers are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from forebay.papers import (
    Data,
    Part,
)
from forebay.stats import Interval

QUEUE = "queues.bottleneck.mean_packets"
USED = "links.bottleneck.utilization"
LOSS = "queues.bottleneck.loss"
SCALES = {USED: 100.0, LOSS: 100.0}
"""Shares are told in percent."""

RENO = "linux-reno"
CUBIC = "cubic-2008"
NAMES = {RENO: "New Reno", CUBIC: "Cubic"}
T_C = ("0p", "1p", "2p", "3p", "5p", "7p", "10p", "15p", "20p", "25p", "30p")
C_MAX = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0)
DELAYS = tuple(f"{delay}ms" for delay in range(5, 55, 5))
RATES = {12: "11944260bit", 15: "14930325bit", 20: "19907100bit"}
COMBINATIONS = [
    (flows, congestion, delay)
    for congestion in NAMES
    for flows in (1, 16)
    for delay in ("5ms", "50ms")
]

AT_1_5 = {(1, RENO): 82, (16, RENO): 94, (1, CUBIC): 96, (16, CUBIC): 99}
"""Utilization in percent that the text states for c_max = 1.5 and 50 ms."""

# How the text's numbers are read, decided before ours were known.
PACKETS = 1.0
"""A queue length may be off by this many packets."""
POINTS = 1.0
"""A utilization or loss may be off by this many percentage points."""
FULL = 99.5
"""Percent that count as full utilization."""
CLOSE = 99.0
"""Percent that count as close to it."""


def tcp(
    flows: int, congestion: str, delay: str, threshold: str = "5p", c_max: float = 1.2
) -> tuple[str, dict[str, Any]]:
    """Study and point of a TCP scenario under CP-AQM; by default its recommended parameters."""
    where = {"congestion": congestion, "delay": delay, "T_c": threshold, "c_max": c_max}
    return f"tcp-{flows}", where


def combination(flows: int, congestion: str, delay: str) -> str:
    """A TCP scenario in words."""
    return f"{flows} {NAMES[congestion]}, {delay[:-2]} ms"


def about(
    what: str,
    found: Interval,
    value: float,
    unit: str,
    slack: float,
    paper: str | None = None,
) -> Part:
    """A number that the text gives."""
    return Part(what, paper or f"{value:g} {unit}", found, value - slack, value + slack, unit)


def measure(data: Data, name: str, key: str, where: Mapping[str, Any]) -> Interval:
    """A measure of a point, shares in percent."""
    return data.interval(name, key, where, scale=SCALES.get(key, 1.0))


def tail(data: Data, flows: int, congestion: str, delay: str, key: str) -> Interval:
    """A measure of a TCP scenario with tail drop."""
    return measure(data, f"tail-drop-{flows}", key, {"congestion": congestion, "delay": delay})


def policed(
    data: Data,
    flows: int,
    congestion: str,
    delay: str,
    key: str,
    threshold: str = "5p",
    c_max: float = 1.2,
) -> Interval:
    """A measure of a TCP scenario with CP-AQM; by default its recommended parameters."""
    return measure(data, *keyed(tcp(flows, congestion, delay, threshold, c_max), key))


def keyed(point: tuple[str, dict[str, Any]], key: str) -> tuple[str, str, dict[str, Any]]:
    """A point in the order of `measure`."""
    return point[0], key, point[1]


def apart(one: Interval, other: Interval) -> Interval:
    """The difference of two means that were measured by themselves."""
    width = ((one.half_width or 0.0) ** 2 + (other.half_width or 0.0) ** 2) ** 0.5
    return Interval(one.mean - other.mean, width, min(one.samples, other.samples))


def share(one: Interval, other: Interval) -> Interval:
    """One mean in percent of another that was measured by itself."""
    ratio = one.mean / other.mean
    width = sum(((each.half_width or 0.0) / each.mean) ** 2 for each in (one, other)) ** 0.5
    return Interval(100 * ratio, 100 * ratio * width, min(one.samples, other.samples))


def extreme(found: Iterable[Interval], pick: Callable[..., Interval]) -> Interval:
    """The interval whose mean is the least or the greatest."""
    return pick(found, key=lambda each: each.mean)


def over(
    data: Data,
    point: tuple[int, str, str],
    thresholds: Iterable[str],
    c_max: Sequence[float],
    pick: Callable[..., Interval],
) -> Interval:
    """The least or the greatest utilization of a TCP scenario over parameters of CP-AQM."""
    return extreme((policed(data, *point, USED, t, c) for t in thresholds for c in c_max), pick)


def threshold_packets(text: str) -> int:
    """T_c in packets, as the axes write it."""
    return int(text[:-1])


def lengths() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every scenario of the study "length" in words, and its points of 100 s and of 1000 s."""
    for discipline in ("tail drop", "CP-AQM"):
        for congestion, name in NAMES.items():
            for delay in ("5ms", "50ms"):
                where = {"discipline": discipline, "congestion": congestion, "delay": delay}
                short, long = ({**where, "length": length} for length in ("110s", "1010s"))
                yield f"{discipline}, 1 {name}, {delay[:-2]} ms", short, long
