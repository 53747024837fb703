"""The command `forebay validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from forebay import _disk
from forebay._cli.console import Bar, Terminal, command_line, friendly
from forebay._cli.options import AsJson, Jobs, flag, option, out_option


def command(
    quick: Annotated[bool, flag("--quick", "Only the fast checks: less than a minute.")] = False,
    only: Annotated[
        list[str],
        option(
            "NAME",
            "One check or family (queues, schedulers, tcp), or replications (how well they use the "
            "cores). Repeatable.",
        ),
    ] = [],  # noqa: B006 - read only
    as_json: AsJson = False,
    out: Annotated[
        Path | None, out_option("Also write the JSON to this file.", metavar="FILE")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Check the simulator against queueing theory and TCP formulas.

    Exit code 1 if anything differs. docs/validation.md says what is compared and how it is judged.

    Examples:
        forebay validate --quick
        forebay validate --only mm1-0.6
    """
    with friendly():
        from forebay.validate import command

        with Bar() as bar:
            record = command.execute(
                quick=quick, only=only, jobs=jobs, line=command_line(), progress=bar.set
            )
        if out is not None:
            _disk.write(out, json.dumps(record.section, indent=1, ensure_ascii=False) + "\n")
        if as_json:
            print(json.dumps(record.section, indent=2, ensure_ascii=False))
        else:
            record.print(Terminal())
        if not record.passed:
            raise typer.Exit(1)
