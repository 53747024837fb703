"""The commands `forebay new`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from forebay._engine import ScenarioError
from forebay.cli.console import friendly, say
from forebay.cli.help import Command, Group
from forebay.reference.files import TEMPLATES, Template

app = typer.Typer(
    help="Write a commented scenario file to start from.",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("scenario", cls=Command)
def scenario(
    template: Annotated[
        Template,
        typer.Option(
            "--template",
            "-t",
            metavar="NAME",
            help=f"What to start from: {', '.join(each.value for each in Template)}.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The file to write.", show_default="NAME.toml"
        ),
    ] = None,
) -> None:
    """Write a commented scenario that runs as it is.

    Files that it reads, such as captures, are copied beside it. Nothing is overwritten.

    Examples:
        forebay new scenario --template household
        forebay new scenario --template satellite -o mine.toml
    """
    with friendly():
        from forebay.scenario import load

        target = out if out is not None else Path(f"{template.value}.toml")
        wanted = {target: template.file}
        for each in load(template.file).resolved()["files"]:
            wanted[target.parent / each["file"]] = TEMPLATES / each["file"]
        for path, source in wanted.items():
            if path.exists() and path.read_bytes() != source.read_bytes():
                raise ScenarioError(f"{path}: exists already; choose another name with --out")
        for path, source in wanted.items():
            if not path.exists():
                shutil.copyfile(source, path)
            say(f"Wrote {path}")
        say(f"Try it: forebay compare {target}")
