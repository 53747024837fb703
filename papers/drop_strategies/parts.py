"""The numbers that decide DS-1 to DS-11, and the range that the paper's words allow each.

Every claim is a function of a `View`, so that it can also be judged under another choice of what
the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import polars as pl

from forebay.papers import Part, exactly
from forebay.papers.points import surely
from forebay.stats import Interval, interval

from .points import (
    ARRIVALS,
    AT_5_6,
    AT_8,
    AT_HALF,
    AVERAGE,
    CASES,
    CONDITIONERS,
    GENTLE_RENO,
    GENTLE_SACK,
    GOODPUT,
    JITTER,
    LEVELS,
    LOSS,
    MAX_TH,
    MOST,
    NONE,
    OUT,
    PERIOD,
    QUEUE,
    RENO,
    SACK,
    SPREAD,
    STRATEGIES,
    TIMEOUTS,
    Case,
    View,
    point,
    traced,
)


def samples(view: View, key: str, rate: str, case: Case, strategy: str) -> dict[int, float]:
    """A measure of every replication of a point."""
    frame = view.data.runs(view.study, view.at(rate, case, strategy))
    return dict(zip(frame["replication"].to_list(), frame[key].to_list(), strict=True))


def combined(view: View, terms: Sequence[tuple[float, str, str, Case, str]]) -> Interval | None:
    """Weighted sum of measures of several points, replication by replication."""
    columns = [(weight, samples(view, *where)) for weight, *where in terms]  # type: ignore[arg-type]
    shared = set.intersection(*(set(column) for _, column in columns))
    return interval(
        [sum(weight * column[each] for weight, column in columns) for each in sorted(shared)]
    )


def largest_gap(view: View, key: str, case: Case) -> float:
    """The largest difference of means between the strategies over the in-profile rates."""
    return max(abs(view.both(key, rate, case).mean) for rate in view.rates)


def ds_1(view: View) -> list[Part]:
    between = [rate for rate in view.rates if rate not in (NONE, MOST)]
    found = surely([view.both(LOSS, rate, RENO) for rate in between])
    of_all = f"of the {len(between)} in-profile rates between 0 and 9.2 Mbit/s"
    what = f"{of_all}, those at which drop-arrivals loses more"
    parts = [Part(what, "all amounts", found, len(between), len(between))]
    scale = 100 / largest_gap(view, LOSS, RENO)
    for rate, name in ((NONE, "0"), (MOST, "9.2")):
        gap = view.both(LOSS, rate, RENO, scale)
        what = (
            f"loss, drop-arrivals minus drop-from-queue at {name} Mbit/s, of the largest such gap"
        )
        parts.append(Part(what, "similar: within 10 %", gap, -10, 10, "%"))
    return parts


def ds_2(view: View) -> list[Part]:
    below, above = 100 / (6.8 - 0.8), 100 / (9.2 - 6.8)
    weights = {"400kbit": -below, "3400kbit": below + above, MOST: -above}
    growth = combined(view, [(by, OUT, rate, RENO, ARRIVALS) for rate, by in weights.items()])
    high = [rate for rate, number in view.rates.items() if number > 7]
    more = surely([view.less(OUT, (rate, RENO, QUEUE), (rate, RENO, ARRIVALS)) for rate in high])
    return [
        Part(
            "growth of out-of-profile loss with drop-arrivals, from 0.8 to 6.8 Mbit/s minus "
            "from 6.8 to 9.2",
            "faster below 7 Mbit/s",
            growth,
            0,
            unit="% per Mbit/s",
        ),
        Part(
            f"rates above 7 Mbit/s, of {len(high)}, at which drop-from-queue loses more out of "
            "profile",
            "can even be higher: at least one",
            more,
            1,
        ),
    ]


def lowest(view: View) -> str:
    """The in-profile rate at which drop-arrivals has its lowest throughput with Reno."""
    return min(view.rates, key=lambda rate: view.mean(GOODPUT, rate, RENO, ARRIVALS))


def ds_3(view: View) -> list[Part]:
    at = exactly(view.rates[lowest(view)])
    what = "in-profile rate at which drop-arrivals has its lowest throughput"
    near = "5.6 Mbit/s: within a step of 0.6"
    parts = [Part(what, near, at, 5.0, 6.2, "Mbit/s", stated=5.6)]
    for rate, name, word in ((NONE, "0", "decreases"), (MOST, "9.2", "increases")):
        found = view.less(GOODPUT, (rate, RENO, ARRIVALS), (AT_5_6, RENO, ARRIVALS), 1e-6)
        what = f"throughput at {name} Mbit/s minus that at 5.6, drop-arrivals"
        parts.append(Part(what, word, found, 0, unit="Mbit/s"))
    gap = view.both(GOODPUT, MOST, RENO, -100 / largest_gap(view, GOODPUT, RENO))
    what = "throughput that drop-arrivals lacks at 9.2 Mbit/s, of the most that it lacks"
    return [*parts, Part(what, "approaches: at most a quarter", gap, high=25, unit="%")]


def oscillates(view: View, cases: Sequence[Case] = tuple(CASES)) -> list[Part]:
    """Deviation of the average queue with half the link in profile."""
    what = "deviation of the average queue that drop-arrivals adds at 5 Mbit/s"
    return [
        Part(
            f"{what}: {CASES[case]}",
            "larger",
            view.both(SPREAD, AT_HALF, case),
            0,
            unit="packets",
        )
        for case in cases
    ]


def ds_4(view: View) -> list[Part]:
    parts = oscillates(view)
    for case in (RENO, SACK):
        trace = traced(view.data, case, ARRIVALS).filter(pl.col("time_s") > 10)
        above = trace["average_queue"] > MAX_TH
        rises = exactly(int((above & ~above.shift(1, fill_value=False)).sum()))
        what = f"rises of the average queue above max_th in 120 s at 5 Mbit/s: {CASES[case]}"
        parts.append(Part(what, "frequently: 10 or more", rises, 10))
    spread = view.less(SPREAD, (AT_HALF, RENO, ARRIVALS), (AT_HALF, SACK, ARRIVALS))
    what = "the same deviation, Reno's minus SACK's, drop-arrivals, standard WRED"
    return [*parts, Part(what, "less with SACK", spread, 0, unit="packets")]


def ds_5(view: View) -> list[Part]:
    known = list(view.rates)
    gaps = [view.less(LOSS, (rate, SACK, QUEUE), (rate, RENO, QUEUE), 100) for rate in known]
    largest = max(gaps, key=lambda gap: abs(gap.mean))
    higher = surely(
        [view.less(OUT, (rate, SACK, ARRIVALS), (rate, RENO, ARRIVALS)) for rate in known]
    )
    degraded = surely([view.both(GOODPUT, rate, SACK, -1) for rate in known])
    most, of = len(known) // 2 + 1, len(known)
    signs = ((1, RENO, QUEUE), (-1, RENO, ARRIVALS), (-1, SACK, QUEUE), (1, SACK, ARRIVALS))
    less = combined(
        view, [(1e-6 * by, GOODPUT, AT_5_6, case, strategy) for by, case, strategy in signs]
    )
    return [
        Part(
            "largest difference in loss of all, SACK minus Reno, drop-from-queue",
            "similar: within 1 % on axes to 45 %",
            largest,
            -1,
            1,
            "%",
        ),
        Part(
            f"rates, of {of}, at which SACK loses more out of profile than Reno, drop-arrivals",
            "most amounts",
            higher,
            most,
        ),
        Part(
            f"rates, of {of}, at which drop-arrivals lowers SACK's throughput",
            "most amounts",
            degraded,
            most,
        ),
        Part(
            "throughput at 5.6 Mbit/s that drop-arrivals costs Reno minus what it costs SACK",
            "less severe with SACK",
            less,
            0,
            unit="Mbit/s",
        ),
    ]


def ds_6(view: View) -> list[Part]:
    parts, of = [], len(view.rates)
    for case in (GENTLE_RENO, GENTLE_SACK):
        found = surely([view.both(LOSS, rate, case, -1) for rate in view.rates])
        what = f"in-profile rates, of {of}, at which drop-from-queue loses more: {CASES[case]}"
        parts.append(Part(what, "higher: more than half", found, of // 2 + 1))
    for case in (GENTLE_RENO, GENTLE_SACK):
        base = view.mean(AVERAGE, AT_HALF, case, QUEUE)
        ratio = view.interval(AVERAGE, AT_HALF, case, ARRIVALS, 1 / base)
        what = f"average queue with drop-arrivals, by that with drop-from-queue: {CASES[case]}"
        parts.append(Part(what, "about twice: 1.6 to 2.4", ratio, 1.6, 2.4, stated=2.0))
    return parts


def ds_7(view: View) -> list[Part]:
    base = view.mean(GOODPUT, AT_5_6, GENTLE_SACK, QUEUE)
    alike = view.both(GOODPUT, AT_5_6, GENTLE_SACK, 100 / base)
    lower = view.both(GOODPUT, AT_5_6, GENTLE_RENO, 1e-3)
    less = combined(
        view,
        [
            (1e-3 * sign, GOODPUT, AT_5_6, case, strategy)
            for sign, case, strategy in (
                (1, GENTLE_RENO, ARRIVALS),
                (-1, GENTLE_RENO, QUEUE),
                (-1, RENO, ARRIVALS),
                (1, RENO, QUEUE),
            )
        ],
    )
    higher = view.less(OUT, (MOST, GENTLE_SACK, ARRIVALS), (MOST, GENTLE_RENO, ARRIVALS), 100)
    what = "throughput at 5.6 Mbit/s, drop-arrivals against drop-from-queue"
    return [
        Part(f"{what}: SACK", "similar: within 2 %", alike, -2, 2, "%"),
        Part(f"{what}: Reno", "is decreased", lower, high=0, unit="kbit/s"),
        Part(
            "what gentle WRED leaves of that loss of throughput, Reno",
            "not as much",
            less,
            0,
            unit="kbit/s",
        ),
        Part(
            "out-of-profile loss at 9.2 Mbit/s, SACK minus Reno, drop-arrivals",
            "a few percent higher: 1 to 10",
            higher,
            1,
            10,
            "%",
        ),
    ]


def ds_8(view: View) -> list[Part]:
    dropped = sum(view.data.study(view.study).runs[f"{LEVELS}.0.dropped"].to_list())
    return [Part("in-profile packets dropped in all runs", "none", exactly(dropped), 0, 0)]


def agreement(view: View, conditioner: str) -> tuple[float, int]:
    """Of the differences between the strategies that TSW shows, how many point the same way."""
    signs = []
    for rate, case, key in product((AT_5_6, AT_8), CASES, (LOSS, OUT, GOODPUT, AVERAGE)):
        there = view.both(key, rate, case)
        if there.low is not None and there.high is not None and there.low * there.high > 0:
            first, second = (
                point(rate, *case, each) | {"profile.a.kind": conditioner} for each in STRATEGIES
            )
            here = view.data.difference(CONDITIONERS, key, first, second)
            signs.append(here.mean * there.mean > 0)
    return 100 * sum(signs) / len(signs), len(signs)


def ds_9(view: View) -> list[Part]:
    parts = []
    for conditioner in ("car", "token-bucket"):
        share, of = agreement(view, conditioner)
        what = f"differences, of {of}, that point the same way as with TSW: {conditioner}"
        parts.append(Part(what, "similar: nine in ten", exactly(share), 90, unit="%"))
    return parts


def higher_with_arrivals(
    view: View, key: str, what: str, paper: str, unit: str, cases: Sequence[Case], scale: float = 1
) -> list[Part]:
    """A measure at 5 Mbit/s, drop-arrivals less drop-from-queue, above zero."""
    return [
        Part(
            f"{what} that drop-arrivals adds at 5 Mbit/s: {CASES[case]}",
            paper,
            view.both(key, AT_HALF, case, scale),
            0,
            unit=unit,
        )
        for case in cases
    ]


def bursts(view: View, cases: Sequence[Case] = tuple(CASES)) -> list[Part]:
    """Packets that a flow loses in a row (RFC 3357)."""
    what = "mean loss period of a flow"
    return higher_with_arrivals(view, PERIOD, what, "burstier", "packets", cases)


def ds_10(view: View) -> list[Part]:
    jitter = higher_with_arrivals(view, JITTER, "jitter", "more", "ms", tuple(CASES))
    return [*bursts(view), *jitter]


def ds_11(view: View) -> list[Part]:
    what = "timeouts a second"
    cases = (RENO, SACK, GENTLE_RENO)
    return higher_with_arrivals(view, TIMEOUTS, what, "more often", "1/s", cases, 1 / 120)
