"""What the options and the rule for when to freeze come to, and the numbers that bear it out."""

from __future__ import annotations

import json
import math
from typing import Any

from forebay.papers import Data, Part, Statement, exactly
from forebay.stats import Interval

from .beyond import PLACE, PLACES, box_label, effects
from .points import changed, measured, runs

SLOW = "10 Mbit/s, 40 ms; high: TCP, 20 MB"
STREAM = "10 Mbit/s, 40 ms; high: UDP, 8 Mbit/s for 15 s"
FAST = "100 Mbit/s, 100 ms; high: TCP, 200 MB"
NO_RESTART = "The same, without restart after idle times"
LOST_ACKS = "The same with restart, 20 % of ACKs lost before the sender"
PLAIN = "ASPQ, plain"
TIME, TIMEOUTS = "classes.low.mean_completion_s", "classes.low.timeouts"


def point(data: Data, place: str, box: str) -> dict[str, Any]:
    """The point of the study "options" with these words."""
    for run in runs(data, "options"):
        *key, high = (run[name] for name in PLACE)
        if PLACES[(*key, json.loads(high)["kind"])] == place and box_label(run["box"]) == box:
            return {name: run[name] for name in (*PLACE, "box")}
    raise KeyError(f"{place}: {box}")


def beyond(data: Data, place: str, box: str, key: str) -> Interval:
    """A box less the plain one, run by run."""
    return changed(data, "options", key, point(data, place, box), point(data, place, PLAIN))


def trickle(data: Data) -> list[Part]:
    box = "ASPQ, trickle 150ms"
    return [
        Part("more timeouts", "", beyond(data, FAST, box, TIMEOUTS), 3.0),
        Part("longer", "", beyond(data, FAST, box, TIME), 3.0, unit="s"),
    ]


def freeze_limit(data: Data) -> list[Part]:
    return [
        Part("more timeouts", "", beyond(data, FAST, "ASPQ, freeze limit 5s", TIMEOUTS), 3.0),
    ]


def staged(data: Data) -> list[Part]:
    box = "ASPQ, staged release 100ms"
    return [
        Part(f"{word} restart", "", beyond(data, place, box, TIME), low, high, "s")
        for word, place, low, high in (
            ("without", NO_RESTART, -math.inf, -2.0), ("with", FAST, -0.5, 0.5)
        )
    ]  # fmt: skip


def repeat(data: Data) -> list[Part]:
    found = beyond(data, LOST_ACKS, "ASPQ, repeat release 200ms", TIME)
    return [Part("upper end of what it changes", "", exactly(found.high or 0.0), 0.0, unit="s")]


def in_spite(data: Data) -> list[Part]:
    return [
        Part(place, "", measured(data, "options", TIMEOUTS, point(data, place, PLAIN)), 1.0,
             unit="timeouts")
        for place in (SLOW, STREAM)
    ]  # fmt: skip


OPTIONS_SAY = (
    Statement(
        "`trickle` is for traffic that leaves gaps; where the high-priority traffic fills the "
        "link (100 Mbit/s), its segment starves and brings the timeouts that the freeze avoids.",
        trickle,
    ),
    Statement("`freeze limit` ends in the same.", freeze_limit),
    Statement(
        "`staged release` matters to a sender that keeps its window while idle, and to no other.",
        staged,
    ),
    Statement(
        "`repeat release` is for acknowledgments that get lost, but with a fifth of them lost five "
        "runs do not show that it helps.",
        repeat,
    ),
    Statement(
        "At 10 Mbit/s and 40 ms data under way do not drain before the link is full: the timeouts "
        "come in spite of the freeze.",
        in_spite,
    ),
)

HOME = ("periods", "transfers", "flows")
AWAY = ("elsewhere",)
FLOWS, CHANGE, EFFECT, RULE, SHARE = 1, 3, 4, 5, 6
"""Columns of the tables."""


def right(data: Data) -> list[Part]:
    parts = []
    for word, studies, most in (("made from", HOME, 1), ("tried on", AWAY, 0)):
        rows, good = effects(data, studies)
        what = f"wrong, of the {len(rows)} traffics that it was {word}"
        parts.append(Part(what, "", exactly(len(rows) - good), 0, most))
    return parts


def undecided(data: Data) -> list[Part]:
    rows = [row for row in effects(data, AWAY)[0] if row[RULE].startswith("freeze")]
    sure = sum(row[EFFECT] != "neither" for row in rows)
    return [Part(f"that surely gain or lose, of {len(rows)}", "", exactly(sure), 0, 0)]


def guaranteed(data: Data) -> list[Part]:
    rows = [*effects(data, HOME)[0], *effects(data, AWAY)[0]]
    more = sum(row[SHARE].mean >= row[CHANGE].mean - 1 for row in rows)
    what = f"of {len(rows)} traffics, no less to a percent"
    return [Part(what, "", exactly(100 * more / len(rows)), 90.0, 100.0, "%")]


def many(data: Data) -> list[Part]:
    return [
        Part(f"{row[0]}, {row[FLOWS]} flows", "", row[CHANGE], -10.0, 10.0, "%")
        for row in effects(data, ("flows",))[0]
    ]


WHEN_SAYS = (
    Statement(
        "The rule was chosen after the first table below was known, of whose traffics it is wrong "
        "for one, and then tried on links of five times less and more, where it is for none.",
        right,
    ),
    Statement(
        "There three runs a point decide little: of the traffics for which it freezes none surely "
        "gains or loses more than 1 %.",
        undecided,
    ),
    Statement(
        "The sum of three low-priority flows and more a freeze changes by less than a tenth.", many
    ),
    Statement(
        "A guaranteed share (DRR, a tenth for low priority) gives low-priority flows no less than "
        "a freeze in nearly every case, and needs no controller and no trust in headers.",
        guaranteed,
    ),
)
