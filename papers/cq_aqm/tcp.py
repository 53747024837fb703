"""TCP alone: figures 2 to 5, CQ-1 to CQ-6."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from forebay.papers import (
    Data,
    Panel,
    Part,
    Series,
)
from forebay.papers.points import curve, loss_of, mean_over, total

from .points import (
    FLOWS,
    PAYLOAD_BITS,
    PROPAGATION_MS,
    RETURN_MS,
    VARIANTS,
    WINDOW,
    Where,
    goodput,
    queueing,
)


def tcp_at(n: int, variant: str) -> Where:
    return {"p0 flows": n - 1, "discipline": variant}


def tcp_curves(
    data: Data,
    p1: str | pl.Expr,
    p0: str | pl.Expr,
    scale: float = 1.0,
    variants: Sequence[str] = VARIANTS,
) -> list[Series]:
    return [
        curve(
            data, "tcp", key, f"{p}, {variant}", FLOWS, [tcp_at(n, variant) for n in FLOWS], scale
        )
        for variant in variants
        for p, key in (("p = 1", p1), ("p = 0", p0))
    ]


P1_PPS = goodput("p1") / PAYLOAD_BITS
P0_PPS = goodput("p0") / PAYLOAD_BITS / pl.col("p0 flows")
P1_DELAY, P0_DELAY = queueing(["p1"]), queueing(["p0"])
FLOWS_AXIS = "number of TCP flows"


def figure_2(data: Data) -> list[Panel]:
    curves = tcp_curves(data, P1_PPS, P0_PPS)
    curves.append(Series("stated: roughly 60", [8, 9, 10], [60, 60, 60], stated=True))
    return [Panel("", FLOWS_AXIS, "throughput of a flow, packets/s", curves)]


def figure_3(data: Data) -> list[Panel]:
    curves = tcp_curves(data, "classes.p1.loss", "classes.p0.loss", 100)
    return [Panel("", FLOWS_AXIS, "packets lost, %", curves)]


def figure_4(data: Data) -> list[Panel]:
    return [Panel("", FLOWS_AXIS, "packet delay, ms", tcp_curves(data, P1_DELAY, P0_DELAY))]


def figure_5(data: Data) -> list[Panel]:
    preemptive = VARIANTS[1:]
    gains = tcp_curves(data, "classes.p1.gain", "classes.p0.gain", variants=preemptive)
    efficiency = [
        curve(data, "tcp", "efficiency", variant, FLOWS, [tcp_at(n, variant) for n in FLOWS])
        for variant in preemptive
    ]
    return [
        Panel("Gain", FLOWS_AXIS, "throughput, times none's", gains),
        Panel("System efficiency", FLOWS_AXIS, "mean throughput, times none's", efficiency),
    ]


def cq_1(data: Data) -> list[Part]:
    none = pl.col("discipline") == "none"
    few = none & (pl.col("p0 flows") <= 6)
    parts = [
        Part(
            f"packets of p = {p} lost at 5 to 7 flows, all runs",
            "no loss for 7 or less",
            total(data, "tcp", [f"classes.p{p}.dropped"], few),
            0,
            0,
        )
        for p in (1, 0)
    ]
    both = loss_of(["p1", "p0"])
    parts.append(
        Part(
            "loss at 8 flows",
            "loss for 8 or more",
            data.interval("tcp", both, tcp_at(8, "none"), scale=100),
            1e-9,
            unit="%",
        )
    )
    parts += [
        Part(
            f"loss at {n} flows less that at {n - 1}",
            "growing with n",
            data.difference("tcp", both, tcp_at(n, "none"), tcp_at(n - 1, "none"), scale=100),
            low=0.0,
            unit="percentage points",
        )
        for n in (9, 10)
    ]
    apart = pl.col("classes.p1.loss") - pl.col("classes.p0.loss")
    parts.append(
        Part(
            "loss of p = 1 less that of p = 0, mean of 8 to 10 flows",
            "both suffer: within half a percentage point",
            mean_over(data, "tcp", 100 * apart, none & (pl.col("p0 flows") >= 7)),
            -0.5,
            0.5,
            "percentage points",
        )
    )
    return parts


def cq_2(data: Data) -> list[Part]:
    parts = [
        Part(
            f"packets of p = 1 lost with {variant}, all runs",
            "no longer suffer packet losses",
            total(data, "tcp", ["classes.p1.dropped"], pl.col("discipline") == variant),
            0,
            0,
        )
        for variant in VARIANTS[1:]
    ]
    parts += [
        Part(
            f"loss of p = 0 with {variant}, {n} flows",
            "all losses are incurred by p = 0",
            data.interval("tcp", "classes.p0.loss", tcp_at(n, variant), scale=100),
            1e-9,
            unit="%",
        )
        for variant in VARIANTS[1:]
        for n in (8, 10)
    ]
    return parts


def cq_3(data: Data) -> list[Part]:
    parts = []
    trip = 1000 * WINDOW / (P1_DELAY + PROPAGATION_MS + RETURN_MS)
    for variant in VARIANTS[1:]:
        at = {n: tcp_at(n, variant) for n in (8, 10)}
        parts += [
            Part(
                f"p = 1 throughput at {n} flows, {variant}",
                "roughly 60 packets/s: 50 to 70",
                data.interval("tcp", P1_PPS, at[n]),
                50,
                70,
                "packets/s",
            )
            for n in (8, 10)
        ]
        parts.append(
            Part(
                f"throughput at 10 flows less that at 8, {variant}",
                "independent of n: within 3 packets/s",
                data.difference("tcp", P1_PPS, at[10], at[8]),
                -3,
                3,
                "packets/s",
            )
        )
        parts.append(
            Part(
                f"throughput, times W / RT, 10 flows, {variant}",
                "T = W / RT: within 3 %",
                data.interval("tcp", P1_PPS / trip, at[10]),
                0.97,
                1.03,
            )
        )
    return parts


def cq_4(data: Data) -> list[Part]:
    parts = [
        Part(
            f"p = 0 throughput at {n} flows less that at {n - 1}, {variant}",
            "continuously decreases",
            data.difference("tcp", P0_PPS, tcp_at(n, variant), tcp_at(n - 1, variant)),
            high=0.0,
            unit="packets/s",
        )
        for variant in VARIANTS
        for n in FLOWS[1:]
    ]
    parts += [
        Part(
            f"line used at {n} flows, {variant}",
            "close to 100 %: at least 97 %",
            data.interval("tcp", "links.line.utilization", tcp_at(n, variant), scale=100),
            97,
            unit="%",
        )
        for variant in VARIANTS
        for n in (5, 10)
    ]
    return parts


def cq_5(data: Data) -> list[Part]:
    both = queueing(["p1", "p0"])
    parts = []
    for variant in VARIANTS:
        parts.append(
            Part(
                f"delay at 7 flows less that at 5, {variant}",
                "initially increases",
                data.difference("tcp", both, tcp_at(7, variant), tcp_at(5, variant)),
                low=0.0,
                unit="ms",
            )
        )
        parts.append(
            Part(
                f"delay at 10 flows less that at 8, {variant}",
                "a plateau in excess of 8: within 5 ms, a twentieth",
                data.difference("tcp", both, tcp_at(10, variant), tcp_at(8, variant)),
                -5,
                5,
                "ms",
            )
        )
    return parts


def cq_6(data: Data) -> list[Part]:
    parts = []
    for variant in VARIANTS[1:]:
        for n in (8, 9, 10):
            at = tcp_at(n, variant)
            parts.append(
                Part(
                    f"gain of p = 1 at {n} flows, {variant}",
                    "above 1",
                    data.interval("tcp", "classes.p1.gain", at),
                    low=1.0,
                )
            )
            parts.append(
                Part(
                    f"gain of p = 0 at {n} flows, {variant}",
                    "below 1",
                    data.interval("tcp", "classes.p0.gain", at),
                    high=1.0,
                )
            )
        parts.append(
            Part(
                f"efficiency, mean of 6 to 10 flows, {variant}",
                "near unity: 0.95 to 1.05",
                mean_over(
                    data,
                    "tcp",
                    pl.col("efficiency"),
                    (pl.col("discipline") == variant) & (pl.col("p0 flows") >= 5),
                ),
                0.95,
                1.05,
            )
        )
    sign = pl.when(pl.col("discipline") == "40/45").then(2.0).otherwise(-2.0)
    parts.append(
        Part(
            "efficiency of 40/45 less that of 35/45, mean of 6 to 10 flows",
            "a slight improvement",
            mean_over(
                data,
                "tcp",
                sign * pl.col("efficiency"),
                (pl.col("discipline") != "none") & (pl.col("p0 flows") >= 5),
            ),
            low=0.0,
        )
    )
    return parts


def cq_6_reason(data: Data) -> str:
    used = {
        variant: data.interval("tcp", "links.line.utilization", tcp_at(10, variant), scale=100)
        for variant in VARIANTS
    }
    shares = ", ".join(f"{found.mean:.3f} % with {name}" for name, found in used.items())
    return (
        f"The line is as good as full whatever the thresholds ({shares}, 10 flows), so that the "
        "mean over all flows can hardly differ: both settings are at unity. The paper's slight "
        "improvement needs a line that the lower threshold leaves idle now and then."
    )
