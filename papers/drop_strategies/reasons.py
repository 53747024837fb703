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
        f"All but one: at 0.8 Mbit/s drop-arrivals loses {low[0]:.2f} % and drop-from-queue "
        f"{low[1]:.2f}, which the paper would call similar. The acknowledgments of the cross "
        "traffic are not marked. So more than a third of all arrivals may not be dropped, and a "
        "queued packet goes in their place. If the cross traffic ends at R3, both lose the same "
        f"with nothing in profile ({alike:+.2f} points; study `choices`)."
    )


def why_2(data: Data) -> str:
    view, middle = View(data), View(data, CHOICES, MIDDLE)
    loss = {rate: view.mean(OUT, rate, RENO, ARRIVALS, 100) for rate in view.rates}
    queue = view.mean(OUT, MOST, RENO, QUEUE, 100)
    there = [middle.mean(OUT, MOST, RENO, each, 100) for each in STRATEGIES]
    return (
        "The first part hangs on the last points. Out-of-profile loss grows from "
        f"{loss['400kbit']:.1f} to {loss[AT_5_6]:.1f} % up to 5.6 Mbit/s and hardly from there "
        f"to 6.8 ({loss['3400kbit']:.1f} %), as the paper says. But then the packets that may be "
        f"dropped run out, and it ends at {loss[MOST]:.1f} % (drop-from-queue: {queue:.1f} %). It "
        f"grows faster below 7 Mbit/s under {holding(data, ds_2, 0)} (study `choices`). With round "
        f"trips of 24 to 48 ms the two end at {there[0]:.1f} and {there[1]:.1f} %: which is above "
        "hangs on the lost figure."
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
        f"Where the lowest throughput lies depends on the lost figure. It is {rows[0]}, {rows[1]}, "
        f"{rows[2]} (studies `choices`, `round-trips`). With the last all four numbers hold, and "
        f"so they do if the cross traffic ends at R3 ({lowest_of(View(data, CHOICES, ELSEWHERE))})."
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
        "SACK repairs a burst of losses without a timeout. At 5.6 Mbit/s drop-arrivals causes "
        f"{late:.1f} timeouts a second with Reno and {late_sack:.1f} with SACK. Reno's average "
        f"queue swings more ({swing:.1f} against {swing_sack:.1f} packets) and rises above max_th, "
        f"where all is dropped. Out of profile {lost:.0f} % are lost, {lost_sack:.0f} % with SACK. "
        "Below and above SACK loses more, as the paper says, with round trips of 40 to 80 ms at "
        f"{more} of the {len(longer.rates)} rates (study `round-trips`). All four numbers hold "
        f"under {holding(data, ds_5, 0, 1, 2, 3)} (study `choices`)."
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
        f"The law ties the factor to the loss. Twice the {queue:.0f} packets are {2 * queue:.0f}, "
        f"above max_th, and there the gentle curve takes {needed:.0f} % of the packets out of "
        f"profile. At 5 Mbit/s drop-arrivals loses {lost:.1f} % of them, and {longer:.0f} packets "
        f"are enough for that. Where {most:.0f} % are lost, at 9.2 Mbit/s, the factor is "
        f"{longest / shortest:.2f}. At 5 Mbit/s it is {min(factors):.2f} to {max(factors):.2f} "
        "under all choices (study `choices`)."
    )


def gentle_reno(data: Data) -> str:
    """What drop-arrivals and drop-from-queue come to with Reno under gentle WRED."""
    view = View(data)

    def both(key: str, scale: float = 1.0) -> str:
        found = [view.mean(key, AT_HALF, GENTLE_RENO, each, scale) for each in STRATEGIES]
        return f"{found[0]:.1f} against {found[1]:.1f}"

    return (
        "With the gentle curve drops come one by one under either strategy. Drop-arrivals has the "
        f"longer queue, {both(AVERAGE)} packets at 5 Mbit/s. So it has the lower loss "
        f"({both(LOSS, 100)} %) and the fewer timeouts ({both(TIMEOUTS, 1 / 120)} a second)"
    )


def why_7(data: Data) -> str:
    view, longer = View(data), View(data, LONGER)
    used = [view.mean(GOODPUT, AT_5_6, GENTLE_RENO, each, 1e-6) for each in STRATEGIES]
    there = [longer.mean(GOODPUT, AT_5_6, GENTLE_RENO, each, 1e-6) for each in STRATEGIES]
    return (
        f"{gentle_reno(data)}. The queue outlasts the halving of a window, so that both fill the "
        f"link, {used[0]:.2f} and {used[1]:.2f} Mbit/s. With round trips of 40 to 80 ms it does "
        f"not under drop-from-queue, {there[0]:.2f} and {there[1]:.2f} (study `round-trips`). The "
        f"decrease is found under {holding(data, ds_7, 1)} (study `choices`)."
    )


def why_10(data: Data) -> str:
    view = View(data)
    rows = [
        f"{view.mean(PERIOD, AT_HALF, case, ARRIVALS):.4f} and "
        f"{view.mean(PERIOD, AT_HALF, case, QUEUE):.4f} packets with {name}"
        for name, case in (("Reno", GENTLE_RENO), ("SACK", GENTLE_SACK))
    ]
    return (
        "Jitter is lower from the queue in all four cases, and loss is smoother under standard "
        "WRED. The gentle curve takes away what makes bursts, the jump to 1 at max_th. Under "
        f"either strategy a flow loses one packet at a time ({rows[0]}, {rows[1]}). Gentle losses "
        f"are burstier under {holding(data, ds_10, 2, 3)} (study `choices`)."
    )


def why_11(data: Data) -> str:
    return (
        f"{gentle_reno(data)}. There are more with drop-arrivals under "
        f"{holding(data, ds_11, 2)} (study `choices`). The paper shows no timeouts; it infers them "
        "from throughputs that it says are decreased (DS-7)."
    )
