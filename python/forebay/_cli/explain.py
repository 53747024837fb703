"""The command `forebay explain`."""

from __future__ import annotations

from collections import defaultdict

import click

from forebay._cli.complete import fields
from forebay._cli.help import Command
from forebay._cli.options import for_file
from forebay._reference.files import File


@click.command(cls=Command)
@click.argument(
    "field", metavar="PATH", shell_complete=fields, help="Path of the field, as for --set."
)
@for_file
def command(field: str, for_: File) -> None:
    """Explain a field of a file: meaning, unit and default.

    The file is a scenario unless --for says otherwise. If several kinds have a field of that
    name, all are explained; put a kind into the path to choose one. docs/reference lists all
    fields.

    Examples:
        forebay explain link.rate
        forebay explain link.queue.codel.target
        forebay explain traffic.web.from
        forebay explain --for study until.half_width
        forebay explain --for gate rule.q
    """
    from rich.padding import Padding
    from rich.text import Text

    from forebay._cli.drawn import Terminal
    from forebay._reference.files import open_schema

    kinds = defaultdict(list)
    for kind, found in open_schema(for_).find(field):
        kinds[found].append(kind)
    console = Terminal()
    for number, (found, of) in enumerate(kinds.items()):
        head = Text.assemble("\n" if number else "", (found.name, "bold"), f"  {found.type}")
        if found.default:
            head.append(f"  {found.default}", style="dim")
        named = ", ".join(kind for kind in dict.fromkeys(of) if kind)
        if named and len(kinds) > 1:
            head.append(f"  ({named})", style="cyan")
        console.print(head)
        about = [found.description, *(f"{value}: {words}" for value, words in found.values)]
        for line in about:
            console.print(Padding(Text(line), (0, 0, 0, 2)))
