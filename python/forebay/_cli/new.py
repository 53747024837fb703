"""The commands `forebay new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forebay import _disk
from forebay._cli.console import friendly, say
from forebay._cli.help import Command, Group
from forebay._cli.options import argument, option, out_option
from forebay._engine import ScenarioError
from forebay._reference.files import TEMPLATES, Template

app = typer.Typer(
    help="Write a scenario or a discipline to start from.",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("scenario", cls=Command)
def scenario(
    template: Annotated[
        Template,
        option(
            "NAME",
            f"What to start from: {', '.join(each.value for each in Template)}.",
            "--template",
            "-t",
        ),
    ],
    out: Annotated[
        Path | None, out_option("The file to write.", "NAME.toml", metavar="FILE")
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
            if _disk.read_if_any(path) not in (None, source.read_bytes()):
                raise ScenarioError(f"{path}: exists already; choose another name with --out")
        for path, source in wanted.items():
            if not path.exists():
                _disk.write(path, source.read_bytes(), replace=False)
            say(f"Wrote {path}")
        say(f"Try it: forebay compare {target}")


@app.command("discipline", cls=Command)
def discipline(
    name: Annotated[str, argument("NAME", "What scenarios will call it, such as my-aqm.")],
    folder: Annotated[
        Path, option("DIR", "Folder in which the crate is created.", "--in")
    ] = Path(),
    source: Annotated[
        Path | None, option("DIR", "Folder of forebay's source code, if you are not inside it.")
    ] = None,
) -> None:
    """Write the Rust crate of a queue discipline: a plug-in that builds and runs at once.

    Examples:
        forebay new discipline my-aqm
    """
    with friendly():
        from forebay import _new_discipline

        tree = source if source is not None else _new_discipline.source_tree(folder)
        crate = _new_discipline.write(name, folder, tree)
        say(
            f"{crate}: the rule is src/lib.rs. Next:\n"
            f"  cd {crate}\n"
            "  cargo test\n"
            "  cargo build --release\n"
            "  forebay compare scenario.toml"
        )
