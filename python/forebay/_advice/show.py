"""Advice in the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from forebay._advice import Advice
from forebay._advice.hints import Hint
from forebay._advice.toml import inline
from forebay._measures import DISTORTED
from forebay._scenario import resolved_link

if TYPE_CHECKING:
    from forebay._comparison import Comparison

_SHOWN = 6
"""Most lines about what differs without deciding; the report has all."""


def print_advice(console: Console, advice: Advice) -> None:
    """Print what to do, why, at which price, and what to change before trusting it."""
    console.print()
    if advice.today is not None:
        console.print(f"Today: {escape(advice.today)}", highlight=False)
    console.print(f"[bold]{escape(advice.headline)}[/bold] {escape(advice.why)}")
    for title, items in advice.beside_today:
        console.print(f"{title}:")
        print_items(console, items)
    if advice.pick is None and advice.others:
        console.print("What differs without deciding:")
        print_items(console, [str(each) for each in advice.others[:_SHOWN]])
    if advice.distorted:
        console.print(f"Distorted ({DISTORTED}), and kept out of the score:")
        print_items(console, [str(each) for each in advice.distorted])
    console.print(escape(advice.judged), style="dim")
    if advice.hints:
        more = " (--fix compares with these changes)" if any_change(advice) else ""
        console.print(f"\n[bold]Before you trust these numbers[/bold]{more}")
        print_hints(console, advice.hints)


def any_change(advice: Advice) -> bool:
    """Whether some hint can be followed before anything is run."""
    return any(hint.changes and hint.before for hint in advice.hints)


def print_hints(console: Console, hints: tuple[Hint, ...]) -> None:
    """Print remarks, each with the lines to change."""
    for hint in hints:
        console.print(Padding(f"- {escape(hint.text)}", (0, 0, 0, 2)))
        if hint.remedy:
            sentence = f"{hint.remedy[0].upper()}{hint.remedy[1:]}."
            console.print(Padding(escape(sentence), (0, 0, 0, 4)), style="cyan", highlight=False)


def print_items(console: Console, items: Iterable[str]) -> None:
    """Print a list."""
    for item in items:
        console.print(Padding(f"- {escape(item)}", (0, 0, 0, 2)))


def print_picks(
    console: Console, found: Sequence[tuple[Comparison, Advice]], scenario: str
) -> None:
    """Print the pick of each link, and how to test them together."""
    console.print("\n[bold]A pick for each link[/bold]")
    print_items(
        console,
        [f"{comparison.link}: {advice.pick or advice.headline}" for comparison, advice in found],
    )
    picked = [(comparison, advice.pick) for comparison, advice in found if advice.pick]
    console.print(
        "Each link was tested with the queues of the others as the scenario has them.", style="dim"
    )
    if len(picked) < 2:
        return
    first, *rest = picked
    sets = []
    for comparison, pick in rest:
        [variant] = [each for each in comparison.variants if each.label == pick]
        path = resolved_link(variant.scenario, comparison.link)["queue_path"]
        sets.append(f"--set {shlex.quote(f'{path}={inline(variant.queue)}')}")
    console.print(
        f"To test {escape(first[0].link)} again with the picks of the others: forebay compare "
        f"{escape(scenario)} --link {escape(first[0].link)} {escape(' '.join(sets))}",
        soft_wrap=True,
        highlight=False,
    )
