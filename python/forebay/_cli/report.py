"""The command `forebay report`."""

from __future__ import annotations

from pathlib import Path

import click

from forebay._cli.console import say
from forebay._cli.help import Command
from forebay._cli.options import PATH, out_option


@click.command(cls=Command)
@click.argument("folder", metavar="DIR", type=PATH, help="The results of forebay sweep.")
@out_option("The report.", "report.html in DIR", metavar="FILE")
def command(folder: Path, out: Path | None) -> None:
    """Write the report of a study.

    One HTML file that works offline: measures over the axes with intervals, differences
    between disciplines, and trade-offs. It may be written while the sweep is still running.

    Examples:
        forebay report out/uplink-study
    """
    from forebay import sweep as sweeps
    from forebay.sweep import write_report

    say(f"Report: {write_report(sweeps.results(folder), out)}")
