"""The command `forebay suite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from forebay._cli import complete
from forebay._cli.console import Bar, command_line, friendly, say, stopped
from forebay._cli.options import Jobs, argument, flag, names, option, out_option


def command(
    name: Annotated[
        str, argument("NAME", "rfc7928, rfc9743, l4s or bbr.", completes=complete.suites)
    ],
    disciplines: Annotated[
        str | None,
        option(
            "KIND,KIND,...",
            "Disciplines for rfc7928 and l4s; forebay kinds lists them.",
            "--disciplines",
            "-d",
            default="those of the suite",
            completes=complete.kinds,
        ),
    ] = None,
    controls: Annotated[
        str | None,
        option(
            "CONTROL,CONTROL,...",
            "Congestion controls for rfc9743, or one for bbr.",
            "--controls",
            default="all; bbr3",
            completes=complete.controls,
        ),
    ] = None,
    quick: Annotated[
        bool, flag("--quick", "A quick look: three runs of each point, one path of each case.")
    ] = False,
    out: Annotated[
        Path | None, out_option("Folder for the results; a stopped run goes on there.", "out/NAME")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Run a published set of tests on disciplines or controls.

    rfc7928 tests queue disciplines; l4s checks them against RFC 9331 and 9332. rfc9743 tests
    congestion controls against each other; bbr checks one by the test cases of the BBR draft.
    docs/suite-NAME.md explains each. Every run is kept: after a stop the same command continues.

    Examples:
        forebay suite l4s --disciplines dualpi2,fq-codel --quick
        forebay suite rfc9743 --controls cubic,bbr3 --quick
        forebay suite bbr --quick
    """
    with friendly():
        from forebay.suite import run

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
