"""The command `forebay gate`."""

from __future__ import annotations

import os

import click

from forebay._cli.help import Command


# Also --help is for the program.
@click.command(
    cls=Command,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
@click.pass_context
def command(context: click.Context) -> None:
    """Shape and queue real traffic: calls the program forebay-gate.

    The program is in the source tree (make gate builds it) or on the PATH. It needs no Python.

    Examples:
        forebay gate check examples/gate/uplink.toml
    """
    from forebay.lab.gates import program

    found = program()
    os.execv(found, [found.name, *context.args])
