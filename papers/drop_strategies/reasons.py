"""Why claims differ, each by the run that shows it."""

from __future__ import annotations

from collections.abc import Callable

from forebay.papers import Data, Part

from .parts import ds_2, ds_5, ds_6, ds_7, ds_10, ds_11, lowest
from .points import (
    ARRIVALS,
    AT_5_6,
    AT_HALF,
    AVERAGE,
    CHOICES,
    ELSEWHERE,
    GENTLE_RENO,
    GENTLE_SACK,
    GOODPUT,
    LONGER,
    LOSS,
    MAX_TH,
    MIDDLE,
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
    View,
    chosen,
)


def holding(data: Data, judge: Callable[[View], list[Part]], *parts: int) -> str:
    """Under how many choices all of some numbers of a claim surely lie in range."""
    views = chosen(data)
    good = sum(all(judge(each)[at].verdict == "reproduced" for at in parts) for each in views)
    return f"{good or 'none'} of the {len(views)} choices"


def why_1(data: Data) -> str:
    view, elsewhere = View(data), View(data, CHOICES, ELSEWHERE)
    low = [view.mean(LOSS, "400kbit", RENO, each, 100) for each in STRATEGIES]
    alike = elsewhere.both(LOSS, NONE, RENO, 100).mean
    return (
        f"All rates except one: at 0.8 Mbit/s, drop-arrivals loses {low[0]:.2f} % and "
        f"drop-from-queue {low[1]:.2f} %, which the paper would call similar. The acknowledgments "
        "of the cross traffic are not marked. So more than a third of all arrivals may not be "
        "dropped, and a queued packet is dropped instead. If the cross traffic ends at R3, both "
        f"lose the same with nothing in profile ({alike:+.2f} points; study `choices`)."
    )


def why_2(data: Data) -> str:
    view, middle = View(data), View(data, CHOICES, MIDDLE)
    loss = {rate: view.mean(OUT, rate, RENO, ARRIVALS, 100) for rate in view.rates}
    queue = view.mean(OUT, MOST, RENO, QUEUE, 100)
    there = [middle.mean(OUT, MOST, RENO, each, 100) for each in STRATEGIES]
    return (
        "The first part depends on the last points. Out-of-profile loss grows from "
        f"{loss['400kbit']:.1f} to {loss[AT_5_6]:.1f} % up to 5.6 Mbit/s and hardly from there to "
        f"6.8 ({loss['3400kbit']:.1f} %), as the paper says. But then there are hardly any "
        f"packets left that may be dropped, and it ends at {loss[MOST]:.1f} % (drop-from-queue: "
        f"{queue:.1f} %). It grows faster below 7 Mbit/s under {holding(data, ds_2, 0)} (study "
        f"`choices`). With round trips of 24 to 48 ms, the two end at {there[0]:.1f} and "
        f"{there[1]:.1f} %. Which of them is higher depends on the lost figure."
    )


def lowest_of(view: View) -> str:
    """The lowest throughput with Reno and drop-arrivals, and where it is."""
    at = lowest(view)
    least = view.mean(GOODPUT, at, RENO, ARRIVALS, 1e-6)
    return f"{least:.2f} at {view.rates[at]:g} Mbit/s"


def why_3(data: Data) -> str:
    rows = [
        f"{lowest_of(view)} with round trips of {name} ms"
        for view, name in (
            (View(data), "16 to 32"),
            (View(data, CHOICES, MIDDLE), "24 to 48"),
            (View(data, LONGER), "40 to 80"),
        )
    ]
    return (
        f"The position of the lowest throughput depends on the lost figure. It is {rows[0]}, "
        f"{rows[1]}, {rows[2]} (studies `choices`, `round-trips`). With the last, all four "
        "numbers hold. They also hold if the cross traffic ends at R3 "
        f"({lowest_of(View(data, CHOICES, ELSEWHERE))})."
    )


def why_5(data: Data) -> str:
    view, longer = View(data), View(data, LONGER)
    rows = {
        name: [
            view.mean(TIMEOUTS, AT_5_6, case, ARRIVALS, 1 / 120),
            view.mean(SPREAD, AT_5_6, case, ARRIVALS),
            view.mean(OUT, AT_5_6, case, ARRIVALS, 100),
        ]
        for name, case in (("Reno", RENO), ("SACK", SACK))
    }
    (late, swing, lost), (late_sack, swing_sack, lost_sack) = rows["Reno"], rows["SACK"]
    more = sum(
        longer.less(OUT, (rate, SACK, ARRIVALS), (rate, RENO, ARRIVALS)).mean > 0
        for rate in longer.rates
    )
    return (
        "SACK repairs a burst of losses without a timeout. At 5.6 Mbit/s, drop-arrivals causes "
        f"{late:.1f} timeouts a second with Reno and {late_sack:.1f} with SACK. Reno's average "
        f"queue varies more ({swing:.1f} against {swing_sack:.1f} packets) and exceeds max_th, "
        f"where everything is dropped. Of the packets out of profile, {lost:.0f} % are lost, and "
        f"{lost_sack:.0f} % with SACK. At lower and higher rates, SACK loses more, as the paper "
        f"says. With round trips of 40 to 80 ms, it loses more at {more} of the "
        f"{len(longer.rates)} rates (study `round-trips`). All four numbers hold under "
        f"{holding(data, ds_5, 0, 1, 2, 3)} (study `choices`)."
    )


def why_6(data: Data) -> str:
    view = View(data)
    queue, longer = (view.mean(AVERAGE, AT_HALF, GENTLE_RENO, each) for each in (QUEUE, ARRIVALS))
    lost, most = (view.mean(OUT, rate, GENTLE_RENO, ARRIVALS, 100) for rate in (AT_HALF, MOST))
    longest, shortest = (view.mean(AVERAGE, MOST, GENTLE_RENO, each) for each in STRATEGIES)
    # Above max_th = 45 the gentle curve goes from 0.1 to 1; with `wait` two thirds of it are lost.
    needed = 100 * 2 / 3 * (0.1 + 0.9 * (2 * queue - MAX_TH) / MAX_TH)
    factors = [ratio.found.mean for each in chosen(data) for ratio in ds_6(each)[2:] if ratio.found]
    return (
        f"The drop rule connects the factor with the loss. Twice the {queue:.0f} packets are "
        f"{2 * queue:.0f}, above max_th, and there the gentle curve drops {needed:.0f} % of the "
        f"packets out of profile. At 5 Mbit/s, drop-arrivals loses {lost:.1f} % of them, and "
        f"{longer:.0f} packets are enough for that. At 9.2 Mbit/s, where {most:.0f} % are lost, "
        f"the factor is {longest / shortest:.2f}. At 5 Mbit/s it is {min(factors):.2f} to "
        f"{max(factors):.2f} under all choices (study `choices`)."
    )


def gentle_reno(data: Data) -> str:
    """What drop-arrivals and drop-from-queue come to with Reno under gentle WRED."""
    view = View(data)

    def both(key: str, scale: float = 1.0) -> str:
        found = [view.mean(key, AT_HALF, GENTLE_RENO, each, scale) for each in STRATEGIES]
        return f"{found[0]:.1f} against {found[1]:.1f}"

    return (
        "With the gentle curve, packets are dropped one by one under either strategy. "
        f"Drop-arrivals has the longer queue, {both(AVERAGE)} packets at 5 Mbit/s. So it has less "
        f"loss ({both(LOSS, 100)} %) and fewer timeouts ({both(TIMEOUTS, 1 / 120)} a second)"
    )


def why_7(data: Data) -> str:
    view, longer = View(data), View(data, LONGER)
    used = [view.mean(GOODPUT, AT_5_6, GENTLE_RENO, each, 1e-6) for each in STRATEGIES]
    there = [longer.mean(GOODPUT, AT_5_6, GENTLE_RENO, each, 1e-6) for each in STRATEGIES]
    return (
        f"{gentle_reno(data)}. The queue is not empty after a window is halved, so both "
        f"strategies fill the link, {used[0]:.2f} and {used[1]:.2f} Mbit/s. With round trips of "
        f"40 to 80 ms, it is empty under drop-from-queue, {there[0]:.2f} and {there[1]:.2f} "
        f"(study `round-trips`). The decrease is found under {holding(data, ds_7, 1)} (study "
        "`choices`)."
    )


def why_10(data: Data) -> str:
    view = View(data)
    rows = [
        f"{view.mean(PERIOD, AT_HALF, case, ARRIVALS):.4f} and "
        f"{view.mean(PERIOD, AT_HALF, case, QUEUE):.4f} packets with {name}"
        for name, case in (("Reno", GENTLE_RENO), ("SACK", GENTLE_SACK))
    ]
    return (
        "With drop-from-queue, jitter is lower in all four cases, and loss is smoother under "
        "standard WRED. The gentle curve does not have what causes bursts, the jump to 1 at "
        f"max_th. Under either strategy, a flow loses one packet at a time ({rows[0]}, "
        f"{rows[1]}). Gentle losses are burstier under {holding(data, ds_10, 2, 3)} (study "
        "`choices`)."
    )


def why_11(data: Data) -> str:
    return (
        f"{gentle_reno(data)}. There are more with drop-arrivals under {holding(data, ds_11, 2)} "
        "(study `choices`). The paper shows no timeouts. It infers them from throughputs that it "
        "says are decreased (DS-7)."
    )
