"""Measures that are more than an expression of columns: time series, ns-3, and the live runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from forebay.papers import Number, Panel, Series, Sources, Table, exactly
from forebay.stats import Interval, interval

HERE = Path(__file__).parent
TAKEN = "ns-3.18's sender, 128 KiB"
"""The choice of studies that have several."""
LINK = 10e6 * 1000 / 1054
"""Payload that the bottleneck carries, in bit/s: 1000 bytes in a frame of 1054."""
STRICT, FROZEN = "strict priority", "ASPQ"


def _goodput(at: dict[str, Any], study: str = "table1") -> Number:
    return Number(study=study, of="goodput", at=at)


def _gain(at: dict[str, Any]) -> Number:
    """ASPQ's goodput less SPQ's."""
    return Number(study="table1", of="goodput", at={**at, "box": "aspq"}, less={"box": "none"})


def growth(sources: Sources) -> Interval | None:
    """How much larger the gain is at 210 ms than at 30 ms, kbit/s."""
    before, after = (sources.samples(_gain({"delay": delay})) for delay in ("10ms", "100ms"))
    return interval([after[run] - before[run] for run in before if run in after])


def mean_gain(sources: Sources) -> Interval:
    """The mean gain over the round-trip times, kbit/s, as of independent points."""
    rows = sources.rows("table1.csv", _gain({}), {})
    each = [found for found in (sources.interval(_gain({}), row) for row in rows) if found]
    width = sum((gain.half_width or 0.0) ** 2 for gain in each) ** 0.5 / len(each)
    return Interval(sum(gain.mean for gain in each) / len(each), width, each[0].samples)


def furthest(sources: Sources, study: str, size: bool = False, **choice: Any) -> Interval:
    """The goodput that is furthest from table I, in percent, with its sign or only its size."""
    goodput = _goodput({}, study)
    rows = sources.rows("table", goodput, choice)
    most = max((100 * (sources.mean(goodput, row) / row["stated"] - 1) for row in rows), key=abs)
    return exactly(abs(most) if size else most)


def table_change(sources: Sources, box: str) -> Interval:
    """Change of the goodput of table I itself from 30 to 210 ms, %."""
    rows = [row["stated"] for row in sources.rows("table", Number(), {}) if row["box"] == box]
    return exactly(100 * (rows[-1] / rows[0] - 1))


def _around_the_end(
    sources: Sources, box: str, before: float, after: float, title: str
) -> list[pl.DataFrame]:
    """Time from the end of the high transfer in s, and the low one's throughput in bit/s, run by
    run. The end is that of the last interval in which high-priority data arrived."""
    runs = []
    table = sources.data.table("figure5", "class", {"title": title, "box": box})
    for _, run in table.group_by("replication", maintain_order=True):
        high = run.filter((pl.col("class") == "high") & (pl.col("throughput_bps") > 0))
        low = run.filter(pl.col("class") == "low")
        low = low.with_columns(at=pl.col("time_s") - high["time_s"].max())
        runs.append(low.filter(pl.col("at").is_between(before, after)))
    return runs


def after_the_end(
    sources: Sources,
    box: str,
    first: float,
    last: float,
    take: Literal["min", "max", "mean"],
    title: str = TAKEN,
) -> Interval | None:
    """Throughput of any 50 ms from `first` to `last` s after the end of the high transfer, % of the
    link: the least, the highest, or their mean."""
    runs = _around_the_end(sources, box, first, last + 1e-9, title)
    taken = (run.select(getattr(pl.col("throughput_bps"), take)()).item() for run in runs)
    return interval([100 * float(each) / LINK for each in taken])


def frozen_change(sources: Sources, title: str = TAKEN) -> Interval | None:
    """By how much the congestion window moves while the sender is frozen, in bytes."""
    table = sources.data.table("figure5", "class", {"title": title, "box": "aspq"})
    # The high transfer lasts from 2 s to about 87 s.
    held = table.filter(pl.col("class") == "low", pl.col("time_s").is_between(5.0, 80.0))
    spread = held.group_by("replication").agg(
        moved=pl.col("cwnd_bytes").max() - pl.col("cwnd_bytes").min()
    )
    return interval([float(each) for each in spread["moved"]])


def resumption(sources: Sources) -> list[Panel]:
    """Throughput of the low transfer around the end of the high one, in the first run."""
    drawn = []
    for box, label in (("aspq", "ASPQ"), ("none", "SPQ")):
        run = _around_the_end(sources, box, -1.0, 4.0, TAKEN)[0]
        rate = (run["throughput_bps"] / 1e6).to_list()
        drawn.append(Series(label, run["at"].to_list(), rate, style="steps"))
    return [
        Panel("", "time from the end of the high-priority transfer, s", "throughput, Mbit/s", drawn)
    ]


def windows(sources: Sources) -> list[Panel]:
    """Congestion windows over a whole run."""
    table = sources.data.table("figure5", "class", {"title": TAKEN}).filter(replication=1)
    table = table.filter((pl.col("class") == "low") & pl.col("cwnd_bytes").is_finite())
    drawn = []
    for box, label in (("aspq", "ASPQ"), ("none", "SPQ")):
        run = table.filter(box=box)[::4]
        segments = (run["cwnd_bytes"] / 1000).to_list()
        drawn.append(Series(label, run["time_s"].to_list(), segments))
    return [Panel("", "time, s", "congestion window, segments", drawn)]


def _ns_3_23() -> dict[str, dict[str, float]]:
    """What ns-3.23 itself comes to under strict priority alone, in s."""
    found: dict[str, dict[str, float]] = json.loads((HERE / "ns-3.23.json").read_text("utf-8"))
    return found


def ns_3_23(sources: Sources, delay: str, box: str) -> Interval | None:  # noqa: ARG001 - kept data
    """A goodput in ns-3.23, kbit/s; it has no controller."""
    return exactly(800e3 / _ns_3_23()["table1"][delay]) if box == "none" else None


def _live(way: str | None = None, most: float = 1.0) -> Sequence[dict[str, Any]]:
    """What the bench measured with Linux's senders: a row for each load, sender and box.

    Args:
        way: the box; all unless given.
        most: largest share of the link that high priority takes.
    """
    rows = json.loads((HERE / "live.json").read_text("utf-8"))["rows"]
    return [each for each in rows if way in (None, each["way"]) and each["high_share"] <= most]


def live_table(sources: Sources) -> Table:  # noqa: ARG001 - kept data
    """The live runs, one by one."""
    keys = {
        "window before": "cwnd_before",
        "at release": "cwnd_at_release",
        "timeouts counted": "timeouts",
        "silence after release, ms": "silence_ms",
        "share of the link in the first second": "first_second",
    }
    cells = [
        [f"{each['high_share']:.0%}", each["stack"], each["way"], *map(float, run)]
        for each in _live()
        for run in zip(*(each[key] for key in keys.values()), strict=True)
    ]
    return Table(["high takes", "TCP", "box", *keys], cells)


def live_collapsed(sources: Sources, most: float, least: float) -> Interval:  # noqa: ARG001
    """Live runs under ASPQ, with high priority from `least` to `most` of the link, whose window at
    the release is less than half of that before."""
    runs = [
        pair
        for each in _live(FROZEN, most)
        if each["high_share"] >= least
        for pair in zip(each["cwnd_before"], each["cwnd_at_release"], strict=True)
    ]
    return exactly(sum(after < before / 2 for before, after in runs))


def live_timeouts(sources: Sources) -> Interval:  # noqa: ARG001 - kept data
    """Timeouts that Linux counts under ASPQ, if high priority takes a part of the link."""
    return exactly(sum(sum(each["timeouts"]) for each in _live(FROZEN, 0.95)))


def live_least(sources: Sources) -> Interval:  # noqa: ARG001 - kept data
    """Least share of the link that is used in the first second after the release, %."""
    return exactly(100 * min(one for each in _live(FROZEN) for one in each["first_second"]))


def live_gain(sources: Sources, stack: str) -> Interval | None:  # noqa: ARG001 - kept data
    """That share under ASPQ less that under strict priority, in percentage points, if high priority
    takes 5 % of the link."""
    frozen, strict = (
        next(each["first_second"] for each in _live(way, 0.05) if each["stack"] == stack)
        for way in (FROZEN, STRICT)
    )
    return interval([100 * (a - b) for a, b in zip(frozen, strict, strict=True)])
