"""The command `forebay report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from forebay._cli.console import friendly, say
from forebay._cli.options import argument, out_option


def command(
    folder: Annotated[Path, argument("DIR", "The results of forebay sweep.")],
    out: Annotated[
        Path | None, out_option("The report.", "report.html in DIR", metavar="FILE")
    ] = None,
) -> None:
    """Write the report of a study.

    One HTML file that works offline: measures over the axes with intervals, differences
    between disciplines, and trade-offs. It may be written while the sweep is still running.

    Examples:
        forebay report out/uplink-study
    """
    with friendly():
        from forebay import sweep as sweeps
        from forebay.sweep.report import write

        say(f"Report: {write(sweeps.results(folder), out)}")
