"""Why claims differ, each by the run that shows it."""

from __future__ import annotations

from collections.abc import Callable

from forebay.papers import Data

from .points import (
    AS_JUDGED,
    BUCKETS,
    BURST_RULE,
    CHOICES,
    COMBINATIONS,
    CUBIC,
    LARGER,
    NAMES,
    NO_LIMIT,
    QUEUE,
    RENO,
    RULE,
    SMALL,
    T_C,
    UDP,
    USED,
    View,
    nsc,
    nsc_least,
    nsc_longest,
    udp,
    words,
)

NEAR, FAR = (1, RENO, "5ms"), (1, RENO, "50ms")
ONE_CUBIC, MANY_RENO = (1, CUBIC, "50ms"), (16, RENO, "50ms")


def cp_2(data: Data) -> str:
    found = View(data).tail(QUEUE, NEAR).mean
    return (
        f"At 5 ms, the queue is {found:.1f} packets, and {nsc(QUEUE, NEAR):.1f} in the kernel "
        "that the authors ran. So our TCP is not the reason."
    )


def cp_4(data: Data) -> str:
    view = View(data)
    point = (16, RENO, "5ms")
    return (
        f"16 New Reno flows at 5 ms have a queue of {view.tail(QUEUE, point).mean:.2f} packets on "
        f"average, and of {nsc(QUEUE, point):.2f} in the kernel."
    )


def cp_8(data: Data) -> str:
    view, small = View(data), View(data, CHOICES, SMALL)
    stuck, kernel = view.policed(USED, NEAR, "2p", 1.5).mean, nsc(USED, NEAR, 1.5, AS_JUDGED, 2)
    freed = small.policed(USED, NEAR, "2p", 1.5).mean
    crowd = (16, RENO, "5ms")
    many = view.policed(USED, crowd, "2p", 2.0).mean
    return (
        "A single flow may repeat the same episode forever. At T_c = 2 and c_max = 1.5 it uses "
        f"{stuck:.1f} % of the link ({kernel:.1f} % in the kernel), and {freed:.1f} % beside 20 "
        "kb/s of small packets (study `choices`). Sixteen flows fall below 99 % only for c_max = "
        f"2: {many:.1f} % at T_c = 2, and {nsc(USED, crowd, 2.0, AS_JUDGED, 2):.1f} % in the "
        "kernel. In the corner of small T_c, the kernel falls to "
        f"{nsc_least(NEAR, ((0, 1.2), (0, 1.5), (0, 2.0), (1, 2.0))):.1f} %, which is not 86 % "
        "either."
    )


def cp_9(data: Data) -> str:
    view = View(data)
    found = view.policed(USED, FAR, "1p", 2.0).mean
    kernel = nsc(USED, FAR, 2.0, AS_JUDGED, 1)
    return (
        f"The lower end of the range: {found:.1f} % at T_c = 1 and c_max = 2, and {kernel:.1f} % "
        "in the kernel."
    )


def cp_10(data: Data) -> str:
    view, rule = View(data), View(data, BUCKETS, RULE)
    longest = max(COMBINATIONS, key=lambda each: view.policed(QUEUE, each).mean)
    return (
        f"The reason is the bucket, as for CP-11. The longest queue is that of {words(longest)}: "
        f"{view.longest(1.2).mean:.1f} packets, and {nsc_longest(1.2):.1f} in the kernel. With "
        f"the rule it has {rule.longest(1.2).mean:.1f} and {nsc_longest(1.2, RULE):.1f} (study "
        "`buckets`)."
    )


def cp_11(data: Data) -> str:
    view = View(data)
    at_most = max(COMBINATIONS, key=lambda each: view.policed(QUEUE, each, "5p", 1.5).mean)
    return (
        "The bucket decides (study `buckets`; *The numbers that decide*, below). With the 67.815 "
        "KB of section 3.3, the queues are longer than with either rule, here and in the kernel. "
        "No reading gives 9 packets at c_max = 1.5. There the longest queue is that of "
        f"{words(at_most)}. Its bucket is almost always empty, so the size of the bucket has no "
        "effect."
    )


def cp_13(data: Data) -> str:
    view, small, wide = View(data), View(data, CHOICES, SMALL), View(data, CHOICES, NO_LIMIT)
    stuck = view.policed(USED, ONE_CUBIC, "2p", 1.2).mean
    kernel = nsc(USED, ONE_CUBIC, 1.2, AS_JUDGED, 2)
    freed = small.policed(USED, ONE_CUBIC, "2p", 1.2).mean
    ours = view.policed(USED, ONE_CUBIC, "5p", 2.0).mean
    at_20 = [each.policed(USED, ONE_CUBIC, "20p").mean for each in (view, wide)]
    return (
        "Here, too, a single flow repeats the same episode. At T_c = 2 and c_max = 1.2 it uses "
        f"{stuck:.1f} % ({kernel:.1f} % in the kernel), and {freed:.1f} % beside 20 kb/s of small "
        f"packets (study `choices`). At T_c = 5 and c_max = 2, this happens here ({ours:.1f} %) "
        f"but not in the kernel ({nsc(USED, ONE_CUBIC, 2.0):.1f} %). Elsewhere, the socket buffer "
        f"changes the result. At T_c = 20 and c_max = 1.2, the utilization is {at_20[0]:.1f} % "
        f"with 345 KB and {at_20[1]:.1f} % with 1 MB."
    )


def cp_15(data: Data) -> str:
    full = next(
        t for t in T_C if all(data.interval(UDP, USED, udp(t, c)).mean > 0.995 for c in (1.2, 2.0))
    )
    queue = data.interval(UDP, QUEUE, udp("0p", 2.0)).mean
    return (
        f"With T_c = 0 and c_max = 2, {queue:.1f} packets wait on average. At 15 Mb/s, no packet "
        "arrives during e^-1.5 = 22 % of the transmissions. If the queue is empty then, the link "
        "becomes idle. This involves no TCP and none of our choices (study `udp`). From T_c = "
        f"{full[:-1]} on, the link is full at 15 Mb/s."
    )


CP_16 = (
    "The exceptions are points at which a single flow repeats the same episode (CP-8). Beside "
    "small packets, or with a round trip of 10.1 ms, every step of figure 3(a) follows the rule "
    "(study `choices`)."
)


def cp_17(data: Data) -> str:
    view, said = View(data), []
    for flows in (1, 16):
        for delay in ("5ms", "50ms"):
            gaps = [
                data.difference(view.study, QUEUE, view.at((flows, CUBIC, delay), *each),
                                view.at((flows, RENO, delay), *each))
                for each in view.grid()
            ]  # fmt: skip
            longer = sum(gap.low is not None and gap.low > 0 for gap in gaps)
            said.append(f"{longer} of {len(gaps)} with {flows} flow{'s' * (flows > 1)} at {delay}")
    reno, cubic = (nsc(QUEUE, (16, each, "5ms"), 1.2) for each in NAMES)
    return (
        f"Cubic's queue is longer in {', '.join(said)}: so on the long path, but not on the short "
        "one, where Cubic loses more packets. The kernel shows the same (16 flows, 5 ms, "
        f"recommended parameters: {reno:.1f} packets with New Reno, {cubic:.1f} with Cubic), and "
        "so does the paper: its 7 packets for Cubic (CP-12) are fewer than New Reno's."
    )


def cp_19(data: Data) -> str:
    view = View(data)
    rule, burst = (View(data, BUCKETS, each) for each in (RULE, BURST_RULE))
    found = [each.policed(QUEUE, MANY_RENO, "5p", 1.05).mean for each in (view, rule, burst)]
    return (
        f"The reason is the bucket, as for CP-11: {found[0]:.1f} packets at c_max = 1.05 with the "
        f"constant ({nsc(QUEUE, MANY_RENO, 1.05):.1f} in the kernel), {found[1]:.1f} and "
        f"{found[2]:.1f} with the rules (study `buckets`)."
    )


def cp_20(data: Data) -> str:
    largest = View(data, BUCKETS, LARGER[-1])
    return (
        "On the long path, the bucket fills while the queue is short (study `buckets`). With 271 "
        f"KB, 16 New Reno flows have a queue of {largest.policed(QUEUE, MANY_RENO).mean:.1f} "
        f"packets instead of {View(data).policed(QUEUE, MANY_RENO).mean:.1f} (in the kernel "
        f"{nsc(QUEUE, MANY_RENO, 1.2, LARGER[-1]):.1f} and {nsc(QUEUE, MANY_RENO, 1.2):.1f}). "
        f"They use {largest.policed(USED, MANY_RENO).mean:.1f} % of the link instead of "
        f"{View(data).policed(USED, MANY_RENO).mean:.1f} %."
    )


WHY: dict[str, Callable[[Data], str] | str] = {
    "CP-2": cp_2, "CP-4": cp_4, "CP-8": cp_8, "CP-9": cp_9, "CP-10": cp_10, "CP-11": cp_11,
    "CP-13": cp_13, "CP-15": cp_15, "CP-16": CP_16, "CP-17": cp_17, "CP-19": cp_19, "CP-20": cp_20,
}  # fmt: skip
