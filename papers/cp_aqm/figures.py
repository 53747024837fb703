"""Figures 1 to 5, and those that the paper does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forebay.papers import Data, Panel, Series
from forebay.papers.points import line

from .points import (
    BUCKETS,
    C_MAX,
    COMBINATIONS,
    CUBIC,
    DELAYS,
    LOSS,
    NAMES,
    QUEUE,
    RENO,
    RULE,
    T_C,
    UDP,
    USED,
    Combination,
    View,
    nsc_longest,
    packets,
    udp,
)

QUEUE_LABEL, USED_LABEL = "average queue, packets", "utilization, %"
X = "congestion threshold T_c, packets"
OVER_DELAY = [float(delay[:-2]) for delay in DELAYS]
STATED_1: Mapping[str, tuple[list[float], list[float]]] = {
    QUEUE: ([5, 50, 5, 50, 5, 50], [20, 10, 30, 26, 25.5, 22.5]),
    LOSS: ([5, 50, 5, 50], [12, 4, 9, 2.5]),
    USED: ([20, 50, 25, 50], [100, 92.7, 100, 98]),
}
"""Numbers of section 4.2 over the delay; of ranges the ends, at the ends of the delay."""
BOUNDS = [(1.05, 15.0), (1.2, 12.0), (1.5, 9.0)]
"""Longest queues at T_c = 5 that section 4.5 states, by c_max."""
STATED_4: Mapping[Combination, list[float]] = {
    (1, RENO, "50ms"): [92.5, 82],
    (16, RENO, "50ms"): [95, 94],
    (1, CUBIC, "50ms"): [98, 96],
    (16, CUBIC, "50ms"): [99],
}
"""Utilizations that sections 4.4 and 4.5 state."""


def figure_1(data: Data) -> list[Panel]:
    view = View(data)
    panels = []
    for key, title, label, many in (
        (QUEUE, "(a) average queue", QUEUE_LABEL, (1, 16)),
        (USED, "(b) utilization, one flow", USED_LABEL, (1,)),
        (LOSS, "loss, 16 flows (stated, not drawn, in the paper)", "loss, %", (16,)),
    ):
        lines = []
        if key == QUEUE:
            found = [data.interval("udp-tail-drop", key, {"delay": d}) for d in DELAYS]
            lines.append(line("UDP, 15 Mb/s", OVER_DELAY, found))
        for flows in many:
            for congestion, name in NAMES.items():
                found = [view.tail(key, (flows, congestion, d)) for d in DELAYS]
                lines.append(line(f"{flows} {name}", OVER_DELAY, found))
        lines.append(Series("stated in the text", *STATED_1[key], stated=True))
        panels.append(Panel(title, "one-way delay, ms", label, lines, x_range=(0, 52)))
    return panels


def over_parameters(
    title: str, label: str, found: Callable[[str, float], Any], stated: Sequence[Series] = ()
) -> Panel:
    """The paper's usual diagram: a line for each c_max over T_c."""
    x = [float(packets(t)) for t in T_C]
    lines = [line(f"c_max = {c:g}", x, [found(t, c) for t in T_C]) for c in C_MAX]
    y_range = (0.0, 31.0) if label == QUEUE_LABEL else None
    return Panel(title, X, label, [*lines, *stated], x_range=(0, 30), y_range=y_range, ordered=True)


def figure_2(data: Data) -> list[Panel]:
    def panel(title: str, kind: str, stated: Sequence[Series]) -> Panel:
        def found(threshold: str, c_max: float) -> Any:
            return data.interval(UDP, QUEUE, udp(threshold, c_max, kind))

        return over_parameters(title, QUEUE_LABEL, found, stated)

    mean = Series("equation 2's example (c_max = 1.2)", [10], [14.7], stated=True)
    return [
        panel("(a) constant intervals", "cbr", ()),
        panel("(b) exponential intervals", "poisson", [mean]),
    ]


def four(congestion: str) -> Callable[[Data], list[Panel]]:
    """Figures 3 and 5."""

    def panels(data: Data) -> list[Panel]:
        view, drawn = View(data), []
        for letter, (flows, delay) in zip(
            "abcd", ((1, "5ms"), (16, "5ms"), (1, "50ms"), (16, "50ms")), strict=True
        ):
            point = (flows, congestion, delay)
            x, y = [5.0] * len(BOUNDS), [queue for _, queue in BOUNDS]
            stated = [Series("stated bounds: c_max = 1.05, 1.2, 1.5", x, y, stated=True)]
            if point == (16, CUBIC, "5ms"):
                stated.append(Series("stated: 7 packets (c_max = 1.2)", [5], [7], stated=True))

            def found(threshold: str, c_max: float, at: Combination = point) -> Any:
                return view.policed(QUEUE, at, threshold, c_max)

            title = f"({letter}) {flows} {NAMES[congestion]}, {delay[:-2]} ms"
            drawn.append(over_parameters(title, QUEUE_LABEL, found, stated))
        return drawn

    return panels


def figure_4(data: Data) -> list[Panel]:
    view, drawn = View(data), []
    for letter, (point, values) in zip("ab  ", STATED_4.items(), strict=True):
        flows, congestion, _ = point

        def found(threshold: str, c_max: float, at: Combination = point) -> Any:
            return view.policed(USED, at, threshold, c_max)

        stated = Series("stated in the text", [5.0] * len(values), values, stated=True)
        heading = f"({letter})" if letter.strip() else "not drawn in the paper:"
        title = f"{heading} {flows} {NAMES[congestion]}"
        drawn.append(over_parameters(title, USED_LABEL, found, [stated]))
    return drawn


def longest(data: Data) -> list[Panel]:
    """The numbers of section 4.5, under both readings of the bucket."""
    x = [c for c, _ in BOUNDS]
    lines = []
    for label, view in (("B_CA = 67.815 KB", View(data)), (RULE, View(data, BUCKETS, RULE))):
        lines.append(line(label, x, [view.longest(c) for c in x]))
        kernel = [nsc_longest(c, view.choice) for c in x]
        lines.append(Series(f"{label}, in NSC", x, kernel, style="points"))
    lines.append(Series("stated in the text", x, [queue for _, queue in BOUNDS], stated=True))
    return [Panel("", "c_max", "longest average queue, packets", lines, y_range=(0, 22))]


FAMILIES: Mapping[str, Callable[[str], bool]] = {
    "tail drop": lambda name: name.startswith("tail drop") and "30" not in name,
    "CoDel, target 1 ms": lambda name: name.startswith("CoDel"),
    "c_max = 1.2": lambda name: name.endswith("c_max = 1.2"),
    "c_max = 2": lambda name: name.endswith("c_max = 2"),
    "c_max = 10": lambda name: name.endswith("c_max = 10"),
    "c_max = 2, B_CA of 4 packets": lambda name: "B_CA" in name,
    "c_max = 1.2, T_c = 0, R_CA below C": lambda name: "R_CA" in name,
}
"""Configurations of very short queues, by the labels of the study."""


def short_queues(data: Data) -> list[Panel]:
    """Queue against utilization, the mean of the four scenarios of each delay."""
    names = data.study("objective").runs["discipline"].unique(maintain_order=True).to_list()
    panels = []
    for delay in ("5ms", "50ms"):
        points = [each for each in COMBINATIONS if each[2] == delay]
        lines = []
        for label, belongs in FAMILIES.items():
            found = [mean_of(data, name, points) for name in names if belongs(name)]
            lines.append(Series(label, [q for q, _ in found], [u for _, u in found]))
        panels.append(Panel(f"{delay[:-2]} ms", QUEUE_LABEL, USED_LABEL, lines))
    return panels


def mean_of(data: Data, label: str, points: Sequence[Combination]) -> tuple[float, float]:
    """Queue and utilization, averaged over scenarios."""
    found = []
    for key, scale in ((QUEUE, 1.0), (USED, 100.0)):
        means = []
        for flows, congestion, delay in points:
            where = {"flows": flows, "congestion": congestion, "delay": delay}
            where["discipline"] = label
            means.append(data.interval("objective", key, where, scale=scale).mean)
        found.append(sum(means) / len(means))
    return found[0], found[1]
