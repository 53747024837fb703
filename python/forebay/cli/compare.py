"""The command `forebay compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.padding import Padding

from forebay.cli import complete
from forebay.cli.console import Bar, Terminal, command_line, friendly, say, stopped, unchanged
from forebay.cli.options import FirstSeed, Jobs, ScenarioFile, Settings, names
from forebay.scenario import load_with


def command(
    scenario: ScenarioFile,
    disciplines: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            autocompletion=complete.kinds,
            help="Disciplines to compare, instead of the scenario's list.",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            "-r",
            metavar="N",
            help="Runs of each discipline.",
            show_default="the scenario's",
            min=1,
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            help="The link on which to test the disciplines.",
            metavar="NAME",
            autocompletion=complete.links,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Reference discipline for gain and efficiency.",
            hidden=True,
        ),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: FirstSeed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for the results; replaces an earlier result.",
            show_default="out/SCENARIO",
        ),
    ] = None,
    jobs: Jobs = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Do not write report.html.", hidden=True)
    ] = False,
) -> None:
    """Compare queue disciplines on a link of a scenario.

    Every discipline gets the same traffic, several times with different random numbers. Prints
    what each class of traffic got, with 95 % confidence intervals, and which discipline to start
    with. Writes a report for the browser, and the numbers as Parquet and JSON.

    Examples:
        forebay compare examples/branch-uplink.toml
        forebay compare examples/branch-uplink.toml --disciplines fifo,fq-codel -r 20
        forebay compare examples/branch-uplink.toml --set link.uplink.rate=5Mbit
    """
    with friendly():
        from forebay import advice, comparison, files, terminal
        from forebay.runs.folder import check_folder

        prepared = load_with(scenario, set_)
        folder = out if out is not None else Path("out") / scenario.stem
        check_folder(folder)
        progress = Bar()
        try:
            with progress:
                found = comparison.compare(
                    prepared,
                    disciplines=names(disciplines),
                    replications=replications,
                    link=link,
                    seed=seed,
                    jobs=jobs,
                    progress=progress.update,
                    command=command_line(),
                    baseline=baseline,
                )
            files.write(found, folder, report=not no_report)
        except KeyboardInterrupt:
            stopped(
                f"{progress.state} had ended; their results are not kept, as they would not "
                f"compare like with like. {unchanged(folder)}"
            )
        console = Terminal()
        terminal.print_comparison(console, found)
        advised = advice.advise(found)
        if advised.pick is not None:
            console.print(
                f"\n[bold]Start with {escape(advised.pick)}.[/bold] {escape(advised.why)}"
            )
            if advised.price:
                console.print("Its price:")
            for price in advised.price:
                console.print(Padding(f"- {escape(price)}", (0, 0, 0, 2)))
        else:
            console.print(f"\n{advised.why}")
        for note in advised.notes[1:] if len(found.seeds) > 1 else advised.notes:
            console.print(f"Note: {escape(note)}", style="dim")
        where = folder if no_report else folder / "report.html"
        say(f"\n{'Results' if no_report else 'Report'}: {where}")
