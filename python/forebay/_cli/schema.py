"""The command `forebay schema`."""

from __future__ import annotations

import json

from forebay._cli.console import friendly
from forebay._cli.options import For
from forebay._reference.files import File, schema


def command(for_: For = File.scenario) -> None:
    """Print the JSON Schema of a file, for editors that check it.

    Examples:
        forebay schema > scenario.schema.json
        forebay schema --for study > study.schema.json
    """
    with friendly():
        found = schema(for_)
        print(json.dumps(found, indent=2, ensure_ascii=False))
