"""The command `forebay suite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forebay.cli import complete
from forebay.cli.console import Bar, command_line, friendly, say, stopped
from forebay.cli.options import Jobs, names


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The suite; rfc7928 is the only one.",
            show_default=False,
            autocompletion=complete.suites,
        ),
    ],
    disciplines: Annotated[
        str | None,
        typer.Option(
            "--disciplines",
            "-d",
            metavar="KIND,KIND,...",
            autocompletion=complete.kinds,
            help="Disciplines to test, kinds of forebay kinds.",
            show_default="those of the suite",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three runs of each point, for a look.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of the results, also of a run to go on with.",
            show_default="out/NAME",
        ),
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Test disciplines with a published set of scenarios, RFC 7928.

    Every run is kept as soon as it ends. Stop it at any moment: the same command goes on where it
    was. docs/suite-rfc7928.md lists the tests.

    Examples:
        forebay suite rfc7928 --disciplines fifo,codel,pie --quick
    """
    with friendly():
        from forebay.suite import catalogue, run

        what = catalogue.load(name, names(disciplines), quick)
        folder = out if out is not None else run.folder_for(name, quick)
        bar = Bar()
        try:
            with bar:
                written = run.run(what, folder, jobs=jobs, command=command_line(), tell=bar.say)
        except KeyboardInterrupt:
            stopped(f"Every run that had ended is kept in {folder}; the same command goes on.")
        say(f"Report: {written}")
