"""The tables as pictures: what a transfer delivers here, over what it delivered there."""

from __future__ import annotations

from forebay.papers import Data, Panel, Series

from .points import CLASSIC, MAIN, SHARED, run_rows

QUEUES = {"dualpi2": "DualPI2", "pfifo": "pfifo", "fq_codel": "fq_codel"}
RATES = {"50Mbit": (0.0, 50.0), "10Mbit": (0.0, 10.0)}


def published(data: Data) -> list[Panel]:
    """Throughputs over the published ones, a panel for each rate."""
    panels = []
    for rate, ends in RATES.items():
        drawn = []
        queues = data.study(MAIN).runs["title"].unique(maintain_order=True).to_list()
        for queue in (each for each in queues if each.startswith(rate)):
            x: list[float] = []
            y: list[float | None] = []
            for row in run_rows(data, queue):
                x += row.stated
                y += [each.mean for each in row.found(data)]
            drawn.append(Series(queue.partition(" ")[2], x, y, style="points"))
        drawn.append(Series("equal", list(ends), list(ends)))
        panels.append(
            Panel(
                rate,
                "published throughput, Mbit/s",
                "throughput here, Mbit/s",
                drawn,
                x_range=ends,
                y_range=ends,
            )
        )
    return panels


def shared(data: Data) -> list[Panel]:
    """What the rival of Prague delivers in a shared queue."""
    rivals = list(dict.fromkeys(each.rival for each in SHARED))
    queues = list(dict.fromkeys(each.queue for each in SHARED))
    assert data.runs(CLASSIC).height
    drawn = []
    for queue in queues:
        rows = [each for each in SHARED if each.queue == queue]
        rows.sort(key=lambda each: rivals.index(each.rival))
        found = [each.found(data)[1] for each in rows]
        names = [each.rival for each in rows]
        drawn.append(
            Series(
                queue,
                names,
                [each.mean for each in found],
                [each.low for each in found],
                [each.high for each in found],
                "bars",
            )
        )
        stated = [each.stated[1] for each in rows]
        drawn.append(Series(f"{queue}, published", names, stated, style="points", stated=True))
    return [Panel("", "rival", "the rival's throughput beside Prague, Mbit/s", drawn)]
