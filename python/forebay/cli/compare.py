"""The command `forebay compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from forebay.cli.console import Bar, command_line, friendly, stopped, unchanged
from forebay.cli.options import Jobs, ScenarioFile, Seed, Settings, names
from forebay.scenario import load_with


def command(
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
        str | None, typer.Option(help="The link whose queue is exchanged.", metavar="NAME")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="The discipline beside which each class's gain and the system's efficiency are "
            "given.",
        ),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where the results go; an earlier result there is replaced.",
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
    result is a table of what each class of traffic got, with 95 % confidence intervals, and a
    report to open in a browser; the numbers go beside it as Parquet and JSON.

    Example: forebay compare examples/branch-uplink.toml --disciplines fifo,fq-codel -r 20
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
        console = Console(soft_wrap=False)
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
        print(f"\n{'Results' if no_report else 'Report'}: {where}")
