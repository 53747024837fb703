"""Tables beside figures and claims."""

from __future__ import annotations

from typing import Any

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
    STACKS,
    noisy,
    stack_point,
)

from forebay.papers import (
    Data,
    Table,
)


def stack_tables(data: Data) -> list[Table]:
    tables = []
    columns = ["stack", *(combination(*each) for each in COMBINATIONS)]
    for discipline in ("tail drop", "CP-AQM"):
        for key, scale, what in (
            (QUEUE, 1.0, "average queue, packets"),
            (USED, 100.0, "utilization, %"),
        ):
            rows = []
            for stack in STACKS:
                cells: list[Any] = [stack]
                for flows, congestion, delay in COMBINATIONS:
                    at = {"flows": flows, "congestion": congestion, "delay": delay}
                    at["discipline"] = discipline
                    here = {**at, **stack_point(data, stack)}
                    if stack == "Linux":
                        cells.append(data.interval("stack", key, here, scale=scale))
                    else:
                        linux = {**at, **stack_point(data, "Linux")}
                        cells.append(data.difference("stack", key, here, linux, scale=scale))
                rows.append(cells)
            tables.append(Table(columns, rows, f"{discipline}: {what}"))
    return tables


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
