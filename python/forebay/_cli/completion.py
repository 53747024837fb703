"""Completion in bash, zsh and fish, by click's scripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import ShellComplete, get_completion_class

from forebay._engine import ScenarioError

_PROGRAM, _VARIABLE = "forebay", "_FOREBAY_COMPLETE"
_PLACES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/forebay.fish"}
"""Files in the home folder that a shell reads when it starts, or for a program."""


def options(function: Callable[..., None]) -> Callable[..., None]:
    """Give the program the options that print and install completion."""
    for name, act, says in (
        ("--show-completion", _show, "Print the script of completion for the current shell."),
        ("--install-completion", _install, "Install completion for the current shell."),
    ):
        function = click.option(
            name, is_flag=True, is_eager=True, expose_value=False, callback=act, help=says
        )(function)
    return function


def _show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(_of_shell(ctx)[1].source())
        ctx.exit()


def _install(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    shell, script = _of_shell(ctx)
    place = Path.home() / _PLACES[shell]
    line = f'eval "$({_VARIABLE}={shell}_source {_PROGRAM})"\n'
    text = script.source() if shell == "fish" else line
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists() or text not in place.read_text("utf-8"):
        with place.open("a", encoding="utf-8") as file:
            file.write(text)
    click.echo(f"Completion is in {place}; it works in the next {shell}.")
    ctx.exit()


def _of_shell(ctx: click.Context) -> tuple[str, ShellComplete]:
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in _PLACES:
        raise ScenarioError(
            f"SHELL is {shell or 'not set'}: there is completion for {', '.join(_PLACES)}"
        )
    found: Any = get_completion_class(shell)
    script: ShellComplete = found(ctx.command, {}, _PROGRAM, _VARIABLE)
    return shell, script
