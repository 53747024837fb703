"""A table for each task: means, and paired differences from the old idea."""

from __future__ import annotations

from forebay.papers import Data, Table

from .points import (
    ALWAYS,
    DISGUISED,
    FLOOD,
    GREEDY,
    HONEST,
    L4S_FLOOD,
    LONG,
    MARKED,
    OFTEN,
    SHORT,
    UNMARKED,
    compared,
)

SMALL = (
    "NCQ",
    "FIFO",
    "NQB",
    "NQB, protected",
    "DualPI2",
    "DualPI2, protected",
    "FQ-CoDel",
    "CAKE",
)
POLICE = (
    "CP-AQM",
    "FIFO",
    "CP-AQM by flow",
    "NQB",
    "NQB, protected",
    "DualPI2, protected",
    "FQ-CoDel",
)
PRECEDENCE = (
    "CQ-AQM",
    "priority by class",
    "priority by precedence",
    "CAKE, four tins",
    "CAKE, one tin",
)
BACKGROUND = (
    "strict priority, ASPQ",
    "strict priority",
    "strict priority, LEDBAT",
    "strict priority, Prague",
    "strict priority and marks, Prague",
    "one queue, LEDBAT",
    "one queue, Prague",
    "one queue",
    "htb, 5 % for the background",
)
PROFILES = (
    "WRED", "FIFO", "RIO", "WRT", "DualPI2", "CAKE, by flow", "CAKE, by host", "htb, 6 and 2",
)  # fmt: skip
RATES = ("12Mbit", "8Mbit", "6Mbit")
GAME, LOST, BULK = (
    "classes.game.p99_delay_ms", "classes.game.loss", "classes.bulk.goodput_bps",
)  # fmt: skip


def small(data: Data) -> list[Table]:
    columns = {
        "unmarked: p99, ms": (GAME, UNMARKED, 1.0),
        "four times as often": (GAME, OFTEN, 1.0),
        "marked: p99, ms": (GAME, MARKED, 1.0),
        "flooded: p99, ms": (GAME, FLOOD, 1.0),
        "flooded: lost, %": (LOST, FLOOD, 100.0),
        "flooded with ECT(1): p99, ms": (GAME, L4S_FLOOD, 1.0),
        "with ECT(1): lost, %": (LOST, L4S_FLOOD, 100.0),
        "bulk when flooded, Mbit/s": (BULK, FLOOD, 1e-6),
    }
    differences = {
        "p99 unmarked": (GAME, UNMARKED, 1.0),
        "p99 marked": (GAME, MARKED, 1.0),
        "p99 flooded": (GAME, FLOOD, 1.0),
    }
    return compared(data, "small", SMALL, columns, differences)


def police(data: Data) -> list[Table]:
    honest, call = "classes.honest.goodput_bps", "classes.call.p99_delay_ms"
    columns = {
        "honest alone, Mbit/s": (honest, HONEST, 1e-6),
        "beside greedy": (honest, GREEDY, 1e-6),
        "call beside greedy: p99, ms": (call, GREEDY, 1.0),
        "beside greedy and marked: p99, ms": (call, DISGUISED, 1.0),
        "lost then, %": ("classes.call.loss", DISGUISED, 100.0),
    }
    differences = {
        "honest beside greedy": (honest, GREEDY, 1e-6),
        "p99 of the call beside greedy": (call, GREEDY, 1.0),
        "greedy and marked": (call, DISGUISED, 1.0),
    }
    return compared(data, "police", POLICE, columns, differences)


def precedence(data: Data) -> list[Table]:
    voice, important = "classes.voice-important.loss", "classes.data-important.loss"
    rest, bulk = "classes.voice.loss", "classes.data.goodput_bps"
    columns = {
        **{
            f"important {what} lost at {rate}, %": (key, {"rate": rate}, 100.0)
            for what, key in (("voice", voice), ("data", important))
            for rate in RATES[1:]
        },
        "other voice at 6Mbit": (rest, {"rate": "6Mbit"}, 100.0),
        "other voice p99 at 8Mbit, ms": ("classes.voice.p99_delay_ms", {"rate": "8Mbit"}, 1.0),
        "data at 12Mbit, Mbit/s": (bulk, {"rate": "12Mbit"}, 1e-6),
    }  # fmt: skip
    differences = {
        "important voice at 6Mbit": (voice, {"rate": "6Mbit"}, 100.0),
        "important data at 6Mbit": (important, {"rate": "6Mbit"}, 100.0),
        "data at 12Mbit": (bulk, {"rate": "12Mbit"}, 1e-6),
    }
    return compared(data, "precedence", PRECEDENCE, columns, differences)


def background(data: Data) -> list[Table]:
    low, high = "classes.low.goodput_bps", "classes.high.p99_delay_ms"
    columns = {
        "low, 0.5 s, Mbit/s": (low, SHORT, 1e-6),
        "low, 10 s": (low, LONG, 1e-6),
        "high, 10 s: p99, ms": (high, LONG, 1.0),
        "high lost, 10 s, %": ("classes.high.loss", LONG, 100.0),
    }
    differences = {
        "low, 0.5 s": (low, SHORT, 1e-6),
        "low, 10 s": (low, LONG, 1e-6),
        "p99 of high, 10 s": (high, LONG, 1.0),
    }
    return compared(data, "background", BACKGROUND, columns, differences, "title")


def profiles(data: Data) -> list[Table]:
    gold, silver = (f"classes.{who}.goodput_bps" for who in ("gold", "silver"))
    wait = "classes.gold.p99_delay_ms"
    columns = {
        "gold (6), Mbit/s": (gold, ALWAYS, 1e-6),
        "silver (2), Mbit/s": (silver, ALWAYS, 1e-6),
        "gold p99, ms": (wait, ALWAYS, 1.0),
        "gold lost, %": ("classes.gold.loss", ALWAYS, 100.0),
    }
    differences = {"gold": (gold, ALWAYS, 1e-6), "p99": (wait, ALWAYS, 1.0)}
    return compared(data, "profiles", PROFILES, columns, differences)
