"""Which studies hold the points of the comparison, and how two disciplines compare at one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from forebay.papers import Data
from forebay.stats import Interval, interval

DELAY = "queues.bottleneck.mean_delay_ms"
QUEUE = "queues.bottleneck.mean_packets"
USED = "links.bottleneck.utilization"
LOSS = "queues.bottleneck.loss"
TOGETHER = "queues.bottleneck.loss_events.mean_flows"
"""Flows that lose packets in one event of loss."""

OURS = "CP-AQM"
OTHERS = ("tail drop", "RED", "CoDel", "PIE", "GSP", "FQ-CoDel")
LINK, DRAIN = "CP-AQM, follows the link", "CP-AQM, follows the drain"
RATES = {"1": "1 Mb/s", "10": "10 Mb/s", "100": "100 Mb/s", "1000": "1 Gb/s"}
DEEP = "deep"
SETTINGS = {**RATES, DEEP: "10 Mb/s, the others with room for 1000 packets"}
TUNED = "tuned"
OTHERWISE = (
    "RED, w_q = 0.002", "RED, max_p = 0.01", "RED, both, drops spaced",
    "CP-AQM, c_max = 1.05", "CP-AQM, c_max = 1.01", "CP-AQM, T_c = 150",
    "CP-AQM, bucket = 100 KB",
)  # fmt: skip
"""Disciplines with other than the recommended parameters."""
LONG_RENO = {"flows": 16, "congestion": "new-reno", "delay": "50ms"}
NAMES = {"new-reno": "New Reno", "cubic": "Cubic"}
COMBINATIONS = [
    {"flows": flows, "congestion": congestion, "delay": delay}
    for congestion in NAMES
    for flows in (1, 16)
    for delay in ("5ms", "50ms")
]
BURSTS = (1, 4, 16)
"""Flows beside a burst."""
POINT = 0.5
"""Percentage points of utilization that count as a difference."""
SHARE = 0.05
"""Share of the other's queueing delay that counts as a difference."""

Where = Mapping[str, Any]
Outcome = Literal["better", "trade-off", "equal", "worse", "undecided"]


def words(where: Where) -> str:
    """A combination in words."""
    said = f"{where['flows']} {NAMES[where['congestion']]}"
    return said + (f", {where['delay'][:-2]} ms" if "delay" in where else "")


def matching(where: Where) -> pl.Expr:
    """Rows of a table that belong to a combination."""
    return pl.all_horizontal(pl.col(column) == value for column, value in where.items())


def study_of(setting: str, where: Where) -> str:
    """The study that holds a combination; one flow grows slowly, and needs other run lengths."""
    if setting == "100" and where["flows"] == 1:
        return "one-100"
    if setting == "1000" and where["flows"] == 1:
        if where["congestion"] == "cubic":
            return "cubic-1000"
        return "reno-1000" if where["delay"] == "5ms" else "slow-1000"
    return setting if setting in (DEEP, TUNED) else f"tcp-{setting}"


def studies_of(setting: str) -> tuple[str, ...]:
    """The studies of all combinations."""
    return tuple(dict.fromkeys(study_of(setting, where) for where in COMBINATIONS))


def measured(data: Data, setting: str, where: Where, key: str, name: str) -> Interval:
    """A measure of a discipline at a combination; utilization in percent."""
    scale = 100.0 if key in (USED, LOSS) else 1.0
    study = study_of(setting, where)
    return data.interval(study, key, {**where, "discipline": name}, scale=scale)


def beside(data: Data, setting: str, where: Where, key: str, name: str, other: str) -> Interval:
    """A measure's paired difference, `name` less `other`; of utilization in percentage points."""
    scale = 100.0 if key in (USED, LOSS) else 1.0
    one, two = ({**where, "discipline": each} for each in (name, other))
    return data.difference(study_of(setting, where), key, one, two, scale=scale)


def share(data: Data, setting: str, where: Where, key: str, name: str, other: str) -> Interval:
    """What `name` has of what `other` has, in percent, replication by replication."""
    study = study_of(setting, where)
    one, two = (
        data.runs(study, {**where, "discipline": each}).sort("replication")[key].to_list()
        for each in (name, other)
    )
    found = interval([100.0 * a / b for a, b in zip(one, two, strict=True)])
    assert found is not None
    return found


def outcome(data: Data, setting: str, where: Where, other: str) -> Outcome:
    """What CP-AQM is beside another, by the paired differences of both measures."""
    delay = measured(data, setting, where, DELAY, other).mean
    shorter = _sign(beside(data, setting, where, DELAY, other, OURS), SHARE * delay)
    more = _sign(beside(data, setting, where, USED, OURS, other), POINT)
    if shorter is None or more is None:
        return "undecided"
    if shorter * more < 0:
        return "trade-off"
    found: dict[int, Outcome] = {1: "better", 0: "equal", -1: "worse"}
    return found[max(-1, min(1, shorter + more))]


def _sign(found: Interval, least: float) -> int | None:
    """Whether a difference counts; None if the interval does not tell."""
    if found.low is None or found.high is None:
        return None
    if max(abs(found.low), abs(found.high)) < least:
        return 0
    if not found.excludes_zero:
        return None
    if abs(found.mean) < least:
        return 0
    return 1 if found.mean > 0 else -1


def over_runs(table: pl.DataFrame, value: pl.Expr) -> Interval:
    """Interval of what each run of a table comes to."""
    found = table.group_by("replication").agg(value.alias("value")).sort("replication")
    known = interval(found["value"].to_list())
    assert known is not None
    return known


def steps(data: Data, where: Where, table: str, span: tuple[float, float]) -> pl.DataFrame:
    """Rows of a table of the steps of capacity, for one link and one span of time."""
    found = data.table("step", table).filter(
        matching(where) & pl.col("time_s").is_between(*span, closed="right")
    )
    return found.filter(pl.col("link") == "bottleneck") if table == "queue" else found


def queue_in(data: Data, where: Where, span: tuple[float, float]) -> Interval:
    """Mean queue within a span of the steps, in packets."""
    return over_runs(steps(data, where, "queue", span), pl.col("mean_packets").mean())


def queue_beside(
    data: Data, where: Where, name: str, other: str, span: tuple[float, float]
) -> Interval:
    """How much longer the queue is with `name` than with `other`, replication by replication."""
    one, two = (
        steps(data, {**where, "discipline": each}, "queue", span)
        .group_by("replication")
        .agg(pl.col("mean_packets").mean().alias(each))
        for each in (name, other)
    )
    both = one.join(two, on="replication").sort("replication")
    found = interval((both[name] - both[other]).to_list())
    assert found is not None
    return found


def rate_in(data: Data, where: Where, span: tuple[float, float]) -> Interval:
    """What all classes, or that of `where`, got within a span of the steps, in Mb/s."""
    total = 1e-6 * pl.col("throughput_bps").sum() / pl.col("time_s").n_unique()
    return over_runs(steps(data, where, "class", span), total)


def held_after(data: Data, where: Where, most: float) -> Interval | str:
    """Seconds from the step down at 30 s until the queue is `most` packets for the first time.

    A run whose queue does not come down within the 30 s at the lower rate counts as 30 s.
    """
    table, low = steps(data, where, "queue", (30.1, 60.0)), pl.col("mean_packets") <= most
    if table.filter(low).is_empty():
        return "not within 30 s"
    return over_runs(table, pl.col("time_s").filter(low).min().fill_null(60.0) - 30.0)


def joined(items: Sequence[str]) -> str:
    """Words in a row, with "and" before the last."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
