"""Tables for the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from forebay import stats
from forebay.comparison import Comparison
from forebay.measures import (
    ABSENT,
    GAIN,
    LOSS,
    MEASURES,
    QUEUE_DELAY,
    TAIL_DELAY,
    Measure,
    largest,
    shown_in,
    text,
)

_NARROWEST = 5
"""Columns that the head of a class needs at least."""


def blocks(comparison: Comparison) -> list[tuple[Measure, list[list[tuple[str, bool]]]]]:
    """The comparison as blocks, one for each measure: a row a discipline, a column a class.

    A cell is its text and whether it is to be marked: best of its column, or not distinguishable
    from the best, in a column where not all are.
    """
    result = []
    for measure in MEASURES:
        cells = [
            [comparison.interval(label, class_, measure.key) for class_ in comparison.classes]
            for label in comparison.labels
        ]
        if all(cell is None for row in cells for cell in row):
            continue
        shown = shown_in(measure, largest(cell for row in cells for cell in row))
        marked = {class_: _marked(comparison, class_, measure) for class_ in comparison.classes}
        rows = [
            [
                (text(cell, shown), label in marked[class_])
                for class_, cell in zip(comparison.classes, row, strict=True)
            ]
            for label, row in zip(comparison.labels, cells, strict=True)
        ]
        result.append((shown, rows))
    return result


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the comparison: a block for each measure, as many classes beside each other as fit."""
    parts = blocks(comparison)
    widths = [
        max(
            len(class_),
            *(len(cell) + 1 for _, rows in parts for cell, _ in (row[at] for row in rows)),
        )
        for at, class_ in enumerate(comparison.classes)
    ]
    first = max(len(label) for label in comparison.labels)
    first = max(first + 1, *(len(_head(measure)) for measure, _ in parts))
    for number_of_page, page in enumerate(_pages(widths, console.width - first)):
        if number_of_page:
            console.print()
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("", min_width=first, overflow="fold")
        for at in page:
            table.add_column(
                comparison.classes[at], justify="right", min_width=_NARROWEST, overflow="fold"
            )
        for number, (measure, rows) in enumerate(parts):
            if all(rows[row][at][0] == ABSENT for row in range(len(rows)) for at in page):
                continue
            if number:
                table.add_row()
            table.add_row(Text(_head(measure), style="bold cyan"))
            for label, row in zip(comparison.labels, rows, strict=True):
                table.add_row(Text(f" {label}"), *(_cell(*row[at]) for at in page))
        console.print(table)
    if len(comparison.seeds) > 1:
        level = f"{100 * comparison.level:g} %"
        console.print(
            f"Mean ± {level} interval over {len(comparison.seeds)} replications. "
            "* best of its column, or cannot be distinguished from the best.",
            style="dim",
        )
    for measure, _ in parts:
        if measure.explained:
            console.print(f"{measure.short}: {measure.explained}.", style="dim")
    print_link(console, comparison)


def link_rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """What the compared link itself shows: a title and a cell for each discipline."""
    labels = comparison.labels
    rows = [("used, %", [text(comparison.utilization(label), LOSS) for label in labels])]
    if comparison.baseline is not None:
        cells = [text(comparison.efficiency(label), GAIN) for label in labels]
        rows.append((f"efficiency relative to {comparison.baseline}, x", cells))
    for title, key, measure in (
        ("mean queue, packets", "mean_packets", QUEUE_DELAY),
        (f"{QUEUE_DELAY.short}, ms", QUEUE_DELAY.key, QUEUE_DELAY),
        ("p99 of it, ms", TAIL_DELAY.key, TAIL_DELAY),
        ("dropped, %", LOSS.key, LOSS),
    ):
        rows.append(
            (title, [text(comparison.queue_interval(each, key), measure) for each in labels])
        )
    return rows


def print_link(console: Console, comparison: Comparison) -> None:
    """Print what the compared link itself shows."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(f"link {comparison.link}", overflow="fold")
    shown = [row for row in link_rows(comparison) if row[0] != "mean queue, packets"]
    for title, _ in shown:
        table.add_column(title, justify="right", min_width=_NARROWEST)
    for at, label in enumerate(comparison.labels):
        table.add_row(Text(f" {label}"), *(cells[at] for _, cells in shown))
    console.print()
    console.print(table)


def busiest(summary: dict[str, Any]) -> list[str]:
    """The links to show of a run: all, or of many those that are used most, then drop most."""
    names = list(summary["queues"])
    if len(names) <= MOST_LINKS:
        return names

    def load(name: str) -> tuple[float, int]:
        used = summary["links"].get(name, {}).get("utilization")
        return round(used or 0.0, 3), summary["queues"][name]["dropped"]

    return sorted(names, key=load, reverse=True)[:MOST_LINKS]


def print_run(console: Console, summary: dict[str, Any]) -> None:
    """Print the summary of one run."""
    queues = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("link", "queue"):
        queues.add_column(head)
    for head in ("used %", "mean packets", "mean ms", "p99 ms", "loss %"):
        queues.add_column(head, justify="right")
    shown = busiest(summary)
    for name in shown:
        queue = summary["queues"][name]
        link = summary["links"].get(name, {})
        numbers = (
            _number(link.get("utilization"), 100),
            _number(queue["mean_packets"]),
            _number(queue["mean_delay_ms"]),
            _number(queue["p99_delay_ms"]),
            _number(queue["loss"], 100),
        )
        queues.add_row(name, queue["kind"], *numbers)
    console.print(queues)
    if more := len(summary["queues"]) - len(shown):
        console.print(f"and {more} more, which are used less", style="dim")
    measured = [
        measure
        for measure in MEASURES
        if any(class_.get(measure.key) is not None for class_ in summary["classes"].values())
    ]
    classes = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    classes.add_column("class")
    for measure in measured:
        classes.add_column(f"{measure.short}, {measure.unit}", justify="right")
    for name, class_ in summary["classes"].items():
        classes.add_row(
            name, *(_number(class_.get(measure.key), measure.scale) for measure in measured)
        )
    console.print(classes)
    simulated = f"{summary['duration_s']:g} s"
    if "cost" in summary:  # A run on real packets has none of these.
        threads = summary["cost"]["threads"]
        simulated += (
            f" simulated in {summary['cost']['cpu_seconds']:.2f} s of CPU time"
            f"{f' on {threads} threads' if threads > 1 else ''}, "
            f"{summary['events']:,} events, {summary['packets']:,} packets"
        )
    seed = f"seed {summary['seed']}"
    if summary["fingerprint"] is not None:
        seed += f", fingerprint {summary['fingerprint']}"
    console.print(f"{simulated}; {seed}", style="dim")


def print_kinds(console: Console, catalogue: dict[str, Any]) -> None:
    """Print the name and a line of everything that a scenario can name."""
    for group, title in GROUPS.items():
        table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, title=title)
        table.title_justify = "left"
        table.title_style = "bold"
        table.add_column(no_wrap=True)
        table.add_column()
        for entry in catalogue[group]:
            table.add_row(Text(entry["name"], style="cyan"), entry["summary"])
        console.print(table)


def print_kind(
    console: Console,
    entry: dict[str, Any],
    group: str,
    parameters: Sequence[dict[str, Any]],
    *,
    again: bool,
) -> None:
    """Print one discipline, part or source.

    Args:
        console: where.
        entry: of the catalogue.
        group: where in the catalogue it stands.
        parameters: those to explain.
        again: whether another entry of the same name has been printed.
    """
    if again:
        console.print(f"\n{PARTS[group]}: {entry['summary']}.", highlight=False)
        if not parameters:
            console.print("Its parameters are those above.")
    else:
        console.print(Text.assemble((entry["name"], "bold cyan"), f": {entry['summary']}"))
        console.print(f"{GROUPS[group]}. Source: {entry['source']}.", style="dim")
        if not parameters:
            console.print("It has no parameters.")
    for parameter in parameters:
        head = Text.assemble((f"\n{parameter['name']}", "bold"), f"  {parameter['type']}")
        head.append(f"  {default_text(parameter)}", style="dim")
        console.print(head)
        console.print(Padding(" ".join(parameter["description"].split()), (0, 0, 0, 2)))


def default_text(parameter: dict[str, Any]) -> str:
    """The default of a parameter, in words."""
    if "default" not in parameter:
        return "required"
    value = parameter["default"]
    return "unset" if value is None else f"default {json.dumps(value, ensure_ascii=False)}"


MOST_LINKS = 20
"""Most links that are printed of a run."""

GROUPS = {
    "kinds": "Queue disciplines",
    "classifiers": "Classifiers (which queue a packet joins)",
    "admissions": "Admissions (may a packet stay, and if not, which one goes)",
    "schedulers": "Schedulers (which packet is sent next)",
    "boxes": "Boxes (in front of a link's queue; they see both directions)",
    "sources": "Traffic sources",
    "stacks": "Stacks of TCP (tcp.stack)",
    "controls": "Congestion controls (tcp.congestion)",
    "profiles": "Traffic profiles (how a sender's packets get their drop precedence)",
}
"""The parts of the catalogue and what they are."""

PARTS = {
    "classifiers": "Also a classifier, in combinations",
    "admissions": "Also an admission rule, in combinations",
    "schedulers": "Also a scheduler, in combinations",
    "boxes": "Also a box",
    "sources": "Also a traffic source",
    "stacks": "Also a stack of TCP",
    "controls": "Also a congestion control",
    "profiles": "Also a traffic profile",
}
"""What a name is besides."""


def _marked(comparison: Comparison, class_: str, measure: Measure) -> tuple[str, ...]:
    best = comparison.best(class_, measure)
    return best if len(best) < len(comparison.labels) and len(comparison.seeds) > 1 else ()


def _pages(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns shared out over pages, in order, as many a page as fit and at least one."""
    pages: list[list[int]] = []
    left = 0
    for column, width in enumerate(widths):
        needed = max(width, _NARROWEST) + 2
        if not pages or needed > left:
            pages.append([])
            left = room
        pages[-1].append(column)
        left -= needed
    return pages


def _head(measure: Measure) -> str:
    return f"{measure.short}, {measure.unit}"


def _cell(content: str, marked: bool) -> Text:
    return Text(f"{content}*" if marked else f"{content} ", style="bold green" if marked else "")


def _number(value: float | None, scale: float = 1.0) -> str:
    if value is None:
        return ABSENT
    return text(stats.Interval(value * scale, None, 1), MEASURES[1])
