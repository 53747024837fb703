"""Mixed traffic: figures 6 to 9, CQ-7 to CQ-10."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import polars as pl

from forebay import stats
from forebay.papers import (
    Data,
    Panel,
    Part,
    Series,
)
from forebay.papers.points import curve, loss_of, total

from .points import (
    BACKGROUND,
    CQ,
    LOADS,
    PAIRS,
    PAYLOAD_BITS,
    PROPAGATION_MS,
    Q0,
    Q1,
    RETURN_MS,
    WINDOW,
    by_class,
    classes_of,
    goodput,
    mixed_at,
    queueing,
)


def mixed_curves(
    data: Data,
    keys: Mapping[str, str | pl.Expr],
    scale: float = 1.0,
    variants: Sequence[str] = ("none", "CQ-AQM"),
) -> list[Series]:
    return [
        curve(
            data,
            "mixed",
            key,
            f"{label}, {variant}",
            LOADS,
            [mixed_at(pair, variant) for pair in PAIRS],
            scale,
        )
        for variant in variants
        for label, key in keys.items()
    ]


TCP1_PPS = goodput("tcp-p1") / PAYLOAD_BITS
TCP0_PPS = goodput("tcp-p0") / PAYLOAD_BITS / 4
TCP1_DELAY = queueing(["tcp-p1"])


def figure_6(data: Data) -> list[Panel]:
    curves = mixed_curves(data, {"p = 1": TCP1_PPS, "p = 0": TCP0_PPS})
    return [Panel("", BACKGROUND, "TCP throughput of a flow, packets/s", curves)]


def figure_7(data: Data) -> list[Panel]:
    keys = {f"p = {p}, q = 0": queueing(classes_of(p, Q0)) for p in (1, 0)}
    high: dict[str, str | pl.Expr] = {
        f"p = {p}, q = 1": queueing(classes_of(p, Q1)) for p in (1, 0)
    }
    return [
        Panel("Low queue", BACKGROUND, "packet delay, ms", mixed_curves(data, keys)),
        Panel("High queue", BACKGROUND, "packet delay, ms", mixed_curves(data, high)),
    ]


def figure_8(data: Data) -> list[Panel]:
    return [Panel("", BACKGROUND, "packets lost, %", mixed_curves(data, by_class(loss_of), 100))]


def figure_9(data: Data) -> list[Panel]:
    gains: dict[str, str | pl.Expr] = {f"p = {p}": f"classes.tcp-p{p}.gain" for p in (1, 0)}
    return [
        Panel(
            "Gain", BACKGROUND, "TCP throughput, times none's",
            mixed_curves(data, gains, variants=["CQ-AQM"]),
        ),
        Panel(
            "System efficiency", BACKGROUND, "mean TCP throughput, times none's",
            mixed_curves(data, {"TCP": "efficiency"}, variants=["CQ-AQM"]),
        ),
    ]  # fmt: skip


def cq_7(data: Data) -> list[Part]:
    parts = [
        Part(
            f"packets of p = 1 lost, {name}, all loads and runs",
            "zero for all load cases",
            total(data, "mixed", [f"classes.{name}-p1.dropped"], CQ),
            0,
            0,
        )
        for name in (*Q0, *Q1)
    ]
    p0 = loss_of(classes_of(0, (*Q0, *Q1)))
    parts += [
        Part(
            f"loss of p = 0 less that without preemption, {load:.0f} % background",
            "becomes worse",
            data.difference(
                "mixed", p0, mixed_at(pair, "CQ-AQM"), mixed_at(pair, "none"), scale=100
            ),
            low=0.0,
            unit="percentage points",
        )
        for pair, load in zip(PAIRS, LOADS, strict=True)
    ]
    return parts


def cq_7_reason(data: Data) -> str:
    lost = sum(total(data, "mixed", [f"classes.{name}-p1.dropped"], CQ).mean for name in (*Q0, *Q1))
    offered = sum(
        total(data, "mixed", [f"classes.{name}-p1.offered"], CQ).mean for name in (*Q0, *Q1)
    )
    return (
        f"{lost:.0f} of {offered:,.0f} packets, all of bursty data, in the longest of their "
        f"bursts, where the paper's bottom line is zero. A burst has a geometric number of "
        f"datagrams, 91 in the mean, that come faster than the line sends them; no finite "
        f"reserve holds them all, and 250 packets hold all but {lost / offered:.0e}. A figure "
        f"would not show it."
    )


def cq_8(data: Data) -> list[Part]:
    runs = data.runs("mixed").filter(pl.col("discipline") == "CQ-AQM")

    def times(pair: str, first: str) -> stats.Interval | None:
        column = "traffic.voice-p0.flows"
        one, other = (
            runs.filter(pl.col(column) == json.loads(each)[0]).sort("replication").select(TCP1_PPS)
            for each in (pair, first)
        )
        ratio = one.to_series() / other.to_series()
        return stats.interval(ratio.to_list())

    parts = [
        Part(
            "p = 1 throughput at 88 % background, times that at 55 %",
            "relatively flat up to around 90 %: at least 0.9",
            times(PAIRS[3], PAIRS[0]),
            low=0.9,
        ),
        Part(
            "p = 1 throughput at 110 % background, times that at 88 %",
            "then begins to decrease slightly: 0.8 to 1",
            times(PAIRS[5], PAIRS[3]),
            0.8,
            1.0,
        ),
    ]
    parts += [
        Part(
            f"gain of p = 0, {load:.0f} % background",
            "roughly tracks no preemption: 0.75 to 1.25",
            data.interval("mixed", "classes.tcp-p0.gain", mixed_at(pair, "CQ-AQM")),
            0.75,
            1.25,
        )
        for pair, load in zip(PAIRS, LOADS, strict=True)
    ]
    return parts


def cq_8_reason(data: Data) -> str:
    def at(pair: str, key: pl.Expr) -> float:
        return data.interval("mixed", key, mixed_at(pair, "CQ-AQM")).mean

    trip = 1000 * WINDOW / (TCP1_DELAY + PROPAGATION_MS + RETURN_MS)
    low, high = (
        data.interval("low-threshold", TCP1_PPS, mixed_at(pair, "300")).mean
        for pair in (PAIRS[0], PAIRS[3])
    )
    return (
        f"The flow is window limited throughout: its throughput is W / RT to within "
        f"{100 * abs(at(PAIRS[3], TCP1_PPS / trip) - 1):.1f} %. RT follows the low queue, which "
        f"bursty data fill between none and 500 packets already at 55 %: the delay grows from "
        f"{at(PAIRS[0], TCP1_DELAY):.0f} to {at(PAIRS[3], TCP1_DELAY):.0f} ms at 88 %. How flat "
        f"the curve is, T_local decides: with 300 (study `low-threshold`) it falls only from "
        f"{low:.1f} to {high:.1f} packets/s. A flat curve at 500 takes a queue that is always near "
        f"500, or nearly empty, up to 90 %; the paper's figure 7 shows its p = 1 delay rise beyond "
        f"90 % only."
    )


def cq_9(data: Data) -> list[Part]:
    return [
        Part(
            f"delay of p = {p} in the low queue, none less CQ-AQM, {load:.0f} % background",
            "worse without preemption",
            data.difference(
                "mixed",
                queueing(classes_of(p, Q0)),
                mixed_at(pair, "none"),
                mixed_at(pair, "CQ-AQM"),
            ),
            low=0.0,
            unit="ms",
        )
        for p in (1, 0)
        for pair, load in zip(PAIRS, LOADS, strict=True)
    ]


def cq_10(data: Data) -> list[Part]:
    parts = []
    for pair, load in zip(PAIRS, LOADS, strict=True):
        at = mixed_at(pair, "CQ-AQM")
        parts.append(
            Part(
                f"gain of p = 1, {load:.0f} % background",
                "above 1",
                data.interval("mixed", "classes.tcp-p1.gain", at),
                low=1.0,
            )
        )
        parts.append(
            Part(
                f"gain of p = 0, {load:.0f} % background",
                "below 1",
                data.interval("mixed", "classes.tcp-p0.gain", at),
                high=1.0,
            )
        )
    parts += [
        Part(
            f"efficiency at {after:.0f} % less that at {before:.0f} %",
            "decreases as the load increases",
            data.difference(
                "mixed", "efficiency", mixed_at(second, "CQ-AQM"), mixed_at(first, "CQ-AQM")
            ),
            high=0.0,
        )
        for first, second, before, after in zip(
            PAIRS[:-1], PAIRS[1:], LOADS[:-1], LOADS[1:], strict=True
        )
    ]
    return parts


def cq_10_reason(data: Data) -> str:
    def share(class_: str, variant: str) -> float:
        key = goodput(class_)
        return data.interval("mixed", key, mixed_at(PAIRS[5], variant), scale=1e-3).mean

    names = ("tcp-p1", "tcp-p0", "bursty-p1", "bursty-p0")
    none, cq = ([share(name, variant) for name in names] for variant in ("none", "CQ-AQM"))
    moved = ", ".join(
        f"{name} {before:.0f} to {after:.0f}"
        for name, before, after in zip(names, none, cq, strict=True)
    )
    slow = [
        data.interval(
            "gaps",
            "efficiency",
            {"tcp.min_rto": "1s", "tcp.delayed_ack_count": 2, **mixed_at(pair, "CQ-AQM")},
        ).mean
        for pair in ("[4, 4]", "[9, 9]")
    ]
    return (
        f"The line stays full, so what one class loses others get. Bursty data of p = 0 do not "
        f"back off and fill the queue; CQ-AQM denies them entry from 500 packets on instead of "
        f"750, and TCP takes what they leave, over a shorter queue. At 110 % background, in kb/s: "
        f"{moved}. The more load, the more there is to take, and so TCP's efficiency rises. It "
        f"does so as well with a least retransmission timeout of 1 s and delayed acknowledgments "
        f"(study `gaps`): {slow[0]:.2f} at 55 %, {slow[1]:.2f} at 110 %. For the paper's curve TCP "
        f"of p = 0 would have to lose far more than the curve of CQ-8, which `roughly tracks` that "
        f"without preemption, lets it."
    )
