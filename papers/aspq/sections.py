"""What the paper leaves open, and what Linux's senders do on real packets."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from forebay.papers import Data, Part, Statement, Table, exactly
from forebay.papers.judge import verdict_of
from forebay.papers.points import MARKS, mean

from .claims import AT_THE_END, JUDGED, fallen, table_falls
from .points import (
    BOXES,
    FEWEST,
    GOODPUT,
    MAIN,
    MOST,
    TEXT,
    View,
    choices,
    end_choices,
    live,
    stated,
)

SHOWN = (FEWEST, 110, MOST)
"""Round-trip times at which the difference is shown."""
FULL, PART = 1.0, (0.05, 0.95)
"""Shares of the link that high priority takes in the live runs."""
STRICT, FROZEN = "strict priority", "ASPQ"


def furthest(view: View) -> float:
    """The number of table I that is furthest from the paper's, in %."""
    errors = [
        100 * (view.goodput(rtt, box).mean / stated(rtt, box) - 1)
        for rtt in view.rtts
        for box in BOXES
    ]
    return max(errors, key=abs)


def open_choices(data: Data) -> list[Table]:
    """The claims on table I and figure 5 under every choice."""
    known = end_choices(data)
    rows = []
    for view in choices(data):
        title = str(view.choice)
        held = {name: MARKS[verdict_of(judge(view))] for name, judge in JUDGED.items()}
        for name, at_the_end in AT_THE_END.items():
            held[name] = MARKS[verdict_of(at_the_end(data, title))] if title in known else ""
        gains = [view.gain(rtt) for rtt in SHOWN]
        rows.append([title, *(held[name] for name in NAMES), f"{furthest(view):+.1f}", *gains])
    head = [f"ASPQ minus SPQ, {rtt} ms, kbit/s" for rtt in SHOWN]
    return [Table(["choice", *NAMES, "furthest row, %", *head], rows)]


NAMES = sorted({*JUDGED, *AT_THE_END})


def found(data: Data) -> str:
    """The page's beginning."""
    view = View(data)
    return TEXT["found"].format(
        furthest=abs(furthest(view)),
        gains=[view.gain(rtt).mean for rtt in SHOWN],
        lost=-view.gain(FEWEST).mean,
        fallen=[-each for each in table_falls()],
        ours=[-fallen(view, box).mean for box in BOXES],
    )


def at_68(data: Data) -> list[Part]:
    parts = []
    for box, label in BOXES.items():
        value = stated(150, box)
        found = data.interval(MAIN, GOODPUT, {"delay": "68ms", "box": box})
        parts.append(Part(f"{label}, 68 ms", "", found, 0.99 * value, 1.01 * value, "kbit/s"))
    return parts


OPEN = (
    Statement(
        "In table I, both values at 150 ms fit a link of 68 ms better than one of 70 ms, within "
        "1 % (3982.6 and 3759.93 kbit/s).",
        at_68,
    ),
)


Row = Mapping[str, Any]


def rows(way: str, shares: tuple[float, ...]) -> list[Row]:
    """Live rows of one box."""
    return [each for each in live() if each["way"] == way and each["high_share"] in shares]


def live_table(_: Data) -> list[Table]:
    """Medians of the live runs."""
    keys = {
        "window before": "cwnd_before",
        "at release": "cwnd_at_release",
        "timeouts": "timeouts",
        "silence after release, ms": "silence_ms",
        "share of the link in the first second": "first_second",
    }
    cells = [
        [f"{each['high_share']:.0%}", each["stack"], each["way"],
         *(float(statistics.median(each[key])) for key in keys.values())]
        for each in live()
    ]  # fmt: skip
    return [Table(["high takes", "TCP", "box", *keys], cells)]


def without_timeouts(_: Data) -> list[Part]:
    count = sum(sum(each["timeouts"]) for each in rows(FROZEN, PART))
    return [Part("timeouts under ASPQ, all runs", "", exactly(count), 0, 0)]


def back_at_once(_: Data) -> list[Part]:
    known = [one for each in rows(FROZEN, (*PART, FULL)) for one in each["first_second"]]
    what = f"share of the link, least of {len(known)} runs"
    return [Part(what, "", exactly(100 * min(known)), 90, unit="%")]


def no_gain(_: Data) -> list[Part]:
    strict = {each["stack"]: each for each in rows(STRICT, PART[:1])}
    return [
        Part(f"{each['stack']}: ASPQ minus strict priority", "",
             mean([100 * (a - b) for a, b in zip(each["first_second"],
                                                 strict[each["stack"]]["first_second"],
                                                 strict=True)]), high=0, unit="points")
        for each in rows(FROZEN, PART[:1])
    ]  # fmt: skip


LIVE = (
    Statement(
        "The freeze works with real stacks: if high-priority traffic takes a part of the link, "
        "no frozen sender has a timeout.",
        without_timeouts,
    ),
    Statement(
        "In the first second after the release, at least nine tenths of the link are used.",
        back_at_once,
    ),
    Statement(
        "If high-priority traffic takes 5 % of the link, a freeze only has a cost. In that "
        "second, strict priority uses more of the link, and before it uses all of the rest.",
        no_gain,
    ),
)
