"""CP-AQM: congestion-policing active queue management."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from forebay.papers import (
    Claim,
    Data,
    Figure,
    Panel,
    Paper,
    Part,
    Quick,
    Section,
    Series,
    Study,
    Table,
    exactly,
)
from forebay.stats import Interval

QUEUE = "queues.bottleneck.mean_packets"
USED = "links.bottleneck.utilization"
LOSS = "queues.bottleneck.loss"

NAMES = {"new-reno": "New Reno", "cubic": "Cubic"}
T_C = ("0p", "1p", "2p", "3p", "5p", "7p", "10p", "15p", "20p", "25p", "30p")
C_MAX = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0)
DELAYS = tuple(f"{delay}ms" for delay in range(5, 55, 5))
RATES = {12: "11944260bit", 15: "14930325bit", 20: "19907100bit"}
COMBINATIONS = [
    (flows, congestion, delay)
    for congestion in NAMES
    for flows in (1, 16)
    for delay in ("5ms", "50ms")
]

# How the text's numbers are read, decided before ours were known.
PACKETS = 1.0
"""A queue length may be off by this many packets."""
POINTS = 1.0
"""A utilization or loss may be off by this many percentage points."""
FULL = 99.5
"""Percent that count as full utilization."""
CLOSE = 99.0
"""Percent that count as close to it."""


def tcp(
    flows: int, congestion: str, delay: str, threshold: str = "5p", c_max: float = 1.2
) -> tuple[str, dict[str, Any]]:
    """Study and point of a TCP scenario under CP-AQM; by default its recommended parameters."""
    where = {"congestion": congestion, "delay": delay, "T_c": threshold, "c_max": c_max}
    return f"tcp-{flows}", where


def combination(flows: int, congestion: str, delay: str) -> str:
    """A TCP scenario in words."""
    return f"{flows} {NAMES[congestion]}, {delay[:-2]} ms"


def about(
    what: str,
    found: Interval,
    value: float,
    unit: str,
    slack: float,
    paper: str | None = None,
) -> Part:
    """A number that the text gives."""
    return Part(what, paper or f"{value:g} {unit}", found, value - slack, value + slack, unit)


def extreme(
    data: Data,
    points: Iterable[tuple[str, Mapping[str, Any]]],
    key: str,
    pick: Callable[..., Interval],
    scale: float = 1.0,
) -> Interval:
    """The interval of the point whose mean is the least or the greatest."""
    found = [data.interval(name, key, where, scale=scale) for name, where in points]
    return pick(found, key=lambda each: each.mean)


def threshold_packets(text: str) -> int:
    """T_c in packets, as the axes write it."""
    return int(text[:-1])


def text(name: str) -> str:
    """A part of the page, from a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")


# Figures


def lines(
    data: Data, points: Sequence[tuple[float, str, Mapping[str, Any]]], key: str, label: str,
    scale: float = 1.0,
) -> Series:  # fmt: skip
    """Intervals over an abscissa."""
    found = [data.interval(name, key, where, scale=scale) for _, name, where in points]
    return Series(
        label,
        [x for x, _, _ in points],
        [each.mean for each in found],
        [each.low for each in found],
        [each.high for each in found],
    )


def figure_1(data: Data) -> list[Panel]:
    panels = []
    for key, scale, title, y_label, y_range in (
        (QUEUE, 1.0, "(a) Average queue length", "average queue length, packets", (0.0, 31.0)),
        (USED, 100.0, "(b) Utilization", "utilization, %", (90.0, 100.5)),
    ):
        series = [
            lines(data, [(float(d[:-2]), "tail-drop-udp", {"delay": d}) for d in DELAYS], key,
                  "UDP, 15 Mb/s", scale)
        ]  # fmt: skip
        for flows in (1, 16):
            for congestion, name in NAMES.items():
                points = [
                    (float(d[:-2]), f"tail-drop-{flows}", {"delay": d, "congestion": congestion})
                    for d in DELAYS
                ]
                series.append(lines(data, points, key, f"{flows} {name}", scale))
        stated = ([5, 50], [20.0, 10.0]) if key == QUEUE else ([50, 50], [92.7, 98.0])
        series.append(Series("stated in the text", *stated, stated=True))
        panels.append(
            Panel(title, "one-way delay $D_b$, ms", y_label, series,
                  x_range=(0.0, 52.0), y_range=y_range)
        )  # fmt: skip
    return panels


def over_parameters(
    data: Data, name: str, where: Mapping[str, Any], title: str, key: str = QUEUE
) -> Panel:
    """The paper's usual diagram: a line for each c_max over T_c."""
    scale = 1.0 if key == QUEUE else 100.0
    series = [
        lines(
            data,
            [(threshold_packets(t), name, {**where, "T_c": t, "c_max": c}) for t in T_C],
            key,
            f"$c_{{max}}$ = {c:g}",
            scale,
        )
        for c in C_MAX
    ]
    y_label = "average queue length, packets" if key == QUEUE else "utilization, %"
    return Panel(
        title, "congestion threshold $T_c$, packets", y_label, series,
        x_range=(0.0, 30.0), y_range=(0.0, 31.0) if key == QUEUE else None, ordered=True,
    )  # fmt: skip


def figure_2(data: Data) -> list[Panel]:
    return [
        over_parameters(data, "udp-constant", {}, "(a) Constant packet inter-arrival times"),
        over_parameters(data, "udp-exponential", {},
                        "(b) Exponential packet inter-arrival times"),
    ]  # fmt: skip


def four(congestion: str) -> Callable[[Data], list[Panel]]:
    def panels(data: Data) -> list[Panel]:
        return [
            over_parameters(
                data, f"tcp-{flows}", {"congestion": congestion, "delay": delay},
                f"({letter}) n = {flows}, $D_b$ = {delay[:-2]} ms",
            )
            for letter, (flows, delay) in zip(
                "abcd", [(1, "5ms"), (16, "5ms"), (1, "50ms"), (16, "50ms")], strict=True
            )
        ]  # fmt: skip

    return panels


def figure_4(data: Data) -> list[Panel]:
    where = {"congestion": "new-reno", "delay": "50ms"}
    return [
        over_parameters(data, f"tcp-{flows}", where, f"({letter}) n = {flows} New Reno", USED)
        for letter, flows in (("a", 1), ("b", 16))
    ]


# Claims


def cp_1(data: Data) -> list[Part]:
    def at(delay: str, key: str, scale: float) -> Interval:
        return data.interval("tail-drop-udp", key, {"delay": delay}, scale=scale)

    return [
        part
        for delay in ("5ms", "25ms", "50ms")
        for part in (
            Part(f"utilization, {delay[:-2]} ms", "100 %", at(delay, USED, 100), 99.95, 100, "%"),
            Part(f"queue, {delay[:-2]} ms", "always full", at(delay, QUEUE, 1), 29, 30, "packets"),
        )
    ]


def tail(data: Data, flows: int, congestion: str, delay: str, key: str) -> Interval:
    return data.interval(
        f"tail-drop-{flows}",
        key,
        {"congestion": congestion, "delay": delay},
        scale=1.0 if key == QUEUE else 100.0,
    )


def cp_2(data: Data) -> list[Part]:
    full = [
        Part(f"utilization, {delay} ms", "full up to about 20 ms",
             tail(data, 1, "new-reno", f"{delay}ms", USED), CLOSE, unit="%")
        for delay in (5, 10, 15, 20)
    ]  # fmt: skip
    return [
        *full,
        about("utilization, 50 ms", tail(data, 1, "new-reno", "50ms", USED), 92.7, "%", POINTS),
        about("queue, 5 ms", tail(data, 1, "new-reno", "5ms", QUEUE), 20, "packets", PACKETS),
        about("queue, 50 ms", tail(data, 1, "new-reno", "50ms", QUEUE), 10, "packets", PACKETS),
    ]


def cp_3(data: Data) -> list[Part]:
    longer = [
        Part(
            f"queue, Cubic - New Reno, {delay}",
            "longer",
            data.difference(
                "tail-drop-1",
                QUEUE,
                {"congestion": "cubic", "delay": delay},
                {"congestion": "new-reno", "delay": delay},
            ),
            0.0,
            unit="packets",
        )
        for delay in ("5ms", "25ms", "50ms")
    ]
    full = [
        Part(f"utilization, {delay} ms", "full up to 25 ms",
             tail(data, 1, "cubic", f"{delay}ms", USED), CLOSE, unit="%")
        for delay in (5, 15, 25)
    ]  # fmt: skip
    at_50 = tail(data, 1, "cubic", "50ms", USED)
    return [*full, about("utilization, 50 ms", at_50, 98, "%", POINTS, "about 98 %"), *longer]


def cp_4(data: Data) -> list[Part]:
    parts = []
    for congestion, queue, loss in (
        ("cubic", (26.0, 30.0), (4.0, 12.0)),
        ("new-reno", (22.5, 25.5), (2.5, 9.0)),
    ):
        name = NAMES[congestion]
        for delay in ("5ms", "50ms"):
            at = f"{name}, {delay[:-2]} ms"
            used = tail(data, 16, congestion, delay, USED)
            parts += [
                Part(f"utilization, {at}", "100 %", used, FULL, unit="%"),
                Part(f"queue, {at}", f"between {queue[0]:g} and {queue[1]:g}",
                     tail(data, 16, congestion, delay, QUEUE),
                     queue[0] - PACKETS, queue[1] + PACKETS, "packets"),
                Part(f"loss, {at}", f"between {loss[0]:g} % and {loss[1]:g} %",
                     tail(data, 16, congestion, delay, LOSS),
                     loss[0] - POINTS, loss[1] + POINTS, "%"),
            ]  # fmt: skip
    return parts


def cp_5(data: Data) -> list[Part]:
    def queue(threshold: str, c_max: float) -> float:
        return data.interval("udp-constant", QUEUE, {"T_c": threshold, "c_max": c_max}).mean

    policed = [c for c in C_MAX if c > 1]
    # At T_c = Q_max nothing is above the threshold, and the queue is always full.
    below = [t for t in T_C if t != "30p"]
    away = max(abs(queue(t, c) - threshold_packets(t)) for t in below for c in policed)
    spread = max(
        max(queue(t, c) for c in policed) - min(queue(t, c) for c in policed) for t in below
    )
    used = extreme(
        data,
        [("udp-constant", {"T_c": t, "c_max": c}) for t in T_C for c in C_MAX],
        USED,
        min,
        100.0,
    )
    return [
        Part("greatest distance of the queue from T_c", "oscillates around T_c, exceeds it by a "
             "very few packets", exactly(away), 0, 3, "packets"),
        Part("greatest difference between values of c_max", "no impact", exactly(spread), 0,
             PACKETS, "packets"),
        Part("least utilization", "100 %", used, 99.95, unit="%"),
    ]  # fmt: skip


def cp_6(data: Data) -> list[Part]:
    def at(rate: int, c_max: float) -> dict[str, Any]:
        return {"rate": RATES[rate], "T_c": "10p", "c_max": c_max}

    def less(what: str, paper: str, one: dict[str, Any], other: dict[str, Any]) -> Part:
        found = data.difference("udp-rates", QUEUE, one, other)
        return Part(what, paper, found, 0.0, unit="packets")

    periodic = {
        c: data.interval("udp-constant", QUEUE, {"T_c": "10p", "c_max": c}).mean
        for c in (1.05, 1.2, 2.0)
    }
    longer = []
    for c, other in periodic.items():
        found = data.interval("udp-rates", QUEUE, at(15, c))
        beyond = Interval(found.mean - other, found.half_width, found.samples)
        longer.append(Part(f"exponential - periodic, T_c = 10, c_max = {c:g}", "longer", beyond,
                           0.0, unit="packets"))  # fmt: skip
    # Equation 2, by its own numbers.
    below, capacity, q_max, t_c, c_max, above = 2.4, 10e6, 30, 10, 1.2, 15
    t_above = capacity * below / (capacity * (above - t_c) / (q_max - t_c) * (c_max - 1))
    mean = (9 * below + above * t_above) / (below + t_above)
    return [
        *longer,
        less("c_max 1.05 - 1.2", "deviations increase with smaller c_max", at(15, 1.05),
             at(15, 1.2)),
        less("c_max 1.2 - 2", "deviations increase with smaller c_max", at(15, 1.2), at(15, 2.0)),
        less("12 Mb/s - 15 Mb/s, c_max = 1.2", "larger", at(12, 1.2), at(15, 1.2)),
        less("15 Mb/s - 20 Mb/s, c_max = 1.2", "20 Mb/s smaller", at(15, 1.2), at(20, 1.2)),
        Part("equation 2's time above", "48 ms", exactly(t_above), 47.95, 48.05, "ms"),
        Part("equation 2's average", "14.7 packets", exactly(mean), 14.65, 14.75, "packets"),
    ]  # fmt: skip


def cp_7(data: Data) -> list[Part]:
    parts = []
    for flows in (1, 16):
        on = ["congestion", "delay", "replication"]
        tail_drop = data.runs(f"tail-drop-{flows}").select(*on, "fingerprint")
        policed = data.runs(f"tcp-{flows}", {"c_max": 1.0}).select(*on, "T_c", "fingerprint")
        both = policed.join(tail_drop, on=on, suffix=" of tail drop")
        other = both.filter(pl.col("fingerprint") != pl.col("fingerprint of tail drop"))
        what = f"runs of {flows} TCP that differ from tail drop in any event, of {both.height}"
        parts.append(Part(what, "equal", exactly(other.height), 0, 0))
        if both.is_empty():
            raise AssertionError("no run of tail drop has a partner")
    drops = sum(
        float(data.runs(name, {"c_max": 1.0})["queues.bottleneck.drops.policed"].sum())
        for name in ("udp-constant", "udp-exponential")
    )
    return [*parts, Part("packets of UDP that the policer drops", "none", exactly(drops), 0, 0)]


def cp_8(data: Data) -> list[Part]:
    def over(flows: int, thresholds: Iterable[str], c_max: Iterable[float]) -> Interval:
        points = [tcp(flows, "new-reno", "5ms", t, c) for t in thresholds for c in c_max]
        return extreme(data, points, USED, min, 100.0)

    return [
        Part("least utilization, 1 flow, T_c >= 2", "mostly 100 %", over(1, T_C[2:], C_MAX), CLOSE,
             unit="%"),
        Part("least utilization, 1 flow, T_c in {0, 1}, c_max >= 1.2", "between 86 % and 99 %",
             over(1, T_C[:2], C_MAX[5:]), 86 - POINTS, 99 + POINTS, "%"),
        Part("least utilization, 16 flows, T_c >= 2", "exactly or close to 100 %",
             over(16, T_C[2:], C_MAX), CLOSE, unit="%"),
    ]  # fmt: skip


def cp_9(data: Data) -> list[Part]:
    def over(flows: int, thresholds: Iterable[str], c_max: Iterable[float], pick: Any) -> Interval:
        points = [tcp(flows, "new-reno", "50ms", t, c) for t in thresholds for c in c_max]
        return extreme(data, points, USED, pick, 100.0)

    small = T_C[:5]
    return [
        about("utilization, 1 flow, c_max = 1", over(1, ["5p"], [1.0], min), 92.5, "%", POINTS),
        Part("least utilization, 1 flow", "80 % to 90 %", over(1, T_C, C_MAX[1:], min),
             80 - POINTS, 90 + POINTS, "%"),
        Part("greatest utilization, 1 flow, T_c <= 5, c_max >= 1.2",
             "80 % to 90 %, in particular for small T_c and large c_max",
             over(1, small, C_MAX[5:], max), 80 - POINTS, 90 + POINTS, "%"),
        Part("least utilization, 16 flows, c_max <= 1.05",
             "significantly reduced utilization can be avoided", over(16, T_C, C_MAX[:4], min),
             98, unit="%"),
    ]  # fmt: skip


def longest(data: Data, c_max: float) -> Interval:
    return extreme(data, [tcp(*each, "5p", c_max) for each in COMBINATIONS], QUEUE, max)


def used_at_50(data: Data, flows: int, congestion: str, c_max: float) -> Interval:
    return data.interval(*_with(tcp(flows, congestion, "50ms", "5p", c_max), USED), scale=100)


def _with(point: tuple[str, dict[str, Any]], key: str) -> tuple[str, str, dict[str, Any]]:
    return point[0], key, point[1]


def cp_10(data: Data) -> list[Part]:
    return [
        Part("longest queue of the eight combinations", "at most 12 packets", longest(data, 1.2),
             high=12.5, unit="packets"),
        about("utilization, 16 New Reno, 50 ms", used_at_50(data, 16, "new-reno", 1.2), 95, "%",
              POINTS),
    ]  # fmt: skip


def cp_11(data: Data) -> list[Part]:
    stated = {(1, "new-reno"): 82, (16, "new-reno"): 94, (1, "cubic"): 96, (16, "cubic"): 99}
    return [
        about("longest queue, c_max = 1.05", longest(data, 1.05), 15, "packets", PACKETS,
              "may reach 15 packets"),
        Part("utilization, c_max = 1.05, 16 New Reno, 50 ms", "almost full",
             used_at_50(data, 16, "new-reno", 1.05), 98, unit="%"),
        Part("longest queue, c_max = 1.5", "at most 9 packets", longest(data, 1.5), high=9.5,
             unit="packets"),
        *(
            about(f"utilization, c_max = 1.5, {combination(flows, congestion, '50ms')}",
                  used_at_50(data, flows, congestion, 1.5), value, "%", POINTS)
            for (flows, congestion), value in stated.items()
        ),
    ]  # fmt: skip


def cp_12(data: Data) -> list[Part]:
    found = data.interval(*_with(tcp(16, "cubic", "5ms"), QUEUE))
    tail_drop = tail(data, 16, "cubic", "5ms", QUEUE)
    return [
        about("queue, T_c = 5, c_max = 1.2", found, 7, "packets", PACKETS, "only 7 packets"),
        about("queue of tail drop", tail_drop, 30, "packets", PACKETS),
    ]


def cp_13(data: Data) -> list[Part]:
    def over(thresholds: Iterable[str], c_max: Iterable[float], pick: Any) -> Interval:
        points = [tcp(1, "cubic", "50ms", t, c) for t in thresholds for c in c_max]
        return extreme(data, points, USED, pick, 100.0)

    small, large = T_C[:5], C_MAX[5:]
    return [
        about("greatest utilization, T_c >= 7", over(T_C[5:], C_MAX[1:], max), 98, "%", POINTS,
              "about 98 %"),
        about("least utilization, T_c >= 7", over(T_C[5:], C_MAX[1:], min), 98, "%", POINTS,
              "about 98 %"),
        Part("greatest utilization, T_c <= 5, c_max >= 1.2", "between 94 % and 98 %",
             over(small, large, max), 94 - POINTS, 98 + POINTS, "%"),
        Part("least utilization, T_c <= 5, c_max >= 1.2", "between 94 % and 98 %",
             over(small, large, min), 94 - POINTS, 98 + POINTS, "%"),
    ]  # fmt: skip


def cp_14(data: Data) -> list[Part]:
    policed, overflow, longest = (
        data.study("burst").runs[f"queues.bottleneck.{key}"].to_list()
        for key in ("drops.policed", "drops.overflow", "max_packets")
    )
    return [
        Part("packets that the policer drops, all T_c and c_max", "none", exactly(sum(policed)),
             0, 0),
        Part("packets that do not fit", "", exactly(sum(overflow)), 0, 0),
        Part("shortest of the longest queues", "the whole buffer, 30 packets",
             exactly(min(longest)), 30, 30, "packets"),
    ]  # fmt: skip


# Sections

NO_SACK = "New Reno recovery, no SACK"
STACKS = (
    "Linux",
    "initial window 3 (before 2.6.39)",
    "no quick acknowledgments",
    "quick acknowledgments also after 200 ms of silence",
    "no delayed acknowledgments",
    "growth by acknowledgments, not bytes (before 4.0)",
    "minimum RTO 1 s",
    "RTO at least 200 ms above the round-trip time",
    NO_SACK,
    "no PRR",
    "no timestamps",
    "no HyStart",
    "no limited transmit",
)
"""The rows of the axis "stack", in order."""


def stack_point(data: Data, stack: str) -> dict[str, Any]:
    """The values of the axis' columns."""
    [axis] = [each for each in data.study("stack").axes if each.name == "stack"]
    row = axis.rows[STACKS.index(stack)]
    written = [str(value).lower() if isinstance(value, bool) else value for value in row]
    return dict(zip(axis.columns, written, strict=True))


def stack_says(
    data: Data, key: str, discipline: str, point: tuple[int, str, str], stated: float
) -> str:
    """How far the conventions of the TCP stack move a number, beside what the paper states."""
    flows, congestion, delay = point
    where = {"flows": flows, "congestion": congestion, "delay": delay, "discipline": discipline}
    scale, unit = (1.0, "packets") if key == QUEUE else (100.0, "%")
    found = {
        stack: data.interval("stack", key, {**where, **stack_point(data, stack)}, scale=scale).mean
        for stack in STACKS
        if stack != NO_SACK
    }
    least, most = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    inside = found[least] <= stated <= found[most]
    return (
        f"{combination(*point)}, {discipline}: {found['Linux']:.4g} {unit} with Linux's "
        f"conventions; with one of them (but SACK) changed from {found[least]:.4g} ({least}) to "
        f"{found[most]:.4g} ({most}), so that the paper's {stated:g} "
        + ("is a matter of the stack" if inside else "is beyond all of them")
        + "."
    )


NSC = (
    "The authors' stack is a Linux of the Network Simulation Cradle, of a version that the paper "
    "does not name. "
)


def cp_3_why(data: Data) -> str:
    return NSC + stack_says(data, USED, "tail drop", (1, "cubic", "50ms"), 98)


def cp_4_why(data: Data) -> str:
    return NSC + " ".join(
        stack_says(data, QUEUE, "tail drop", (16, "new-reno", delay), stated)
        for delay, stated in (("5ms", 25.5), ("50ms", 22.5))
    )


def cp_12_why(data: Data) -> str:
    return NSC + " ".join(
        stack_says(data, QUEUE, discipline, (16, "cubic", "5ms"), stated)
        for discipline, stated in (("CP-AQM", 7), ("tail drop", 30))
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
                    data.interval(*_with(tcp(*each, "5p", c), key), scale=scale)
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


TAIL_DROP = ("tail-drop-1", "tail-drop-16")
SHORT = {"duration": "60s"}

PAPER = Paper(
    title="CP-AQM: congestion policing",
    citation=(
        "M. Menth, S. Veith, *Active Queue Management Based on Congestion Policing (CP-AQM)*."
    ),
    setup=text("setup.md"),
    statistics=text("statistics.md"),
    studies=(
        Study("tail-drop-udp", "tail-drop-udp.toml", Quick(2, SHORT)),
        Study("burst", "burst-study.toml", Quick(2)),
        Study("udp-constant", "udp-constant.toml", Quick(2, SHORT)),
        Study("tail-drop-16", "tail-drop-16.toml", Quick(2, SHORT)),
        Study("tail-drop-1", "tail-drop-1.toml", Quick(2, SHORT)),
        Study("length", "length.toml", Quick(2)),
        Study("stack", "stack.toml", Quick(2, SHORT)),
        Study("bucket", "bucket.toml", Quick(2, SHORT)),
        Study("tcp-16", "tcp-16.toml", Quick(2, SHORT)),
        Study("udp-rates", "udp-rates.toml", Quick(2, SHORT)),
        Study("udp-exponential", "udp-exponential.toml", Quick(2, {"duration": "20s"})),
        Study("tcp-1", "tcp-1.toml", Quick(2, SHORT)),
    ),
    figures=(
        Figure("1", "Impact of networking parameters on the performance of TCP traffic with "
               "tail-drop buffer management.", figure_1, ("tail-drop-udp", *TAIL_DROP)),
        Figure("2", "Impact of CP-AQM configuration parameters on the average queue length on the "
               "bottleneck link for non-responsive UDP traffic with a rate of 15 Mb/s.", figure_2,
               ("udp-constant", "udp-exponential")),
        Figure("3", "Average queue lengths on the bottleneck link for TCP New Reno.",
               four("new-reno"), ("tcp-1", "tcp-16")),
        Figure("4", "Link utilization on the bottleneck link for a one-way delay of $D_b$ = 50 ms.",
               figure_4, ("tcp-1", "tcp-16")),
        Figure("5", "Average queue lengths on the bottleneck link for TCP Cubic.", four("cubic"),
               ("tcp-1", "tcp-16")),
    ),
    claims=(
        Claim("CP-1", "Tail drop, 15 Mb/s CBR: utilization 100 % and the queue always fully "
              "occupied, regardless of the delay.", cp_1, ("tail-drop-udp",)),
        Claim("CP-2", "Tail drop, one New Reno flow: full utilization up to about 20 ms, 92.7 % at "
              "50 ms; the average queue falls from 20 packets to 10.", cp_2, TAIL_DROP),
        Claim("CP-3", "Tail drop, one Cubic flow: fills the pipe up to 25 ms, about 98 % at 50 ms; "
              "longer queue than New Reno.", cp_3, (*TAIL_DROP, "stack"), cp_3_why),
        Claim("CP-4", "Tail drop, 16 flows: 100 % even at 50 ms; average queue 26 to 30 packets "
              "(Cubic), 22.5 to 25.5 (New Reno); loss 4 % to 12 % and 2.5 % to 9 %.", cp_4,
              (*TAIL_DROP, "stack"), cp_4_why),
        Claim("CP-5", "CP-AQM, CBR: the average queue increases linearly with T_c, about T_c; the "
              "value of c_max > 1 has no impact; utilization 100 %.", cp_5, ("udp-constant",)),
        Claim("CP-6", "Exponential inter-arrival times: longer than periodic; deviations increase "
              "with smaller c_max; larger at 12 Mb/s, smaller at 20 Mb/s. Equation 2: 2.4 ms below "
              "T_c allow 48 ms above, and 14.7 packets on average.", cp_6,
              ("udp-constant", "udp-rates")),
        Claim("CP-7", "c_max = 1 does not cause the policer to drop any packet: equal to tail "
              "drop.", cp_7, ("udp-constant", "udp-exponential", *TAIL_DROP, "tcp-1", "tcp-16")),
        Claim("CP-8", "New Reno, 5 ms: utilization mostly 100 %, except for T_c in {0, 1} and "
              "large c_max, where it is between 86 % and 99 %.", cp_8, ("tcp-1", "tcp-16")),
        Claim("CP-9", "New Reno, 50 ms, one flow: 92.5 % with tail drop, 80 % to 90 % with CP-AQM; "
              "16 flows: no significant reduction for c_max <= 1.05.", cp_9, ("tcp-1", "tcp-16")),
        Claim("CP-10", "T_c = 5 and c_max = 1.2 limit the average queue to at most 12 packets in "
              "all scenarios; utilization 95 % for 16 New Reno flows at 50 ms.", cp_10,
              ("tcp-1", "tcp-16")),
        Claim("CP-11", "T_c = 5, c_max = 1.05: up to 15 packets, almost full utilization of 16 New "
              "Reno flows at 50 ms. c_max = 1.5: at most 9 packets; utilization at 50 ms 82 % (1 "
              "New Reno), 94 % (16), 96 % (1 Cubic), 99 % (16).", cp_11, ("tcp-1", "tcp-16")),
        Claim("CP-12", "T_c = 5, 16 Cubic flows, 5 ms: only 7 packets instead of 30 for tail drop.",
              cp_12, ("tcp-1", "tcp-16", *TAIL_DROP, "stack"), cp_12_why),
        Claim("CP-13", "Cubic, one flow, 50 ms: about 98 % like tail drop; 94 % to 98 % for T_c <= "
              "5 and c_max >= 1.2.", cp_13, ("tcp-1",)),
        Claim("CP-14", "A single burst can fill the whole buffer without any drop by the policer.",
              cp_14, ("burst",)),
    ),
    sections=(
        Section("The recommended configuration", "T_c = 5 packets.", recommended_tables,
                ("tcp-1", "tcp-16", *TAIL_DROP)),
        Section("Length of a run", "20 runs of one flow, of 1000 s and of 100 s, after 10 s of "
                "warm-up.", length_tables, ("length",)),
        Section("What the TCP stack moves", text("stack.md"), stack_tables, ("stack",)),
        Section("What the size of the bucket moves", "T_c = 5, c_max = 1.2. The paper's size is "
                "67.815 KB; from a certain size on, it says, CP-AQM is rather insensitive (section "
                "3.3).", bucket_tables, ("bucket",)),
    ),
)  # fmt: skip
