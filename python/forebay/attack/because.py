"""The answer to why packets waited or were lost, for the terminal and as plain values."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from forebay._report.page import Cell, Table
from forebay._report.terminal import print_table
from forebay.attack.cause import SHOWN, Answer, Tried
from forebay.attack.plan import time

_LITTLE = 0.01
"""Share of what arrived, below which an entry is more likely to have moved the others than to have
filled the queue. It may also hold them back: a box can freeze low priority for a few packets."""


def print_answer(console: Console, answer: Answer) -> None:
    """Print the cause, what else is shown, and everything that was tried."""
    before, (cause, *also), after = sentences(answer)
    for each in before:
        console.print(escape(each), highlight=False)
    head, rest = cause, ""
    if answer.cause is not None:
        rest = f" {_effect(answer, answer.cause)}"
        head = cause.removesuffix(rest)
    console.print(f"\n[bold]{escape(head)}[/bold]{escape(rest)}")
    for each in also:
        console.print(escape(each))
    print_table(console, _table(answer))
    for each in after:
        console.print(escape(each))


def sentences(answer: Answer) -> tuple[list[str], list[str], list[str]]:
    """What was seen; the cause, first, and what else is shown; other disciplines."""
    at, before = time(answer.at_s), _amount(answer, answer.before)
    rose = (
        f"{before} in the seconds before; it began to rise at {time(round(answer.began_s, 3))}"
        if answer.rise
        else f"much as before ({before})"
    )
    what = "packets wait" if answer.of == "delay" else "it loses"
    seen = [
        f"At {at} {what} {_amount(answer, answer.seen)} in {answer.link}: {rose}.",
        f"Then {answer.decision}.",
    ]
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in answer.flows[:4])
    if shares:
        seen.append(f"What arrived at its end then: {shares}.")
    cause = answer.cause
    if cause is None:
        shown = [
            "No single cause is shown: nothing that was tried takes away "
            f"{100 * SHOWN:.0f} % of it."
        ]
    else:
        shown = [f"Cause: {cause.without.what}. {_effect(answer, cause)}"]
        shown += [f"Also: {each.without.what}. {_effect(answer, each)}" for each in answer.also]
        if dict(answer.flows).get(cause.without.name, 1.0) < _LITTLE:
            shown.append(
                f"{cause.without.name} is less than {100 * _LITTLE:g} % of what arrived: without "
                "it, others may only have come at other times. Ask again with another --seed."
            )
    others = []
    if answer.others:
        told = ", ".join(f"{kind} {_amount(answer, seen)}" for kind, seen in answer.others)
        others = [f"Under another discipline at the same instant: {told}."]
    return seen, shown, others


def plain(answer: Answer) -> dict[str, Any]:
    """The answer as plain values."""
    return {
        "link": answer.link,
        "queue": answer.queue,
        "of": answer.of,
        "at_s": answer.at_s,
        "seen": round(answer.seen, 3),
        "before": round(answer.before, 3),
        "began_s": round(answer.began_s, 3),
        "rise": answer.rise,
        "decision": answer.decision,
        "cause": None if answer.cause is None else _plain(answer.cause),
        "tried": [_plain(each) for each in answer.tried],
        "others": {kind: round(seen, 3) for kind, seen in answer.others},
    }


def _plain(each: Tried) -> dict[str, Any]:
    return {
        "without": each.without.what,
        "kind": each.without.kind,
        "name": each.without.name,
        "seen": round(each.seen, 3),
        "relief": round(each.relief, 3),
        "shown": each.shown,
        "refused": each.refused,
    }


def _effect(answer: Answer, each: Tried) -> str:
    part = "of the rise" if answer.rise else "of it"
    return f"Without it: {_amount(answer, each.seen)}, {_gone(each)} {part} gone."


def _gone(each: Tried) -> str:
    # Rounded down: what is just less than `SHOWN` must not look like it.
    return f"{int(100 * max(-1.0, min(1.0, each.relief)))} %"


def _amount(answer: Answer, value: float) -> str:
    if answer.of == "loss":
        return f"{value:.0f} packets"
    return f"{value:.1f} ms"


def reruns(answer: Answer) -> list[str]:
    """What was seen in each rerun."""
    return [
        f"{each.without.what}: {each.refused or _amount(answer, each.seen)}"
        for each in answer.tried
    ]


def _table(answer: Answer) -> Table:
    rows = [
        [
            each.without.what,
            each.refused or _amount(answer, each.seen),
            Cell("–" if each.refused else _gone(each)),
            "shown" if each.shown else "",
        ]
        for each in answer.tried
    ]
    part = "of the rise gone" if answer.rise else "gone"
    return Table(["the same run without", "then", part, ""], rows, "Tried")
