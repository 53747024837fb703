"""Tables beside figures and claims."""

from __future__ import annotations

from typing import Any

from cp_aqm_claims import cp_2, cp_3, cp_4, cp_10, cp_11, cp_12
from cp_aqm_points import (
    COMBINATIONS,
    LOSS,
    NAMES,
    QUEUE,
    USED,
    combination,
    keyed,
    tail,
    tcp,
    threshold_packets,
)
from cp_aqm_reasons import (
    NOISY,
    NOISY_C,
    by_rule,
    noisy,
)
from cp_aqm_stacks import (
    CURVES,
    OURS,
    PLACES,
    STACKS,
    STANDARD,
    Stack,
    allowed,
    cell,
    conventions,
    largest,
    moved,
    with_stack,
)

from forebay.papers import (
    Data,
    Table,
)


def stack_tables(data: Data) -> list[Table]:
    tables = []
    columns = ["stack", *(combination(*each) for each in COMBINATIONS)]
    for discipline in ("tail drop", "c_max = 1.2"):
        for key, what in ((QUEUE, "average queue, packets"), (USED, "utilization, %")):
            rows: list[list[Any]] = [
                [OURS, *(with_stack(data, OURS, discipline, each, key) for each in COMBINATIONS)]
            ]
            for stack in (*STACKS[1:], *CURVES):
                rows.append(
                    [
                        stack,
                        *(
                            moved(data, stack, discipline, each, key)
                            if stack in conventions(each[1])
                            else ""
                            for each in COMBINATIONS
                        ),
                    ]
                )
            word = discipline if discipline == "tail drop" else f"CP-AQM, T_c = 5, {discipline}"
            tables.append(Table(columns, rows, f"{word}: {what}"))
    return tables


def place_tables(data: Data) -> list[Table]:
    rows = []
    for claim, (discipline, point, key), low, high in PLACES:
        what = {QUEUE: "queue, packets", USED: "utilization, %", LOSS: "loss, %"}[key]
        rows.append(
            [
                claim,
                f"{combination(*point)}, {discipline}: {what}",
                allowed(low, high),
                with_stack(data, OURS, discipline, point, key),
                largest(data, discipline, point, key),
            ]
        )
    return [Table(["claim", "number", "allowed", "ours", "moved most by"], rows)]


def other_stack_tables(data: Data) -> list[Table]:
    stacks: dict[str, Any] = {
        OURS: data,
        "Linux 2.6.26": Stack(data, "linux-2.6", {each: each for each in STANDARD}),
        "Linux today": Stack(data, "linux", {each: rfc for each, (rfc, _) in STANDARD.items()}),
    }
    claims = {"CP-2": cp_2, "CP-3": cp_3, "CP-4": cp_4, "CP-10": cp_10, "CP-11": cp_11,
              "CP-12": cp_12}  # fmt: skip
    rows: list[list[Any]] = []
    hits = dict.fromkeys(stacks, 0)
    for claim, parts_of in claims.items():
        found = {name: parts_of(each) for name, each in stacks.items()}
        for parts in zip(*found.values(), strict=True):
            for name, part in zip(stacks, parts, strict=True):
                hits[name] += part.verdict == "reproduced"
            one = parts[0]
            rows.append(
                [claim, one.what, f"{allowed(one.low, one.high)} {one.unit}", *map(cell, parts)]
            )
    rows.append(["", f"in range, of {len(rows)}", "", *hits.values()])
    return [Table(["claim", "number", "allowed", *stacks], rows)]


def bucket_tables(data: Data) -> list[Table]:
    [axis] = [each for each in data.study("bucket").axes if each.name == "bucket"]
    sizes = [row[0] for row in axis.rows]
    tables = []
    for key, scale, what in (
        (QUEUE, 1.0, "Average queue, packets"),
        (USED, 100.0, "Utilization, %"),
    ):
        rows = [
            [
                combination(flows, congestion, delay),
                *(
                    data.interval(
                        "bucket",
                        key,
                        {"flows": flows, "congestion": congestion, "delay": delay, "bucket": size},
                        scale=scale,
                    )
                    for size in sizes
                ),
            ]
            for flows, congestion, delay in COMBINATIONS
        ]
        tables.append(Table(["flows", *sizes], rows, what))
    return tables


def bucket_rule_tables(data: Data) -> list[Table]:
    def row(each: tuple[int, str, str]) -> list[Any]:
        return [
            combination(*each),
            *(by_rule(data, each, c, key) for key in (QUEUE, USED) for c in (1.05, 1.2, 1.5)),
        ]

    columns = [
        f"{what}, c_max = {c:g}"
        for what in ("queue, packets", "utilization, %")
        for c in (1.05, 1.2, 1.5)
    ]
    longest = [
        max((by_rule(data, each, c, QUEUE) for each in COMBINATIONS), key=lambda found: found.mean)
        for c in (1.05, 1.2, 1.5)
    ]
    rows = [row(each) for each in COMBINATIONS]
    return [Table(["flows", *columns], [*rows, ["longest", *longest, "", "", ""]])]


def recommended_tables(data: Data) -> list[Table]:
    def rows(key: str, scale: float) -> list[list[Any]]:
        return [
            [
                combination(*each),
                tail(data, *each, key),
                *(
                    data.interval(*keyed(tcp(*each, "5p", c), key), scale=scale)
                    for c in (1.05, 1.2, 1.5, 2.0)
                ),
            ]
            for each in COMBINATIONS
        ]

    columns = ["flows", "tail drop", "c_max = 1.05", "1.2", "1.5", "2"]
    return [
        Table(columns, rows(QUEUE, 1.0), "Average queue, packets"),
        Table(columns, rows(USED, 100.0), "Utilization, %"),
        Table(columns, rows(LOSS, 100.0), "Loss, %"),
    ]


def length_tables(data: Data) -> list[Table]:
    rows = []
    for discipline in ("tail drop", "CP-AQM"):
        for congestion, name in NAMES.items():
            for delay in ("5ms", "50ms"):
                where = {"discipline": discipline, "congestion": congestion, "delay": delay}
                cells: list[Any] = [f"{discipline}, 1 {name}, {delay[:-2]} ms"]
                for key, scale in ((QUEUE, 1.0), (USED, 100.0)):
                    short, long = {**where, "length": "110s"}, {**where, "length": "1010s"}
                    cells.append(data.interval("length", key, long, scale=scale))
                    cells.append(data.difference("length", key, short, long, scale=scale))
                rows.append(cells)
    columns = ["", "queue, packets", "100 s less 1000 s", "utilization, %", "100 s less 1000 s"]
    return [Table(columns, rows)]


def lock_in_tables(data: Data) -> list[Table]:
    rows = []
    for congestion, name in NAMES.items():
        for delay in ("5ms", "50ms"):
            for threshold in NOISY:
                for c_max in NOISY_C:
                    there = tcp(1, congestion, delay, threshold, c_max)
                    alone = data.interval(*keyed(there, USED), scale=100)
                    beside = noisy(data, there, USED)
                    if abs(alone.mean - beside.mean) > 2:
                        timeouts = "classes.tcp.timeouts"
                        rows.append(
                            [
                                f"{name}, {delay[:-2]} ms",
                                threshold_packets(threshold),
                                c_max,
                                alone,
                                data.interval(*keyed(there, timeouts)),
                                beside,
                                noisy(data, there, timeouts),
                            ]
                        )
    head = ["flow", "T_c", "c_max", "alone: utilization, %", "timeouts in 100 s",
            "beside small packets: utilization, %", "timeouts"]  # fmt: skip
    return [Table(head, rows)]
