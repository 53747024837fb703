"""What figures, claims and tables share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from forebay.papers import (
    Data,
)
from forebay.stats import Interval, interval

LOW_BITS = 800e6


def average_goodput(run: Mapping[str, Any]) -> float:
    """Average goodput of the low-priority transfer of 100 MB, in kbit/s."""
    return LOW_BITS / 1000 / float(run["classes.low.mean_completion_s"])


Key = str | Callable[[Mapping[str, Any]], float | None]
"""A measure, or what is made of the measures of a run."""


@cache
def runs(data: Data, study: str) -> list[dict[str, Any]]:
    """The runs of a study as plain rows, for there are a thousand small questions to them."""
    return data.study(study).runs.to_dicts()


def samples(data: Data, study: str, key: Key, where: Mapping[str, Any]) -> dict[int, float | None]:
    """A measure of every replication of a point."""
    chosen = [
        run
        for run in runs(data, study)
        if all(run[column] == value for column, value in where.items())
    ]
    if len({run["point"] for run in chosen}) != 1:
        raise KeyError(f"{study}: {dict(where)} is not one point")
    return {run["replication"]: run[key] if isinstance(key, str) else key(run) for run in chosen}


def known(values: Sequence[float | None], scale: float = 1.0) -> Interval:
    """The interval of those that were measured."""
    found = interval([scale * each for each in values if each is not None])
    if found is None:
        raise KeyError("nothing was measured")
    return found


def measured(
    data: Data, study: str, key: Key, where: Mapping[str, Any], scale: float = 1.0
) -> Interval:
    """Mean and interval of a measure at a point."""
    return known(list(samples(data, study, key, where).values()), scale)


def changed(
    data: Data,
    study: str,
    key: Key,
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    scale: float = 1.0,
) -> Interval:
    """Mean and interval of `first - second`, paired replication by replication."""
    one, other = samples(data, study, key, first), samples(data, study, key, second)
    pairs = [(one[each], other[each]) for each in one if each in other]
    return known([a - b for a, b in pairs if a is not None and b is not None], scale)


DELAYS = [f"{delay}ms" for delay in range(10, 101, 10)]
RTTS = [30, 50, 70, 90, 110, 130, 150, 170, 190, 210]
"""Round-trip times of table I, as the paper writes them, in ms."""
TABLE_ASPQ = [
    4720.96, 4714.18, 4706.94, 4699.23, 4596.41, 4214.85, 3982.6, 3613.62, 3373.72, 3163.19,
]  # fmt: skip
TABLE_SPQ = [
    4716.42, 4686.63, 4628.15, 4542.95, 4364.91, 3987.26, 3759.93, 3358.5, 3092.56, 2869.17,
]  # fmt: skip

LINK = 10e6 * 1000 / 1054
"""Payload that the bottleneck carries, in bit/s: 1000 bytes in a frame of 1054."""
STEP = 0.05
"""Interval of the time series, in s."""
ROUND_TRIP = 2 * 4 * 5e-3
"""Round-trip time of figure 5's paths, without transmission, in s."""


def goodput(data: Data, delay: str, box: str) -> Interval:
    """Goodput of one row of table I."""
    return measured(data, "table1", average_goodput, {"delay": delay, "box": box})


def gain(data: Data, delay: str) -> Interval:
    """ASPQ's goodput less SPQ's."""
    return changed(
        data,
        "table1",
        average_goodput,
        {"delay": delay, "box": "aspq"},
        {"delay": delay, "box": "none"},
    )


def shown(data: Data) -> list[str]:
    """The delays that were run; a quick run has fewer."""
    ran = {run["delay"] for run in runs(data, "table1")}
    return [delay for delay in DELAYS if delay in ran]


def rtt(delay: str) -> int:
    """The round-trip time that the paper gives a delay of the low sender's link."""
    return RTTS[DELAYS.index(delay)]


def percent(ours: float, theirs: float) -> str:
    """How far ours is from a stated number."""
    return f"{100 * (ours / theirs - 1):+.1f} %"
