"""CQ-AQM: figures 2 to 9 and claims CQ-1 to CQ-10."""

from __future__ import annotations

import json

import polars as pl

from forebay.papers import (
    Claim,
    Data,
    Figure,
    Paper,
    Quick,
    Section,
    StudyFile,
    Table,
)
from forebay.papers.points import total

from .mixed import (
    cq_7,
    cq_7_reason,
    cq_8,
    cq_8_reason,
    cq_9,
    cq_10,
    cq_10_reason,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
)
from .points import LOADS, P1, PAIRS, mixed_at
from .tcp import (
    cq_1,
    cq_2,
    cq_3,
    cq_4,
    cq_5,
    cq_6,
    cq_6_reason,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
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
        StudyFile("tcp", "tcp-only-study.toml", Quick(3, set={"duration": "80s"})),
        StudyFile("mixed", "mixed-study.toml", Quick(3, set={"duration": "80s"})),
        StudyFile("b-high", "b-high.toml", Quick(2, set={"duration": "60s"})),
        StudyFile("gaps", "tcp-gaps.toml", Quick(2, set={"duration": "60s"})),
        StudyFile("low-threshold", "low-threshold.toml", Quick(2, set={"duration": "60s"})),
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
