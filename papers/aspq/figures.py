"""The paper's figures 5 and 6, and what lies behind them."""

from __future__ import annotations

import polars as pl

from forebay.papers import Data, Panel, Series
from forebay.papers.points import line

from .points import (
    BOXES,
    R2,
    TABLE,
    WINDOWS,
    View,
    around_the_end,
    at_the_end,
    choices,
    stated,
    stated_gain,
)

RTT, AVERAGE = "RTT, ms", "average goodput, kbit/s"


def figure_5(data: Data) -> list[Panel]:
    """Throughput of the low transfer around the end of the high one."""
    drawn = []
    for box, label in BOXES.items():
        run = around_the_end(data, box, -1.0, 4.0)[0]
        rate = [each / 1e6 for each in run["throughput_bps"]]
        drawn.append(Series(label, run["at"].to_list(), rate, style="steps"))
    return [
        Panel("", "time from the end of the high-priority transfer, s", "throughput, Mbit/s", drawn)
    ]


def figure_6(data: Data) -> list[Panel]:
    """Goodput and its difference over the round-trip time."""
    view = View(data)
    x = view.rtts
    table = Series("table I", list(TABLE), [stated_gain(rtt) for rtt in TABLE], stated=True)
    both = [line(label, x, [view.goodput(rtt, box) for rtt in x]) for box, label in BOXES.items()]
    paper = [stated(rtt, box) for box in BOXES for rtt in TABLE]
    both.append(Series("table I", [*TABLE, *TABLE], paper, stated=True))
    return [
        Panel("Difference", RTT, "goodput of ASPQ minus SPQ, kbit/s",
              [line("ours", x, [view.gain(rtt) for rtt in x]), table]),
        Panel("Average goodput", RTT, AVERAGE, both),
    ]  # fmt: skip


def windows(data: Data) -> list[Panel]:
    """Congestion windows over the whole run."""
    drawn = []
    for box, label in BOXES.items():
        run = at_the_end(data).filter(box=box, replication=1).filter(
            (pl.col("class") == "low") & pl.col("cwnd_bytes").is_finite()
        )[::4]  # fmt: skip
        segments = [each / 1000 for each in run["cwnd_bytes"]]
        drawn.append(Series(label, run["time_s"].to_list(), segments))
    return [Panel("", "time, s", "congestion window, segments", drawn)]


def receivers(data: Data) -> list[Panel]:
    """What the round-trip time does, with larger and smaller windows of the receiver."""
    panels = []
    for box, label in BOXES.items():
        drawn = [
            line(f"{int(str(view.choice)[:-1]) / 1024:.0f} KiB", view.rtts,
                 [view.goodput(rtt, box) for rtt in view.rtts])
            for view in choices(data, WINDOWS)
        ]  # fmt: skip
        table = [stated(rtt, box) for rtt in TABLE]
        drawn.append(Series("table I", list(TABLE), table, stated=True))
        panels.append(Panel(label, RTT, AVERAGE, drawn, ordered=True))
    return panels


def survival(data: Data) -> list[Panel]:
    """How often the low connection survives, over the length of the high transfer."""
    sizes = data.study(R2).runs["traffic.high.size"].unique(maintain_order=True)
    drawn = []
    for box, label in BOXES.items():
        points = [{"box": box, "traffic.high.size": size} for size in sizes]
        length = [data.interval(R2, "classes.high.mean_completion_s", each).mean for each in points]
        ended = [data.interval(R2, "classes.low.aborted", each).mean for each in points]
        drawn.append(Series(label, length, [100 * (1 - each) for each in ended]))
    return [
        Panel("", "length of the high-priority transfer, s", "low connections that survive, %",
              drawn, y_range=(-5, 105)),
    ]  # fmt: skip
