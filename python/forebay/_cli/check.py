"""The command `forebay check`."""

from __future__ import annotations

import json
import shlex
from typing import Annotated, Any

from rich.markup import escape

from forebay._cli.console import Terminal, friendly
from forebay._cli.options import AsJson, ScenarioFile, Settings, flag
from forebay.scenario import Scenario, load_with, to_toml


def command(
    scenario: ScenarioFile,
    set_: Settings = [],  # noqa: B006 - read only
    fix: Annotated[bool, flag("--fix", "Print the scenario with these changes made.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a scenario and print it with every default filled in.

    Then lists, on standard error, what an expert would change, each with its --set option.

    Examples:
        forebay check examples/branch-uplink.toml
        forebay check examples/satellite.toml --fix > fixed.toml
    """
    with friendly():
        prepared = load_with(scenario, set_)
        effective = prepared.effective()
        from forebay.advice import before, show

        hints = _hints(prepared)
        changed, settings = before.fixed(prepared, hints)
        if fix:
            effective = changed.effective()
        if as_json:
            print(json.dumps(effective, indent=2, ensure_ascii=False))
        else:
            print(to_toml(effective), end="", flush=True)
        console = Terminal(stderr=True)
        if hints:
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
