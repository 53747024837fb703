"""Figures 2 to 9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from forebay.papers import Data, Panel, Series
from forebay.papers.points import line, loss_of

from .points import (
    ALL_DELIVERED,
    CQ,
    HIGH,
    LOW,
    NONE,
    P0_PPS,
    P1_PPS,
    PAIRS_AXIS,
    Q0,
    Q1,
    TCP1_PPS,
    TCP_AXIS,
    TCP_DELIVERED,
    View,
    load,
    mixed,
    of_p,
    pps,
    queueing,
    tcp,
)

Keys = Mapping[str, str | pl.Expr]


def stated(what: str, x: Sequence[float], y: float) -> Series:
    """What the text says."""
    return Series(what, list(x), [y] * len(x), stated=True)


def alone(data: Data, keys: Keys, y: str, scale: float = 1.0, *more: Series) -> list[Panel]:
    """A panel each for no preemption and for both settings of it."""
    view = tcp(data)
    groups = (("Without preemption", (NONE,)), ("With preemption", (LOW, HIGH)))
    return [
        Panel(
            title, TCP_AXIS, y, [*view.curves(dict(keys), variants, scale), *(more if at else ())]
        )
        for at, (title, variants) in enumerate(groups)
    ]


def figure_2(data: Data) -> list[Panel]:
    sixty = stated("stated: p = 1, roughly 60", (8, 9, 10), 60)
    return alone(
        data, {"p = 1": P1_PPS, "p = 0": P0_PPS}, "throughput of a flow, packets/s", 1.0, sixty
    )


def figure_3(data: Data) -> list[Panel]:
    keys = {f"p = {p}": f"classes.p{p}.loss" for p in (1, 0)}
    first, second = alone(data, keys, "packets lost, %", 100)
    none = stated("stated: none", (5, 6, 7), 0)
    zero = stated("stated: none of p = 1", (5, 6, 7, 8, 9, 10), 0)
    return [
        Panel(first.title, TCP_AXIS, first.y_label, [*first.series, none]),
        Panel(second.title, TCP_AXIS, second.y_label, [*second.series, zero]),
    ]


def figure_4(data: Data) -> list[Panel]:
    # Both precedences wait in the same queue, and alike.
    curves = tcp(data).curves({"": queueing(["p1", "p0"])}, (NONE, LOW, HIGH))
    return [Panel("", TCP_AXIS, "packet delay, ms", curves)]


def efficiency(view: View, variants: Sequence[str], delivered: pl.Expr, axis: str) -> Panel:
    """Section IV's mean throughput and section I's delivered packets, both times none's."""
    curves = view.curves({"section IV": "efficiency"}, variants)
    loads = axis == PAIRS_AXIS
    for variant in variants:
        found = [view.times(delivered, (n, variant), (n, NONE)) for n in view.steps]
        x = [load(n) if loads else float(n) for n in view.steps]
        curves.append(line(f"section I, {variant}", x, found))
    return Panel("System efficiency", axis, "times that without preemption", curves)


def figure_5(data: Data) -> list[Panel]:
    view = tcp(data)
    gains: Keys = {f"p = {p}": f"classes.p{p}.gain" for p in (1, 0)}
    return [
        Panel("Gain", TCP_AXIS, "throughput, times none's", view.curves(dict(gains), (LOW, HIGH))),
        efficiency(view, (LOW, HIGH), TCP_DELIVERED, TCP_AXIS),
    ]


def figure_6(data: Data) -> list[Panel]:
    keys: Keys = {"p = 1": TCP1_PPS, "p = 0": pps("tcp-p0") / 4}
    curves = mixed(data).curves(dict(keys), (NONE, CQ))
    return [Panel("", PAIRS_AXIS, "TCP throughput of a flow, packets/s", curves)]


def figure_7(data: Data) -> list[Panel]:
    return [
        Panel(
            title,
            PAIRS_AXIS,
            "packet delay, ms",
            mixed(data).curves({f"p = {p}": queueing(of_p(p, kinds)) for p in (1, 0)}, (NONE, CQ)),
        )
        for title, kinds in (("Low queue", Q0), ("High queue", Q1))
    ]


def figure_8(data: Data) -> list[Panel]:
    panels = []
    for title, kinds in (("Low queue", Q0), ("High queue", Q1)):
        keys: Keys = {f"p = {p}": loss_of(of_p(p, kinds)) for p in (1, 0)}
        curves = mixed(data).curves(dict(keys), (NONE, CQ), 100)
        zero = stated("stated: none of p = 1", [load(k) for k in mixed(data).steps], 0)
        panels.append(Panel(title, PAIRS_AXIS, "packets lost, %", [*curves, zero]))
    return panels


def figure_9(data: Data) -> list[Panel]:
    view = mixed(data)
    gains: Keys = {f"p = {p}": f"classes.tcp-p{p}.gain" for p in (1, 0)}
    return [
        Panel("Gain", PAIRS_AXIS, "TCP throughput, times none's", view.curves(dict(gains), (CQ,))),
        efficiency(view, (CQ,), ALL_DELIVERED, PAIRS_AXIS),
    ]
