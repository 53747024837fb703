"""The `forebay` command: a module for each of its commands, and what they share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from forebay import _disk, _engine
from forebay._cli import (
    check,
    compare,
    explain,
    explore,
    export,
    gate,
    import_,
    kinds,
    lab,
    new,
    paper,
    replay,
    report,
    run,
    schema,
    suite,
    sweep,
    tune,
    validate,
    watch,
)
from forebay._cli.console import check_arguments, friendly
from forebay._cli.help import Group, add
from forebay.scenario import plugins

ORDER = (
    *("compare", "run", "explore", "watch", "check", "new", "import", "kinds", "explain"),
    *("sweep", "report", "export", "tune", "suite", "paper", "validate"),
    *("lab", "gate", "replay", "schema"),
)
"""Commands in the order of their use."""


class Commands(Group):
    """All commands; Typer would put groups of commands last."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help."""
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = typer.Typer(
    name="forebay",
    help="Compare queue disciplines for a congested link: what does each user get?",
    epilog="Start with: forebay compare examples/branch-uplink.toml",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

add(app, "compare", compare.command)
add(app, "run", run.command)
add(app, "explore", explore.command)
add(app, "watch", watch.command)
add(app, "check", check.command)
app.add_typer(new.app, name="new")
add(app, "import", import_.command)
add(app, "kinds", kinds.command)
add(app, "explain", explain.command)
add(app, "sweep", sweep.command)
add(app, "report", report.command)
add(app, "export", export.command)
add(app, "tune", tune.command)
add(app, "suite", suite.command)
app.add_typer(paper.app, name="paper")
add(app, "validate", validate.command)
add(app, "lab", lab.command)
# Also --help is for the program.
everything = {"allow_extra_args": True, "ignore_unknown_options": True}
add(app, "gate", gate.command, context_settings=everything, add_help_option=False)
add(app, "replay", replay.command)
add(app, "schema", schema.command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"forebay {_engine.version}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001 - its callback acts
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Load a plug-in: a shared library, or a Python file."),
    ] = [],  # noqa: B006 - read only
) -> None:
    with friendly():
        check_arguments()
    plugins[:] = [str(_disk.leads_to(path)) for path in plugin]
