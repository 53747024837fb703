"""The command `forebay run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from forebay._engine import ScenarioError
from forebay.cli import complete
from forebay.cli.console import Bar, Terminal, friendly, stopped, unchanged
from forebay.cli.options import AsJson, ScenarioFile, Seed, Settings
from forebay.scenario import load_with


def command(
    scenario: ScenarioFile,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Discipline to put on the link.",
            autocompletion=complete.kinds,
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            help="Link on which to put --discipline.",
            metavar="NAME",
            autocompletion=complete.links,
        ),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write tables and summary to this folder."),
    ] = None,
) -> None:
    """Run a scenario once.

    Prints what every link, queue and class of traffic got. With --json it prints the whole
    summary, flow by flow, for other programs; docs/summary.md explains its keys.

    Examples:
        forebay run examples/branch-uplink.toml
        forebay run examples/branch-uplink.toml --discipline codel --set link[0].rate=5Mbit
        forebay run examples/branch-uplink.toml --json > run.json
    """
    with friendly():
        from forebay import files, terminal
        from forebay.runs import run as run_once
        from forebay.runs.folder import check_folder

        prepared = load_with(scenario, set_)
        if link is not None and discipline is None:
            raise ScenarioError("--link says where --discipline goes; give both or neither")
        if out is not None:
            check_folder(out)
        progress = Bar()
        try:
            with progress:
                result = run_once(
                    prepared, seed=seed, discipline=discipline, link=link, progress=progress.set
                )
        except KeyboardInterrupt:
            kept = "" if out is None else f" {unchanged(out)}"
            stopped(f"The run had not ended; nothing of it is kept.{kept}")
        if out is not None:
            files.write(result, out)
        if as_json:
            print(json.dumps(result.summary, indent=2, ensure_ascii=False))
        else:
            terminal.print_run(Terminal(), result.summary)
