"""Tables of what the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from drop_strategies_points import (
    AT_5_6,
    AT_8,
    AVERAGE,
    CASES,
    GOODPUT,
    KINDS,
    LOSS,
    METHODS,
    RATES,
    ROUND_TRIPS,
    SPREAD,
    STRATEGIES,
    VICTIMS,
    both,
    measured_cost,
    moved,
    point,
    victim,
)

from forebay.papers import Data, Table


def sensitivity(data: Data) -> Sequence[Table]:
    """The round-trip times and the drop probability."""
    measures = (
        ("loss, %", LOSS, 100.0),
        ("throughput, Mbit/s", GOODPUT, 1e-6),
        ("average queue", AVERAGE, 1.0),
        ("its deviation", SPREAD, 1.0),
    )
    columns = [f"{what}: {each}" for what, _, _ in measures for each in ("arrivals", "from queue")]
    tables = []
    for gentle in (False, True):
        rows = []
        for title, max_p, rate in product(ROUND_TRIPS, (0.05, 0.1), (AT_5_6, AT_8)):
            pairs = [(moved(data, title, max_p, key, gentle, rate), by) for _, key, by in measures]
            means = [round(by * mean, 2) for pair, by in pairs for mean in pair]
            rows.append([title, max_p, RATES[rate], *means])
        heading = f"Reno, {'gentle' if gentle else 'standard'} WRED"
        head = ["round trip", "max_p", "in profile, Mbit/s", *columns]
        tables.append(Table(head, rows, heading))
    return tables


def timers(data: Data) -> Sequence[Table]:
    """Minimum RTO of 1 s against 0.2 s."""
    rows = []
    measures = (("loss, %", LOSS, 100.0), ("throughput, Mbit/s", GOODPUT, 1e-6))
    for case, rate, (label, key, scale) in product(CASES, (AT_5_6, AT_8), measures):
        first, second = (point(rate, *case, each) for each in STRATEGIES)
        slow = data.difference("timers", key, first, second, scale=scale)
        rows.append([CASES[case], RATES[rate], label, both(data, key, rate, case, scale), slow])
    head = ["case", "in profile, Mbit/s", "drop-arrivals less drop-from-queue", "0.2 s", "1 s"]
    return [Table(head, rows)]


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
