"""Equations 1 to 21: figures 1 to 6 and the claims about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forebay.papers import Data, Panel, Part, Series, exactly
from forebay.stats import Interval
from forebay.theory import ncq

Values = Any
"""An array over utilizations, or one number."""

UTILIZATION = np.round(np.arange(0.02, 0.951, 0.01), 2)
SMALL, LARGE = 0.5e-3, 5e-3
"""Service times of figure 1, seconds."""
KB = 1024
"""Bytes of a "1KB" packet, which takes 5 ms; the paper's FTP figures fit 1024, not 1000."""
TASK = 5 * 1024 * 1024


def curve(label: str, values: Values, scale: float = 1e3) -> Series:
    return Series(label, UTILIZATION.tolist(), (scale * values).tolist())


def figure_1(_: Data) -> list[Panel]:
    panels = []
    for share in (0.1, 0.2):
        load = ncq.traffic(UTILIZATION, share, SMALL, LARGE)
        some, none = ncq.with_priority(load), ncq.without_priority(load)
        exact = ncq.without_priority(load, exact=True)
        title = f"{share:.0%} of the packets non-congestive"
        panels.append(
            Panel(
                title,
                "utilization",
                "queuing delay, ms",
                [
                    curve("congestive, priority", some.second),
                    curve("congestive, none (as printed)", none.second),
                    curve("congestive, none (exact)", exact.second),
                    curve("non-congestive, priority", some.first),
                    curve("non-congestive, none (as printed)", none.first),
                    curve("non-congestive, none (exact)", exact.first),
                ],
                y_range=(0, 40),
            )
        )
        panels.append(
            Panel(
                f"{title}: the system",
                "utilization",
                "queuing delay, ms",
                [
                    curve("priority", some.system),
                    curve("none (as printed)", none.system),
                    curve("none (exact)", exact.system),
                ],
                y_range=(0, 40),
            )
        )
    return panels


def figure_2(_: Data) -> list[Panel]:
    panels = []
    for share in (0.1, 0.2):
        load = ncq.traffic(UTILIZATION, share, SMALL, LARGE)
        for which, word in (("first", "Non-congestive"), ("second", "Congestive")):
            series = [curve("none", getattr(ncq.with_threshold(load, 0.0, exact=True), which))]
            for threshold in (0.01, 0.03, 0.05):
                found = ncq.with_threshold(load, threshold, reading="algorithm", exact=True)
                series.append(curve(f"ncqthresh {threshold}", getattr(found, which)))
            printed = ncq.with_threshold(load, 0.05)
            series.append(curve("0.05, as printed", getattr(printed, which)))
            title = f"{word}, {share:.0%} of the packets non-congestive"
            panels.append(Panel(title, "utilization", "queuing delay, ms", series, y_range=(0, 40)))
    return panels


def strategies(before: int, utilization: Values = UTILIZATION) -> dict[str, tuple[Values, Values]]:
    """Delay and task time of class 1 with packets of `before` bytes, and of 120 bytes."""
    large = LARGE * before / KB if before != KB else LARGE
    load = ncq.traffic(utilization, 0.1, large, LARGE)
    # As the paper: the same packets a second, though each carries less.
    small = ncq.Traffic(load.first, load.second, np.asarray(LARGE * 120 / KB), load.second_service)
    delays = {
        f"{before if before != KB else '1 k'}B packets": (ncq.without_priority(load).first, before),
        "120 B, NCQ without threshold": (ncq.with_priority(small).first, 120),
        "120 B, NCQ, ncqthresh 0.05": (ncq.with_threshold(small, 0.05).first, 120),
    }
    return {
        name: (delay, ncq.task_time(delay, ncq.packets_of_task(TASK, size)))
        for name, (delay, size) in delays.items()
    }


STATED = {KB: (240, 371), 500: (143, 253), 140: (-21, 19)}
"""Change of the task's time at utilization 0.6, % (figures 3, 4 and 6), without and with 0.05."""


def times(before: int) -> Callable[[Data], list[Panel]]:
    """Figures 3, 4 and 6."""

    def panels(_: Data) -> list[Panel]:
        found = strategies(before)
        series = [curve(name, time, 1) for name, (_, time) in found.items()]
        base = float(next(iter(strategies(before, 0.6).values()))[1])
        for name, off in zip(("without a threshold", "with 0.05"), STATED[before], strict=True):
            at = [base * (1 + off / 100)]
            series.append(Series(f"stated, {name}", [0.6], at, stated=True))
        high = 1000 if before == KB else 600 if before == 500 else 300
        return [Panel("", "utilization", "time of a 5 MB task, s", series, y_range=(0, high))]

    return panels


def figure_5(_: Data) -> list[Panel]:
    return [
        Panel(
            "",
            "utilization",
            "queuing delay, ms",
            [curve(name, delay) for name, (delay, _) in strategies(140).items()],
            y_range=(0, 20),
        )
    ]


def off(before: int, which: int) -> Interval:
    """Change of the task's time at utilization 0.6 against the unchanged packets, in percent."""
    one, *others = [float(time) for _, time in strategies(before, 0.6).values()]
    return exactly(100 * (others[which] / one - 1))


def relative(one: ncq.Delays, other: ncq.Delays, which: str) -> Interval:
    return exactly(100 * (float(getattr(one, which) / getattr(other, which)) - 1))


def case_1(exact: bool) -> Callable[[Data], list[Part]]:
    """NCQ-1, with equation 9 or the exact form of it."""

    def gain(share: float, u: float, which: str) -> Interval:
        load = ncq.traffic(u, share, SMALL, LARGE)
        none = ncq.without_priority(load, exact=exact)
        return relative(ncq.with_priority(load), none, which)

    same = "statistically the same"
    return lambda _: [
        Part("congestive delay, 10 %, utilization 0.7", "a slight increase",
             gain(0.1, 0.7, "second"), 1, 10, "%"),
        Part("non-congestive delay, 10 %, utilization 0.7",
             "a significant improvement", gain(0.1, 0.7, "first"), high=-30,
             unit="%"),
        Part("congestive delay, 20 %, utilization 0.7", "appears significant",
             gain(0.2, 0.7, "second"), 10, unit="%"),
        Part("congestive delay, 20 %, utilization 0.3", "where it begins",
             gain(0.2, 0.3, "second"), 2, 10, "%"),
        Part("the system's delay, 20 %, utilization 0.7", same, gain(0.2, 0.7, "system"),
             -5, 5, "%"),
    ]  # fmt: skip


def case_3(printed: bool) -> Callable[[Data], list[Part]]:
    """NCQ-2, with kthresh as printed or by the algorithm of section 3."""

    def gain(u: float, threshold: float, which: str) -> Interval:
        load = ncq.traffic(u, 0.1, SMALL, LARGE)
        reading: ncq.Reading = "printed" if printed else "algorithm"
        found = ncq.with_threshold(load, threshold, reading=reading, exact=not printed)
        none = ncq.with_threshold(load, 0.0, reading=reading, exact=not printed)
        return relative(found, none, which)

    steps = [gain(0.8, threshold, "first").mean for threshold in (0.01, 0.03, 0.05)]
    loads = [gain(u, 0.05, "first").mean for u in (0.3, 0.6, 0.9)]
    ordered = float(steps[0] > steps[1] > steps[2]) + float(loads[0] > loads[1] > loads[2])
    return lambda _: [
        Part("congestive delay, ncqthresh 0.05, utilization 0.9", "almost-zero",
             gain(0.9, 0.05, "second"), -2, 2, "%"),
        Part("non-congestive delay, ncqthresh 0.05, utilization 0.23",
             "statistically the same below", gain(0.23, 0.05, "first"), -10, 10, "%"),
        Part("non-congestive delay, ncqthresh 0.05, utilization 0.8",
             "significant gains", gain(0.8, 0.05, "first"), high=-20, unit="%"),
        Part("of 2 (thresholds, loads), those with which the gain grows step by step",
             "increase more for higher values, as the utilization builds up", exactly(ordered),
             2, 2),
    ]  # fmt: skip


def pays_from(before: int, which: int) -> float:
    """Utilization from which the task's time is shorter in packets of 120 B; 1 if never."""
    large, *small = [time for _, time in strategies(before).values()]
    shorter = small[which] < large
    return float(UTILIZATION[np.argmax(shorter)]) if shorter.any() else 1.0


def splitting(_: Data) -> list[Part]:
    named = {KB: "1 kB", 500: "500 B", 140: "140 B"}
    rules = ("without a threshold", "with ncqthresh 0.05")
    parts = [
        Part(
            f"{named[before]} to 120 B {rules[which]}, utilization 0.6: change of the time",
            f"{stated:+d} %",
            off(before, which),
            stated - 3,
            stated + 3,
            "%",
            stated=stated,
        )
        for before, both in STATED.items()
        for which, stated in enumerate(both)
    ]
    least = min(pays_from(before, which) for before in (KB, 500) for which in (0, 1))
    return [
        *parts,
        Part(
            "least utilization from which 1 kB or 500 B pay in 120 B, with or without a threshold",
            "should, in general, avoid",
            exactly(least),
            0.8,
        ),
        Part(
            "140 B to 120 B, without a threshold: pays from utilization",
            "0.48",
            exactly(pays_from(140, 0)),
            0.4,
            0.56,
            stated=0.48,
        ),
    ]


def why_splitting(_: Data) -> str:
    found = strategies(KB, 0.6)
    first = 1000 * float(found["120 B, NCQ without threshold"][0])
    base = float(next(iter(found.values()))[1])
    stated = STATED[KB][0]
    wanted = 1000 * (1 + stated / 100) * base / float(ncq.packets_of_task(TASK, 120))
    whole, split, _ = (time for _, time in strategies(KB).values())
    most = 100 * float((split / whole).max() - 1)
    return (
        "The direction agrees throughout. The three numbers with a threshold follow from the "
        "equations as printed if a packet of 1 kB has 1024 B and the packets a second stay the "
        f"same. The three without do not. The paper's {stated} % asks for a delay of class 1 of "
        f"{wanted:.2f} ms, where equations 1 and 4 give {first:.2f} ms. At no utilization do they "
        f"give more than {most:.0f} %. The other two ask for a wait that is longer by the same "
        "third, so that one factor is wrong in the paper's arithmetic. No simulation is involved."
    )
