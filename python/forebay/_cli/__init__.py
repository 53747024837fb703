"""The `forebay` command: a module for each of its commands, and what they share.

A command's module says at its top what the help needs, and imports in its function what the work
needs: --help and completion import the modules of all commands.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from forebay import _disk, _engine
from forebay._cli import completion
from forebay._cli.console import check_arguments, friendly
from forebay._cli.help import Group
from forebay._cli.options import PATH
from forebay._scenario import plugins

ORDER = (
    *("compare", "run", "explore", "watch", "check", "new", "import", "twin", "kinds", "explain"),
    *("sweep", "report", "export", "tune", "fit", "attack", "why", "suite", "paper"),
    *("validate", "lab", "gate", "replay", "schema"),
)
"""Commands in the order of their use."""


class Commands(Group):
    """All commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help."""
        del ctx
        return list(ORDER)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        del ctx
        if cmd_name not in ORDER:
            return None
        module = "import_" if cmd_name == "import" else cmd_name
        command: click.Command = import_module(f"forebay._cli.{module}").command
        return command

    def make_context(self, *words: Any, **settings: Any) -> click.Context:
        """Read the options before a command."""
        with friendly():
            return super().make_context(*words, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Carry out a command."""
        with friendly():
            return super().invoke(ctx)


@click.group(
    "forebay",
    cls=Commands,
    help="Compare queue disciplines for a congested link: what does each user get?",
    epilog="Start with: forebay compare examples/branch-uplink.toml",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    _engine.version + (f" ({_engine.commit})" if _engine.commit else ""),
    message="forebay %(version)s",
    help="Print the version.",
)
@click.option(
    "--plugin",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Load a plug-in: a shared library, or a Python file.",
)
@completion.options
def app(plugin: tuple[Path, ...]) -> None:
    """The options of all commands."""
    check_arguments()
    plugins[:] = [str(_disk.leads_to(path)) for path in plugin]
