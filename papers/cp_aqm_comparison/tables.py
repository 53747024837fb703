"""The tables of the comparison."""

from __future__ import annotations

from collections import Counter

from forebay.papers import Data, Table

from .points import (
    COMBINATIONS,
    DELAY,
    DRAIN,
    LINK,
    LONG_RENO,
    NAMES,
    OTHERS,
    OTHERWISE,
    OURS,
    SETTINGS,
    TOGETHER,
    TUNED,
    USED,
    Outcome,
    held_after,
    measured,
    outcome,
    queue_in,
    rate_in,
)

OUTCOMES: tuple[Outcome, ...] = ("better", "equal", "trade-off", "worse", "undecided")
HELD = 75.0
"""Packets at which the queue counts as held: one and a half T_c."""


def dominance(data: Data) -> list[Table]:
    """How often CP-AQM is better, equal, a trade-off or worse, by rate and discipline."""
    rows = []
    for setting, word in SETTINGS.items():
        cells = []
        for other in OTHERS:
            counts = Counter(outcome(data, setting, where, other) for where in COMBINATIONS)
            cells.append(", ".join(f"{counts[each]} {each}" for each in OUTCOMES if counts[each]))
        rows.append([word, *cells])
    return [Table(["CP-AQM is", *(f"than {other}" for other in OTHERS)], rows)]


def tuned(data: Data) -> list[Table]:
    """What other parameters make of RED and CP-AQM."""
    head = ["discipline", "mean time in the queue, ms", "utilization, %",
            "flows that lose in an event of loss"]  # fmt: skip
    rows = [
        [name, *(measured(data, setting, LONG_RENO, key, name) for key in (DELAY, USED, TOGETHER))]
        for setting, names in (("100", (OURS, *OTHERS)), (TUNED, OTHERWISE))
        for name in names
    ]
    return [Table(head, rows)]


def stepped(data: Data) -> list[Table]:
    """The queue and the throughput before, during and after 30 s at a tenth of the rate."""
    rows = []
    for congestion in NAMES:
        for name in (OURS, LINK, DRAIN, *OTHERS):
            where = {"congestion": congestion, "discipline": name}
            rows.append(
                [
                    f"16 {NAMES[congestion]}",
                    name,
                    queue_in(data, where, (10.0, 30.0)),
                    held_after(data, where, HELD),
                    queue_in(data, where, (35.0, 60.0)),
                    rate_in(data, where, (35.0, 60.0)),
                    rate_in(data, {**where, "class": "udp"}, (35.0, 60.0)),
                    rate_in(data, where, (60.0, 90.0)),
                ]
            )
    head = ["flows", "discipline", "queue at 100 Mb/s, packets",
            f"first at most {HELD:g} packets after, s", "queue at 10 Mb/s, packets",
            "throughput at 10 Mb/s, Mb/s", "of that UDP, Mb/s",
            "throughput at 100 Mb/s again, Mb/s"]  # fmt: skip
    return [Table(head, rows)]
