"""The numbers that decide CQ-1 to CQ-12, and the range that the paper's words allow each.

Every claim about a figure is a function of a `View`, so that it can also be judged under another
choice of what the paper leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from forebay.papers import Data, Part, exactly
from forebay.papers.points import loss_of, mean, mean_over, ratios, surely, total
from forebay.stats import Interval, proportion

from .points import (
    ALL_DELIVERED,
    HIGH,
    LOW,
    NONE,
    P0_PPS,
    P1_PPS,
    Q0,
    TCP1_PPS,
    TCP_DELIVERED,
    WINDOW,
    View,
    load,
    of_p,
    queueing,
)

BOTH = ("p1", "p0")
CROWDED = [(variant, n) for variant in (LOW, HIGH) for n in (8, 9, 10)]


def runs_of(view: View, variant: str, steps: Sequence[int]) -> pl.Expr:
    """Runs of a variant at some steps."""
    keep = (pl.col("discipline") == variant) & (pl.col(view.column) + 1).is_in(steps)
    if view.choice is None:
        return keep
    return keep & pl.col("title").eq(view.at(steps[0], variant)["title"])


def dropped(view: View, classes: Sequence[str], variant: str, steps: Sequence[int]) -> Interval:
    """Packets of some classes lost in all runs."""
    keys = [f"classes.{each}.dropped" for each in classes]
    return total(view.data, view.study, keys, runs_of(view, variant, steps))


def cq_1(view: View) -> list[Part]:
    few = [step for step in view.steps if step < 8]
    both = loss_of(BOTH)
    parts = [
        Part(
            f"packets of p = {p} lost at 5 to 7 flows, all runs",
            "no packet loss for 7 or less",
            dropped(view, [f"p{p}"], NONE, few),
            0,
            0,
            stated=0,
        )
        for p in (1, 0)
    ]
    parts.append(
        Part(
            "loss at 8 flows",
            "packet loss for 8 or more",
            view.interval(both, 8, NONE, 100),
            1e-9,
            unit="%",
        )
    )
    return parts + [
        Part(
            f"loss at {n} flows minus that at {n - 1}",
            "increase as the number of flows increase",
            view.less(both, (n, NONE), (n - 1, NONE), 100),
            0,
            unit="percentage points",
        )
        for n in (9, 10)
    ]


def unlike(data: Data) -> Interval:
    """Loss of the p = 1 flow less the mean of the others', flow by flow, mean of 8 to 10 flows."""
    loss = 100 * pl.col("loss")
    means = (
        data.table("equal-loss", "flows")
        .group_by("others", "replication")
        .agg(
            apart=loss.filter(pl.col("class") == "p1").mean()
            - loss.filter(pl.col("class") == "p0").mean()
        )
    )
    return mean(means.group_by("replication").agg(pl.col("apart").mean())["apart"].to_list())


def alike(data: Data) -> list[Part]:
    suffers = [
        data.interval("equal-loss", "classes.p1.loss", {"others": n}, scale=100) for n in (7, 8, 9)
    ]
    what = "numbers of flows, of 3 (8 to 10), at which the p = 1 flow loses"
    parts = [Part(what, "both suffer packet losses", surely(suffers), 3, 3)]
    apart = Part(
        "loss of the p = 1 flow minus the mean loss of a p = 0 flow, 8 to 10 flows",
        "one plot for both: within half a percentage point",
        unlike(data),
        -0.5,
        0.5,
        "percentage points",
    )
    return [*parts, apart]


def cq_2(view: View) -> list[Part]:
    parts = [
        Part(
            f"packets of p = 1 lost with {variant}, all runs",
            "no longer suffer packet losses",
            dropped(view, ["p1"], variant, view.steps),
            0,
            0,
            stated=0,
        )
        for variant in (LOW, HIGH)
    ]
    found = surely([view.interval("classes.p0.loss", n, each) for each, n in CROWDED])
    what = "loss of p = 0: settings, of 6 (35/45 and 40/45, 8 to 10 flows), at which there is some"
    return [*parts, Part(what, "all the losses are incurred by p = 0", found, 6, 6)]


def cq_3(view: View) -> list[Part]:
    parts = []
    trip = 1000 * WINDOW / (queueing(["p1"]) + 30.0)
    for variant in (LOW, HIGH):
        parts += [
            Part(
                f"p = 1 throughput at {n} flows, {variant}",
                "roughly 60 packets/s: 50 to 70",
                view.interval(P1_PPS, n, variant),
                50,
                70,
                "packets/s",
                stated=60,
            )
            for n in (8, 10)
        ]
        parts += [
            Part(
                f"throughput at 10 flows minus that at 8, {variant}",
                "independent of the number of flows: within 3 packets/s",
                view.less(P1_PPS, (10, variant), (8, variant)),
                -3,
                3,
                "packets/s",
            ),
            Part(
                f"throughput, times W / RT, 10 flows, {variant}",
                "T = W / RT: within 3 %",
                view.interval(P1_PPS / trip, 10, variant),
                0.97,
                1.03,
            ),
        ]
    return parts


def cq_4(view: View) -> list[Part]:
    used = [
        view.interval("links.line.utilization", step, variant, 100)
        for step in view.steps
        for variant in NAMES
    ]
    least = min(used, key=lambda found: found.mean)
    line = Part(
        "line used, least of all", "close to 100 %: at least 97 %", least, 97, unit="%", stated=100
    )
    return [line] + [
        Part(
            f"p = 0 throughput, {name}: flows added, of 5, with which it falls",
            "continuously decrease",
            surely(
                [view.less(P0_PPS, (b, variant), (a, variant)) for a, b in pairwise(view.steps)], -1
            ),
            5,
            5,
        )
        for variant, name in NAMES.items()
    ]


NAMES = {NONE: "no preemption", LOW: LOW, HIGH: HIGH}


def cq_5(view: View) -> list[Part]:
    both = queueing(BOTH)
    parts = []
    for variant, name in NAMES.items():
        parts += [
            Part(
                f"delay at 7 flows minus that at 5, {name}",
                "initially increase",
                view.less(both, (7, variant), (5, variant)),
                0,
                unit="ms",
            ),
            Part(
                f"delay at 10 flows minus that at 8, {name}",
                "a plateau in excess of 8: within 5 ms, a twentieth",
                view.less(both, (10, variant), (8, variant)),
                -5,
                5,
                "ms",
            ),
        ]
    return parts


def cq_6(view: View) -> list[Part]:
    parts = []
    for p, word, sign in ((1, "above", 1), (0, "below", -1)):
        gain = pl.col(f"classes.p{p}.gain") - 1
        found = surely([view.interval(gain, n, each) for each, n in CROWDED], sign)
        what = f"gain of p = {p}: of 6 (35/45 and 40/45, 8 to 10 flows), those {word} 1"
        parts.append(Part(what, f"{word} unity", found, 6, 6))
    for variant in (LOW, HIGH):
        near = mean_over(view.data, view.study, pl.col("efficiency"), crowded(view, variant))
        what = f"efficiency, mean of 6 to 10 flows, {variant}"
        parts.append(Part(what, "near unity: 0.95 to 1.05", near, 0.95, 1.05))
    what = "efficiency of 40/45 minus that of 35/45, mean of 6 to 10 flows"
    words = "a slight improvement, which a figure shows: 0.001 or more"
    return [*parts, Part(what, words, better(view, pl.col("efficiency")), 0.001)]


def crowded(view: View, *variants: str) -> pl.Expr:
    """Runs of 6 to 10 flows."""
    keep = pl.col("discipline").is_in(variants) & (pl.col(view.column) >= 5)
    return keep if view.choice is None else keep & (pl.col("title") == view.choice)


def better(view: View, key: pl.Expr) -> Interval | None:
    """A measure with 40/45 less that with 35/45, mean of 6 to 10 flows."""
    sign = pl.when(pl.col("discipline") == HIGH).then(2.0).otherwise(-2.0)
    return mean_over(view.data, view.study, sign * key, crowded(view, LOW, HIGH))


def worse(view: View) -> Part:
    """CQ-7's second half."""
    p0 = loss_of(of_p(0))
    found = [view.less(p0, (step, view.preemptive[0]), (step, NONE)) for step in view.steps]
    of = len(view.steps)
    what = f"loads, of {of}, at which p = 0 loses more than without preemption"
    return Part(what, "becomes worse", surely(found), of, of)


def lossless(view: View) -> list[bool]:
    """Of each series of loads with one seed: whether no packet of p = 1 is lost."""
    runs = view.data.runs(view.study).filter(discipline=view.preemptive[0])
    if view.choice is not None:
        runs = runs.filter(title=view.at(view.steps[0], view.preemptive[0])["title"])
    lost = pl.sum_horizontal(f"classes.{each}.dropped" for each in of_p(1))
    series = runs.group_by("replication").agg(lost.sum().alias("lost"))
    return [each == 0 for each in series["lost"]]


def per_million(view: View) -> Part:
    """Packets of p = 1 lost, of all classes and runs."""
    variant = view.preemptive[0]
    keep = runs_of(view, variant, view.steps)
    lost, offered = (
        total(view.data, view.study, [f"classes.{each}.{what}" for each in of_p(1)], keep).mean
        for what in ("dropped", "offered")
    )
    return Part(
        "packets of p = 1 lost in a million, mixed traffic, all runs",
        "zero on a figure: at most 100",
        exactly(1e6 * lost / offered),
        high=100,
        stated=0,
    )


def cq_7(view: View) -> list[Part]:
    series = Part(
        "series of loads, one run each, that lose no packet of p = 1",
        "zero for all load cases: so most series",
        proportion(lossless(view)),
        50,
        unit="%",
    )
    return [per_million(view), series, worse(view)]


def cq_8(view: View) -> list[Part]:
    first, last = view.steps[0], view.steps[-1]
    variant = view.preemptive[0]
    gains = [view.interval("classes.tcp-p0.gain", step, variant) for step in view.steps]
    within = sum((each.low or 0) >= 0.75 and (each.high or 9) <= 1.25 for each in gains)
    return [
        Part(
            f"p = 1 throughput at {load(8):.0f} % background, times that at {load(first):.0f} %",
            "relatively flat up to around 90 %: at least 0.9",
            view.times(TCP1_PPS, (8, variant), (first, variant)),
            0.9,
        ),
        Part(
            f"p = 1 throughput at {load(last):.0f} % background, times that at {load(8):.0f} %",
            "then begins to decrease slightly: 0.8 to 1",
            view.times(TCP1_PPS, (last, variant), (8, variant)),
            0.8,
            1.0,
        ),
        Part(
            f"loads, of {len(gains)}, at which p = 0 has 0.75 to 1.25 of its throughput without",
            "roughly tracks no preemption",
            exactly(within),
            len(gains),
            len(gains),
        ),
    ]


def cq_9(view: View) -> list[Part]:
    of = len(view.steps)
    return [
        Part(
            f"loads, of {of}, at which p = {p} waits longer in the low queue without preemption",
            "worse for the case of no preemption",
            surely(
                [
                    view.less(queueing(of_p(p, Q0)), (step, NONE), (step, view.preemptive[0]))
                    for step in view.steps
                ]
            ),
            of,
            of,
        )
        for p in (1, 0)
    ]


def falls(view: View) -> Part:
    """Whether section IV's efficiency is lower at the highest load than at the lowest."""
    first, last, variant = view.steps[0], view.steps[-1], view.preemptive[0]
    found = view.less("efficiency", (last, variant), (first, variant))
    return Part(ENDS.format(load(last), load(first)), DECREASES, found, high=0)


ENDS = "efficiency at {:.0f} % background minus that at {:.0f} %"
DECREASES = "as the load increases the overall system efficiency decreases"


def cq_10(view: View) -> list[Part]:
    parts = []
    of = len(view.steps)
    for p, word, sign in ((1, "above", 1), (0, "below", -1)):
        gain = pl.col(f"classes.tcp-p{p}.gain") - 1
        found = [view.interval(gain, step, view.preemptive[0]) for step in view.steps]
        what = f"loads, of {of}, at which the gain of p = {p} is {word} 1"
        parts.append(Part(what, f"{word} unity", surely(found, sign), of, of))
    return [*parts, falls(view)]


def lost_for_others(view: View) -> Part:
    """The same of section I's."""
    first, last, variant = view.steps[0], view.steps[-1], view.preemptive[0]
    before, after = (
        ratios(view.data, view.study, ALL_DELIVERED, view.at(step, variant), view.at(step, NONE))
        for step in (first, last)
    )
    found = mean([b - a for a, b in zip(before, after, strict=True)])
    return Part(f"section I's {ENDS.format(load(last), load(first))}", DECREASES, found, high=0)


def tcp_saved(view: View) -> Part:
    """Section I's efficiency of TCP alone: 40 above 35."""
    found = [view.less(TCP_DELIVERED, (n, HIGH), (n, LOW), 100) for n in view.steps if n > 5]
    what = "numbers of flows, of 5, at which 40/45 delivers more of what is offered than 35/45"
    return Part(what, "a slight improvement", surely(found), 5, 5)


def cq_11(data: Data) -> list[Part]:
    bits = {
        kind: data.interval("background", f"classes.{kind}-p1.sent_bps", scale=1 / 8000)
        for kind in ("voice", "bursty")
    }
    alone = data.interval("background", loss_of([*of_p(1), *of_p(0)]), scale=100)
    parts = [
        Part(f"{name}, sent", f"{word} {stated:g} kB/s: within 10 %", bits[name],
             0.9 * stated, 1.1 * stated, "kB/s", stated=stated)
        for name, word, stated in (("voice", "approximately", 2.0), ("bursty", "roughly", 20.0))
    ]  # fmt: skip
    parts += [
        Part(f"background of {k} pairs", f"{word} {stated} %: within 10 %", exactly(load(k)),
             0.9 * stated, 1.1 * stated, "%", stated=stated)
        for k, word, stated in ((5, "a low of approximately", 60), (10, "a high of roughly", 120))
    ]  # fmt: skip
    return [
        *parts,
        Part(
            "coefficient of variation of bursty data's intervals, calculated",
            "4.0: within 10 %",
            exactly(variation()),
            3.6,
            4.4,
            stated=4.0,
        ),
        Part(
            "background of 5 pairs alone, buffer of 750: packets lost",
            "target of one in a thousand at around 60 %: within a factor of 2",
            alone,
            0.05,
            0.2,
            "%",
            stated=0.1,
        ),
    ]


def variation() -> float:
    """Of intervals that are exponential within each state of the chain."""
    bursty = 0.091 / (0.011 + 0.091)
    means = ((bursty, 460e-6), (1 - bursty, 46e-3))
    mean = sum(share * time for share, time in means)
    square = sum(share * 2 * time**2 for share, time in means)
    return math.sqrt(square / mean**2 - 1)
