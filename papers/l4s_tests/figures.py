"""The tables as pictures: what a transfer delivers here, over what it delivered there."""

from __future__ import annotations

from collections.abc import Iterable

from forebay.papers import Data, Panel, Series
from forebay.papers.points import line

from .points import MAIN, SHARED, run_rows

RATES = {"50Mbit": 50.0, "10Mbit": 10.0}
RIVALS = 3.0
"""More than any rival of Prague delivers, in Mbit/s."""


def beside(title: str, what: str, most: float, series: Iterable[Series]) -> Panel:
    """What was measured here over what was published, with the line on which both are equal."""
    ends = (0.0, most)
    return Panel(
        title,
        f"published {what}, Mbit/s",
        f"{what} here, Mbit/s",
        [*series, Series("equal", ends, ends)],
        x_range=ends,
        y_range=ends,
    )


def published(data: Data) -> list[Panel]:
    """Throughputs over the published ones, a panel for each rate."""
    panels = []
    queues = data.study(MAIN).runs["title"].unique(maintain_order=True).to_list()
    for rate, most in RATES.items():
        drawn = []
        for queue in (each for each in queues if each.startswith(rate)):
            rows = run_rows(data, queue)
            x = [value for row in rows for value in row.stated]
            y = [each.mean for row in rows for each in row.found(data)]
            drawn.append(Series(queue.partition(" ")[2], x, y, style="points"))
        panels.append(beside(rate, "throughput", most, drawn))
    return panels


def shared(data: Data) -> list[Panel]:
    """What the rival of Prague delivers in a shared queue, a panel for each rival."""
    panels = []
    for rival in ("cubic", "reno"):
        drawn = []
        for queue in dict.fromkeys(each.queue for each in SHARED):
            rows = [each for each in SHARED if each.queue == queue and rival in each.rival]
            found = [each.found(data)[1] for each in rows]
            x = [each.stated[1] for each in rows]
            drawn.append(line(queue, x, found, "points"))
        panels.append(beside(f"beside {rival}", "throughput of the rival", RIVALS, drawn))
    return panels
