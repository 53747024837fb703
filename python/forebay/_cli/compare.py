"""The command `forebay compare`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forebay import _disk
from forebay._cli.console import command_line, say, stopped, unchanged
from forebay._cli.help import Command
from forebay._cli.options import (
    baseline,
    count,
    disciplines,
    first_seed,
    jobs,
    link,
    names,
    out_option,
    path_option,
    scenario_file,
    settings,
)
from forebay._engine import ScenarioError
from forebay._scenario import TODAY, Scenario, load_with

if TYPE_CHECKING:
    from forebay._advice import Advice
    from forebay._cli.drawn import Terminal
    from forebay._comparison import Comparison


@click.command(cls=Command)
@scenario_file
@disciplines("Disciplines to compare, instead of the scenario's list.")
@count("--replications", "-r", show_default="the scenario's", says="Runs of each discipline.")
@link("Link on which to compare; * for all with a queue. Repeatable.", multiple=True)
@baseline("LABEL")
@settings
@first_seed
@click.option("--fix", is_flag=True, help="Make the changes that forebay check proposes.")
@path_option("--gate", "FILE", "Write the advised gate configuration to a new file.")
@out_option("Folder for the results; an earlier result is replaced.", "out/SCENARIO")
@jobs
@click.option("--no-report", is_flag=True, help="Do not write report.html.", hidden=True)
def command(
    scenario: Path,
    disciplines: str | None,
    replications: int | None,
    link: tuple[str, ...],
    baseline: str | None,
    set_: tuple[str, ...],
    seed: int | None,
    fix: bool,
    gate: Path | None,
    out: Path | None,
    jobs: int | None,
    no_report: bool,
) -> None:
    """Compare queue disciplines on a link of a scenario.

    Every discipline gets the same traffic, several times with different random numbers. Prints
    what each class of traffic got and which discipline to start with; writes a report for the
    browser and the numbers as Parquet and JSON.

    Examples:
        forebay compare examples/branch-uplink.toml
        forebay compare examples/branch-uplink.toml --disciplines fifo,fq-codel -r 20
        forebay compare examples/branch-uplink.toml --set link.uplink.rate=5Mbit
    """
    # Tables and figures need large libraries; the other commands start faster without.
    from rich.markup import escape

    from forebay import _advice as advice
    from forebay import _comparison as comparison
    from forebay import _files, _terminal
    from forebay._advice import show
    from forebay._advice.gate import check as check_gate
    from forebay._cli.drawn import Bar, Terminal
    from forebay._runs.folder import check_folder

    prepared = load_with(scenario, set_)
    base = out if out is not None else Path("out") / scenario.stem
    where: list[str | None] = [*dict.fromkeys(link)] or [None]
    folders = [base if len(where) == 1 else base.with_name(f"{base.name}-{each}") for each in where]
    if gate is not None and len(where) > 1:
        raise ScenarioError("--gate: a gate has one link; compare them one at a time")
    if gate is not None:
        _disk.check_new(gate, "--gate")
        check_gate(prepared, prepared.compared_link(where[0]))
    for folder in folders:
        check_folder(folder)
    console = Terminal()
    advised: list[tuple[Comparison, Advice]] = []
    for each, folder in zip(where, folders, strict=True):
        chosen: Sequence[str | Mapping[str, Any]] | None = names(disciplines)
        tested = prepared
        changes: list[str] = []
        if fix:
            tested, chosen, changes = _fixed(prepared, each, chosen, baseline)
        listed, beside = comparison.against_today(tested, each, chosen, baseline)
        progress = Bar()
        try:
            with progress:
                compared = comparison.compare(
                    tested,
                    disciplines=listed,
                    replications=replications,
                    link=each,
                    seed=seed,
                    jobs=jobs,
                    progress=progress.update,
                    command=command_line(),
                    baseline=beside,
                )
            _files.write(compared, folder, report=not no_report)
        except KeyboardInterrupt:
            stopped(
                f"{progress.state} had ended. Their results are not kept, because not every "
                f"discipline had the same runs. {unchanged(folder)}"
            )
        if len(where) > 1:
            console.rule(f"[bold]{escape(compared.link)}", align="left")
        _terminal.print_comparison(console, compared)
        found = advice.advise(compared)
        show.print_advice(console, found)
        if changes:
            console.print("\n[bold]Changed for this comparison[/bold] (--fix)")
            show.print_items(console, changes)
        advised.append((compared, found))
        if len(where) == 1:
            _gate(console, compared, found, gate)
        shown = folder if no_report else folder / "report.html"
        say(f"\n{'Results' if no_report else 'Report'}: {shown}")
    if len(where) > 1:
        show.print_picks(console, advised, shlex.quote(str(scenario)))


def _fixed(
    scenario: Scenario,
    link: str | None,
    chosen: Sequence[str | Mapping[str, Any]] | None,
    baseline: str | None,
) -> tuple[Scenario, Sequence[str | Mapping[str, Any]], list[str]]:
    """Scenario and disciplines with the changes that are proposed, and what they are.

    A discipline that comes to be the same as another one is left out, unless it is the baseline.
    """
    from forebay import _comparison as comparison
    from forebay._advice import before, hints

    listed = comparison.variants_of(scenario, link, chosen)
    variants = [each for each in listed if each.label != TODAY]
    if not variants:
        return scenario, [TODAY], []
    found = before.hints_of_variants(variants, scenario.compared_link(link))
    changed, tables = hints.apply(found, scenario, {each.label: each.queue for each in variants})
    changes = [hint.remedy for hint in found if hint.remedy]
    if baseline is None:
        baseline = (scenario.document.get("compare") or {}).get("baseline")
    kept: dict[str, Mapping[str, Any]] = {}
    for label, table in sorted(tables.items(), key=lambda each: each[0] != baseline):
        same = next((other for other, queue in kept.items() if queue == table), None)
        if same is None:
            kept[label] = table
        else:
            changes.append(f"leave out {label}, which is now the same as {same}")
    return changed, [{"label": each, **kept[each]} for each in tables if each in kept], changes


def _gate(console: Terminal, comparison: Comparison, advice: Advice, file: Path | None) -> None:
    """Print the lines for a gate with the pick, and write them if they are wanted."""
    from rich.markup import escape

    from forebay._advice import gate

    named = [label for label in comparison.labels if label != TODAY] or [TODAY]
    pick = advice.pick if len(named) > 1 else named[0]
    if pick is None:
        if file is not None:
            raise ScenarioError("--gate: no discipline is recommended; name one with --disciplines")
        return
    if file is None and (change := gate.of_circuits(comparison, pick)) is not None:
        console.print(f"\n[bold]{escape(pick)} in the gate of this twin[/bold]")
        console.print(escape(change), soft_wrap=True, highlight=False)
        return
    if file is None and not gate.fits(comparison):
        return
    text = gate.configuration(comparison, pick)
    console.print(f"\n[bold]{escape(pick)} in a gate[/bold]")
    console.print(escape(gate.excerpt(text)), soft_wrap=True, highlight=False)
    if file is not None:
        _disk.write(file, text, replace=False)
        console.print(f"Gate: {escape(str(file))}; check it with forebay-gate check")
    else:
        console.print("--gate FILE writes the whole configuration.", style="dim")
