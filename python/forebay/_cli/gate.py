"""The command `forebay gate`."""

from __future__ import annotations

import os

import typer

from forebay._cli.console import friendly


def command(context: typer.Context) -> None:
    """Shape and queue real traffic: calls the program forebay-gate.

    The program is in the source tree (make gate builds it) or on the PATH. It needs no Python.

    Examples:
        forebay gate check examples/gate/uplink.toml
    """
    with friendly():
        from forebay.lab.gates import program

        found = program()
        os.execv(found, [found.name, *context.args])
