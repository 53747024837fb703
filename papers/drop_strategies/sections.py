"""Tables of what the paper leaves open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import product

from forebay.papers import Data, Table
from forebay.sweep.data import StudyData

from .claims import ds_1, ds_2, ds_3, ds_5, ds_6, ds_7, ds_8, oscillation
from .points import (
    AT_5_6,
    AVERAGE,
    CASES,
    FAR,
    GAPS,
    GOODPUT,
    KINDS,
    LOSS,
    MAIN,
    METHODS,
    ROUND_TRIPS,
    SPREAD,
    VICTIMS,
    means,
    measured_cost,
    moved,
    victim,
)

MEASURES = (
    ("loss, %", LOSS, 100.0),
    ("throughput, Mbit/s", GOODPUT, 1e-6),
    ("average queue", AVERAGE, 1.0),
    ("its deviation", SPREAD, 1.0),
)
COLUMNS = [f"{what}: {each}" for what, _, _ in MEASURES for each in ("arrivals", "from queue")]


def sensitivity(data: Data) -> Sequence[Table]:
    """The round-trip times and ns-2's `wait`."""
    tables = []
    for gentle in (False, True):
        rows = []
        for wait, title in product((True, False), ROUND_TRIPS):
            pairs = [(moved(data, title, wait, key, gentle), by) for _, key, by in MEASURES]
            found = [round(by * mean, 2) for pair, by in pairs for mean in pair]
            rows.append(["yes" if wait else "no", title, *found])
        heading = f"Reno, {'gentle' if gentle else 'standard'} WRED"
        head = ["wait", "round trip", *COLUMNS]
        tables.append(Table(head, rows, heading))
    return tables


class Elsewhere(Data):
    """The same data, with longer round trips in place of the main study."""

    def __init__(self, data: Data) -> None:
        self.__dict__.update(data.__dict__)
        self._data = data
        self.study = cache(self._study)

    def _study(self, name: str) -> StudyData:
        return self._data.study(FAR if name == MAIN else name)


def elsewhere(data: Data) -> Sequence[Table]:
    """The claims' numbers with round trips of 16 to 32 ms and of 40 to 80 ms."""
    rows = []
    for name, parts in (
        ("DS-1", ds_1),
        ("DS-2", ds_2),
        ("DS-3", ds_3),
        ("DS-4", oscillation),
        ("DS-5", ds_5),
        ("DS-6", ds_6),
        ("DS-7", ds_7),
        ("DS-8", ds_8),
    ):
        for near, far in zip(parts(data), parts(Elsewhere(data)), strict=True):
            found = (near.found, near.verdict, far.found, far.verdict)
            rows.append([name, near.what, near.paper, *found])
    head = ["claim", "quantity", "paper", "16 to 32 ms", "", "40 to 80 ms", ""]
    return [Table(head, rows)]


def gaps(data: Data) -> Sequence[Table]:
    """What the paper leaves open, one thing at a time, at 5.6 Mbit/s."""
    labels = data.study(GAPS).runs["title"].unique(maintain_order=True)
    tables = []
    for (tcp, gentle), name in CASES.items():
        rows = []
        for label in labels:
            where = {"title": label, "profile.a.rate": AT_5_6, "tcp": tcp}
            where["gentle"] = json.dumps(gentle)
            pairs = [(means(data, GAPS, key, where), by) for _, key, by in MEASURES]
            rows.append([label, *(round(by * mean, 2) for pair, by in pairs for mean in pair)])
        tables.append(Table(["gap", *COLUMNS], rows, name))
    return tables


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
