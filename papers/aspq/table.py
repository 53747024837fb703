"""Figures 5 and 6, table I, figure R2, and the claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from forebay.papers import (
    Data,
    Panel,
    Part,
    Series,
    Table,
)
from forebay.papers.points import line
from forebay.stats import Interval, interval

from .points import (
    DELAYS,
    LINK,
    LOW_BITS,
    RTTS,
    STEP,
    TABLE_ASPQ,
    TABLE_SPQ,
    average_goodput,
    gain,
    goodput,
    known,
    measured,
    percent,
    rtt,
    runs,
    samples,
    shown,
)


def figure_6(data: Data) -> list[Panel]:
    """Goodput and its difference over the round-trip time."""
    delays = shown(data)
    x = [rtt(delay) for delay in delays]
    return [
        Panel(
            "Difference", "RTT, ms", "goodput ASPQ - SPQ, kbit/s",
            [line("ours", x, [gain(data, delay) for delay in delays]),
             Series("table I", RTTS,
                    [a - s for a, s in zip(TABLE_ASPQ, TABLE_SPQ, strict=True)], stated=True)],
        ),
        Panel(
            "Average goodput", "RTT, ms", "goodput, kbit/s",
            [line("ASPQ", x, [goodput(data, delay, "aspq") for delay in delays]),
             line("SPQ", x, [goodput(data, delay, "none") for delay in delays]),
             Series("table I", RTTS + RTTS, TABLE_ASPQ + TABLE_SPQ, stated=True)],
        ),
    ]  # fmt: skip


def around_the_end(data: Data, box: str, before: float, after: float) -> list[pl.DataFrame]:
    """Time from the end of the high transfer in s, and the low one's throughput in bit/s, run by
    run. The end is that of the last interval in which high-priority data arrived."""
    runs = []
    table = data.table("figure5", "class").filter(pl.col("box") == box)
    for (_,), run in table.group_by("replication", maintain_order=True):
        high = run.filter((pl.col("class") == "high") & (pl.col("throughput_bps") > 0))
        end = high["time_s"].max()
        low = run.filter(pl.col("class") == "low").with_columns(at=pl.col("time_s") - end)
        runs.append(low.filter(pl.col("at").is_between(before, after)))
    return runs


def figure_5(data: Data) -> list[Panel]:
    """Throughput of the low transfer around the end of the high one."""
    drawn = []
    for label, box in (("ASPQ", "aspq"), ("SPQ", "none")):
        run = around_the_end(data, box, -1.0, 4.0)[0]
        rate = [each / 1e6 for each in run["throughput_bps"]]
        drawn.append(Series(label, run["at"].to_list(), rate, style="steps"))
    return [
        Panel("", "time from the end of the high-priority transfer, s", "throughput, Mbit/s", drawn)
    ]


def windows(data: Data) -> list[Panel]:
    """Congestion windows over the whole run."""
    drawn = []
    for label, box in (("ASPQ", "aspq"), ("SPQ", "none")):
        run = data.table("figure5", "class").filter(
            (pl.col("box") == box) & (pl.col("class") == "low") & (pl.col("replication") == 1)
        )
        run = run.filter(pl.col("cwnd_bytes").is_finite())[::4]
        drawn.append(
            Series(label, run["time_s"].to_list(), [each / 1000 for each in run["cwnd_bytes"]])
        )
    return [Panel("", "time, s", "congestion window, segments", drawn)]


def r2_figure(data: Data) -> list[Panel]:
    """How often the low connection survives, over the length of the high transfer."""
    sizes = list(dict.fromkeys(run["traffic.high.size"] for run in runs(data, "r2")))
    drawn = []
    for label, box in (("ASPQ", "aspq"), ("SPQ", "none")):
        ended = [
            measured(data, "r2", "classes.low.aborted", {"box": box, "traffic.high.size": size})
            for size in sizes
        ]
        length = [
            measured(
                data,
                "r2",
                "classes.high.mean_completion_s",
                {"box": box, "traffic.high.size": size},
            ).mean
            for size in sizes
        ]
        drawn.append(Series(label, length, [100 * (1 - each.mean) for each in ended]))
    return [
        Panel("", "length of the high-priority transfer, s", "low connections that survive, %",
              drawn, y_range=(-5, 105)),
    ]  # fmt: skip


def claim_1(data: Data) -> list[Part]:
    """Every row of table I within 5 %."""
    parts = []
    for delay in shown(data):
        row = RTTS.index(rtt(delay))
        for label, box, stated in (
            ("ASPQ", "aspq", TABLE_ASPQ[row]),
            ("SPQ", "none", TABLE_SPQ[row]),
        ):
            found = goodput(data, delay, box)
            paper = f"{stated} kbit/s, within 5 %"
            parts.append(
                Part(f"{label}, RTT {rtt(delay)} ms", paper, found, 0.95 * stated, 1.05 * stated,
                     "kbit/s")
            )  # fmt: skip
    return parts


def growth(data: Data, first: str, last: str) -> Interval:
    """How much larger the difference is at one delay than at another."""
    gains = []
    for delay in (first, last):
        aspq = samples(data, "table1", average_goodput, {"delay": delay, "box": "aspq"})
        spq = samples(data, "table1", average_goodput, {"delay": delay, "box": "none"})
        gains.append([(aspq[each] or 0.0) - (spq[each] or 0.0) for each in aspq])
    return known([b - a for a, b in zip(*gains, strict=True)])


def claim_2(data: Data) -> list[Part]:
    """The difference is positive, and grows over both halves of the range."""
    delays = shown(data)
    parts = [
        Part(f"ASPQ - SPQ, RTT {rtt(delay)} ms", "positive", gain(data, delay), 0.0,
             unit="kbit/s")
        for delay in delays
    ]  # fmt: skip
    for first, last, stated in (("10ms", "50ms", 227.0), ("50ms", "100ms", 62.5)):
        what = f"growth from RTT {rtt(first)} to {rtt(last)} ms"
        paper = f"it grows ({stated} kbit/s)"
        parts.append(Part(what, paper, growth(data, first, last), 0.0, unit="kbit/s"))
    return parts


def claim_3(data: Data) -> list[Part]:
    """ASPQ is back within two round trips; SPQ bursts, then starts slowly."""

    def over(
        box: str, first: float, last: float, take: Callable[[pl.Series], Any]
    ) -> Interval | None:
        values = []
        for run in around_the_end(data, box, first, last + 1e-9):
            values.append(100 * take(run["throughput_bps"]) / LINK)
        return interval(values)

    # Intervals are 50 ms long and two round trips with transmission and queueing about 90 ms; the
    # end is known to one interval.
    back = 3 * STEP
    return [
        Part("ASPQ, least throughput of any 50 ms, from 150 ms to 5 s after the end",
             "at least 90 % of the link", over("aspq", back, 5.0, lambda rate: rate.min()), 90.0,
             unit="%"),
        Part("SPQ, highest throughput of any 50 ms in the first 300 ms",
             "a short burst that fills the link", over("none", STEP, 0.3, lambda rate: rate.max()),
             90.0, unit="%"),
        Part("SPQ, mean from 0.3 to 0.8 s", "below 90 %: it starts slowly",
             over("none", 0.3, 0.8, lambda rate: rate.mean()), high=90.0, unit="%"),
    ]  # fmt: skip


def unanswered(run: Mapping[str, Any]) -> float:
    """Window probes that the controller did not answer."""
    return float(run["classes.low.probes"] - run["boxes.trunk.probes_answered"])


def claim_4(data: Data) -> list[Part]:
    """A frozen sender only probes."""
    where = {"box": "aspq"}
    low = "classes.low."
    spread = []
    for (_,), run in (
        data.table("figure5", "class")
        .filter((pl.col("box") == "aspq") & (pl.col("class") == "low"))
        .group_by("replication", maintain_order=True)
    ):
        # The high transfer lasts from 2 s to about 87 s.
        frozen = run.filter(pl.col("time_s").is_between(5.0, 80.0))
        spread.append(float(np.ptp(frozen["cwnd_bytes"].to_numpy())))
    return [
        Part("timeouts", "none", measured(data, "figure5", low + "timeouts", where), 0, 0),
        Part("retransmissions", "none",
             measured(data, "figure5", low + "retransmissions", where), 0, 0),
        Part("change of its congestion window from 5 s to 80 s", "none", interval(spread), 0, 0,
             "B"),
        Part("window probes", "the only packets: some", measured(data, "figure5", low + "probes",
             where), 1),
        Part("probes that the controller did not answer", "none",
             measured(data, "figure5", unanswered, where), 0, 0),
    ]  # fmt: skip


def claim_5(data: Data) -> list[Part]:
    """A high transfer longer than R2 ends the low connection under SPQ only."""
    # 1 + 2 + 4 + 8 + 16 + 32 s until the sixth timeout.
    sizes = [
        size
        for size in ("100MB", "150MB")
        if size in {run["traffic.high.size"] for run in runs(data, "r2")}
    ]
    parts = []
    for size in sizes:
        for label, box, count in (("SPQ", "none", 1), ("ASPQ", "aspq", 0)):
            found = measured(
                data, "r2", "classes.low.aborted", {"box": box, "traffic.high.size": size}
            )
            what = f"{label}, low connections given up, {size} of high-priority data"
            parts.append(Part(what, "ended" if count else "alive", found, count, count))
    return parts


def lost(aspq: float, spq: float) -> float:
    """Time in s by which SPQ's transfer is longer, from both goodputs in kbit/s."""
    return LOW_BITS / 1000 * (1 / spq - 1 / aspq)


def why_2(data: Data) -> str:
    """Where the difference stops growing, and how long a slow start from two segments takes."""
    words = []
    for delay, window in (("50ms", 125), ("100ms", 131)):
        row = DELAYS.index(delay)
        aspq, spq = goodput(data, delay, "aspq").mean, goodput(data, delay, "none").mean
        # Half a segment a round trip from nearly nothing to the window, which half is lost of.
        linear = window * (2 * int(delay[:-2]) + 12) / 1000
        words.append(
            f"at {RTTS[row]} ms {lost(aspq, spq):.1f} s here, "
            f"{lost(TABLE_ASPQ[row], TABLE_SPQ[row]):.1f} s in table I, {linear:.1f} s by "
            "calculation"
        )
    peak = max((gain(data, delay).mean, rtt(delay)) for delay in shown(data))
    return (
        "The difference is positive everywhere, but largest in the middle "
        f"({peak[0]:.0f} kbit/s at {peak[1]} ms). What SPQ loses is the time in which the window "
        "grows again from two segments by half a segment a round trip, about the window times the "
        f"round-trip time: {words[0]}; {words[1]}. Beyond about 105 ms the receiver's 128 KiB "
        "limit the window and both transfers become longer, so that the same loss counts for less. "
        "The paper's SPQ loses less than a start from two segments can at round-trip times below "
        "170 ms; its text does not say why. Its own column is not monotonic either (231.5, 227.6 "
        "and 222.7 kbit/s at 110, 130 and 150 ms). A sender after RFC 5681, whose threshold is "
        'held at repeated timeouts, loses far less at any round-trip time (section "What the '
        "readings change\"): the paper's lies between the two."
    )


def table_1(data: Data) -> list[Table]:
    """Table I, row by row."""
    rows = []
    for delay in shown(data):
        row = RTTS.index(rtt(delay))
        aspq, spq = goodput(data, delay, "aspq"), goodput(data, delay, "none")
        rows.append([
            rtt(delay), TABLE_ASPQ[row], aspq, percent(aspq.mean, TABLE_ASPQ[row]),
            TABLE_SPQ[row], spq, percent(spq.mean, TABLE_SPQ[row]),
            round(TABLE_ASPQ[row] - TABLE_SPQ[row], 2), gain(data, delay),
        ])  # fmt: skip
    return [
        Table(
            ["RTT, ms", "ASPQ, paper", "ours", "", "SPQ, paper", "ours", "",
             "difference, paper", "ours"],
            rows,
            text="Average goodput of the low-priority transfer in kbit/s.",
        )
    ]  # fmt: skip
