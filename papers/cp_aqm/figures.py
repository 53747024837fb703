"""Figures 1 to 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forebay.papers import (
    Data,
    Panel,
    Series,
)
from forebay.papers.points import line

from .points import (
    C_MAX,
    DELAYS,
    NAMES,
    QUEUE,
    RENO,
    T_C,
    USED,
    measure,
    threshold_packets,
)


def lines(
    data: Data, points: Sequence[tuple[float, str, Mapping[str, Any]]], key: str, label: str
) -> Series:
    """Intervals over an abscissa."""
    found = [measure(data, name, key, where) for _, name, where in points]
    return line(label, [x for x, _, _ in points], found)


def figure_1(data: Data) -> list[Panel]:
    panels = []
    for key, title, y_label, y_range in (
        (QUEUE, "(a) Average queue length", "average queue length, packets", (0.0, 31.0)),
        (USED, "(b) Utilization", "utilization, %", (90.0, 100.5)),
    ):
        series = [
            lines(data, [(float(d[:-2]), "tail-drop-udp", {"delay": d}) for d in DELAYS], key,
                  "UDP, 15 Mb/s")
        ]  # fmt: skip
        for flows in (1, 16):
            for congestion, name in NAMES.items():
                points = [
                    (float(d[:-2]), f"tail-drop-{flows}", {"delay": d, "congestion": congestion})
                    for d in DELAYS
                ]
                series.append(lines(data, points, key, f"{flows} {name}"))
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
    series = [
        lines(
            data,
            [(threshold_packets(t), name, {**where, "T_c": t, "c_max": c}) for t in T_C],
            key,
            f"$c_{{max}}$ = {c:g}",
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
    where = {"congestion": RENO, "delay": "50ms"}
    return [
        over_parameters(data, f"tcp-{flows}", where, f"({letter}) n = {flows} New Reno", USED)
        for letter, flows in (("a", 1), ("b", 16))
    ]
