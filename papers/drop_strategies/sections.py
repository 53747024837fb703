"""Tables of what the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from forebay.papers import Data, Part, Statement, Table
from forebay.papers.judge import verdict_of

from .claims import JUDGED
from .parts import lowest
from .points import (
    ARRIVALS,
    AT_HALF,
    AVERAGE,
    CASES,
    CHOICES,
    GENTLE_RENO,
    GOODPUT,
    KINDS,
    LEFT_OUT,
    LONGER,
    LOSS,
    MOST,
    NONE,
    QUEUE,
    RENO,
    VICTIMS,
    View,
    chosen,
    victim,
)


def briefly(parts: Sequence[Part]) -> str:
    """How many numbers lie in range; with a mark if nothing is decided."""
    good = sum(part.verdict == "reproduced" for part in parts)
    return f"{good}/{len(parts)}" + ("?" if verdict_of(parts) == "not testable" else "")


def in_range(view: View) -> tuple[int, int]:
    """How many numbers of the claims lie in range, and of how many."""
    parts = [part for judge in JUDGED.values() for part in judge(view)]
    return sum(part.verdict == "reproduced" for part in parts), len(parts)


def judged(label: str, view: View) -> list[str]:
    """A row of every claim and all together."""
    cells = (briefly(judge(view)) for judge in JUDGED.values())
    return [label, *cells, "{}/{}".format(*in_range(view))]


def round_trips(data: Data) -> Sequence[Table]:
    """Every claim with other round trips, over the whole length of the paper's runs."""
    rows = []
    for label, view in (("16 to 32 ms", View(data)), ("40 to 80 ms", View(data, LONGER))):
        rows.append(judged(label, view))
    return [Table(["round trips", *JUDGED, "together"], rows)]


def choices(data: Data) -> Sequence[Table]:
    """Every claim under every choice."""
    verdicts, shapes = [], []
    for view in chosen(data):
        label = str(view.choice)
        verdicts.append(judged(label, view))
        at = lowest(view)
        gentle = [view.mean(AVERAGE, AT_HALF, GENTLE_RENO, each) for each in (ARRIVALS, QUEUE)]
        shapes.append(
            [
                label,
                *(view.both(LOSS, rate, RENO, 100) for rate in (NONE, AT_HALF, MOST)),
                view.rates[at],
                round(view.mean(GOODPUT, at, RENO, ARRIVALS, 1e-6), 2),
                round(gentle[0] / gentle[1], 2),
            ]
        )
    loss = "added loss at {} Mbit/s, %"
    head = [
        "choice",
        *(loss.format(rate) for rate in ("0", "5", "9.2")),
        "rate of least throughput",
        "throughput there",
        "average queue, times that from queue, gentle",
    ]
    return [
        Table(
            ["choice", *JUDGED, "together"], verdicts, "How many numbers of each claim lie in range"
        ),
        Table(
            head, shapes, "What drop-arrivals does to Reno (standard WRED but for the last column)"
        ),
    ]


TAKEN = "as taken"


def left_out(data: Data) -> list[Part]:
    """Loss in all if a drop that finds no packet is left out, less that if it is deferred."""
    taken = View(data, CHOICES, TAKEN)
    return [
        Part(
            f"loss, left out minus deferred, {taken.rates[rate]:g} Mbit/s: {CASES[case]}",
            "",
            data.difference(
                CHOICES,
                LOSS,
                View(data, CHOICES, LEFT_OUT).at(rate, case, QUEUE),
                taken.at(rate, case, QUEUE),
                scale=100,
            ),
            -0.5,
            0.5,
            "%",
        )
        for case, rate in product(CASES, taken.rates)
    ]


DEFERRED = Statement(
    'Our reading of "wait" has no influence: whether a drop that finds no packet is deferred or '
    "left out changes the loss by less than half a point at any rate.",
    left_out,
)


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
