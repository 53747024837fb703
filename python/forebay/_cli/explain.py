"""The command `forebay explain`."""

from __future__ import annotations

import click

from forebay._cli.complete import fields
from forebay._cli.help import Command
from forebay._cli.options import for_file
from forebay._reference.files import File


@click.command(cls=Command)
@click.argument(
    "word",
    metavar="WORD",
    shell_complete=fields,
    help="A field's path as for --set, a kind, a parameter such as codel.target, a measure, or any "
    "other word of forebay.",
)
@for_file
def command(word: str, for_: File) -> None:
    """Explain a field, a discipline, a measure or a term.

    Of a field it says meaning, unit and default. The file is a scenario unless --for says
    otherwise. If several kinds have a field of that name, all are explained; put a kind into the
    path to choose one. docs/reference lists all fields and words.

    Examples:
        forebay explain link.rate
        forebay explain fq-codel.target
        forebay explain bufferbloat
        forebay explain p99
        forebay explain traffic.web.from
        forebay explain --for gate rule.q
    """
    from forebay._cli.drawn import Terminal
    from forebay._reference import words

    if for_ is File.scenario:
        words.print_meaning(Terminal(), word)
    else:
        words.print_field(Terminal(), word, for_)
