"""The command `forebay report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forebay.cli.console import friendly, say


def command(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The results of forebay sweep.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The report.", show_default="report.html in DIR"
        ),
    ] = None,
) -> None:
    """Write the report of a study.

    One HTML file that needs no network: measures over the axes with intervals, differences
    between disciplines, and trade-offs. It may be written while the sweep is still running.

    Examples:
        forebay report out/uplink-study
    """
    with friendly():
        from forebay import sweep as sweeps
        from forebay.sweep.report import write

        say(f"Report: {write(sweeps.results(folder), out)}")
