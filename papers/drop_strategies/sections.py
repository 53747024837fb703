"""Tables of what the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from forebay.papers import Data, Table
from forebay.papers.points import verdicts

from .claims import JUDGED, lowest
from .points import (
    ARRIVALS,
    AT_HALF,
    AVERAGE,
    CHOICES,
    GENTLE_RENO,
    GOODPUT,
    KINDS,
    LOSS,
    METHODS,
    MOST,
    NONE,
    QUEUE,
    RENO,
    VICTIMS,
    View,
    measured_cost,
    victim,
)


def choices(data: Data) -> Sequence[Table]:
    """Every claim under every choice."""
    labels = data.study(CHOICES).runs["title"].unique(maintain_order=True)
    judged, shapes = [], []
    for label in labels:
        view = View(data, CHOICES, label)
        row = [label]
        for judge in JUDGED.values():
            row.append(verdicts(judge(view)))
        judged.append(row)
        at = lowest(view)
        gentle = [view.mean(AVERAGE, AT_HALF, GENTLE_RENO, each) for each in (ARRIVALS, QUEUE)]
        shapes.append(
            [
                label,
                *(view.both(LOSS, rate, RENO, 100) for rate in (NONE, AT_HALF, MOST)),
                view.rates[at],
                *(round(view.mean(GOODPUT, at, RENO, each, 1e-6), 2) for each in (ARRIVALS, QUEUE)),
                round(gentle[0] / gentle[1], 2),
            ]
        )
    loss = "loss, arrivals less from queue, at {} Mbit/s, %"
    head = [
        "choice",
        *(loss.format(rate) for rate in ("0", "5", "9.2")),
        "rate of least throughput",
        "throughput there, arrivals",
        "from queue",
        "average queues, gentle",
    ]
    return [
        Table(["choice", *JUDGED], judged, "Whether each claim holds, and how many of its numbers"),
        Table(head, shapes, "The shapes (Reno; standard WRED but for the last column)"),
    ]


def victim_table(data: Data) -> Sequence[Table]:
    """Differences from drop-arrivals."""
    prefix = "classes.downloads"
    measures = {
        "mean delay, ms": f"{prefix}.mean_delay_ms",
        "99th percentile, ms": f"{prefix}.p99_delay_ms",
        "jitter, ms": f"{prefix}.jitter_ms",
        "loss period, packets": f"{prefix}.loss_period.mean",
        "loss distance, packets": f"{prefix}.loss_distance.mean",
    }
    rows = []
    for (kind, tcp), which in product(KINDS, VICTIMS[1:]):
        first, second = victim(kind, tcp, which), victim(kind, tcp, VICTIMS[0])
        found = [data.difference("victims", key, first, second) for key in measures.values()]
        rows.append([kind, tcp, which, *found])
    about = "Paired differences from drop-arrivals."
    return [Table(["mechanism", "TCP", "victim", *measures], rows, text=about)]


def memory(_: Data) -> Sequence[Table]:
    """Memory a packet."""
    found = {each["method"]: each["bytes"] for each in measured_cost()["memory"]}
    rows = [[label, round(found[method])] for method, label in METHODS.items()]
    return [Table(["queue", "bytes a packet"], rows)]
