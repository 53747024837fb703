"""The tables of the comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from forebay.papers import Data, Table

from .points import (
    BURSTS,
    COMBINATIONS,
    DELAY,
    DRAIN,
    LINK,
    LONG_RENO,
    NAMES,
    OTHERS,
    OTHERWISE,
    OURS,
    QUEUE,
    RATES,
    SETTINGS,
    TOGETHER,
    TUNED,
    USED,
    Outcome,
    absorbed_in,
    held_after,
    measured,
    outcome,
    queue_in,
    rate_in,
    words,
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


def beaten(data: Data) -> list[Table]:
    """Of each combination, what CP-AQM is better and worse than."""
    found = []
    for setting, word in SETTINGS.items():
        rows = []
        for where in COMBINATIONS:
            judged = {other: outcome(data, setting, where, other) for other in OTHERS}
            rows.append(
                [
                    words(where),
                    measured(data, setting, where, DELAY, OURS),
                    measured(data, setting, where, USED, OURS),
                    *(
                        ", ".join(other for other in OTHERS if judged[other] == each)
                        for each in OUTCOMES
                    ),
                ]
            )
        head = ["flows", "CP-AQM, ms", "utilization, %", "better than", "equal to",
                "a trade-off with", "worse than", "undecided"]  # fmt: skip
        if not any(row[-1] for row in rows):
            head, rows = head[:-1], [row[:-1] for row in rows]
        found.append(Table(head, rows, word))
    return found


def numbers(settings: Sequence[str]) -> Callable[[Data], list[Table]]:
    """Both measures of all disciplines at some rates."""
    return lambda data: [
        Table(
            ["flows", OURS, *OTHERS],
            [
                [
                    words(where),
                    *(measured(data, setting, where, key, name) for name in (OURS, *OTHERS)),
                ]
                for where in COMBINATIONS
            ],
            f"{SETTINGS[setting]}: {what}",
        )
        for setting in settings
        for key, what in ((DELAY, "mean time in the queue, ms"), (USED, "utilization, %"))
    ]


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


def cell_numbers(data: Data) -> list[Table]:
    rows = []
    for congestion in NAMES:
        for flows in (1, 16):
            where = {"flows": flows, "congestion": congestion}
            rows += [
                [
                    words(where),
                    name,
                    data.interval("cellular", DELAY, {**where, "discipline": name}),
                    data.interval("cellular", "queues.bottleneck.p99_delay_ms",
                                  {**where, "discipline": name}),
                    data.interval("cellular", USED, {**where, "discipline": name}, scale=100),
                ]
                for name in (OURS, DRAIN, *OTHERS)
            ]  # fmt: skip
    head = ["flows", "discipline", "mean time in the queue, ms", "99 %, ms", "utilization, %"]
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


def absorbed(data: Data) -> list[Table]:
    """What becomes of the burst, and when the queue is as before."""
    rows = []
    for flows in BURSTS:
        for name in (OURS, *OTHERS):
            where = {"flows": flows, "discipline": name}
            rows.append(
                [
                    f"{flows} Cubic",
                    name,
                    data.interval("burst", "classes.burst.loss", where, scale=100),
                    data.interval("burst", "classes.burst.max_delay_ms", where),
                    absorbed_in(data, where),
                ]
            )
    head = ["flows", "discipline", "of the burst lost, %", "largest delay of the burst, ms",
            "queue as before after, ms"]  # fmt: skip
    return [Table(head, rows)]


def queues(data: Data) -> list[Table]:
    rows = [
        [
            word,
            *(
                data.interval(f"udp-{rate}", QUEUE, {"discipline": name})
                for name in (OURS, *OTHERS)
            ),
        ]
        for rate, word in RATES.items()
    ]
    return [Table(["rate", OURS, *OTHERS], rows, "Average queue, packets")]
