"""The claims CP-1 to CP-20 and the authors' conclusions: words, and what they allow.

Claims about TCP are functions of a `View`, so that they can also be judged under another choice of
what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import polars as pl

from forebay.papers import Claim, Conclusion, Data, Part, exactly
from forebay.stats import Interval

from .points import (
    BUCKETS,
    C_MAX,
    COMBINATIONS,
    CUBIC,
    DELAYS,
    LARGER,
    LOSS,
    MOST,
    NAMES,
    POLICED,
    QUEUE,
    RATES,
    RENO,
    T_C,
    TAIL,
    TCP,
    UDP,
    USED,
    Combination,
    View,
    extreme,
    nsc,
    nsc_least,
    nsc_longest,
    packets,
    udp,
    words,
)
from .reasons import WHY

PACKETS = 1.0
"""A queue may be off by this many packets,"""
POINTS = 1.0
"""a utilization or loss by this many percentage points."""
FULL, CLOSE = 99.5, 99.0
"""Percent that count as full utilization, and as close to it."""
BLOATED = 15.0
"""Average queue from which on the paper speaks of bufferbloat, in packets (section 4.2)."""
LINE_RATES = {12: "11944260bit", 15: "14930325bit", 20: "19907100bit"}
"""Rates of UDP in Mb/s with PPP, and as the study has them, without."""


def about(
    what: str, found: Interval, value: float, unit: str, referee: float | None = None,
    paper: str = "",
) -> Part:  # fmt: skip
    """A number that the text gives."""
    slack = PACKETS if unit == "packets" else POINTS
    paper = paper or f"{value:g} {unit}"
    return Part(what, paper, found, value - slack, value + slack, unit, value, referee)


def cp_1(data: Data) -> list[Part]:
    def over(key: str, scale: float) -> Interval:
        found = (data.interval("udp-tail-drop", key, {"delay": d}, scale=scale) for d in DELAYS)
        return extreme(found, min)

    used, queue = over(USED, 100), over(QUEUE, 1)
    return [
        Part("least utilization over the delays", "100 %", used, FULL, 100, "%", 100.0),
        Part(
            "shortest queue over the delays",
            "always fully occupied",
            queue,
            29,
            30,
            "packets",
            30.0,
        ),
    ]


def full(view: View, congestion: str, most: str) -> Part:
    """Tail drop, one flow: delays up to which the link is full."""
    upto = DELAYS[: DELAYS.index(most) + 1]
    found = extreme((view.tail(USED, (1, congestion, d)) for d in upto), min)
    what = f"least utilization up to {most[:-2]} ms"
    return Part(what, "full", found, CLOSE, unit="%", stated=100.0)


def cp_2(view: View) -> list[Part]:
    near, far = (1, RENO, "5ms"), (1, RENO, "50ms")
    return [
        full(view, RENO, "20ms"),
        about("utilization, 50 ms", view.tail(USED, far), 92.7, "%", nsc(USED, far)),
        about("queue, 5 ms", view.tail(QUEUE, near), 20, "packets", nsc(QUEUE, near)),
        about("queue, 50 ms", view.tail(QUEUE, far), 10, "packets", nsc(QUEUE, far)),
    ]


def cp_3(view: View) -> list[Part]:
    far = (1, CUBIC, "50ms")
    gaps = [
        view.data.difference(TAIL, QUEUE, view.tail_at(1, CUBIC, d), view.tail_at(1, RENO, d))
        for d in DELAYS
    ]
    what = "queue, Cubic minus New Reno, least over the delays"
    return [
        full(view, CUBIC, "25ms"),
        about("utilization, 50 ms", view.tail(USED, far), 98, "%", nsc(USED, far), "about 98 %"),
        Part(what, "larger", extreme(gaps, min), 0, unit="packets"),
    ]


def cp_4(view: View) -> list[Part]:
    parts = []
    for congestion, key, unit, low, high in (
        (CUBIC, QUEUE, "packets", 26.0, 30.0),
        (RENO, QUEUE, "packets", 22.5, 25.5),
        (CUBIC, LOSS, "%", 4.0, 12.0),
        (RENO, LOSS, "%", 2.5, 9.0),
    ):
        what = f"{'queue' if key == QUEUE else 'loss'} over the delays, 16 {NAMES[congestion]}"
        found = [view.tail(key, (16, congestion, d)) for d in DELAYS]
        for word, pick, delay, value in (
            ("least", min, "50ms", low),
            ("greatest", max, "5ms", high),
        ):
            referee = nsc(key, (16, congestion, delay))
            parts.append(about(f"{word} {what}", extreme(found, pick), value, unit, referee))
    used = (view.tail(USED, (16, congestion, "50ms")) for congestion in NAMES)
    least = Part("utilization, 16 flows, 50 ms", "100 %", extreme(used, min), FULL, unit="%",
                 stated=100.0)  # fmt: skip
    return [*parts, least]


def cp_5(data: Data) -> list[Part]:
    policing = [c for c in C_MAX if c > 1]
    # At T_c = Q_max nothing is above the threshold, and the queue is always full.
    below = T_C[:-1]

    def beyond(threshold: str, c_max: float) -> Interval:
        """The queue less T_c."""
        found = data.interval(UDP, QUEUE, udp(threshold, c_max, "cbr"))
        return Interval(found.mean - packets(threshold), found.half_width, found.samples)

    def spread(threshold: str) -> Interval:
        """The queue of the c_max with the longest less that of the one with the shortest."""
        ascending = sorted(policing, key=lambda c: beyond(threshold, c).mean)
        shortest, longest = ascending[0], ascending[-1]
        pair = (udp(threshold, longest, "cbr"), udp(threshold, shortest, "cbr"))
        return data.difference(UDP, QUEUE, *pair)

    beside = [beyond(t, c) for t in below for c in policing]
    paper = "oscillates around T_c, exceeds it by a very few packets"
    most = extreme(map(spread, below), max)
    return [
        Part("queue minus T_c, greatest", paper, extreme(beside, max), -3, 3, "packets"),
        Part("queue minus T_c, least", paper, extreme(beside, min), -3, 3, "packets"),
        Part("greatest difference between values of c_max", "no impact", most, -PACKETS, PACKETS,
             "packets"),
    ]  # fmt: skip


def cp_6(data: Data) -> list[Part]:
    def less(one: int, other: int) -> Part:
        pair = [udp("10p", 1.2, rate=LINE_RATES[mbit]) for mbit in (one, other)]
        found = data.difference(RATES, QUEUE, *pair)
        what = f"{one} Mb/s minus {other} Mb/s, c_max = 1.2"
        return Part(what, "larger", found, 0, unit="packets")

    # Equation 2, by its own numbers.
    below, capacity, q_max, t_c, c_max, above = 2.4, 10e6, 30, 10, 1.2, 15
    t_above = capacity * below / (capacity * (above - t_c) / (q_max - t_c) * (c_max - 1))
    mean = (9 * below + above * t_above) / (below + t_above)
    times, queues = exactly(t_above), exactly(mean)
    beyond = [
        data.difference(UDP, QUEUE, udp("10p", c), udp("10p", c, "cbr")) for c in (1.05, 1.2, 2.0)
    ]
    steps = [
        data.difference(UDP, QUEUE, udp("10p", c), udp("10p", d))
        for c, d in ((1.05, 1.2), (1.2, 2))
    ]
    return [
        Part("exponential minus periodic, T_c = 10, least over c_max", "larger",
             extreme(beyond, min), 0, unit="packets"),
        Part("gain of a smaller c_max there, least", "increase with smaller c_max",
             extreme(steps, min), 0, unit="packets"),
        less(12, 15),
        less(15, 20),
        Part("equation 2's time above", "48 ms", times, 47.95, 48.05, "ms", 48.0),
        Part("equation 2's average", "14.7 packets", queues, 14.65, 14.75, "packets", 14.7),
    ]  # fmt: skip


def cp_7(data: Data) -> list[Part]:
    on = ["flows", "congestion", "delay", "replication"]
    tail = data.runs(TAIL, {"title": "as judged"}).select(*on, "fingerprint")
    policed = data.runs(TCP, {MOST: 1.0}).select(*on, "fingerprint")
    both = policed.join(tail, on=on, suffix=" of tail drop")
    other = both.filter(pl.col("fingerprint") != pl.col("fingerprint of tail drop"))
    drops = float(data.runs(UDP, {MOST: 1.0})[POLICED].sum())
    what = f"runs of TCP that differ from tail drop in any event, of {both.height}"
    return [
        Part(what, "equal", exactly(other.height), 0, 0, stated=0.0),
        Part("packets of UDP that the policer drops", "none", exactly(drops), 0, 0, stated=0.0),
    ]


def cp_8(view: View) -> list[Part]:
    one, many = (1, RENO, "5ms"), (16, RENO, "5ms")
    low = view.grid(lambda t: t <= 1, lambda c: c >= 1.2)
    rest = view.grid(lambda t: t > 1)
    parts = [
        Part("least utilization, 1 flow, T_c >= 2", "mostly 100 %",
             view.extreme(USED, one, rest, min), CLOSE, unit="%"),
        Part("least utilization, 16 flows, T_c >= 2", "exactly or close to 100 %",
             view.extreme(USED, many, rest, min), CLOSE, unit="%"),
    ]  # fmt: skip
    if low:
        least, most = (view.extreme(USED, one, low, pick) for pick in (min, max))
        what = "utilization, 1 flow, T_c in {0, 1}, c_max >= 1.2"
        kernel = nsc_least(one, ((0, 1.2), (0, 1.5), (0, 2.0), (1, 2.0)))
        parts += [
            about(f"least {what}", least, 86, "%", kernel),
            about(f"greatest {what}", most, 99, "%"),
        ]
    return parts


def cp_9(view: View) -> list[Part]:
    one, many = (1, RENO, "50ms"), (16, RENO, "50ms")
    low = view.grid(lambda t: t <= 5, lambda c: c >= 1.2)
    modest = view.grid(c_max=lambda c: 1 < c <= 1.05)
    least = view.extreme(USED, one, view.grid(), min)
    below = (80 - POINTS, 90 + POINTS)
    kernel = nsc_least(one, ((0, 2.0), (1, 2.0), (2, 2.0)))
    return [
        about("utilization, 1 flow, tail drop", view.tail(USED, one), 92.5, "%", nsc(USED, one)),
        Part("least utilization, 1 flow", "80 % to 90 %", least, *below, "%", 80.0, kernel),
        Part("greatest utilization, 1 flow, T_c <= 5, c_max >= 1.2", "80 % to 90 %",
             view.extreme(USED, one, low, max), *below, "%"),
        Part("least utilization, 16 flows, c_max <= 1.05",
             "significantly reduced utilization can be avoided",
             view.extreme(USED, many, modest, min), 98, unit="%"),
    ]  # fmt: skip


def at_most(what: str, found: Interval, value: float, referee: float) -> Part:
    """A bound of a queue, rounded to packets."""
    paper = f"at most {value:g} packets"
    return Part(what, paper, found, high=value + 0.5, unit="packets", stated=value, referee=referee)


def far(view: View, flows: int, congestion: str, c_max: float, value: float) -> Part:
    """Utilization at 50 ms and T_c = 5."""
    point = (flows, congestion, "50ms")
    found = view.policed(USED, point, "5p", c_max)
    what = f"utilization, c_max = {c_max:g}, {words(point)}"
    return about(what, found, value, "%", nsc(USED, point, c_max))


LONGEST = "longest queue of eight, c_max = {:g}"


def cp_10(view: View) -> list[Part]:
    longest = at_most(LONGEST.format(1.2), view.longest(1.2), 12, nsc_longest(1.2))
    return [longest, far(view, 16, RENO, 1.2, 95)]


def cp_11(view: View) -> list[Part]:
    point = (16, RENO, "50ms")
    return [
        about(LONGEST.format(1.05), view.longest(1.05), 15, "packets", nsc_longest(1.05),
              "may reach 15 packets"),
        Part(f"utilization, c_max = 1.05, {words(point)}", "almost full",
             view.policed(USED, point, "5p", 1.05), 98, unit="%"),
        at_most(LONGEST.format(1.5), view.longest(1.5), 9, nsc_longest(1.5)),
        far(view, 1, RENO, 1.5, 82),
        far(view, 16, RENO, 1.5, 94),
        far(view, 1, CUBIC, 1.5, 96),
        far(view, 16, CUBIC, 1.5, 99),
    ]  # fmt: skip


def cp_12(view: View) -> list[Part]:
    point = (16, CUBIC, "5ms")
    return [
        about("queue, T_c = 5, c_max = 1.2", view.policed(QUEUE, point), 7, "packets",
              nsc(QUEUE, point, 1.2)),
        about("queue, tail drop", view.tail(QUEUE, point), 30, "packets", nsc(QUEUE, point)),
    ]  # fmt: skip


def cp_13(view: View) -> list[Part]:
    point = (1, CUBIC, "50ms")
    wide = view.grid(lambda t: t > 5)
    low = view.grid(lambda t: t <= 5, lambda c: c >= 1.2)

    def part(what: str, grid: list[tuple[str, float]], pick: Callable[..., Interval],
             value: float, referee: float | None = None) -> Part:  # fmt: skip
        return about(what, view.extreme(USED, point, grid, pick), value, "%", referee)

    kernel = nsc_least(point, ((2, 1.2), (5, 2.0)))
    return [
        part("greatest utilization, T_c > 5", wide, max, 98),
        part("least utilization, T_c > 5", wide, min, 98),
        part("greatest utilization, T_c <= 5, c_max >= 1.2", low, max, 98),
        part("least utilization, T_c <= 5, c_max >= 1.2", low, min, 94, kernel),
    ]


def cp_14(data: Data) -> list[Part]:
    runs = data.study("burst").runs
    policed, overflow, longest = (
        runs[f"queues.bottleneck.{key}"]
        for key in ("drops.policed", "drops.overflow", "max_packets")
    )
    drops, shortest = exactly(float((policed + overflow).sum())), exactly(float(longest.min()))  # type: ignore[arg-type]
    return [
        Part("packets dropped, all T_c and c_max", "none", drops, 0, 0, stated=0.0),
        Part(
            "shortest of the longest queues", "the whole buffer", shortest, 30, 30, "packets", 30.0
        ),
    ]


def cp_15(data: Data) -> list[Part]:
    grid = [(t, c) for t in T_C for c in C_MAX]
    rates = [(t, c) for t in ("0p", "5p", "10p", "20p") for c in (1.05, 1.2, 2.0)]

    def least(what: str, study: str, points: Iterable[dict[str, object]]) -> Part:
        found = extreme((data.interval(study, USED, each, scale=100) for each in points), min)
        return Part(f"least utilization, {what}", "100 %", found, FULL, unit="%", stated=100.0)

    return [
        least("constant intervals, 15 Mb/s", UDP, (udp(t, c, "cbr") for t, c in grid)),
        least("exponential intervals, 15 Mb/s", UDP, (udp(t, c) for t, c in grid)),
        least("exponential intervals, 12 and 20 Mb/s", RATES,
              (udp(t, c, rate=LINE_RATES[mbit]) for mbit in (12, 20) for t, c in rates)),
    ]  # fmt: skip


def shorter(view: View, combination: Combination) -> tuple[int, int]:
    """Steps to a larger T_c or a smaller c_max after which the queue is shorter for certain, and of
    how many."""
    grid = view.grid()
    thresholds, values = list(dict.fromkeys(t for t, _ in grid)), sorted({c for _, c in grid})
    steps = [((t, c), (u, c)) for t, u in pairwise(thresholds)
             for c in values]  # fmt: skip
    steps += [((t, d), (t, c)) for c, d in pairwise(values)
              for t in thresholds if packets(t) < 30]  # fmt: skip
    found = (
        view.data.difference(view.study, QUEUE, view.at(combination, *one),
                             view.at(combination, *other))
        for one, other in steps
    )  # fmt: skip
    count = sum(each.low is not None and each.low > 0 for each in found)
    return count, len(steps)


def cp_16(view: View) -> list[Part]:
    clear = (1, RENO, "5ms")
    counts = {each: shorter(view, each) for each in COMBINATIONS}
    worst = max((each for each in COMBINATIONS if each != clear), key=lambda each: counts[each])
    parts = []
    for point, paper, most in (
        (clear, "clearly increases", 0.0),
        (worst, "qualitatively the same, the worst of seven: at most a tenth", 0.1),
    ):
        count, of = counts[point]
        what = f"steps, of {of}, after which the queue is shorter: {words(point)}"
        parts.append(Part(what, paper, exactly(count), 0, int(most * of)))
    return parts


def cp_17(view: View) -> list[Part]:
    gaps = [
        view.data.difference(view.study, QUEUE, view.at((flows, CUBIC, delay), *each),
                             view.at((flows, RENO, delay), *each))
        for flows in (1, 16)
        for delay in ("5ms", "50ms")
        for each in view.grid()
    ]  # fmt: skip
    longer = sum(gap.low is not None and gap.low > 0 for gap in gaps)
    what = f"configurations, of {len(gaps)}, in which Cubic's queue is longer"
    return [Part(what, "most: more than half", exactly(longer), len(gaps) // 2 + 1)]


def cp_18(view: View) -> list[Part]:
    point = (1, CUBIC, "50ms")
    tail = view.tail(QUEUE, point)
    found = view.extreme(QUEUE, point, view.grid(lambda t: t >= 10, lambda c: 1 < c <= 1.1), max)
    width = ((found.half_width or 0) ** 2 + (tail.half_width or 0) ** 2) ** 0.5
    gap = Interval(found.mean - tail.mean, width, min(found.samples, tail.samples))
    what = "longest queue, T_c >= 10 and c_max <= 1.1 minus that of tail drop"
    return [Part(what, "may even be longer", gap, 0, unit="packets")]


def cp_19(view: View) -> list[Part]:
    point = (16, RENO, "50ms")
    others = [each for each in COMBINATIONS if each[1] == RENO and each != point]
    small = min(c for _, c in view.grid())
    longest = extreme((view.policed(QUEUE, each, "5p", small) for each in others), max)
    low, enough = (view.policed(QUEUE, point, "5p", c) for c in (small, 1.05))
    parts = [
        Part(f"longest queue of the other New Reno, T_c = 5, c_max = {small:g}",
             "T_c <= 5 enforces small queues: no bufferbloat", longest, high=BLOATED,
             unit="packets"),
        Part(f"queue, {words(point)}, c_max = 1.05", "low: no bufferbloat", enough,
             high=BLOATED, unit="packets", referee=nsc(QUEUE, point, 1.05)),
    ]  # fmt: skip
    if small < 1.05:
        what = f"queue, {words(point)}, c_max = {small:g}"
        parts.append(Part(what, "c_max >= 1.05 is needed", low, BLOATED, unit="packets"))
    return parts


def cp_20(data: Data) -> list[Part]:
    parts = []
    for key, what, unit in ((USED, "utilization", "%"), (QUEUE, "queue", "packets")):
        scale = 100 if key == USED else 1
        gaps = []
        for size in LARGER:
            for each in COMBINATIONS:
                one = data.interval(BUCKETS, key, View(data, BUCKETS, size).at(each), scale=scale)
                other = View(data).policed(key, each)
                width = ((one.half_width or 0) ** 2 + (other.half_width or 0) ** 2) ** 0.5
                gaps.append(Interval(one.mean - other.mean, width, one.samples))
        most = extreme(gaps, max)
        paper = "not significantly increased" if key == USED else "rather insensitive"
        what = f"greatest gain in {what} of two and four times the bucket, T_c = 5, c_max = 1.2"
        parts.append(Part(what, paper, most, high=1, unit=unit))
    return parts


def of(judge: Callable[[View], list[Part]]) -> Callable[[Data], list[Part]]:
    """The claim as judged by the main study."""
    return lambda data: judge(View(data))


JUDGED: dict[str, Callable[[View], list[Part]]] = {
    "CP-2": cp_2, "CP-3": cp_3, "CP-4": cp_4, "CP-8": cp_8, "CP-9": cp_9, "CP-10": cp_10,
    "CP-11": cp_11, "CP-12": cp_12, "CP-13": cp_13, "CP-16": cp_16, "CP-17": cp_17, "CP-18": cp_18,
    "CP-19": cp_19,
}  # fmt: skip
"""What is also judged under every other choice."""

STATED: tuple[tuple[str, str, Callable[[Data], Sequence[Part]], tuple[str, ...]], ...] = (
    ("CP-1", "Tail drop, 15 Mb/s of UDP: utilization is 100 %, the queue always fully occupied, at "
     "any delay.", cp_1, ("udp-tail-drop",)),
    ("CP-2", "Tail drop, one New Reno flow: full utilization up to about 20 ms, 92.7 % at 50 ms; "
     "the queue falls from 20 packets to 10.", of(cp_2), (TAIL,)),
    ("CP-3", "Tail drop, one Cubic flow: fills the pipe up to 25 ms, about 98 % at 50 ms; larger "
     "queue than New Reno's.", of(cp_3), (TAIL,)),
    ("CP-4", "Tail drop, 16 flows: 100 % even at 50 ms; queues between 26 and 30 packets (Cubic), "
     "22.5 and 25.5 (New Reno); loss between 4 % and 12 %, 2.5 % and 9 %.", of(cp_4), (TAIL,)),
    ("CP-5", "CP-AQM, periodic UDP: the queue grows linearly with T_c and oscillates around it; "
     "c_max > 1 has no impact.", cp_5, (UDP,)),
    ("CP-6", "Exponential intervals: longer queues than periodic, more so for smaller c_max; "
     "longer at 12 Mb/s, shorter at 20. Equation 2's example: 48 ms and 14.7 packets.", cp_6,
     (UDP, RATES)),
    ("CP-7", "c_max = 1 does not cause the policer to drop any packet: equal to tail drop.", cp_7,
     (UDP, TAIL, TCP)),
    ("CP-8", "New Reno, 5 ms: utilization mostly 100 %, except for T_c in {0, 1} and large c_max, "
     "where it is between 86 % and 99 %.", of(cp_8), (TCP,)),
    ("CP-9", "New Reno, 50 ms: 92.5 % with tail drop and one flow, 80 % to 90 % with CP-AQM; with "
     "16 flows c_max <= 1.05 avoids significantly reduced utilization.", of(cp_9),
     (TCP, TAIL)),
    ("CP-10", "T_c = 5 and c_max = 1.2 limit the average queue to at most 12 packets in all "
     "scenarios; utilization 95 % for 16 New Reno flows at 50 ms.", of(cp_10), (TCP,)),
    ("CP-11", "T_c = 5, c_max = 1.05: up to 15 packets, almost full utilization of 16 New Reno "
     "flows at 50 ms. c_max = 1.5: at most 9 packets; utilization at 50 ms 82 % (1 New Reno), 94 % "
     "(16), 96 % (1 Cubic), 99 % (16).", of(cp_11), (TCP,)),
    ("CP-12", "T_c = 5, 16 Cubic flows, 5 ms: only 7 packets instead of 30 for tail drop.",
     of(cp_12), (TCP, TAIL)),
    ("CP-13", "One Cubic flow, 50 ms: about 98 % like tail drop; 94 % to 98 % for T_c <= 5 and "
     "c_max >= 1.2.", of(cp_13), (TCP,)),
    ("CP-14", "A single burst can fill the entire buffer without any drop by the policer.", cp_14,
     ("burst",)),
    ("CP-15", "Unresponsive traffic: utilization is 100 % for all series and parameters.", cp_15,
     (UDP, RATES)),
    ("CP-16", "The average queue clearly increases with T_c and with smaller c_max (figure 3(a)); "
     "qualitatively so everywhere.", of(cp_16), (TCP,)),
    ("CP-17", "For most configurations Cubic's queue is slightly larger than New Reno's.",
     of(cp_17), (TCP,)),
    ("CP-18", "One Cubic flow, 50 ms: CP-AQM may even lead to longer queues than tail drop for "
     "large T_c and small c_max.", of(cp_18), (TCP, TAIL)),
    ("CP-19", "New Reno: T_c <= 5 enforces small queues, but with 16 flows and 50 ms c_max >= 1.05 "
     "is needed as well.", of(cp_19), (TCP,)),
    ("CP-20", "B_CA = 67.815 KB suffices; larger buckets do not increase the utilization "
     "significantly, and CP-AQM is rather insensitive to them.", cp_20,
     (TCP, BUCKETS)),
)  # fmt: skip
CLAIMS = tuple(
    Claim(name, said, judge, studies, WHY.get(name, "")) for name, said, judge, studies in STATED
)


def persistent(data: Data) -> list[Part]:
    cbr, poisson = (data.interval(UDP, QUEUE, udp("5p", 1.2, kind)) for kind in ("cbr", "poisson"))
    return [
        Part("queue, constant intervals", "very short: T_c", cbr, high=6, unit="packets"),
        Part("queue, exponential", "very short: no bufferbloat", poisson, high=BLOATED,
             unit="packets"),
    ]  # fmt: skip


def short(view: View) -> list[Part]:
    what = LONGEST.format(1.2)
    return [Part(what, "short: no bufferbloat", view.longest(1.2), high=BLOATED, unit="packets")]


def reduced(view: View) -> list[Part]:
    point = (16, CUBIC, "5ms")
    share = 100 / view.tail(QUEUE, point).mean
    found = view.policed(QUEUE, point)
    of_tail = Interval(found.mean * share, (found.half_width or 0) * share, found.samples)
    what = f"queue as a share of tail drop's, {words(point)}"
    return [Part(what, "significant: at most half", of_tail, high=50, unit="%")]


def many_full(view: View) -> list[Part]:
    many = [each for each in COMBINATIONS if each[0] == 16]
    least = extreme((view.policed(USED, each) for each in many), min)
    what = "least utilization of 16 flows, T_c = 5, c_max = 1.2"
    return [Part(what, "100 %", least, FULL, unit="%")]


def one_less(view: View) -> list[Part]:
    parts = []
    for congestion in NAMES:
        point = (1, congestion, "50ms")
        found, tail = view.policed(USED, point), view.tail(USED, point)
        width = ((found.half_width or 0) ** 2 + (tail.half_width or 0) ** 2) ** 0.5
        less = Interval(tail.mean - found.mean, width, found.samples)
        what = f"utilization, {words(point)}: tail drop minus CP-AQM"
        parts.append(Part(what, "slightly decreased: 0 to 10", less, 0, 10, "%"))
    return parts


CONCLUSIONS = (
    Conclusion("CP-AQM keeps the queue very short for persistent unresponsive traffic.",
               persistent, (UDP,)),
    Conclusion("It achieves short queues for TCP.", of(short), (TCP,)),
    Conclusion("It achieves 100 % utilization if multiple flows are transmitted.", of(many_full),
               (TCP,)),
    Conclusion("The reduction is significant: 7 packets instead of 30.", of(reduced), (TCP, TAIL)),
    Conclusion("A single flow has slightly less utilization at long delays.", of(one_less),
               (TCP, TAIL)),
    Conclusion("The entire buffer can be used by a single burst.", lambda data: cp_14(data)[1:],
               ("burst",)),
)  # fmt: skip
