"""The numbers that decide NCQ-4 to NCQ-11, and the range that the paper's words allow each.

Scenario 1's are functions of a `View`, so that they can also be judged under another choice of what
the paper leaves open.
"""

from __future__ import annotations

import math

import polars as pl

from forebay.papers import Data, Part, exactly
from forebay.papers.points import change, mean
from forebay.stats import Interval, proportion

from .points import (
    ASI,
    BEST,
    CALLS,
    FEW,
    FTP,
    LARGE_GOODPUT,
    MANY,
    MEAN_TIME,
    PACKETS,
    RATING,
    ROUTERS,
    SENSORS,
    SMALL_GOODPUT,
    SMALL_TIME,
    STATED_GAIN,
    TAIL,
    WORST_TIME,
    SensorView,
    View,
    calls_at,
    choices,
    completed,
    cost_of,
    deployed,
    level,
    limited,
    potential,
    rated,
    share,
)


def ncq_4(view: View) -> list[Part]:
    return [
        Part(
            "goodput of small flows, 80 flows, NCQ 5 %, times drop-tail's",
            "significant gains, e.g. 10.43 times",
            view.ratio(SMALL_GOODPUT, "10 %", 80),
            2,
            stated=STATED_GAIN,
        ),
        Part(
            "goodput of congestive flows, 100 flows, NCQ 5 %, change",
            "not hurt, occasionally +7.6 %",
            view.change(LARGE_GOODPUT, "10 %", 100),
            -5,
            unit="%",
            stated=7.6,
        ),
        Part(
            "mean completion time of all, 80 flows, NCQ 5 % minus drop-tail",
            "a positive impact",
            view.less(MEAN_TIME, "10 %", 80),
            high=0,
            unit="s",
        ),
        Part(
            "worst completion time, 90 flows, NCQ 3 % minus drop-tail",
            "up to 24.8 s sooner",
            view.less(WORST_TIME, "10 %", 90, "NCQ 3 %"),
            high=0,
            unit="s",
            stated=-24.8,
        ),
    ]


def gains(data: Data) -> list[Interval]:
    """Gain of the small flows at 80 flows, under every start and timeout."""
    return [view.ratio(SMALL_GOODPUT, "10 %", 80) for view in choices(data, starts=True)]


def inside(data: Data) -> Part:
    """Whether the paper's gain lies among those that starts and timeouts give."""
    found = gains(data)
    below = sum(each.high is not None and each.high < STATED_GAIN for each in found)
    above = sum(each.low is not None and each.low > STATED_GAIN for each in found)
    what = (
        f"of {len(found)} starts and timeouts: the smaller of those with surely less and those "
        "with surely more gain"
    )
    return Part(what, "10.43 times lies among them", exactly(min(below, above)), 1)


def ncq_5(view: View) -> list[Part]:
    few, many = (view.ratio(SMALL_GOODPUT, kind, 80) for kind in ("10 %", "20 %"))
    width = math.hypot(few.half_width or math.inf, many.half_width or math.inf)
    return [
        Part(
            "gain of small flows' goodput at 80 flows: with 20 % of them minus with 10 %",
            "gradually decreasing",
            Interval(many.mean - few.mean, width, few.samples),
            high=0,
        ),
        Part(
            "mean completion time of small flows, 20 %, 80 flows, NCQ 5 %, times drop-tail's",
            "remains significant",
            view.ratio(SMALL_TIME, "20 %", 80),
            high=0.8,
        ),
    ]


def dearest(data: Data) -> tuple[int, Interval]:
    """The number of flows at which congestive flows lose most, NCQ 5 %, and their change."""
    runs = data.runs("ftp").filter(pl.col("title") == "10 %")
    flows = runs["traffic.congestive.flows"] + runs["traffic.small.flows"]
    found = [(n, View(data).change(LARGE_GOODPUT, "10 %", n)) for n in sorted(set(flows))]
    return min(found, key=lambda each: each[1].mean)


def unhurt(data: Data) -> Part:
    what = "goodput of congestive flows, NCQ 5 %, change, the worst number of flows"
    return Part(what, "insignificant", dearest(data)[1], -5, unit="%")


def more_done(data: Data) -> list[int]:
    """Tasks completed at 30.5 s with 50 flows, NCQ 1 % less drop-tail, run by run."""
    done = completed(data, 30.5)
    return [one - other for one, other in zip(done["NCQ 1 %"], done[TAIL], strict=True)]


def at_30(data: Data) -> list[Part]:
    return [
        Part(
            "tasks completed at 30.5 s, 50 flows, NCQ 1 % minus drop-tail",
            "on average more finish earlier, e.g. 10 against 7",
            mean(more_done(data)),
            0,
            stated=3,
        ),
        Part(
            "runs in which NCQ 1 % is ahead by 3 or more then",
            "one run: not rarer than one in forty",
            proportion([each >= 3 for each in more_done(data)]),
            2.5,
            unit="%",
        ),
    ]


def ncq_6(view: View) -> list[Part]:
    return [
        Part(
            "goodput of 100 kB flows, 80 flows, NCQ 5 %, change",
            "without noticeable impact",
            view.change(LARGE_GOODPUT, "short", 80),
            -5,
            unit="%",
        ),
        Part(
            "goodput of small flows beside them, times drop-tail's",
            "a significant improvement",
            view.ratio(SMALL_GOODPUT, "short", 80),
            1.3,
        ),
    ]


def ncq_7(view: SensorView) -> list[Part]:
    most = max((view.change(SENSORS, n) for n in view.flows), key=lambda each: each.mean)
    return [
        Part("goodput of the sensors, NCQ 5 %, largest change", "up to 92 %", most,
             50, 120, "%", stated=92),
        Part("goodput of the sensors, 50 flows, NCQ 5 %, change", "significant",
             view.change(SENSORS, 50), 5, unit="%"),
        Part("energy potential of the sensors, 50 flows, NCQ 5 % minus drop-tail", "gains",
             view.less(potential(), 50), 0),
        Part("ASI of the system, flow by flow, 50 flows, NCQ 5 % minus drop-tail",
             "appears fair: no lower", view.less("system.asi_by_flow", 50), 0),
        Part("goodput of FTP, 50 flows, NCQ 5 %, change", "no important loss",
             view.change(FTP, 50), -2, 2, "%"),
        Part("goodput of the sensors, 50 flows, NCQ 5 % against NCQ 1 %, change",
             "the value does not impact the results",
             view.change(SENSORS, 50, BEST, "NCQ 1 %"), -3, 3, "%"),
    ]  # fmt: skip


def call_change(data: Data, kind: str, key: str, n: int) -> Interval:
    return change(data, "calls", key, calls_at(kind, n, "NCQ 1 %"), calls_at(kind, n, TAIL))


def call_less(data: Data, kind: str, key: str, n: int) -> Interval:
    one, other = calls_at(kind, n, "NCQ 1 %"), calls_at(kind, n, TAIL)
    return data.difference("calls", key, one, other)


def ncq_8(data: Data) -> list[Part]:
    r = {label: data.interval("calls", RATING, calls_at(MANY, 50, label)) for label in LABELS}
    calls = zip(*(rated(data, 50, label) for label in LABELS), strict=True)
    steps = [level(b) - level(a) for a, b in calls if a is not None and b is not None]
    better, worse = sum(each > 0 for each in steps), sum(each < 0 for each in steps)
    poor = proportion([each < 60 for each in rated(data, 90, "NCQ 1 %") if each is not None])
    return [
        Part("R-factor of 50 calls beside 50 flows, drop-tail", "poor", r[TAIL],
             50, 60),
        Part("R-factor of 50 calls beside 50 flows, NCQ 1 %", "medium", r["NCQ 1 %"],
             70, 80),
        Part("calls of the 50 rated better with NCQ 1 % minus those rated worse, all runs",
             "more calls are rated better", exactly(better - worse), 1),
        Part("of 90 calls with NCQ 1 %, those rated poor or worse", "several are rated poor",
             poor, 1, unit="%"),
        Part("goodput of 50 calls beside 50 flows, change (figure 16)",
             "significant performance gains", call_change(data, MANY, CALLS, 50),
             5, unit="%"),
        Part("ASI of the calls, flow by flow, NCQ 1 % minus drop-tail (figure 16)", "is improved",
             call_less(data, MANY, ASI, 50), 0),
        Part("goodput of FTP, 50 and 50, change (figure 16)", "not degraded",
             call_change(data, MANY, FTP, 50), -2, unit="%"),
        Part("R-factor of 5 calls beside 45 flows, NCQ 1 % minus drop-tail",
             "a significant improvement", call_less(data, FEW, RATING, 50), 0),
    ]  # fmt: skip


LABELS = (TAIL, "NCQ 1 %")


def gained(data: Data, routers: int, key: str) -> list[float]:
    found: list[float] = deployed(data).filter(routers=ROUTERS[routers])[key].to_list()
    return found


def ncq_9(data: Data) -> list[Part]:
    ftp = min((mean(gained(data, n, "ftp")) for n in range(1, 5)), key=lambda each: each.mean)
    return [
        Part("goodput of FTP, any number of routers, largest mean loss",
             "only a minor impact", ftp, -5, 5, "%"),
        Part("runs with more than 100 % of goodput gained, 4 routers", "38 %",
             share(gained(data, 4, "calls"), 100), 20, 55, "%", stated=38),
        Part("runs whose R-factor gains up to 50 %, 3 routers", "88 %",
             share(gained(data, 3, "r"), 0, 50), 70, unit="%", stated=88),
        Part("runs whose ASI gains, flow by flow, 3 routers", "82 %",
             share(gained(data, 3, "asi"), 0), 65, unit="%", stated=82),
    ]  # fmt: skip


def attacked(name: str, label: str) -> dict[str, str]:
    return {"title": name, "discipline": label}


def ncq_10(data: Data) -> list[Part]:
    def less(name: str) -> Interval:
        one, other = attacked(name, "NCQ"), attacked(name, TAIL)
        return data.difference("attacks", RATING, one, other)

    gamer = "classes.gamer.goodput_bps"
    split, whole = attacked("a split", "NCQ"), attacked("none", "NCQ")
    return [
        Part("goodput of a bulk sender that splits its data minus that without splitting, NCQ 5 %",
             "the overhead is not counterbalanced by the gains",
             data.difference("attacks", gamer, split, whole, scale=1e-3), high=0, unit="kb/s"),
        Part("R of calls, 10 Mbit/s of small packets, NCQ 5 % minus drop-tail",
             "would disable the extra prioritization", less(SMALL_FLOOD),
             -2),
        Part("R of calls, 10 Mbit/s of large packets, NCQ 5 %",
             "many would not suffer",
             data.interval("attacks", RATING, attacked(LARGE_FLOOD, "NCQ")), 70),
        Part("R of calls, 10 Mbit/s of large packets, NCQ 5 % minus drop-tail", "gains",
             less(LARGE_FLOOD), 0),
    ]  # fmt: skip


SMALL_FLOOD, LARGE_FLOOD = "10 Mbit/s, small", "10 Mbit/s, large"


SPURIOUS = 100 * (
    (pl.col("classes.small.retransmissions") - pl.col("classes.small.dropped"))
    / pl.col("classes.small.offered")
)
"""Packets sent again that had not been lost, of those sent, %."""


def ncq_11(data: Data) -> list[Part]:
    short, long = cost_of(data, PACKETS[0]), cost_of(data, PACKETS[-1])
    width = math.hypot(short.half_width or math.inf, long.half_width or math.inf)
    extra = data.difference("limit", SPURIOUS, limited("120B", BEST), limited("120B", TAIL))
    return [
        Part("goodput of congestive flows, small packets of 120 B, change",
             "not significant up to 130 B", short, -5, unit="%"),
        Part("the same with 1040 B minus that with 120 B",
             "the cost starts to be significant",
             Interval(long.mean - short.mean, width, long.samples), high=0, unit="points"),
        Part("packets of small flows sent again without a loss, NCQ 5 % minus drop-tail",
             "not significant", extra, high=1, unit="%"),
    ]  # fmt: skip
