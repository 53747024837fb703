"""The command `forebay validate`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click.exceptions import Exit

from forebay import _disk
from forebay._cli.console import command_line
from forebay._cli.help import Command
from forebay._cli.options import as_json, jobs, out_option


@click.command(cls=Command)
@click.option("--quick", is_flag=True, help="Only the fast checks: less than a minute.")
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="One check or family (queues, schedulers, tcp). Repeatable.",
)
@as_json
@out_option("Also write the JSON to this file.", metavar="FILE")
@jobs
def command(
    quick: bool, only: tuple[str, ...], as_json: bool, out: Path | None, jobs: int | None
) -> None:
    """Check the simulator against queueing theory and TCP formulas.

    Exit code 1 if anything differs. docs/validation.md says what is compared and how it is judged.

    Examples:
        forebay validate --quick
        forebay validate --only mm1-0.6
    """
    from forebay import _written
    from forebay._cli.drawn import Bar, Terminal
    from forebay._validate import command

    if out is not None:
        _disk.check_output(out, ())
    with Bar() as bar:
        record = command.execute(
            quick=quick, only=only, jobs=jobs, line=command_line(), progress=bar.set
        )
    if out is not None:
        _disk.write(out, _written.dump(record.section))
    if as_json:
        print(json.dumps(record.section, indent=2, ensure_ascii=False))
    else:
        record.print(Terminal())
    if not record.passed:
        raise Exit(1)
