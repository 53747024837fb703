"""The reference page of the command line, from the commands' own help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from forebay._cli import app
from forebay._cli.help import arguments, examples, options, prose, usage

_HEAD = """\
# The command line

This page lists every command with all of its options. `forebay COMMAND --help` prints the common \
options, and `forebay COMMAND --help-all` prints all of them. (`make docs` generates this page \
from the help of the commands. A test runs the examples, except those that need root, a kernel or \
much time.)

Exit codes: 0 for success, 1 if a check or a verdict fails, 2 for wrong input, 130 after Ctrl-C.
"""


def cli_page() -> str:
    """Every command with its arguments, options and examples, in Markdown."""
    context = click.Context(app)
    lines = [_HEAD, *_options(app, "All commands take these, before the name of the command:")]
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        if isinstance(command, click.Group):
            lines += ["", f"## `forebay {name}`", "", prose(command.help)]
            for inner, each in command.commands.items():
                lines += _command(each, f"{name} {inner}", "###")
        else:
            lines += _command(command, name, "##")
    return "\n".join(lines) + "\n"


def _command(command: Any, name: str, level: str) -> Iterator[str]:
    path = f"forebay {name}"
    yield from ("", f"{level} `{path}`", "")
    yield from ("```text", f"{path} {usage(command)}", "```", "")
    yield prose(command.help)
    rows = arguments(command)
    if rows:
        yield from ("", "| Argument | Meaning |", "|---|---|")
        yield from (_row(*row) for row in rows)
    yield from _options(command, "")
    if lines := examples(command.help):
        yield from ("", "Examples:", "", "```bash", *lines, "```")


def _options(command: Any, title: str) -> Iterator[str]:
    rows = options(command)
    if not rows:
        return
    if title:
        yield title
    yield from ("", "| Option | Meaning |", "|---|---|")
    yield from (_row(*row) for row in rows)


def _row(name: str, meaning: str) -> str:
    cells = (f"`{name}`", " ".join(meaning.split()))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
