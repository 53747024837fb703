"""A figure for each task."""

from __future__ import annotations

from forebay.papers import Data, Panel

from .points import (
    ALWAYS,
    DELAY,
    DISGUISED,
    FLOOD,
    GREEDY,
    HONEST,
    LONG,
    MARKED,
    OFTEN,
    SHORT,
    UNMARKED,
    bars,
)
from .tables import BACKGROUND, POLICE, PRECEDENCE, PROFILES, RATES, SMALL

IMPORTANT = {"Important voice": "voice-important", "Important data": "data-important"}
GAME, CALL = "classes.game.p99_delay_ms", "classes.call.p99_delay_ms"


def small(data: Data) -> list[Panel]:
    cases = {
        "unmarked": (GAME, UNMARKED, 1.0),
        "four times as often": (GAME, OFTEN, 1.0),
        "marked": (GAME, MARKED, 1.0),
        "beside a marked flood": (GAME, FLOOD, 1.0),
    }
    return [bars(data, "small", SMALL, "The game", DELAY, cases)]


def police(data: Data) -> list[Panel]:
    cases = {"alone": HONEST, "greedy sender": GREEDY, "greedy and marked": DISGUISED}
    goodput = {name: ("classes.honest.goodput_bps", case, 1e-6) for name, case in cases.items()}
    delay = {name: (CALL, case, 1.0) for name, case in cases.items()}
    unit = "goodput of all honest senders, Mbit/s"
    return [
        bars(data, "police", POLICE, "Eight honest senders", unit, goodput),
        bars(data, "police", POLICE, "A call", DELAY, delay),
    ]


def precedence(data: Data) -> list[Panel]:
    return [
        bars(
            data,
            "precedence",
            PRECEDENCE,
            title,
            "packets lost, %",
            {rate: (f"classes.{name}.loss", {"rate": rate}, 100.0) for rate in RATES},
        )
        for title, name in IMPORTANT.items()
    ]


def background(data: Data) -> list[Panel]:
    cases = {"0.5 s": SHORT, "10 s": LONG}
    return [
        bars(
            data,
            "background",
            BACKGROUND,
            title,
            unit,
            {name: (key, case, scale) for name, case in cases.items()},
            "title",
        )
        for title, unit, key, scale in (
            ("The background transfer", "goodput, Mbit/s", "classes.low.goodput_bps", 1e-6),
            ("High priority", DELAY, "classes.high.p99_delay_ms", 1.0),
        )
    ]


def profiles(data: Data) -> list[Panel]:
    whose = {"gold, bought 6": "gold", "silver, bought 2": "silver"}
    goodput = {name: (f"classes.{who}.goodput_bps", ALWAYS, 1e-6) for name, who in whose.items()}
    delay = {name: (f"classes.{who}.p99_delay_ms", ALWAYS, 1.0) for name, who in whose.items()}
    return [
        bars(data, "profiles", PROFILES, "What each gets", "goodput, Mbit/s", goodput),
        bars(data, "profiles", PROFILES, "How long it waits", DELAY, delay),
    ]
