"""The command `forebay schema`."""

from __future__ import annotations

import json

import click

from forebay._cli.help import Command
from forebay._cli.options import for_file
from forebay._reference.files import File, schema


@click.command(cls=Command)
@for_file
def command(for_: File) -> None:
    """Print the JSON Schema of a file, for editors that check it.

    Examples:
        forebay schema > scenario.schema.json
        forebay schema --for study > study.schema.json
    """
    found = schema(for_)
    print(json.dumps(found, indent=2, ensure_ascii=False))
