"""The command `forebay suite`."""

from __future__ import annotations

from pathlib import Path

import click

from forebay._cli import complete
from forebay._cli.console import command_line, say, stopped
from forebay._cli.help import Command
from forebay._cli.options import jobs, names, out_option


@click.command(cls=Command)
@click.argument(
    "name",
    metavar="NAME",
    shell_complete=complete.suites,
    help="rfc7928, rfc9743, l4s, bbr or attack.",
)
@click.option(
    "--disciplines",
    "-d",
    metavar="A,B,...",
    show_default="those of the suite",
    shell_complete=complete.kinds,
    help="Disciplines for rfc7928, l4s and attack; forebay kinds lists them.",
)
@click.option(
    "--controls",
    metavar="A,B,...",
    show_default="all; bbr3",
    shell_complete=complete.controls,
    help="Congestion controls for rfc9743, or one for bbr.",
)
@click.option(
    "--quick", is_flag=True, help="A quick look: three runs of each point, one path of each case."
)
@out_option("Folder for the results; a stopped run goes on there.", "out/NAME")
@jobs
def command(
    name: str,
    disciplines: str | None,
    controls: str | None,
    quick: bool,
    out: Path | None,
    jobs: int | None,
) -> None:
    """Run a published set of tests on disciplines or controls.

    rfc7928 tests queue disciplines; l4s checks them against RFC 9331 and 9332; attack runs worst
    cases (docs/attack.md). rfc9743 tests congestion controls against each other; bbr checks one.
    docs/suite-NAME.md explains the others. Every run is kept: after a stop the same command
    continues.

    Examples:
        forebay suite l4s --disciplines dualpi2,fq-codel --quick
        forebay suite rfc9743 --controls cubic,bbr3 --quick
        forebay suite bbr --quick
    """
    from forebay._cli.drawn import Bar
    from forebay._suite import run

    folder = out if out is not None else run.folder_for(name, quick)
    begin = run.prepared(
        name, names(disciplines), names(controls), quick, folder, jobs, command_line()
    )
    bar = Bar()
    try:
        with bar:
            written = begin(bar.say)
    except KeyboardInterrupt:
        stopped(f"Every run that had ended is kept in {folder}; the same command goes on.")
    say(f"Report: {written}")
