"""The `forebay` command: a module for each of its commands, and what they share."""

from __future__ import annotations

from typing import Annotated

import typer

from forebay import _engine
from forebay.cli import (
    check,
    compare,
    gate,
    kinds,
    lab,
    paper,
    replay,
    report,
    run,
    schema,
    suite,
    sweep,
    tune,
    validate,
)

app = typer.Typer(
    name="forebay",
    help="A laboratory for packet queues: what every class of user gets from a congested link "
    "under different queue disciplines.",
    epilog="Start with: forebay compare examples/branch-uplink.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
)

# In the order of their use, which is the order of the help.
app.command("compare")(compare.command)
app.command("run")(run.command)
app.command("check")(check.command)
app.command("kinds")(kinds.command)
app.command("sweep")(sweep.command)
app.command("report")(report.command)
app.command("tune")(tune.command)
app.command("suite")(suite.command)
app.add_typer(paper.app, name="paper")
app.command("validate")(validate.command)
app.command("lab")(lab.command)
# Also --help is for the program.
app.command(
    "gate",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)(gate.command)
app.command("replay")(replay.command)
app.command("schema")(schema.command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"forebay {_engine.version}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
