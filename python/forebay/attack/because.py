"""The answer to why packets waited or were lost, for the terminal and as plain values."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from forebay._report.page import Cell, Table
from forebay._report.terminal import print_table
from forebay.attack.cause import SHOWN, Answer, Tried
from forebay.attack.plan import time


def print_answer(console: Console, answer: Answer) -> None:
    """Print the cause, what else is shown, and everything that was tried."""
    at, before = time(answer.at_s), _amount(answer, answer.before)
    rose = (
        f"{before} in the seconds before; it began to rise at {time(round(answer.began_s, 3))}"
        if answer.rise
        else f"much as before ({before})"
    )
    what = "packets wait" if answer.of == "delay" else "it loses"
    console.print(
        f"At {at} {what} {_amount(answer, answer.seen)} in {escape(answer.link)}: {rose}.",
        highlight=False,
    )
    console.print(f"Then {escape(answer.decision)}.", highlight=False)
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in answer.flows[:4])
    if shares:
        console.print(f"What arrived at its end then: {escape(shares)}.", highlight=False)
    cause = answer.cause
    if cause is None:
        console.print(
            f"\n[bold]No single cause is shown[/bold]: nothing that was tried takes away "
            f"{100 * SHOWN:.0f} % of it."
        )
    else:
        console.print(
            f"\n[bold]Cause: {escape(cause.without.what)}.[/bold] {_effect(answer, cause)}"
        )
        for each in answer.also:
            console.print(f"Also: {escape(each.without.what)}. {_effect(answer, each)}")
    print_table(console, _table(answer))
    if answer.others:
        told = ", ".join(f"{kind} {_amount(answer, seen)}" for kind, seen in answer.others)
        console.print(f"Under another discipline at the same instant: {escape(told)}.")


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
    gone = f"{100 * min(1.0, each.relief):.0f} % {'of the rise' if answer.rise else 'of it'}"
    return f"Without it: {_amount(answer, each.seen)}, {gone} gone."


def _amount(answer: Answer, value: float) -> str:
    if answer.of == "loss":
        return f"{value:.0f} packets"
    return f"{value:.1f} ms"


def _table(answer: Answer) -> Table:
    rows = [
        [
            each.without.what,
            each.refused or _amount(answer, each.seen),
            Cell("–" if each.refused else f"{100 * max(-1.0, min(1.0, each.relief)):.0f} %"),
            "shown" if each.shown else "",
        ]
        for each in answer.tried
    ]
    part = "of the rise gone" if answer.rise else "gone"
    return Table(["the same run without", "then", part, ""], rows, "Tried")
