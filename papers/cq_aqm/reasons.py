"""Why claims differ, each by the run that shows it."""

from __future__ import annotations

import polars as pl

from forebay.papers import Data

from .parts import better
from .points import CQ, HIGH, LOW, NONE, TCP1_DELAY, TCP1_PPS, load, mixed, tcp


def why_6(data: Data) -> str:
    view = tcp(data)
    used = ", ".join(
        f"{view.interval('links.line.utilization', 10, each, 100).mean:.3f} % with {each}"
        for each in (NONE, LOW, HIGH)
    )
    rows = [better(tcp(data, "tcp-choices").of(each), pl.col("efficiency")) for each in TITLES]
    most = max(abs(each.mean) for each in rows if each is not None)
    return (
        f"By section IV, efficiency is mean throughput, and the line is full ({used}, 10 flows). "
        "What one flow loses, another gets, so the efficiency is 1 with every setting. No choice "
        f"makes 40/45 differ from 35/45 by more than {most:.0e} (study `tcp-choices`). A figure "
        "can only show an improvement if 35/45 sometimes leaves the line idle. Eight packets a "
        "flow and 30 ms do not allow that. With the efficiency of section I (CQ-12), the order "
        "is that of the paper."
    )


TITLES = (
    "as taken",
    "the standards' SACK",
    "ns-2 from 2001 to 2004",
    "New Reno",
    "delayed acknowledgments",
    "30 ms each way",
    "starts within 15 s",
)


def why_8(data: Data) -> str:
    view, other = mixed(data), mixed(data, "mixed-choices")

    def flat(variant: str, choice: str = "as taken") -> float:
        return other.of(choice, variant).times(TCP1_PPS, (8, variant), (5, variant)).mean

    delay = [view.interval(TCP1_DELAY, step, CQ).mean for step in (5, 8)]
    rows = [flat(CQ, title) for title in (*TITLES[:5], TITLES[-1], "bursty data of 20 kB/s")]
    return (
        "The window limits the flow throughout: its throughput is W / RT, as the paper says. RT "
        f"depends on the low queue, which bursty data fill more and more: {delay[0]:.0f} ms at "
        f"{load(5):.0f} %, {delay[1]:.0f} ms at {load(8):.0f} %. No sender and no source changes "
        f"that ({min(rows):.2f} to {max(rows):.2f} in study `mixed-choices`). The threshold does: "
        f"the ratio is {flat('T_local 300'):.2f} with T_local = 300, {flat(CQ):.2f} with 500, and "
        f"{flat('T_local 650'):.2f} with 650. In the paper's figure 7, the p = 1 delay rises only "
        "beyond 90 %. The stated threshold of 500 packets does not give that."
    )


def why_10(data: Data) -> str:
    view, other = mixed(data), mixed(data, "mixed-choices")
    names = ("tcp-p1", "tcp-p0", "bursty-p1", "bursty-p0")
    moved = ", ".join(
        "{} {:.0f} to {:.0f}".format(
            name,
            *(
                view.interval(f"classes.{name}.goodput_bps", 10, each, 1e-3).mean
                for each in (NONE, CQ)
            ),
        )
        for name in names
    )
    gains = [
        [other.of(title).interval("classes.tcp-p0.gain", step, CQ).mean for step in (5, 8, 10)]
        for title in ("delayed acknowledgments", "ns-2 from 2001 to 2004")
    ]
    late, slow = (", ".join(f"{each:.2f}" for each in found) for found in gains)
    rises = [
        [other.of(title).interval("efficiency", step, CQ).mean for step in (5, 10)]
        for title in (*TITLES, "bursty data of 20 kB/s")
    ]
    return (
        "The gain of p = 0 depends on details of TCP that the paper does not give. With delayed "
        f"acknowledgments it is {late} at 55, 88 and 110 %, below 1 as the paper says. With a "
        f"minimum timeout of 1 s, the default of ns-2 until 2004, it is {slow} (study "
        "`mixed-choices`). The efficiency depends on no choice: it always rises with the load, "
        f"from {min((a for a, _ in rises)):.2f} to {max((a for a, _ in rises)):.2f} at 55 % to "
        f"{min((b for _, b in rises)):.2f} to {max((b for _, b in rises)):.2f} at 110 %. The line "
        "is full. Bursty data of p = 0, which do not back off, are denied entry from 500 packets "
        "on instead of 750, and TCP uses what they leave. In kb/s at 110 %, without and with "
        f"preemption: {moved}. By the words of section I, efficiency does fall (CQ-12)."
    )
