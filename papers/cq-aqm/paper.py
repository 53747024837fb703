"""CQ-AQM: figures 2 to 9 and claims CQ-1 to CQ-10."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from forebay import stats
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
)
from forebay.papers.points import curve, delay_of, loss_of, mean_over, total

PAYLOAD_BITS = 460 * 8
"""Of a TCP packet of 500 B."""
PROPAGATION_MS = 15.0
"""One way; delays of the summary hold it, the paper's do not."""
RETURN_MS = PROPAGATION_MS
"""Time that an acknowledgment takes."""
WINDOW = 8
FLOWS = (5, 6, 7, 8, 9, 10)
VARIANTS = ("none", "35/45", "40/45")
PAIRS = ("[4, 4]", "[5, 5]", "[6, 6]", "[7, 7]", "[8, 8]", "[9, 9]")
K = (5, 6, 7, 8, 9, 10)
PAIR_BYTES = 680 / 0.333 + 18_618
"""Bytes a second of a voice flow (68 B every 20 ms, on for 200 of 333 ms) and a bursty one."""
LINE_BYTES = 187_500
LOADS = tuple(100 * k * PAIR_BYTES / LINE_BYTES for k in K)
"""Background, % of the line: 55, 66, 77, 88, 99, 110."""
Q0, Q1 = ("tcp", "bursty"), ("voice",)

Where = Mapping[str, Any]


def goodput(class_: str) -> pl.Expr:
    return pl.col(f"classes.{class_}.goodput_bps")


def queueing(classes: Sequence[str]) -> pl.Expr:
    """Mean time of a packet in the scheduler, ms."""
    return delay_of(classes) - PROPAGATION_MS


# TCP alone: figures 2 to 5, CQ-1 to CQ-6.


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


# Mixed traffic: figures 6 to 9, CQ-7 to CQ-10.

BACKGROUND = "background load, % of the line"


def mixed_at(pair: str, variant: str) -> Where:
    # An axis of several fields has a column for each; voice's and bursty data's are equal.
    return {"traffic.voice-p0.flows": json.loads(pair)[0], "discipline": variant}


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


def classes_of(p: int, kinds: Sequence[str]) -> list[str]:
    return [f"{kind}-p{p}" for kind in kinds]


def by_class(measure: Callable[[Sequence[str]], pl.Expr]) -> dict[str, str | pl.Expr]:
    return {
        f"p = {p}, q = {q}": measure(classes_of(p, kinds))
        for p in (1, 0)
        for q, kinds in ((0, Q0), (1, Q1))
    }


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


CQ = pl.col("discipline") == "CQ-AQM"
P1 = loss_of(classes_of(1, (*Q0, *Q1)))


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


def gap_tables(data: Data) -> list[Table]:
    rows = [
        [
            rto,
            acks,
            f"{load:.0f} %",
            data.interval("gaps", "efficiency", at),
            data.interval("gaps", "classes.tcp-p1.gain", at),
            data.interval("gaps", "classes.tcp-p0.gain", at),
            data.interval("gaps", P1, at, scale=100),
        ]
        for rto, acks in (("200ms", 1), ("1s", 1), ("1s", 2))
        for pair, load in ((PAIRS[0], LOADS[0]), (PAIRS[3], LOADS[3]), (PAIRS[5], LOADS[5]))
        for at in [{"tcp.min_rto": rto, "tcp.delayed_ack_count": acks, **mixed_at(pair, "CQ-AQM")}]
    ]
    columns = ["least RTO", "segments an ACK", "background", "efficiency", "gain of p = 1"]
    return [Table([*columns, "gain of p = 0", "loss of p = 1, %"], rows)]


def b_high_tables(data: Data) -> list[Table]:
    rows = [
        [
            label,
            f"{load:.0f} %",
            total(
                data,
                "b-high",
                ["classes.voice-p1.dropped"],
                (pl.col("discipline") == label)
                & (pl.col("traffic.voice-p0.flows") == json.loads(pair)[0]),
            ).mean,
            data.interval("b-high", "classes.voice-p0.loss", at, scale=100),
            data.interval("b-high", "classes.tcp-p1.gain", at),
            data.interval("b-high", "efficiency", at),
        ]
        for label in ("8", "10", "20", "50")
        for pair, load in ((PAIRS[0], LOADS[0]), (PAIRS[3], LOADS[3]), (PAIRS[5], LOADS[5]))
        for at in [mixed_at(pair, label)]
    ]
    columns = ["B_high", "background", "voice p = 1 lost, packets", "voice p = 0 lost, %"]
    return [Table([*columns, "gain of TCP, p = 1", "efficiency"], rows)]


PAPER = Paper(
    title="Cross-queue active queue management (CQ-AQM)",
    citation="*Precedence and preemption by cross-queue AQM, for TCP and mixed traffic*: see the "
    "specification of the discipline, `forebay kinds cq-aqm`.",
    setup="""\
One line of 1.5 Mb/s, 375 packets of 500 B a second, 15 ms each way; acknowledgments are only
delayed. TCP alone (figures 2 to 5): 5 to 10 endless flows in one queue of 50 packets, one flow
p = 1. Mixed (figures 6 to 9): 5 TCP flows and 5 to 10 pairs of voice (G.729a: 68 B every 20 ms, on
200 ms, off 133 ms, 2.0 kB/s) and bursty data (two-state chain, 18.6 kB/s); voice is q = 1, one flow
of each kind p = 1. Delay is counted in the scheduler, transmission included, propagation not; loss
is discarded of offered packets; throughput is what was acknowledged, in packets.

What the paper leaves open, and what is taken:

- B_high: 10 packets (below: it decides nothing).
- TCP: the paper's source is that of Fall and Floyd, ns's Sack1, so the preset `ns-2`: SACK, a least
  retransmission timeout of 200 ms, no delayed acknowledgments (below: other values).
- Bursty data: intervals are exponential within each state, which gives the stated coefficient of
  variation (3.85; constant ones 2.6). At the stated probabilities the rate is 18.6 kB/s and not
  20, so that the background is 55 to 110 % of the line and not 60 to 120 %.
- Length and number of runs.
- What *no preemption* is at q = 1: tail drop at B_high.""",
    statistics="The paper does not say how long or how often it ran. Here every point has "
    "30 (TCP alone), 20 (mixed) or 6 (gaps) runs of 320 s, of which 20 s are not measured, all "
    "variants with the same seeds; intervals are Student's at 95 %, differences paired run by run.",
    studies=(
        Study("tcp", "tcp-only-study.toml", Quick(3, set={"duration": "80s"})),
        Study("mixed", "mixed-study.toml", Quick(3, set={"duration": "80s"})),
        Study("b-high", "b-high.toml", Quick(2, set={"duration": "60s"})),
        Study("gaps", "tcp-gaps.toml", Quick(2, set={"duration": "60s"})),
        Study("low-threshold", "low-threshold.toml", Quick(2, set={"duration": "60s"})),
    ),
    figures=(
        Figure("2", "Impact of CQ-AQM on TCP throughput", figure_2, ("tcp",)),
        Figure("3", "Impact of CQ-AQM on TCP loss", figure_3, ("tcp",)),
        Figure("4", "Impact of CQ-AQM on TCP delay", figure_4, ("tcp",)),
        Figure("5", "Impact of CQ-AQM on TCP gain and system efficiency", figure_5, ("tcp",)),
        Figure("6", "Impact of CQ-AQM on TCP throughput in mixed traffic", figure_6, ("mixed",)),
        Figure("7", "Impact of CQ-AQM on delay in mixed traffic", figure_7, ("mixed",)),
        Figure("8", "Impact of CQ-AQM on loss in mixed traffic", figure_8, ("mixed",)),
        Figure(
            "9",
            "Impact of CQ-AQM on TCP gain and system efficiency in mixed traffic",
            figure_9,
            ("mixed",),
        ),
    ),
    claims=(
        Claim(
            "CQ-1",
            "Without preemption there is no loss for 7 or fewer flows; loss for 8 or more grows "
            "with their number, alike for both precedences.",
            cq_1,
            ("tcp",),
        ),
        Claim(
            "CQ-2",
            "With CQ-AQM the p = 1 flow loses nothing; all losses are incurred by p = 0.",
            cq_2,
            ("tcp",),
        ),
        Claim(
            "CQ-3",
            "p = 1 throughput is a fixed value of roughly 60 packets/s independent of the number "
            "of flows, T = W / RT.",
            cq_3,
            ("tcp",),
        ),
        Claim(
            "CQ-4",
            "p = 0 throughput decreases as flows are added; the line is used close to 100 %.",
            cq_4,
            ("tcp",),
        ),
        Claim(
            "CQ-5",
            "Delays initially increase with the number of flows; a plateau in excess of 8.",
            cq_5,
            ("tcp",),
        ),
        Claim(
            "CQ-6",
            "Gain is above 1 for p = 1 and below for p = 0; efficiency is near unity, and slightly "
            "better at T_local = 40 than at 35.",
            cq_6,
            ("tcp",),
            reason=cq_6_reason,
        ),
        Claim(
            "CQ-7",
            "Mixed: with CQ-AQM the loss of p = 1 is zero at all loads, that of p = 0 worse.",
            cq_7,
            ("mixed",),
            cq_7_reason,
        ),
        Claim(
            "CQ-8",
            "Mixed: p = 1 TCP throughput is relatively flat up to around 90 % background and then "
            "decreases slightly; p = 0 roughly tracks no preemption.",
            cq_8,
            ("mixed", "low-threshold"),
            cq_8_reason,
        ),
        Claim("CQ-9", "Mixed: delays are worse without preemption.", cq_9, ("mixed",)),
        Claim(
            "CQ-10",
            "Mixed: gain is above 1 for p = 1 and below for p = 0; efficiency decreases as the "
            "load increases.",
            cq_10,
            ("mixed", "gaps"),
            cq_10_reason,
        ),
    ),
    sections=(
        Section(
            "B_high",
            "The size of the high queue, which the paper does not give. Voice of p = 1 loses "
            "nothing at any size, and TCP does not notice: the high queue is nearly always empty, "
            "as voice is a tenth of the background.",
            b_high_tables,
            ("b-high",),
        ),
        Section(
            "Details of TCP",
            "With a least retransmission timeout of 1 s the gain of p = 0 is below 1 from 88 % on, "
            "as the paper says; at 55 % it is not, and efficiency rises with the load all the "
            "same.",
            gap_tables,
            ("gaps",),
        ),
    ),
)
