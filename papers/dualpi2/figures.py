"""The tables as pictures."""

from __future__ import annotations

from forebay.papers import Data, Panel, Series
from forebay.papers.points import line

from .points import RTTS, headline, queueing, run_rows, settings

MOST = 70.0
"""More than any transfer delivers, in Mbit/s."""


def overload(data: Data) -> list[Panel]:
    """Throughputs over the published ones, a panel for each share that classic packets keep."""
    panels = []
    for protection in (0, 10, 25):
        rows = [each for each in run_rows(data) if each.protection == protection]
        series = []
        for at, name in enumerate(("Prague", "CUBIC")):
            x = [(each.prague, each.cubic)[at] for each in rows]
            series.append(line(name, x, [each.found(data)[at] for each in rows], "points"))
        panels.append(
            Panel(
                f"{protection} % for classic packets",
                "published, Mbit/s",
                "here, Mbit/s",
                [*series, Series("equal", (0.0, MOST), (0.0, MOST))],
                x_range=(0.0, MOST),
                y_range=(0.0, MOST),
            )
        )
    return panels


def delays(data: Data) -> list[Panel]:
    """Median and 99th percentile of Prague's queueing delay over the round-trip time."""
    panels = []
    for quantile, title in (("p50", "median"), ("p99", "99th percentile")):
        series = []
        for rate in dict.fromkeys(rate for rate, _, _ in settings(data)):
            for short in (False, True):
                here = [r for r in RTTS if (rate, r, short) in settings(data)]
                found = [
                    queueing(data, quantile, headline(rate, rtt, short), rate, rtt) for rtt in here
                ]
                label = f"{rate} Mbit/s" + (", short ones beside" if short else "")
                series.append(line(label, here, found))
        panels.append(Panel(title, "round-trip time, ms", "ms", series))
    return panels
