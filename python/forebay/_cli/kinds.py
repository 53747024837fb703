"""The command `forebay kinds`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import click
from click.exceptions import Exit

from forebay import _engine
from forebay._cli import complete
from forebay._cli.console import say
from forebay._cli.help import Command
from forebay._cli.options import as_json, path_option
from forebay._engine import ScenarioError
from forebay._scenario import plugins

PATIENCE = 5.0
"""Seconds of a check after which a sign of life is due."""


@contextmanager
def _sign_of_life() -> Iterator[None]:
    said = (
        "checking ... (if a contract is broken, up to 2000 runs look for the fewest packets that "
        "show it)"
    )
    timer = Timer(PATIENCE, say, [said], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@click.command(cls=Command)
@click.argument(
    "kind",
    metavar="NAME",
    required=False,
    shell_complete=complete.everything,
    help="Name to explain, with its parameters.",
)
@path_option("--check", "FILE", "Check the disciplines of a plug-in by the conformance suite.")
@as_json
def command(kind: str | None, check: Path | None, as_json: bool) -> None:
    """List disciplines, sources, controls and profiles, or explain one.

    Examples:
        forebay kinds
        forebay kinds codel
    """
    from forebay import _terminal
    from forebay._cli.drawn import Terminal

    if check is not None:
        with _sign_of_life():
            faults = _engine.check_plugin(str(check))
        if not faults:
            raise ScenarioError(f"{check}: it contains no discipline, which alone are checked")
        for name, fault in faults:
            say(f"{name}: {fault or 'keeps every contract'}")
        if any(fault is not None for _, fault in faults):
            raise Exit(1)
        return

    catalogue: dict[str, Any] = json.loads(_engine.kinds(plugins))
    entries = [
        {"group": group} | entry
        for group in _terminal.GROUPS
        for entry in catalogue[group]
        if entry["name"] == kind
    ]
    if kind is not None and not entries:
        known = {entry["name"] for group in catalogue.values() for entry in group}
        near = difflib.get_close_matches(kind, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "forebay kinds lists them"
        raise ScenarioError(f'there is no kind "{kind}"; {hint}')
    if as_json:
        shown = catalogue if kind is None else entries
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    elif kind is None:
        _terminal.print_kinds(Terminal(), catalogue)
        print("forebay kinds NAME explains one of them with all its parameters.")
    else:
        _terminal.print_named(Terminal(), catalogue, kind)
