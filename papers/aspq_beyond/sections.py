"""What the options and the rule for when to freeze come to, and the numbers that bear it out."""

from __future__ import annotations

import math

from forebay.papers import Data, Part, Statement, Table, exactly
from forebay.papers.data import Where
from forebay.stats import Interval

from .points import (
    FREEZE,
    HIGH,
    HOME,
    LOW,
    OPTIONS,
    P99,
    PLAIN,
    SHARE,
    SPQ,
    TEXT,
    Traffic,
    option,
    traffics,
)

SLOW = "10 Mbit/s, 40 ms; high: TCP, 20 MB"
FAST = "100 Mbit/s, 100 ms; high: TCP, 200 MB"
NO_RESTART = "the same, without restart after idle times"
LOST_ACKS = "the same with restart, 20 % of ACKs lost"
TIME, TIMEOUTS = "classes.low.mean_completion_s", "classes.low.timeouts"


def boxes(data: Data) -> dict[str, str]:
    """The boxes of the study by their words, as it writes them."""
    written = data.study(OPTIONS).runs["box"].unique(maintain_order=True)
    return {option(each): each for each in written}


def at(data: Data, place: str, box: str) -> Where:
    """A point of the study."""
    return {"title": place, "box": boxes(data)[box]}


def beyond(data: Data, place: str, box: str, key: str) -> Interval:
    """A box less the plain one, run by run."""
    return data.difference(OPTIONS, key, at(data, place, box), at(data, place, PLAIN))


def trickle(data: Data) -> list[Part]:
    return [Part("more timeouts", "", beyond(data, FAST, "trickle 150ms", TIMEOUTS), 3)]


def freeze_limit(data: Data) -> list[Part]:
    return [Part("more timeouts", "", beyond(data, FAST, "freeze limit 5s", TIMEOUTS), 3)]


def staged(data: Data) -> list[Part]:
    box = "staged release 100ms"
    return [
        Part(f"{word} restart", "", beyond(data, place, box, TIME), low, high, "s")
        for word, place, low, high in (
            ("without", NO_RESTART, -math.inf, -2), ("with", FAST, -0.5, 0.5)
        )
    ]  # fmt: skip


def repeat(data: Data) -> list[Part]:
    found = beyond(data, LOST_ACKS, "repeat release 200ms", TIME)
    return [Part("upper end of the change", "", exactly(found.high or 0.0), 0, unit="s")]


def in_spite(data: Data) -> list[Part]:
    found = data.interval(OPTIONS, TIMEOUTS, at(data, SLOW, PLAIN))
    return [Part("timeouts", "", found, 1)]


OPTIONS_SAY = (
    Statement(
        "`trickle` is for traffic that leaves gaps. If high-priority traffic fills the link (100 "
        "Mbit/s), its segment is never sent, and causes the timeouts that the freeze should "
        "avoid.",
        trickle,
    ),
    Statement("`freeze limit` has the same effect.", freeze_limit),
    Statement(
        "`staged release` only matters to a sender that keeps its window while it is idle.",
        staged,
    ),
    Statement(
        "`repeat release` is for lost acknowledgments. But with a fifth of them lost, five runs "
        "do not show that it helps.",
        repeat,
    ),
    Statement(
        "At 10 Mbit/s and 40 ms, data in flight are not delivered before a transfer fills the "
        "link. The timeouts happen in spite of the freeze.",
        in_spite,
    ),
)


def option_tables(data: Data) -> list[Table]:
    places = data.study(OPTIONS).runs["title"].unique(maintain_order=True)
    tables = []
    for heading, key in (("Time that the low transfer takes, s", TIME), ("Timeouts", TIMEOUTS)):
        rows = [
            [box, *(data.interval(OPTIONS, key, at(data, place, box)) for place in places)]
            for box in boxes(data)
        ]
        tables.append(Table(["box", *places], rows, heading))
    return tables


def home(data: Data) -> list[Traffic]:
    return [each for each in traffics(data) if each.rate == HOME]


def long(data: Data) -> list[Part]:
    return [
        Part(f"{each.words}, {each.flows} flows", "", each.change(FREEZE), -2, 2, "%")
        for each in home(data)
        if each.fills and each.on >= 10
    ]


def counts(data: Data) -> dict[str, list[Traffic]]:
    """The traffics beside which a freeze surely helps or hurts."""
    known = [(each, each.effect) for each in traffics(data)]
    return {name: [each for each, effect in known if effect == name] for name in ("helps", "hurts")}


def more_harm(data: Data) -> list[Part]:
    found = counts(data)
    most = max(each.change(FREEZE).mean for each in found["helps"])
    return [
        Part(
            "kinds hurt minus kinds helped",
            "",
            exactly(len(found["hurts"]) - len(found["helps"])),
            1,
        ),
        Part("most that is gained", "", exactly(most), high=10, unit="%"),
        Part(
            "longest interruption among those helped, s",
            "",
            exactly(max(each.on for each in found["helps"])),
            high=2,
        ),
    ]


def wasted(data: Data) -> list[Part]:
    return [
        Part(each.words, "", each.change(FREEZE), high=-20, unit="%")
        for each in home(data)
        if not each.fills and each.high["rate"] == "5Mbit" and each.on >= 1
    ]


def guaranteed(data: Data) -> list[Part]:
    known = traffics(data)
    more = sum(each.change(SHARE).mean >= each.change(FREEZE).mean - 1 for each in known)
    what = f"of {len(known)} kinds of traffic, those that get no less, to a percent"
    return [Part(what, "", exactly(100 * more / len(known)), 90, 100, "%")]


def many(data: Data) -> list[Part]:
    return [
        Part(f"{each.words}, {each.flows} flows", "", each.change(FREEZE), -5, 5, "%")
        for each in home(data)
        if each.flows > 1
    ]


WHEN_SAY = (
    Statement(
        "If high-priority traffic fills a link of 10 Mbit/s for ten seconds or more, the case "
        "that a freeze is made for, the goodput of the low-priority flows changes by less than 2 "
        "%.",
        long,
    ),
    Statement(
        "A freeze surely hurts more often than it surely helps. It helps by a tenth at most, "
        "with interruptions of two seconds.",
        more_harm,
    ),
    Statement(
        "If high-priority traffic leaves half of the link free, a freeze of a second or more "
        "wastes a fifth to a third of what low priority would have had.",
        wasted,
    ),
    Statement(
        "The sum of three or more low-priority flows changes by less than a twentieth.", many
    ),
    Statement(
        "In nearly every case, a guaranteed share (DRR, a tenth for low priority) gives "
        "low-priority flows no less than a freeze. It needs no controller and no trust in "
        "headers.",
        guaranteed,
    ),
)
HEADS = [
    "high-priority traffic",
    "low flows",
    "SPQ, Mbit/s",
    "frozen, %",
    "freezing",
    "guaranteed share, %",
    "its price, Mbit/s",
    "p99, SPQ / share, ms",
]  # fmt: skip


def row(each: Traffic) -> list[object]:
    """A traffic in the tables."""
    name = each.words if each.rate == HOME else f"{each.rate}/s link: {each.words}"
    delays = [each.interval(P99, variant).mean for variant in (SPQ, SHARE)]
    return [
        name,
        each.flows,
        each.interval(LOW, SPQ, 1e-6),
        each.change(FREEZE),
        each.effect,
        each.change(SHARE),
        each.less(HIGH, SHARE, 1e-6),
        f"{delays[0]:.0f} / {delays[1]:.0f}",
    ]


def when_table(data: Data) -> list[Table]:
    """Every traffic."""
    return [Table(HEADS, [row(each) for each in traffics(data)])]


def found(data: Data) -> str:
    """The page's beginning."""
    sure = counts(data)
    best = max(traffics(data), key=lambda each: each.change(FREEZE).mean)
    return TEXT["found"].format(
        all=len(traffics(data)),
        helps=len(sure["helps"]),
        hurts=len(sure["hurts"]),
        best=best.change(FREEZE).mean,
        share=best.change(SHARE).mean,
        rate=best.rate,
        words=best.words,
    )
