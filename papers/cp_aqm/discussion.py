"""Sentences about the results, and the numbers that must bear them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from scipy.special import stdtrit

from forebay.papers import Data, Part, Statement, exactly
from forebay.stats import Interval

from .claims import CLAIMS
from .combined import SIXTEEN, hits, in_range, place_words, stacks
from .points import (
    COMBINATIONS,
    CUBIC,
    LOSS,
    NAMES,
    POINTS,
    QUEUE,
    RENO,
    USED,
    apart,
    combination,
    lengths,
    measure,
    policed,
    share,
    tail,
    tcp,
)
from .reasons import NOISY, NOISY_C
from .sections import judged, whole_stacks
from .stacks import (
    DISCIPLINES,
    HALVING,
    HYSTART,
    INITIAL_WINDOW,
    NO_SACK,
    Place,
    moved,
    with_stack,
)

FAR = ("CP-13", "least utilization, T_c <= 5, c_max >= 1.2")
SHORT = [each for each in COMBINATIONS if each[2] == "5ms"]
MANY = [each for each in COMBINATIONS if each[0] == 16]
UNITS = {QUEUE: "packets", USED: "points"}


def not_far(data: Data) -> list[Part]:
    """All numbers of the claims but one, with more room."""
    room = {"packets": 1.5, "%": 2.0}
    return [
        Part(f"{claim}: {part.what}", "", part.found, part.low - room[part.unit],
             part.high + room[part.unit], part.unit)
        for claim, parts_of in CLAIMS.items()
        for part in parts_of(data)
        if part.verdict != "reproduced" and (claim, part.what) != FAR
    ]  # fmt: skip


DIFFERS = (
    Statement(
        "But for one Cubic flow on the long path with T_c <= 5 and c_max >= 1.2, which locks into "
        "an episode, no number misses its range by as much as a packet and a half or two "
        "percentage points.",
        not_far,
    ),
)


def shorter(data: Data) -> list[Part]:
    return [
        Part(f"queue, {combination(*each)}", "",
             share(policed(data, *each, QUEUE), tail(data, *each, QUEUE)), high=60.0,
             unit="% of tail drop's")
        for each in COMBINATIONS
    ]  # fmt: skip


def full(data: Data) -> list[Part]:
    return [
        Part(f"utilization, {combination(*each)}", "", policed(data, *each, USED), 99.9, unit="%")
        for each in SHORT
    ]


def given_up(data: Data) -> list[Part]:
    return [
        Part(f"tail drop less CP-AQM, {combination(flows, congestion, '50ms')}", "",
             apart(tail(data, flows, congestion, "50ms", USED),
                   policed(data, flows, congestion, "50ms", USED)), low, high, "points")
        for flows, congestion, low, high in (
            (1, RENO, 7.5, 8.5), (16, RENO, 3.5, 4.5), (1, CUBIC, 3.0, 4.0), (16, CUBIC, 0.0, 0.5)
        )
    ]  # fmt: skip


def lost(data: Data) -> list[Part]:
    return [
        Part(f"losses, {combination(16, each, '5ms')}", "",
             share(policed(data, 16, each, "5ms", LOSS), tail(data, 16, each, "5ms", LOSS)),
             175.0, 200.0, "% of tail drop's")
        for each in NAMES
    ]  # fmt: skip


def overload(data: Data) -> list[Part]:
    where = {"T_c": "5p", "c_max": 1.2}
    return [
        Part(f"{word} intervals", "", data.interval(f"udp-{word}", QUEUE, where), low, high,
             "packets")
        for word, low, high in (("constant", 5.0, 6.2), ("exponential", 8.5, 10.0))
    ]  # fmt: skip


def more_again(data: Data) -> list[Part]:
    one, other = (tcp(16, RENO, "50ms", "5p", c)[1] for c in (2.0, 1.5))
    return [
        Part("c_max = 2 less 1.5", "", data.difference("tcp-16", USED, one, other, scale=100), 0.0,
             unit="points")
    ]  # fmt: skip


def longer_than_tail_drop(data: Data) -> list[Part]:
    beyond = tail(data, 1, CUBIC, "50ms", QUEUE)

    def less(threshold: str, low: float, high: float) -> Part:
        found = apart(policed(data, 1, CUBIC, "50ms", QUEUE, threshold, 1.01), beyond)
        return Part(f"CP-AQM less tail drop, T_c = {threshold[:-1]}", "", found, low, high,
                    "packets")  # fmt: skip

    return [
        *(less(each, 0.0, float("inf")) for each in ("0p", "1p", "2p", "3p")),
        *(less(each, -0.1, 0.1) for each in ("15p", "20p", "25p")),
    ]


USE = (
    Statement("**Queue:** at most three fifths of tail drop's in every combination.", shorter),
    Statement("**Utilization, short path:** the link stays full.", full),
    Statement(
        "**Utilization, long path:** of the link, one New Reno flow gives up eight percentage "
        "points against tail drop, sixteen give up four, one Cubic flow three and a half, and "
        "sixteen less than half a point.",
        given_up,
    ),
    Statement(
        "**Losses:** sixteen flows on the short path lose nearly twice as many packets as with "
        "tail drop.",
        lost,
    ),
    Statement(
        "**Unresponsive overload** of 15 Mb/s is held at T_c if its packets come at constant "
        "intervals, and at nearly twice that if at exponential ones.",
        overload,
    ),
    Statement(
        "A larger c_max does not always cost utilization: sixteen New Reno flows on the long path "
        "use more of the link with 2 than with 1.5.",
        more_again,
    ),
    Statement(
        "One Cubic flow on the long path can have a longer queue than with tail drop if c_max is "
        "small, as the paper found; here it has for small T_c, and in the paper for large.",
        longer_than_tail_drop,
    ),
)


def same_means(data: Data) -> list[Part]:
    return [
        Part(what, "", data.difference("length", key, short, long, scale=scale), -most, most,
             UNITS[key])
        for what, short, long in lengths()
        for key, scale, most in ((QUEUE, 1.0, 0.25), (USED, 100.0, 0.5))
    ]  # fmt: skip


LENGTH = (
    Statement(
        "100 s give the means of 1000 s to a quarter of a packet and half a percentage point.",
        same_means,
    ),
)


def covered() -> list[Part]:
    """How often an interval covers the mean if its width decided when to stop."""
    random = np.random.default_rng(1)
    counts = np.arange(20, 101)
    quantile: Any = stdtrit(counts - 1, 0.975)
    parts = []
    for spread in (0.005, 0.01, 0.015, 0.02, 0.03):
        samples = random.normal(1.0, spread, (4000, 100))
        total, squares = samples.cumsum(1)[:, 19:], (samples**2).cumsum(1)[:, 19:]
        mean = total / counts
        width = quantile * np.sqrt((squares / counts - mean**2) / (counts - 1))
        narrow = width <= 0.005 * mean
        narrow[:, -1] = True
        at = narrow.argmax(1)[:, np.newaxis]
        hits = np.abs(np.take_along_axis(mean, at, 1) - 1) <= np.take_along_axis(width, at, 1)
        parts.append(Part(f"covered, runs that spread by {100 * spread:g} %", "",
                          exactly(100 * float(hits.mean())), 93.0, 100.0, "%"))  # fmt: skip
    return parts


EARLY = (
    Statement(
        "Stopping by the interval's own width costs it little of its 95 %: so stopped, those of "
        "4000 series of normal samples cover the mean in at least 93 %.",
        lambda _data: covered(),
    ),
)


def alike(data: Data) -> list[Part]:
    def deviation(flow: tuple[str, str], beside: bool) -> float:
        points = (tcp(1, *flow, t, c) for t in NOISY for c in NOISY_C)
        runs = (data.runs("noise" if beside else name, where) for name, where in points)
        return median(float(each.select(USED).to_series().std()) for each in runs)  # type: ignore[arg-type]

    return [
        Part(f"1 {NAMES[flow[0]]}, {flow[1][:-2]} ms, {word}", "",
             exactly(100 * deviation(flow, beside)), low, high, "points")
        for flow, word, beside, low, high in (
            ((RENO, "50ms"), "alone", False, 0.0, 0.25),
            ((CUBIC, "50ms"), "alone", False, 0.0, 0.1),
            ((CUBIC, "50ms"), "beside packets", True, 1.0, float("inf")),
        )
    ]  # fmt: skip


def in_line(data: Data) -> list[Part]:
    def fall(delay: str, key: str, beside: bool) -> float:
        """The most that a larger T_c takes away."""

        def at(threshold: str, c_max: float) -> float:
            name, where = tcp(1, CUBIC, delay, threshold, c_max)
            return measure(data, "noise" if beside else name, key, where).mean

        steps = [(t, u, c) for t, u in pairwise(NOISY) for c in NOISY_C]
        return max(at(t, c) - at(u, c) for t, u, c in steps)

    return [
        Part(f"1 Cubic, {delay[:-2]} ms, {word}", "", exactly(fall(delay, key, beside)),
             low, high, UNITS[key])
        for delay, key, word, beside, low, high in (
            ("5ms", QUEUE, "alone", False, 5.0, float("inf")),
            ("5ms", QUEUE, "beside packets", True, -float("inf"), 0.0),
            ("50ms", USED, "alone", False, 5.0, float("inf")),
            ("50ms", USED, "beside packets", True, -float("inf"), 1.0),
        )
    ]  # fmt: skip


ALONE = (
    Statement(
        "Runs of one flow alone hardly differ: the standard deviation of utilization, at the "
        "median of the points, is below a quarter of a percentage point.",
        alike,
    ),
    Statement(
        "Beside the packets Cubic falls in line: alone, a larger T_c can take five packets of its "
        "queue or five points of utilization away; beside them it takes no queue at 5 ms, and at "
        "most a point of utilization at 50 ms.",
        in_line,
    ),
)


def bucket(data: Data, point: tuple[int, str, str], key: str, size: str) -> Interval:
    flows, congestion, delay = point
    where = {"flows": flows, "congestion": congestion, "delay": delay, "bucket": size}
    return measure(data, "bucket", key, where)


def larger_bucket(data: Data, points: Sequence[tuple[int, str, str]], key: str,
                  low: float, high: float) -> list[Part]:  # fmt: skip
    """What a bucket of four times the paper's size adds."""
    return [
        Part(combination(*each), "",
             apart(bucket(data, each, key, "271KB"), bucket(data, each, key, "67815B")),
             low, high, UNITS[key])
        for each in points
    ]  # fmt: skip


BUCKET = (
    Statement(
        "For sixteen flows on the short path four times the bucket changes the queue by less than "
        "a quarter of a packet.",
        lambda data: larger_bucket(data, [each for each in MANY if each in SHORT], QUEUE,
                                   -0.25, 0.25),
    ),
    Statement(
        "Everywhere else it makes the queue longer by more than one packet, and for sixteen flows "
        "on the long path by more than four.",
        lambda data: [
            *larger_bucket(data, [each for each in COMBINATIONS if each[0] == 1], QUEUE,
                           1.0, float("inf")),
            *larger_bucket(data, [each for each in MANY if each not in SHORT], QUEUE,
                           4.0, float("inf")),
        ],
    ),
    Statement(
        "New Reno on the long path uses two to four percentage points more of the link for it.",
        lambda data: larger_bucket(
            data, [each for each in COMBINATIONS if each[1:] == (RENO, "50ms")], USED, 2.0, 4.0),
    ),
)  # fmt: skip


def nearer(data: Data) -> list[Part]:
    """Distances from the text's numbers for 16 New Reno flows at 50 ms."""
    ours, other = (judged(each) for each in list(whole_stacks(data).values())[:2])
    parts = []
    for claim, what, value in (
        ("CP-4", "queue, New Reno, 50 ms", 22.5),
        ("CP-10", "utilization, 16 New Reno, 50 ms", 95.0),
    ):
        one, two = (
            next(part for part in parts_of[claim] if part.what == what)
            for parts_of in (ours, other)
        )
        assert one.found is not None
        assert two.found is not None
        less = abs(two.found.mean - value) - abs(one.found.mean - value)
        width = apart(one.found, two.found).half_width
        found = Interval(less, width, two.found.samples)
        parts.append(Part(f"2.6.26 less 3.2: {what}", "", found, 0.0, unit=one.unit))
    return parts


def as_many(data: Data) -> list[Part]:
    hits = [
        sum(part.verdict == "reproduced" for parts in judged(each).values() for part in parts)
        for each in whole_stacks(data).values()
    ]
    return [Part("most less fewest", "", exactly(max(hits) - min(hits)), 0, 2, "numbers")]


WHOLE = (
    Statement(
        "Linux 3.2 was chosen in trial runs, for sixteen New Reno flows at 50 ms: with tail drop "
        "and with the recommended parameters it comes nearer to the text than 2.6.26 does. Its "
        "choice is so far fitted.",
        nearer,
    ),
    Statement(
        "Counted over all numbers none of the three stacks is nearer to the paper than another by "
        "more than two.",
        as_many,
    ),
)


def moves(data: Data, stack: str, combinations: list[tuple[int, str, str]]) -> Iterator[Part]:
    """By how much one convention moves queue and utilization."""
    for discipline in DISCIPLINES:
        for point in combinations:
            for key, most in ((QUEUE, 1.0), (USED, POINTS)):
                found = moved(data, stack, discipline, point, key)
                what = f"{combination(*point)}, {discipline}"
                yield Part(what, "", found, -most, most, UNITS[key])


def halving(data: Data) -> list[Part]:
    return [
        Part("16 New Reno, 50 ms, c_max = 1.2", "",
             moved(data, HALVING, "c_max = 1.2", (16, RENO, "50ms"), USED), high=-2.0,
             unit="points"),
        Part("16 New Reno, 5 ms, c_max = 1.2", "",
             moved(data, HALVING, "c_max = 1.2", (16, RENO, "5ms"), QUEUE), 2.0, unit="packets"),
    ]  # fmt: skip


def other_episode(data: Data) -> list[Part]:
    found = moved(data, INITIAL_WINDOW, "c_max = 1.2", (1, CUBIC, "50ms"), QUEUE)
    return [Part("1 Cubic, 50 ms, c_max = 1.2", "", found, high=-1.0, unit="packets")]


def timeouts(data: Data) -> list[Part]:
    found = with_stack(data, NO_SACK, "c_max = 1.2", (1, CUBIC, "50ms"), "classes.tcp.timeouts")
    return [Part("1 Cubic, 50 ms, c_max = 1.2", "", found, 40.0, 70.0, "timeouts in 100 s")]


STACK_SAYS = (
    Statement(
        "Of the three changes that the judged stack adds to 2.6.26, PRR in place of rate halving "
        "matters most: rate halving would cost sixteen New Reno flows two points of utilization "
        "on the long path and lengthen their queue by two packets on the short one.",
        halving,
    ),
    Statement(
        "HyStart moves no number of any combination by as much as a packet or a point.",
        lambda data: list(moves(data, HYSTART, COMBINATIONS)),
    ),
    Statement(
        "Nor does the initial window, of sixteen flows.",
        lambda data: list(moves(data, INITIAL_WINDOW, MANY)),
    ),
    Statement(
        "One flow alone the initial window can send into another episode, with a queue shorter "
        "by more than a packet.",
        other_episode,
    ),
    Statement(
        "Without SACK a burst of losses is repaired one a round trip; in slow start after the "
        "timeout that follows, CUBIC, whose threshold is 0.7 of the last window, overruns the "
        "short buffer again, and a flow at 50 ms times out about every two seconds.",
        timeouts,
    ),
)


LONG_RENO = ("tail drop", (16, RENO, "50ms"), QUEUE)
EXCLUDED: tuple[tuple[Place, Place], ...] = (
    (LONG_RENO, ("tail drop", (16, CUBIC, "5ms"), QUEUE)),
    (LONG_RENO, ("c_max = 1.2", (16, CUBIC, "5ms"), QUEUE)),
    (LONG_RENO, ("c_max = 1.05", (16, RENO, "50ms"), QUEUE)),
)
"""Numbers of claims of which no stack has both."""


def exclude(data: Data) -> list[Part]:
    """How many stacks have one number in range, and how many that one and another."""
    at = {place: index for index, (_, place, _, _) in enumerate(SIXTEEN)}
    found = [in_range(data, each) for each in stacks(data)]
    parts = []
    for one, other in EXCLUDED:
        name = place_words(other)
        either = [sum(each[at[place]] for each in found) for place in (one, other)]
        both = sum(each[at[one]] and each[at[other]] for each in found)
        parts += [
            Part(f"stacks with one of two in range, {name}", "", exactly(min(either)), 1),
            Part(f"stacks with both, {name}", "", exactly(both), 0, 0),
        ]
    return parts


COMBINED = (
    Statement(
        "No stack has more than two thirds of the numbers of sixteen flows in range.",
        lambda data: [
            Part("most numbers in range", "", exactly(max(hits(data))), 0, 2 * len(SIXTEEN) / 3)
        ],
    ),
    Statement(
        "Some numbers exclude each other: a stack with CP-4's tail drop queue of sixteen New Reno "
        "flows on the long path in range has neither queue of CP-12 in range, nor CP-11's with "
        "c_max = 1.05; yet there are stacks for each of the four.",
        exclude,
    ),
)
