"""The command `forebay check`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from forebay._cli.help import Command
from forebay._cli.options import as_json, scenario_file, settings
from forebay._scenario import Scenario, load_with, to_toml


@click.command(cls=Command)
@scenario_file
@settings
@click.option("--effective", is_flag=True, help="Print the scenario with every default filled in.")
@click.option("--fix", is_flag=True, help="Print it with the proposed changes made.")
@as_json
def command(
    scenario: Path, set_: tuple[str, ...], effective: bool, fix: bool, as_json: bool
) -> None:
    """Check whether a scenario can run, and what an expert would change.

    Lists changes, each with its --set option, and ends with what the scenario has. If the scenario
    itself is printed (--effective, --fix, --json), all of this is on standard error.

    Examples:
        forebay check examples/branch-uplink.toml
        forebay check examples/satellite.toml --fix > fixed.toml
    """
    from forebay._advice import before

    prepared = load_with(scenario, set_)
    whole = prepared.effective()
    hints = _hints(prepared)
    changed, settings = before.fixed(prepared, hints)
    if as_json:
        shown = changed.effective() if fix else whole
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    elif effective or fix:
        print(to_toml(changed.effective() if fix else whole), end="", flush=True)
    from rich.markup import escape

    from forebay._advice import show
    from forebay._cli.drawn import Terminal

    console = Terminal(stderr=as_json or effective or fix)
    if hints:
        console.print("[bold]What an expert would say[/bold]")
        show.print_hints(console, hints)
    if settings:
        sets = " ".join(f"--set {shlex.quote(each)}" for each in settings)
        said = "These changes are made above" if fix else "To change it, here or in compare"
        console.print(f"\n{said}: {escape(sets)}\n", soft_wrap=True, highlight=False)
    console.print(escape(_verdict(prepared)), style="bold", highlight=False)


def _verdict(scenario: Scenario) -> str:
    """That it is valid, and what it has."""
    whole = scenario.effective()
    links = sum(not each["reverse"] for each in scenario.resolved()["links"])
    flows = sum(int(each.get("flows") or 1) for each in whole["traffic"])
    listed = (whole.get("compare") or {}).get("disciplines") or []
    counts = [(links, "link"), (len(whole["traffic"]), "traffic entry"), (flows, "flow")]
    counts.append((len(listed), "discipline"))
    said = [f"{count} {_plural(word, count)}" for count, word in counts if count]
    compared = " to compare" if listed else ""
    return f"{scenario.name} is valid: {', '.join(said)}{compared}."


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word.removesuffix('y')}ies" if word[-1] == "y" else f"{word}s"


def _hints(scenario: Scenario) -> tuple[Any, ...]:
    from forebay import _comparison as comparison
    from forebay._advice import before

    if not (scenario.document.get("compare") or {}).get("disciplines"):
        return before.hints_of_links(scenario)
    lanes = comparison.entries(comparison.beside_today(scenario))
    variants = comparison.variants_of(scenario, None, lanes)
    return before.hints_of_variants(variants, scenario.compared_link())
