"""The commands `forebay compare` and `forebay check`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from forebay._engine import ScenarioError
from forebay.console import Bar, command_line, friendly, stopped
from forebay.options import AsJson, Jobs, ScenarioFile, Seed, Settings, names
from forebay.scenario import Scenario, load_with, to_toml

if TYPE_CHECKING:
    from forebay.advice import Advice
    from forebay.comparison import Comparison


def compare(
    scenario: ScenarioFile,
    disciplines: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Disciplines to compare, instead of the scenario's list: kinds (see forebay "
            "kinds) or labels from that list.",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            "-r",
            help="How often each discipline is run, each time with other random numbers; more "
            "runs give narrower intervals.",
            min=1,
        ),
    ] = None,
    link: Annotated[
        list[str],
        typer.Option(
            help="Link on which to test the disciplines. Given repeatedly, each link is tested in "
            "turn, with a pick for each.",
            metavar="NAME",
            show_default="the scenario's",
        ),
    ] = [],  # noqa: B006 - read only
    baseline: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Reference discipline for gain and efficiency."),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Compare with the changes that forebay check proposes."),
    ] = False,
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a configuration of forebay-gate for the pick.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where the results go; an earlier result there is replaced. With several links, "
            "DIR-LINK for each.",
            show_default="out/ and the scenario's name",
        ),
    ] = None,
    jobs: Jobs = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Do not write report.html.")
    ] = False,
) -> None:
    """Compare queue disciplines on the congested link of a scenario.

    Every discipline faces the same traffic, several times with different random numbers. The
    result is a table of what each class of traffic got, with 95 % confidence intervals, advice on
    what to pick, and a report to open in a browser; the numbers go beside it as Parquet and JSON.

    Example: forebay compare examples/branch-uplink.toml --disciplines fifo,fq-codel -r 20
    """
    with friendly():
        # Tables and figures need large libraries; the other commands start faster without.
        from forebay import advice, comparison, files, terminal
        from forebay.advice import show
        from forebay.runs.folder import check_folder

        prepared = load_with(scenario, set_)
        base = out if out is not None else Path("out") / scenario.stem
        where: list[str | None] = [*dict.fromkeys(link)] or [None]
        folders = [
            base if len(where) == 1 else base.with_name(f"{base.name}-{each}") for each in where
        ]
        if gate is not None and len(where) > 1:
            raise ScenarioError("--gate: a gate has one link; compare them one at a time")
        for folder in folders:
            check_folder(folder)
        console = Console(soft_wrap=False)
        advised: list[tuple[Comparison, Advice]] = []
        for each, folder in zip(where, folders, strict=True):
            chosen: Sequence[str | Mapping[str, Any]] | None = names(disciplines)
            tested = prepared
            changes: list[str] = []
            if fix:
                tested, chosen, changes = _fixed(prepared, each, chosen)
            progress = Bar()
            try:
                with progress:
                    compared = comparison.compare(
                        tested,
                        disciplines=chosen,
                        replications=replications,
                        link=each,
                        seed=seed,
                        jobs=jobs,
                        progress=progress.update,
                        command=command_line(),
                        baseline=baseline,
                    )
                files.write(compared, folder, report=not no_report)
            except KeyboardInterrupt:
                stopped(
                    f"{progress.state} had ended; their results are not kept, as they would not "
                    f"compare like with like. {unchanged(folder)}"
                )
            if len(where) > 1:
                console.rule(f"[bold]{escape(compared.link)}", align="left")
            terminal.print_comparison(console, compared)
            found = advice.advise(compared)
            show.print_advice(console, found)
            if changes:
                console.print("\n[bold]Changed for this comparison[/bold] (--fix)")
                show.print_items(console, changes)
            advised.append((compared, found))
            if len(where) == 1:
                _gate(console, compared, found, gate)
            shown = folder if no_report else folder / "report.html"
            print(f"\n{'Results' if no_report else 'Report'}: {shown}")
        if len(where) > 1:
            show.print_picks(console, advised, shlex.quote(str(scenario)))


def check(
    scenario: ScenarioFile,
    set_: Settings = [],  # noqa: B006 - read only
    fix: Annotated[bool, typer.Option("--fix", help="Print it with the proposed changes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a scenario and print it with every default filled in.

    What an expert would change stands below, on standard error, with the --set that changes it.

    Example: forebay check examples/branch-uplink.toml
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
        console = Console(stderr=True)
        if hints:
            console.print("\n[bold]What an expert would say[/bold]")
            show.print_hints(console, hints)
        if settings:
            sets = " ".join(f"--set {shlex.quote(each)}" for each in settings)
            said = "These changes are made above" if fix else "To change it, here or in compare"
            console.print(f"\n{said}: {escape(sets)}", soft_wrap=True, highlight=False)


def unchanged(folder: Path) -> str:
    """What became of an earlier result when a command was stopped."""
    if folder.exists() and any(folder.iterdir()):
        return f"{folder} still holds the earlier result."
    return "Nothing was written."


def _hints(scenario: Scenario) -> tuple[Any, ...]:
    from forebay import comparison
    from forebay.advice import before

    if not (scenario.document.get("compare") or {}).get("disciplines"):
        return before.hints_of_links(scenario)
    variants = comparison.variants_of(scenario, None, None)
    return before.hints_of_variants(variants, scenario.compared_link())


def _fixed(
    scenario: Scenario, link: str | None, chosen: Sequence[str | Mapping[str, Any]] | None
) -> tuple[Scenario, list[Mapping[str, Any]], list[str]]:
    """Scenario and disciplines with the changes that are proposed, and what they are."""
    from forebay import comparison
    from forebay.advice import before, hints

    variants = comparison.variants_of(scenario, link, chosen)
    found = before.hints_of_variants(variants, scenario.compared_link(link))
    changed, tables = hints.apply(found, scenario, {each.label: each.queue for each in variants})
    return (
        changed,
        [{"label": label, **table} for label, table in tables.items()],
        [hint.remedy for hint in found if hint.remedy],
    )


def _gate(console: Console, comparison: Comparison, advice: Advice, file: Path | None) -> None:
    """Print the lines for a gate with the pick, and write them if they are wanted."""
    from forebay.advice import gate

    labels = comparison.labels
    pick = advice.pick if len(labels) > 1 else labels[0]
    if pick is None:
        if file is not None:
            raise ScenarioError("--gate: there is no pick; name one with --disciplines")
        return
    if file is None and not gate.fits(comparison):
        return
    try:
        text = gate.configuration(comparison, pick)
    except ScenarioError as error:
        raise ScenarioError(f"--gate: {error}") from None
    console.print(f"\n[bold]{escape(pick)} in a gate[/bold]")
    console.print(escape(gate.excerpt(text)), soft_wrap=True, highlight=False)
    if file is not None:
        file.write_text(text, encoding="utf-8")
        console.print(f"Gate: {escape(str(file))}; check it with forebay-gate check")
    else:
        console.print("--gate FILE writes the whole configuration.", style="dim")
