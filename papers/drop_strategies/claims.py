"""The claims DS-1 to DS-11 and the authors' conclusions: words, what they allow, and reasons.

Every claim is a function of a `View`, so that it can also be judged under another choice of
what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import polars as pl

from forebay.papers import Claim, Conclusion, Data, Part, exactly
from forebay.papers.points import surely
from forebay.stats import Interval, interval

from .points import (
    ARRIVALS,
    AT_5_6,
    AT_8,
    AT_HALF,
    AVERAGE,
    CASES,
    CHOICES,
    CONDITIONERS,
    GENTLE_RENO,
    GENTLE_SACK,
    GOODPUT,
    JITTER,
    LEVELS,
    LONGER,
    LOSS,
    MAIN,
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
    TRACES,
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
        what = f"loss, drop-arrivals less drop-from-queue at {name} Mbit/s, of the largest such gap"
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
            "growth of out-of-profile loss with drop-arrivals, from 0.8 to 6.8 Mbit/s less "
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
        what = f"throughput at {name} Mbit/s less that at 5.6, drop-arrivals"
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
    what = "the same deviation, Reno's less SACK's, drop-arrivals, standard WRED"
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
            "largest difference in loss of all, SACK less Reno, drop-from-queue",
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
            "throughput at 5.6 Mbit/s that drop-arrivals costs Reno less what it costs SACK",
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
            "out-of-profile loss at 9.2 Mbit/s, SACK less Reno, drop-arrivals",
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


ELSEWHERE, MIDDLE = "cross traffic ends at R3", "round trips of 24 to 48 ms"
LEFT_OUT = "no drop deferred"


def chosen(data: Data) -> list[View]:
    """Every choice of what the paper leaves open."""
    titles = data.study(CHOICES).runs["title"].unique(maintain_order=True)
    return [View(data, CHOICES, each) for each in titles]


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


def of(judge: Callable[[View], list[Part]]) -> Callable[[Data], list[Part]]:
    """The claim as judged by the main study."""
    return lambda data: judge(View(data))


JUDGED: dict[str, Callable[[View], list[Part]]] = {
    "DS-1": ds_1,
    "DS-2": ds_2,
    "DS-3": ds_3,
    "DS-4": oscillates,
    "DS-5": ds_5,
    "DS-6": ds_6,
    "DS-7": ds_7,
    "DS-10": ds_10,
    "DS-11": ds_11,
}
"""What is also judged under every other choice; of DS-4 the part that needs no trace."""

CLAIMS = (
    Claim(
        "DS-1",
        'Reno, standard WRED (figure 4): "Loss-rates for all traffic is higher for all '
        'amounts of in-profile traffic simulated with drop-arrivals than with drop-from-queue"; '
        "at low and at high amounts they are similar.",
        of(ds_1),
        (MAIN, CHOICES),
        why_1,
    ),
    Claim(
        "DS-2",
        "Reno, standard WRED (figure 4): with drop-arrivals, loss-rates of "
        'out-of-profile traffic "increase faster with the amount of in-profile '
        'traffic below 7 Mbps of in-profile traffic than above"; at high amounts '
        'they "can even be higher with drop-from-queue".',
        of(ds_2),
        (MAIN, CHOICES),
        why_2,
    ),
    Claim(
        "DS-3",
        'Reno, standard WRED (figure 5): with drop-arrivals throughput "decreases as '
        'the amount of in-profile traffic increases up to 5.6 Mbps", then '
        '"increases and approaches" that of drop-from-queue.',
        of(ds_3),
        (MAIN, CHOICES, LONGER),
        why_3,
    ),
    Claim(
        "DS-4",
        "Figures 6, 9, 12 and 15: queue oscillation is larger with drop-arrivals in "
        'all four cases; with standard WRED the average "exceeds max_th(1) '
        'frequently"; with SACK it oscillates less than with Reno.',
        of(ds_4),
        (MAIN, TRACES),
    ),
    Claim(
        "DS-5",
        'SACK, standard WRED (figures 7 and 8): "with drop-from-queue, loss-rates '
        'are similar for TCP Reno and TCP Sack"; with drop-arrivals those of '
        'out-of-profile traffic are higher "for most simulated amounts" with SACK; '
        'throughput "gets degraded for most amounts", less severely than with Reno.',
        of(ds_5),
        (MAIN, LONGER, CHOICES),
        why_5,
    ),
    Claim(
        "DS-6",
        "Gentle WRED (figures 10, 13, 15, section 3.6): loss-rates are higher with "
        "drop-from-queue; with half the link in profile the long-term average queue "
        '"is about twice as long with drop-arrivals".',
        of(ds_6),
        (MAIN, CHOICES),
        why_6,
    ),
    Claim(
        "DS-7",
        "Gentle WRED (figures 11, 13, 14): with SACK throughputs are similar; with "
        'Reno that of drop-arrivals "is decreased", "although not as much" as '
        "with standard WRED; at large amounts SACK's loss is \"only a few percent "
        "higher\" than Reno's.",
        of(ds_7),
        (MAIN, LONGER, CHOICES),
        why_7,
    ),
    Claim("DS-8", "In-profile packets are never dropped (section 3.1).", of(ds_8), (MAIN,)),
    Claim(
        "DS-9",
        "Token bucket based conditioners and CAR give similar results (section 4).",
        of(ds_9),
        (MAIN, CONDITIONERS),
    ),
    Claim(
        "DS-10",
        'Abstract: "dropping packets from the queue gives smoother loss patterns '
        'and less jitter", with SACK and Reno, with and without the gentle '
        "modification.",
        of(ds_10),
        (MAIN, CHOICES),
        why_10,
    ),
    Claim(
        "DS-11",
        'TCP "goes into slow-start more often with drop-arrivals" (sections 3.2 to 3.4).',
        of(ds_11),
        (MAIN, CHOICES),
        why_11,
    ),
)


def lower_loss(view: View) -> list[Part]:
    loss = higher_with_arrivals(view, LOSS, "loss", "lower from the queue", "%", (RENO, SACK), 100)
    return [*loss, *bursts(view, (RENO, SACK))]


def alleviated(view: View) -> list[Part]:
    return [
        Part(
            f"loss at 5 Mbit/s with drop-arrivals, standard less gentle: {name}",
            "alleviated",
            view.less(LOSS, (AT_HALF, standard, ARRIVALS), (AT_HALF, gentle, ARRIVALS), 100),
            0,
            unit="%",
        )
        for name, standard, gentle in (("Reno", RENO, GENTLE_RENO), ("SACK", SACK, GENTLE_SACK))
    ]


def still(view: View) -> list[Part]:
    cases = (GENTLE_RENO, GENTLE_SACK)
    return [*oscillates(view, cases), *bursts(view, cases)]


def longer(view: View) -> list[Part]:
    return [
        Part(
            f"average queue at 5 Mbit/s with drop-arrivals, gentle less standard: {name}",
            "longer",
            view.less(AVERAGE, (AT_HALF, gentle, ARRIVALS), (AT_HALF, standard, ARRIVALS)),
            0,
            unit="packets",
        )
        for name, standard, gentle in (("Reno", RENO, GENTLE_RENO), ("SACK", SACK, GENTLE_SACK))
    ]


CONCLUSIONS = (
    Conclusion("Dropping from the queue gives less queue oscillation.", of(oscillates), (MAIN,)),
    Conclusion(
        "With standard WRED that means lower loss-rates and less bursty loss patterns.",
        of(lower_loss),
        (MAIN,),
    ),
    Conclusion(
        "Gentle WRED alleviates the high loss-rates of drop-arrivals.", of(alleviated), (MAIN,)
    ),
    Conclusion(
        "Oscillation is still larger and loss burstier with drop-arrivals then.", of(still), (MAIN,)
    ),
    Conclusion("The gentle modification lengthens the average queue.", of(longer), (MAIN,)),
    Conclusion(
        "All this also holds for token bucket based conditioners.", of(ds_9), (MAIN, CONDITIONERS)
    ),
)
