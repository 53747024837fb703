"""Tables beside figures and claims."""

from __future__ import annotations

from typing import Any

import polars as pl

from forebay.papers import (
    Data,
    Part,
    Table,
)
from forebay.papers.judge import verdict_of

from .claims import CLAIMS
from .points import (
    COMBINATIONS,
    LOSS,
    NAMES,
    QUEUE,
    SCALES,
    USED,
    combination,
    keyed,
    lengths,
    measure,
    policed,
    tail,
    tcp,
    threshold_packets,
)
from .reasons import (
    NOISY,
    NOISY_C,
    by_rule,
    noisy,
)
from .stacks import (
    CURVES,
    DISCIPLINES,
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

ADAPTIVE = ("tail-drop-udp", "tail-drop-1", "tail-drop-16", "udp-constant", "udp-rates",
            "udp-exponential", "tcp-1", "tcp-16")  # fmt: skip
"""Studies whose points stop when their interval is narrow enough."""


def distance_tables(data: Data) -> list[Table]:
    rows = []
    for claim, parts_of in CLAIMS.items():
        for part in parts_of(data):
            if part.verdict != "reproduced" and part.found is not None:
                mean = part.found.mean
                away = min(mean - part.low, 0) or max(mean - part.high, 0)
                far = f"{away:+.2g}" if part.verdict == "differs" else "undecided"
                rows.append([claim, part.what, part.paper, f"{mean:.4g} {part.unit}",
                             far])  # fmt: skip
    return [Table(["claim", "number", "paper", "ours", "out of range by"], rows)]


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


def convention_tables(data: Data) -> list[Table]:
    """What each convention moves at most, and what becomes of the numbers of the claims."""

    def most(stack: str, key: str) -> list[Any]:
        found = [
            (moved(data, stack, discipline, point, key), f"{combination(*point)}, {discipline}")
            for discipline in DISCIPLINES
            for point in COMBINATIONS
            if stack in conventions(point[1])
        ]
        sure = [each for each in found if each[0].excludes_zero]
        if not sure:
            return [0, ""]
        greatest = max(sure, key=lambda each: abs(each[0].mean))
        return [*greatest]

    def inside(stack: str) -> str:
        places = [each for each in PLACES if stack in (OURS, *conventions(each[1][1][1]))]
        good = sum(
            low <= with_stack(data, stack, discipline, point, key).mean <= high
            for _, (discipline, point, key), low, high in places
        )
        return f"{good} of {len(places)}"

    rows = [
        [OURS, "", "", "", "", inside(OURS)],
        *(
            [stack, *most(stack, QUEUE), *most(stack, USED), inside(stack)]
            for stack in (*STACKS[1:], *CURVES)
        ),
    ]
    columns = ["convention", "queue, packets", "of", "utilization, points", "of",
               "numbers of claims in range"]  # fmt: skip
    return [Table(columns, rows, "What each convention moves most")]


def early_tables(data: Data) -> list[Table]:
    """Where the rule of the statistics stopped, and where the paper's count did."""
    rows: list[list[Any]] = []
    capped: list[list[Any]] = []
    for name in ADAPTIVE:
        study = data.study(name)
        if (until := study.layout.study.get("until")) is None:
            continue  # a quick run
        found = study.intervals(QUEUE).with_columns(
            (100 * pl.col("half_width") / pl.col("mean")).alias("width")
        )
        whole = found.filter(pl.col("samples") == until["at_most"])
        least = found.filter(pl.col("samples") == until["at_least"]).height
        early = found.height - whole.height
        rows.append([f"`{name}`", found.height, least, early, until["at_most"], whole.height])
        by = [each for each in study.columns if each != "T_c"]
        for keys, points in whole.group_by(by, maintain_order=True):
            at = dict(zip(by, keys, strict=True))
            flows = name.rpartition("-")[2]
            where = f"UDP, {flows}"
            if "congestion" in at:
                where = combination(int(flows), str(at["congestion"]), str(at["delay"]))
            thresholds = ", ".join(each[:-1] for each in points["T_c"]) if "c_max" in at else ""
            widest = f"{max(points['width'].to_list()):.2g} %"
            capped.append([where, at.get("c_max", "tail drop"), thresholds, widest])
    columns = ["study", "points", "stopped at 20 runs", "stopped before the paper's number",
               "the paper's number of runs", "points that took it"]  # fmt: skip
    return [
        Table(columns, rows),
        Table(["traffic", "c_max", "T_c", "widest half-width"], capped,
              "Points that took the paper's number of runs"),
    ]  # fmt: skip


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


def whole_stacks(data: Data) -> dict[str, Any]:
    """Results of the same scenarios with each whole stack."""
    return {
        OURS: data,
        "Linux 2.6.26": Stack(data, "linux-2.6", {each: each for each in STANDARD}),
        "Linux today": Stack(data, "linux", {each: rfc for each, (rfc, _) in STANDARD.items()}),
    }


def judged(data: Any) -> dict[str, list[Part]]:
    """The claims about tail drop and T_c = 5, by one stack."""
    return {
        claim: CLAIMS[claim](data) for claim in ("CP-2", "CP-3", "CP-4", "CP-10", "CP-11", "CP-12")
    }


def other_stack_tables(data: Data) -> list[Table]:
    stacks = {name: judged(each) for name, each in whole_stacks(data).items()}
    verdicts: list[list[Any]] = []
    rows: list[list[Any]] = []
    hits = dict.fromkeys(stacks, 0)
    for claim in stacks[OURS]:
        verdicts.append([claim, *(verdict_of(each[claim]) for each in stacks.values())])
        for parts in zip(*(each[claim] for each in stacks.values()), strict=True):
            for name, part in zip(stacks, parts, strict=True):
                hits[name] += part.verdict == "reproduced"
            one = parts[0]
            rows.append(
                [claim, one.what, f"{allowed(one.low, one.high)} {one.unit}", *map(cell, parts)]
            )
    rows.append(["", f"in range, of {len(rows)}", "", *hits.values()])
    return [
        Table(["claim", *stacks], verdicts, "Verdicts"),
        Table(["claim", "number", "allowed", *stacks], rows, "Numbers"),
    ]


def bucket_tables(data: Data) -> list[Table]:
    [axis] = [each for each in data.study("bucket").axes if each.name == "bucket"]
    sizes = [row[0] for row in axis.rows]
    tables = []
    for key, what in ((QUEUE, "Average queue, packets"), (USED, "Utilization, %")):
        rows = [
            [
                combination(flows, congestion, delay),
                *(
                    measure(
                        data,
                        "bucket",
                        key,
                        {"flows": flows, "congestion": congestion, "delay": delay, "bucket": size},
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
    def rows(key: str) -> list[list[Any]]:
        return [
            [
                combination(*each),
                tail(data, *each, key),
                *(policed(data, *each, key, "5p", c) for c in (1.05, 1.2, 1.5, 2.0)),
            ]
            for each in COMBINATIONS
        ]

    columns = ["flows", "tail drop", "c_max = 1.05", "1.2", "1.5", "2"]
    return [
        Table(columns, rows(QUEUE), "Average queue, packets"),
        Table(columns, rows(USED), "Utilization, %"),
        Table(columns, rows(LOSS), "Loss, %"),
    ]


def length_tables(data: Data) -> list[Table]:
    rows = []
    for what, short, long in lengths():
        cells: list[Any] = [what]
        for key in (QUEUE, USED):
            cells.append(measure(data, "length", key, long))
            cells.append(data.difference("length", key, short, long, scale=SCALES.get(key, 1.0)))
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
                    alone = measure(data, *keyed(there, USED))
                    beside = noisy(data, there, USED)
                    if abs(alone.mean - beside.mean) > 2:
                        timeouts = "classes.tcp.timeouts"
                        rows.append(
                            [
                                f"{name}, {delay[:-2]} ms",
                                threshold_packets(threshold),
                                c_max,
                                alone,
                                measure(data, *keyed(there, timeouts)),
                                beside,
                                noisy(data, there, timeouts),
                            ]
                        )
    head = ["flow", "T_c", "c_max", "alone: utilization, %", "timeouts in 100 s",
            "beside small packets: utilization, %", "timeouts"]  # fmt: skip
    return [Table(head, rows)]
