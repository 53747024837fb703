"""Why claims differ, in the words of the runs that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay.papers import (
    Data,
)
from forebay.stats import Interval

from .combined import no_one, together
from .points import (
    AT_1_5,
    COMBINATIONS,
    CUBIC,
    LOSS,
    QUEUE,
    RENO,
    USED,
    combination,
    measure,
    policed,
    tcp,
)
from .stacks import EVERY, LESS, NO_SACK, OURS, conventions, moved, with_stack


def joined(*said: str) -> str:
    return " ".join(each for each in said if each)


def says(
    data: Data,
    discipline: str,
    point: tuple[int, str, str],
    key: str,
    low: float,
    high: float,
) -> str:
    """Which conventions bring a number to where the paper has it, or how near they come; nothing
    if it is there."""
    unit = "packets" if key == QUEUE else "%"
    found = {
        stack: with_stack(data, stack, discipline, point, key).mean
        for stack in (OURS, *conventions(point[1]))
        if stack != NO_SACK
    }
    if low <= found[OURS] <= high:
        return ""
    sure = {
        stack: value
        for stack, value in found.items()
        if stack != OURS and moved(data, stack, discipline, point, key).excludes_zero
    }
    head = f"{combination(*point)}, {discipline}: {found[OURS]:.4g} {unit}"
    unknown = "What else sets the authors' stack apart is not known."
    more = together(data, (discipline, point, key), low, high)
    if not sure:
        alone = f"{head}, and no convention of the stack, changed alone, moves it."
        return joined(alone, more or unknown)

    def away(stack: str) -> float:
        return max(low - sure[stack], sure[stack] - high)

    if inside := [stack for stack in sure if away(stack) <= 0]:
        inside.sort(key=lambda stack: -abs(sure[stack] - found[OURS]))
        names = ", ".join(f"{sure[stack]:.4g} with “{stack}”" for stack in inside[:3])
        return f"{head}, but in the paper's range with one convention changed: {names}."
    near, far = min(sure, key=away), max(sure, key=away)
    alone = (
        f"{head}, and no convention of the stack, changed alone, brings it into the paper's range: "
        f"nearest is {sure[near]:.4g} (“{near}”), farthest {sure[far]:.4g} (“{far}”)."
    )
    return joined(alone, more or unknown)


def cp_2_why(data: Data) -> str:
    return joined(
        *(
            says(data, "tail drop", (1, RENO, delay), QUEUE, low, high)
            for delay, low, high in (("5ms", 19, 21), ("50ms", 9, 11))
        )
    )


def cubic_alone(data: Data) -> str:
    """One Cubic flow with tail drop at 50 ms."""
    where = {"discipline": "tail drop", "congestion": CUBIC, "delay": "50ms", "length": "1010s"}
    long = measure(data, "length", USED, where).mean
    said = says(data, "tail drop", (1, CUBIC, "50ms"), USED, 97, 99)
    if not said:
        return ""
    kept = with_stack(data, LESS, "tail drop", (1, CUBIC, "50ms"), USED).mean
    return (
        f"{said} Runs of 1000 s have {long:.4g} %. The paper's value is that of a window that a "
        f"loss leaves at 0.6 of itself ({kept:.4g} %); CUBIC's is 0.7 in every Linux from 2.6.25 "
        "on and in RFC 9438, and 0.8 before. What in the authors' stack takes the rest is not "
        "known."
    )


def cp_3_why(data: Data) -> str:
    return cubic_alone(data)


def cp_4_why(data: Data) -> str:
    said = (
        says(data, "tail drop", point, key, low, high)
        for point, key, low, high in (
            ((16, CUBIC, "50ms"), LOSS, 3, 13),
            ((16, RENO, "5ms"), QUEUE, 21.5, 26.5),
            ((16, RENO, "50ms"), QUEUE, 21.5, 26.5),
        )
    )
    return joined(
        *said,
        no_one(data),
        "Two [other simulators](#the-same-claims-with-other-stacks) have 16 New Reno flows at 5 ms "
        "above the paper's range as well.",
    )


def noisy(data: Data, point: tuple[str, dict[str, Any]], key: str) -> Interval:
    """The same point of one flow, beside small packets."""
    return measure(data, "noise", key, point[1])


def locked(data: Data, points: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The point of the least utilization, and what becomes of it beside small packets."""

    def used(name: str, where: Mapping[str, Any]) -> float:
        return measure(data, name, USED, where).mean

    name, worst = min(points, key=lambda each: used(*each))
    timeouts = data.interval(name, "classes.tcp.timeouts", worst).mean
    beside = [used("noise", where) for _, where in points]
    alone = used(name, worst)
    there = used("noise", worst)
    return (
        f"The least, {alone:.4g} %, is at T_c = {worst['T_c'][:-1]} and c_max = "
        f"{worst['c_max']:g}, with {timeouts:.3g} timeouts in 100 s; beside 20 kb/s of small "
        f"packets the flow has {there:.4g} % there, and from {min(beside):.4g} % to "
        f"{max(beside):.4g} % over the same parameters."
    )


NOISY = ("0p", "1p", "2p", "3p", "5p", "7p", "10p")
NOISY_C = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0)


def cp_8_why(data: Data) -> str:
    return locked(data, [tcp(1, RENO, "5ms", t, c) for t in NOISY[2:] for c in NOISY_C])


def cp_9_why(data: Data) -> str:
    points = [tcp(1, RENO, "50ms", t, c) for t in NOISY for c in NOISY_C]
    corner = says(data, "T_c = 0, c_max = 2", (1, RENO, "50ms"), USED, 79, 91)
    return joined(locked(data, points), corner)


def cp_13_why(data: Data) -> str:
    point = (1, CUBIC, "50ms")
    small = [tcp(*point, t, c) for t in NOISY[:5] for c in NOISY_C[3:]]
    least = "T_c = 2, c_max = 2"
    others = [moved(data, each, least, point, USED).mean for each in conventions(CUBIC)]
    far = [each for each in others if each > 5]
    return joined(
        locked(data, small),
        says(data, least, point, USED, 93, 99),
        f"It is one episode over and over: {len(far)} of {len(others)} conventions, changed alone, "
        f"break it as the small packets do, and raise it by {min(far):.2g} to {max(far):.2g} "
        "points."
        if far
        else "",
        says(data, "T_c = 7, c_max = 2", point, USED, 97, 99),
        cubic_alone(data),
    )


def cp_10_why(data: Data) -> str:
    longest = max(by_rule(data, each, 1.2, QUEUE).mean for each in COMBINATIONS)
    return joined(
        says(data, "c_max = 1.2", longest_at(data, 1.2), QUEUE, float("-inf"), 12.5),
        f"With the bucket by the formula of section 3.3 for this T_c and c_max, in place of its "
        f"largest value, the longest queue is {longest:.3g} packets.",
        says(data, "c_max = 1.2", (16, RENO, "50ms"), USED, 94, 96),
    )


def longest_at(data: Data, c_max: float) -> tuple[int, str, str]:
    """The combination with the longest queue at T_c = 5."""

    def queue(point: tuple[int, str, str]) -> float:
        return policed(data, *point, QUEUE, "5p", c_max).mean

    return max(COMBINATIONS, key=queue)


def by_rule(data: Data, point: tuple[int, str, str], c_max: float, key: str) -> Interval:
    """A measure with the bucket that the rule gives at T_c = 5."""
    flows, congestion, delay = point
    where = {"flows": flows, "congestion": congestion, "delay": delay,
             "discipline": f"c_max = {c_max:g}"}  # fmt: skip
    return measure(data, "bucket-rule", key, where)


def cp_11_why(data: Data) -> str:
    said = [
        says(data, f"c_max = {c:g}", longest_at(data, c), QUEUE, low, high)
        for c, low, high in ((1.05, 14, 16), (1.5, 0, 9.5))
    ]
    longest = {
        c: max(by_rule(data, each, c, QUEUE).mean for each in COMBINATIONS) for c in (1.05, 1.5)
    }
    said.append(
        "With the bucket by the formula of section 3.3 at each c_max, in place of its largest "
        f"value, the longest queues are {longest[1.05]:.3g} and {longest[1.5]:.3g} packets."
    )
    for (flows, congestion), value in AT_1_5.items():
        point = (flows, congestion, "50ms")
        part = says(data, "c_max = 1.5", point, USED, value - 1, value + 1)
        if part and flows == 1:
            beside = noisy(data, tcp(*point, "5p", 1.5), USED).mean
            part = f"{part[:-1]}; {beside:.4g} beside 20 kb/s of small packets."
        said.append(part)
    return joined(*said, no_one(data))


def cp_12_why(data: Data) -> str:
    said = (
        says(data, discipline, (16, CUBIC, "5ms"), QUEUE, low, high)
        for discipline, low, high in (("c_max = 1.2", 6, 8), ("tail drop", 29, 31))
    )
    queue, used = (
        with_stack(data, EVERY, "tail drop", (16, RENO, "50ms"), key).mean for key in (QUEUE, USED)
    )
    return joined(
        *said,
        f"An acknowledgment of every segment is no reading for all: 16 New Reno flows at 50 ms "
        f"would have {queue:.3g} packets and {used:.3g} % with tail drop, where the paper has at "
        f"least 22.5 and 100.",
        no_one(data),
    )
