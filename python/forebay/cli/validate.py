"""The command `forebay validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from forebay.cli.console import Bar, command_line, friendly
from forebay.cli.options import AsJson, Jobs


def command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Only the fast checks: less than a minute.")
    ] = False,
    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            metavar="NAME",
            help="One check or family (queues, schedulers, tcp), or replications: how well these "
            "use the cores. May be given repeatedly.",
        ),
    ] = [],  # noqa: B006 - read only
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the JSON there, too.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Check the simulator against queueing theory and the formulas of TCP.

    Exit code 1 if anything differs. What is compared and how verdicts come about stands in
    docs/validation.md.

    Example: forebay validate --only mm1-0.6
    """
    with friendly():
        from forebay.validate import command

        with Bar() as bar:
            record = command.execute(
                quick=quick, only=only, jobs=jobs, line=command_line(), progress=bar.set
            )
        if out is not None:
            out.write_text(json.dumps(record.section, indent=1, ensure_ascii=False) + "\n", "utf-8")
        if as_json:
            print(json.dumps(record.section, indent=2, ensure_ascii=False))
        else:
            record.print(Console())
        if not record.passed:
            raise typer.Exit(1)
