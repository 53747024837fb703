"""The command `forebay schema`."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated, Any

import typer

from forebay import _engine
from forebay.cli.console import friendly


class Written(str, Enum):
    """Kinds of files that people write."""

    scenario = "scenario"
    study = "study"
    suite = "suite"
    test = "test"


def command(
    for_: Annotated[
        Written,
        typer.Option("--for", help="The kind of file.", show_default="scenario"),
    ] = Written.scenario,
) -> None:
    """Print the JSON Schema of a file, for editors that check as you type.

    Examples:
        forebay schema > scenario.schema.json
        forebay schema --for study > study.schema.json
    """
    with friendly():
        found: dict[str, Any]
        if for_ is Written.scenario:
            found = json.loads(_engine.schema())
        elif for_ is Written.study:
            from forebay.sweep import study

            found = study.schema()
        else:
            from forebay.suite import catalogue

            found = catalogue.schema(for_ is Written.suite)
        print(json.dumps(found, indent=2, ensure_ascii=False))
