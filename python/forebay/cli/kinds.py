"""The command `forebay kinds`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from forebay import _engine
from forebay._engine import ScenarioError
from forebay.cli import complete
from forebay.cli.console import Terminal, friendly
from forebay.cli.options import AsJson


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="One of them, to see its parameters.",
            show_default=False,
            autocompletion=complete.everything,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List queue disciplines, traffic sources and profiles, or explain one.

    Examples:
        forebay kinds
        forebay kinds codel
    """
    with friendly():
        from forebay import terminal

        catalogue: dict[str, Any] = json.loads(_engine.kinds())
        found = [
            (group, entry)
            for group in terminal.GROUPS
            for entry in catalogue[group]
            if kind is None or entry["name"] == kind
        ]
        if not found:
            names = ", ".join(entry["name"] for entry in catalogue["kinds"])
            raise ScenarioError(f'there is no kind "{kind}"; the disciplines are {names}')
        if as_json:
            shown = catalogue if kind is None else [{"group": g} | entry for g, entry in found]
            print(json.dumps(shown, indent=2, ensure_ascii=False))
        elif kind is None:
            terminal.print_kinds(Terminal(), catalogue)
            print("forebay kinds NAME explains one of them with all its parameters.")
        else:
            for number, (group, entry) in enumerate(found):
                if number:
                    print()
                terminal.print_kind(Terminal(), entry, group)
