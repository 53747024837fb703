"""Tables for the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Drawn
from rich.text import Text

from forebay import stats
from forebay._compared.tables import by_class, measured, of_links
from forebay._comparison import Comparison
from forebay._measures import ABSENT, MARKED, MEASURES, text
from forebay._report.page import Table
from forebay._report.terminal import print_table


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the comparison: a block for each measure, as many classes beside each other as fit."""
    print_table(console, by_class(comparison, short=True))
    if len(comparison.seeds) > 1:
        level = f"{100 * comparison.level:g} %"
        console.print(
            f"Mean ± {level} interval over {len(comparison.seeds)} replications. "
            f"In each column: {MARKED}",
            style="dim",
        )
    for measure in measured(comparison):
        if measure.explained:
            console.print(f"{measure.short}: {measure.explained}.", style="dim")
    for table in of_links(comparison, short=True):
        console.print()
        print_table(console, table)


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
    shown = busiest(summary)
    heads = ["link", "queue", "used %", "mean packets", "mean ms", "p99 ms", "loss %"]
    print_table(console, Table(heads, [_queue(summary, name) for name in shown]))
    if more := len(summary["queues"]) - len(shown):
        console.print(f"and {more} more, which are used less", style="dim")
    console.print()
    of_classes = summary["classes"]
    known = [
        measure
        for measure in MEASURES
        if any(class_.get(measure.key) is not None for class_ in of_classes.values())
    ]
    rows = [
        [name, *(_number(class_.get(measure.key), measure.scale) for measure in known)]
        for name, class_ in of_classes.items()
    ]
    heads = ["class", *(f"{measure.short}, {measure.unit}" for measure in known)]
    if rows:
        print_table(console, Table(heads, rows))
        console.print()
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


def _queue(summary: dict[str, Any], name: str) -> list[str]:
    queue = summary["queues"][name]
    link = summary["links"].get(name, {})
    return [
        name,
        queue["kind"],
        _number(link.get("utilization"), 100),
        _number(queue["mean_packets"]),
        _number(queue["mean_delay_ms"]),
        _number(queue["p99_delay_ms"]),
        _number(queue["loss"], 100),
    ]


def print_kinds(console: Console, catalogue: dict[str, Any]) -> None:
    """Print the name and a line of everything that a scenario can name."""
    for group, title in GROUPS.items():
        table = Drawn(box=box.SIMPLE, show_header=False, pad_edge=False, title=title)
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
    """Print one discipline, part or source."""
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
        console.print()
        print_parameter(console, parameter)


def print_parameter(console: Console, parameter: dict[str, Any], of: str = "") -> None:
    """Print a parameter of a kind, whose name comes before it if it stands alone."""
    head = Text.assemble((f"{of}{parameter['name']}", "bold"), f"  {parameter['type']}")
    head.append(f"  {default_text(parameter)}", style="dim")
    console.print(head)
    console.print(Padding(" ".join(parameter["description"].split()), (0, 0, 0, 2)))


def print_named(console: Console, catalogue: dict[str, Any], name: str) -> bool:
    """Print whatever has a name, as a kind and as a part; whether there is any."""
    shown: list[Any] = []
    found = [
        (group, entry) for group in GROUPS for entry in catalogue[group] if entry["name"] == name
    ]
    for number, (group, entry) in enumerate(found):
        # A kind may also be a part of combinations, with the same parameters.
        new = [each for each in entry["parameters"] if each not in shown]
        print_kind(console, entry, group, new, again=number > 0)
        shown += new
    return bool(found)


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


def _number(value: float | None, scale: float = 1.0) -> str:
    if value is None:
        return ABSENT
    return text(stats.Interval(value * scale, None, 1), MEASURES[1])
