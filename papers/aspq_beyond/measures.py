"""Traffics and boxes of the studies in words, and what a freeze changes beside each traffic."""

from __future__ import annotations

import json
from typing import Any, Literal

from forebay._scenario import quantity
from forebay.papers import Number, Sources, Values, exactly
from forebay.stats import Interval

SPQ, FREEZE, SHARE = "SPQ", "ASPQ, idle timeout 100 ms", "DRR, a tenth for low"
LOW = "classes.low.goodput_bps"
HOME = "10Mbit"
"""Rate of most links."""
PLAIN = '{"kind": "aspq"}'


def _base(written: Any) -> float:
    """A quantity of a study in base units."""
    found = quantity(written)
    assert found is not None, written
    return found[0]


def traffics(sources: Sources) -> list[Values]:
    """High-priority traffics, each on a link and beside so many low-priority flows.

    `on_s` is how long one lasts, in s: a transfer takes about as long as the pause after it.
    `fills` is whether it fills the link while it lasts.
    """
    columns = ("traffic.low.flows", "dumbbell.rate", "traffic.high")
    runs = sources.data.study("traffics").runs.select(columns).unique(maintain_order=True)
    found: list[Values] = []
    for flows, rate, written in runs.iter_rows():
        kind, words, on, fills = _high(written, rate)
        found.append(
            {
                **dict(zip(columns, (flows, rate, written), strict=True)),
                "flows": flows,
                "rate": rate,
                "kind": kind,
                "words": words,
                "name": words if rate == HOME else f"{rate}/s link: {words}",
                "on_s": _base(on),
                "period_s": 2 * _base(on),
                "fills": fills,
            }
        )
    return found


def _high(written: str, rate: str) -> tuple[str, str, str, bool]:
    """High-priority traffic in words: its kind and all of it; how long it lasts; if it fills."""
    high = json.loads(written)
    if high["kind"] == "files":
        on = str(high["interval"])
        return "TCP transfers", f"TCP, {high['size']} each, pauses of {on}", on, True
    on = str(high["on"])
    words = f"UDP, {high['rate']}/s, {on} on and off"
    fills = _base(high["rate"]) > 0.97 * _base(rate)
    return f"UDP, {high['rate']}/s while on", words, on, fills


def beside(sources: Sources) -> list[Values]:
    """High-priority traffics of the study of partial freezes, as it writes them and in words."""
    written = sources.data.study("partial").runs["traffic"].unique(maintain_order=True)
    return [{"traffic": each, "name": _high(each, HOME)[1]} for each in written]


def change(sources: Sources, variant: str, study: str = "traffics", **row: Any) -> Interval:
    """Change of the low flows' goodput against strict priority, in % of its mean there."""
    there = {"title": SPQ}
    number = Number(study=study, of=LOW, at={"title": variant}, less=there, scale=100)
    return sources.known(number.model_copy(update={"per": Number(at=there)}), row)


def effect(sources: Sources, **row: Any) -> Literal["helps", "hurts", "neither"]:
    """What freezing does: more than 1 %, with the whole interval."""
    found = change(sources, FREEZE, **row)
    if found.low is not None and found.low > 1:
        return "helps"
    return "hurts" if found.high is not None and found.high < -1 else "neither"


def delays(sources: Sources, **row: Any) -> str:
    """The 99th percentile of high priority's delay under strict priority and with a share, ms."""
    p99 = Number(study="traffics", of="classes.high.p99_delay_ms")
    first, second = (sources.mean(p99, {**row, "title": each}) for each in (SPQ, SHARE))
    return f"{first:.0f} / {second:.0f}"


def kinds(sources: Sources, does: str = "") -> Interval:
    """How many traffics there are, or those beside which a freeze surely helps or hurts."""
    rows = traffics(sources)
    return exactly(sum(does in ("", effect(sources, **row)) for row in rows))


def more_harm(sources: Sources) -> Interval:
    """Traffics beside which a freeze surely hurts, less those beside which it surely helps."""
    return exactly(kinds(sources, "hurts").mean - kinds(sources, "helps").mean)


def _helped(sources: Sources) -> list[Values]:
    return [row for row in traffics(sources) if effect(sources, **row) == "helps"]


def most_gained(sources: Sources) -> Interval:
    """Largest mean change where a freeze surely helps, %."""
    return exactly(max(change(sources, FREEZE, **row).mean for row in _helped(sources)))


def longest_helped(sources: Sources) -> Interval:
    """Longest interruption where a freeze surely helps, s."""
    return exactly(max(row["on_s"] for row in _helped(sources)))


def enough(sources: Sources) -> Interval:
    """Percent of the traffics beside which a guaranteed share gives low priority no less than a
    freeze, to a percentage point."""
    rows = traffics(sources)
    more = sum(
        change(sources, SHARE, **row).mean >= change(sources, FREEZE, **row).mean - 1
        for row in rows
    )
    return exactly(100 * more / len(rows))


def best(sources: Sources, what: str) -> Interval | str:
    """Of the traffic with the largest gain: a variable, or the change with a variant."""
    row = max(traffics(sources), key=lambda each: change(sources, FREEZE, **each).mean)
    return str(row[what]) if what in row else change(sources, what, **row)


def boxes(sources: Sources) -> list[Values]:
    """The boxes of the study of options: as it writes them, in words, and the plain one."""
    found: list[Values] = []
    for box in sources.data.study("options").runs["box"].unique(maintain_order=True):
        block = json.loads(box)
        options = [f"{key.replace('_', ' ')} {v}" for key, v in block.items() if key != "kind"]
        name = ", ".join(options) or ("SPQ" if block["kind"] == "none" else "ASPQ, plain")
        found.append({"box": box, "name": name, "plain": PLAIN})
    return found


def upper_end(sources: Sources, **row: Any) -> Interval:
    """Upper end of the change of the low transfer's time against the plain controller, s."""
    of = "classes.low.mean_completion_s"
    found = sources.interval(Number(study="options", of=of, less={"box": "{plain}"}), row)
    return exactly(0.0 if found is None else found.high or 0.0)
