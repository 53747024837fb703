"""The command `forebay check`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from forebay._cli.help import Command
from forebay._cli.options import as_json, scenario_file, settings
from forebay.scenario import Scenario, load_with, to_toml


@click.command(cls=Command)
@scenario_file
@settings
@click.option("--fix", is_flag=True, help="Print the scenario with these changes made.")
@as_json
def command(scenario: Path, set_: tuple[str, ...], fix: bool, as_json: bool) -> None:
    """Check a scenario and print it with every default filled in.

    Then lists, on standard error, what an expert would change, each with its --set option.

    Examples:
        forebay check examples/branch-uplink.toml
        forebay check examples/satellite.toml --fix > fixed.toml
    """
    from forebay.advice import before

    prepared = load_with(scenario, set_)
    effective = prepared.effective()
    hints = _hints(prepared)
    changed, settings = before.fixed(prepared, hints)
    if fix:
        effective = changed.effective()
    if as_json:
        print(json.dumps(effective, indent=2, ensure_ascii=False))
    else:
        print(to_toml(effective), end="", flush=True)
    if not hints:
        return
    from rich.markup import escape

    from forebay._cli.drawn import Terminal
    from forebay.advice import show

    console = Terminal(stderr=True)
    console.print("\n[bold]What an expert would say[/bold]")
    show.print_hints(console, hints)
    if settings:
        sets = " ".join(f"--set {shlex.quote(each)}" for each in settings)
        said = "These changes are made above" if fix else "To change it, here or in compare"
        console.print(f"\n{said}: {escape(sets)}", soft_wrap=True, highlight=False)


def _hints(scenario: Scenario) -> tuple[Any, ...]:
    from forebay import comparison
    from forebay.advice import before

    if not (scenario.document.get("compare") or {}).get("disciplines"):
        return before.hints_of_links(scenario)
    variants = comparison.variants_of(scenario, None, None)
    return before.hints_of_variants(variants, scenario.compared_link())
