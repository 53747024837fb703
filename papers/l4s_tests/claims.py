"""What the tests found: their tables row by row, and their key findings."""

from __future__ import annotations

import math
from collections.abc import Callable

from forebay.papers import Claim, Conclusion, Data, Part, exactly
from forebay.stats import Interval

from .points import (
    CHOICES,
    CLASSIC,
    MAIN,
    NEAR,
    QUEUES,
    ROWS,
    SHARED,
    TEXT,
    TODAY,
    Row,
    changed,
    near_rows,
    run_rows,
)

SHARE = 0.9
"""Of the rows of a queue, how many are to be near."""


def row(queue: str, controls: tuple[str, str], rtts: tuple[int, int]) -> Row:
    """The published row of a point."""
    wanted = (queue, controls, rtts)
    return next(each for each in ROWS if (each.queue, each.controls, each.rtts) == wanted)


def near(queue: str) -> Callable[[Data], list[Part]]:
    """How many rows of a queue have both throughputs near the published ones."""

    def judge(data: Data) -> list[Part]:
        rows = run_rows(data, queue)
        found = near_rows(data, queue)
        what = f"rows with both throughputs within {NEAR:.0f} %, of {len(rows)}"
        return [Part(what, "nine of ten", exactly(found), math.ceil(SHARE * len(rows)))]

    return judge


def over_cubic(data: Data, queue: str, rtt: int, study: str = MAIN) -> tuple[Interval, float]:
    """Prague's throughput over CUBIC's at equal round trips; the published one."""
    here = row(queue, ("cubic", "prague"), (rtt, rtt))
    return here.ratio(data, study), here.stated[1] / here.stated[0]


def l4s_7(data: Data) -> list[Part]:
    parts = []
    for rate in ("50Mbit", "10Mbit"):
        for rtt in (10, 20, 80):
            found, stated = over_cubic(data, f"{rate} dualpi2", rtt)
            what = f"Prague over CUBIC, {rate}, {rtt} ms"
            parts.append(Part(what, "an advantage", found, 1, stated=stated))
    return parts


def l4s_8(data: Data) -> list[Part]:
    parts = []
    for rate in ("50Mbit", "10Mbit"):
        here = row(f"{rate} dualpi2", ("prague", "prague"), (160, 10))
        found = here.ratio(data)
        stated = here.stated[1] / here.stated[0]
        what = f"{rate}, Prague at 10 ms over Prague at 160 ms"
        parts.append(Part(what, "exceeds 16:1", found, 16, stated=stated))
    return parts


def l4s_9(data: Data) -> list[Part]:
    parts = []
    for queue in ("50Mbit pfifo(1000)", "10Mbit pfifo(200)"):
        for rtt in (10, 20, 80):
            found, stated = over_cubic(data, queue, rtt)
            what = f"Prague over CUBIC, {queue}, {rtt} ms"
            parts.append(Part(what, "CUBIC outperforms", found, high=1, stated=stated))
    return parts


def l4s_10(data: Data) -> list[Part]:
    return [
        Part(
            f"Prague over {each.rival}, {each.queue}",
            "dominates",
            each.ratio(data),
            10,
            stated=each.stated[0] / each.stated[1],
        )
        for each in SHARED
    ]


def why(queue: str) -> Callable[[Data], str]:
    """Why rows of a queue are not near, with the rows of `choices` that show it."""

    def words(data: Data) -> str:
        titles = data.study(CHOICES).runs["title"].unique().to_list()
        found = {title: changed(data, title) for title in titles}
        pairs = {title: f"{a.mean:.1f} and {b.mean:.1f}" for title, (a, b) in found.items()}
        return TEXT[f"why {queue}"].format(pairs)

    return words


CLAIMS = (
    *(
        Claim(
            f"L4S-{number}",
            f"Scenario 1, {queue}: what two transfers deliver, in 24 rows.",
            near(queue),
            (MAIN, CHOICES),
            why(queue) if f"why {queue}" in TEXT else "",
        )
        for number, queue in enumerate(QUEUES, 1)
    ),
    Claim("L4S-7", '"DualPI2 consistently gives TCP Prague flows a throughput advantage over '
          'conventional CUBIC flows, where both flows run over the same path RTT."', l4s_7,
          (MAIN,)),
    Claim("L4S-8", '"In the pure-L4S scenario in which both flows are TCP Prague, the ratio of '
          'throughput actually exceeds the nominal 16:1 ratio of path RTTs."', l4s_8, (MAIN,)),
    Claim("L4S-9", 'Without an AQM "TCP Prague behaves approximately like NewReno and, as '
          'expected, is outperformed by CUBIC".', l4s_9, (MAIN,)),
    Claim("L4S-10", '"L4S flows dominate non-L4S flows, whether ECN enabled or not, when they '
          'occupy a shared RFC 3168 signaling queue."', l4s_10, (CLASSIC,)),
)  # fmt: skip


def equal_fq(data: Data) -> list[Part]:
    queue = "50Mbit fq_codel"
    parts = []
    for rtt in (10, 20, 80):
        found, stated = over_cubic(data, queue, rtt)
        what = f"Prague over CUBIC, {queue}, {rtt} ms"
        parts.append(Part(what, "very nearly equal", found, 1 / 1.2, 1.2, stated=stated))
    return parts


def today(data: Data) -> list[Part]:
    parts = []
    for rate in ("50Mbit", "10Mbit"):
        here = row(f"{rate} dualpi2", ("prague", "prague"), (20, 10))
        found = here.ratio(data, TODAY)
        what = f"{rate}, Prague at 10 ms over Prague at 20 ms, as it is today"
        parts.append(Part(what, "independent of the round trip", found, 1 / 1.2, 1.2))
    return parts


CONCLUSIONS = (
    Conclusion("Prague has an advantage over CUBIC through DualPI2.",
               lambda data: l4s_7(data)[:3], (MAIN,)),
    Conclusion("Fair queueing gives both nearly the same (at 50 Mbit/s).", equal_fq, (MAIN,)),
    Conclusion("Prague dominates classic senders in a shared queue with classic marks.", l4s_10,
               (CLASSIC,)),
)  # fmt: skip
HYPOTHESES = (
    Claim("L4S-H1", "Today's Prague treats round trips below 25 ms as 25 ms, so transfers over "
                    "10 and 20 ms get the same.", today, (TODAY,)),
)  # fmt: skip
