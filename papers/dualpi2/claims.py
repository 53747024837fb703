"""What the authors say of DualPI2: their overload experiments, their abstract, and RFC 9332."""

from __future__ import annotations

import math

from forebay.papers import Claim, Conclusion, Data, Part, exactly

from .points import (
    HEADLINE,
    NEAR,
    OVERLOAD,
    TEXT,
    headline,
    near,
    queueing,
    row,
    run_rows,
    settings,
)

SHARE = 0.9
"""How many rows are to be near."""
LOADED = (20, 50, 75)
"""Loads at which the delays of all three kinds of datagrams were published."""


def named(rate: int, rtt: int, short: bool) -> str:
    """A setting in words."""
    return f"{rate} Mbit/s, {rtt} ms{', short ones beside' if short else ''}"


def rows(data: Data) -> list[Part]:
    every = run_rows(data)
    parts = []
    for loads, words in (((10, 20), "10 and 20"), ((50, 75), "50 and 75"), ((100,), "100")):
        some = [each for each in every if each.load in loads]
        if some:
            found = sum(each in near(data) for each in some)
            what = f"rows with both throughputs within {NEAR:.0f} %, {words} Mbit/s, of {len(some)}"
            parts.append(Part(what, "nine of ten", exactly(found), math.ceil(SHARE * len(some))))
    return parts


def no_benefit(data: Data) -> list[Part]:
    """What datagrams with ECT(1) deliver over those that are not ECN-capable, with equal seeds."""
    parts = []
    for protection in (0, 10, 25):
        for load in (50, 75, 100):
            here, other = (row(protection, each, load).where for each in ("ect1", "not-ect"))
            key = "classes.udp.goodput_bps"
            one = data.interval(OVERLOAD, key, here)
            plain = data.interval(OVERLOAD, key, other)
            ratio = exactly(one.mean / plain.mean)
            what = f"ECT(1) over Not-ECT, {load} Mbit/s, {protection} % for classic packets"
            parts.append(Part(what, "no significant benefit", ratio, 0.95, 1.05))
    return parts


def no_bonus(data: Data) -> list[Part]:
    parts = []
    for protection in (10, 25):
        here = row(protection, "ect1", 100)
        found = here.waits(data)
        what = f"Prague waits, {protection} % for classic packets, ms"
        parts.append(Part(what, "no latency bonus", found, 10, 20, stated=here.delay))
    return parts


def below(data: Data) -> list[Part]:
    """What Prague waits at loads below the capacity."""
    parts = []
    for protection in (0, 10):
        for load in LOADED:
            here = row(protection, "ect1", load)
            what = f"Prague waits beside ECT(1), {load} Mbit/s, {protection} % for classic, ms"
            parts.append(Part(what, "under a millisecond", here.waits(data), 0, 1,
                              stated=here.delay))  # fmt: skip
    return parts


def starved(data: Data) -> list[Part]:
    here = row(25, "ect1", 75)
    prague, cubic = here.found(data)
    return [
        Part("Prague, Mbit/s", "starves", prague, 0, 5, stated=here.prague),
        Part("CUBIC, Mbit/s", "keeps a quarter", cubic, 20, 25, stated=here.cubic),
    ]


def median(data: Data) -> list[Part]:
    return [
        Part(f"median, {named(*each)}, ms", "100 to 300 us",
             queueing(data, "p50", headline(*each), *each[:2]), 0.1, 0.3)
        for each in settings(data)
    ]  # fmt: skip


def tail(data: Data) -> list[Part]:
    return [
        Part(f"99th percentile, {named(*each)}, ms", "below 2 ms",
             queueing(data, "p99", headline(*each), *each[:2]), high=2)
        for each in settings(data)
    ]  # fmt: skip


def average(data: Data) -> list[Part]:
    parts = []
    for each in settings(data):
        found = data.interval(HEADLINE, "classes.prague.mean_wait_ms", headline(*each))
        parts.append(Part(f"mean, {named(*each)}, ms", "below 1 ms", found, high=1))
    return parts


def no_loss(data: Data) -> list[Part]:
    runs = data.study(HEADLINE).runs
    lost = sum(float(runs[f"classes.{name}.dropped"].sum()) for name in ("prague", "short-prague"))
    return [Part("packets with ECT(1) dropped, in all runs", "zero", exactly(lost), 0, 0)]


def used(data: Data) -> list[Part]:
    return [
        Part(f"capacity used, {named(*each)}, %", "close to full",
             data.interval(HEADLINE, "links.bottleneck.utilization", headline(*each), scale=100),
             95)
        for each in settings(data)
    ]  # fmt: skip


def words(name: str) -> str:
    """Why a claim differs, if the page says so."""
    return TEXT.get(f"why {name}", "")


def claim(name: str, text: str, judge: object, study: str) -> Claim:
    """A claim with its explanation."""
    return Claim(name, text, judge, (study,), words(name))  # type: ignore[arg-type]


CLAIMS = (
    claim("DP-1", "The overload experiments: what Prague and CUBIC deliver, in 45 rows.", rows,
          OVERLOAD),
    claim("DP-2", '"There is no significant benefit whether the non-responsive UDP flow marks ECT '
          'or not-ECT."', no_benefit, OVERLOAD),
    claim("DP-3", '"L4S marked non-responsive flows even don\'t get a latency bonus under overload '
          '(sending >95% of the link capacity)."', no_bonus, OVERLOAD),
    claim("DP-4", "Below it, Prague waits less than a millisecond.", below, OVERLOAD),
    claim("DP-5", "With a quarter of the link for classic packets, datagrams that fill the rest "
          "starve Prague.", starved, OVERLOAD),
    claim("DP-6", '"Queue delay remained both low (median 100-300 us)..."', median, HEADLINE),
    claim("DP-7", '"... and consistent (99th percentile below 2 ms even under highly dynamic '
          'workloads)..."', tail, HEADLINE),
    claim("DP-8", '"... without compromising other metrics (zero congestion loss..."', no_loss,
          HEADLINE),
    claim("DP-9", '"... and close to full utilization)."', used, HEADLINE),
    claim("DP-10", '"For every L4S packet, the AQM kept the average queuing delay below 1 ms" '
          "(RFC 9332, section 1.4).", average, HEADLINE),
)  # fmt: skip
CONCLUSIONS = (
    Conclusion("Datagrams with ECT(1) gain nothing by it.", no_benefit, (OVERLOAD,)),
    Conclusion("Prague's packets wait less than a millisecond on the average, over all rates and "
               "round-trip times.", average, (HEADLINE,)),
)  # fmt: skip
