"""The commands `forebay new`."""

from __future__ import annotations

from pathlib import Path

import click

from forebay import _disk
from forebay._cli.console import say
from forebay._cli.help import Command, Group
from forebay._cli.options import PATH, out_option, path_option
from forebay._engine import ScenarioError
from forebay._reference.files import TEMPLATES, Template


@click.group(cls=Group, help="Write a scenario, a discipline or a protocol to start from.")
def command() -> None:
    """Commands that write something to start from."""


@command.command("scenario", cls=Command)
@click.option(
    "--template",
    "-t",
    metavar="NAME",
    type=click.Choice([each.value for each in Template]),
    required=True,
    help=f"What to start from: {', '.join(each.value for each in Template)}.",
)
@out_option("The file to write.", "NAME.toml", metavar="FILE")
def scenario(template: str, out: Path | None) -> None:
    """Write a commented scenario that runs as it is.

    Files that it reads, such as captures, are copied beside it. Nothing is overwritten.

    Examples:
        forebay new scenario --template household
        forebay new scenario --template satellite -o mine.toml
    """
    from forebay._scenario import load

    target = out if out is not None else Path(f"{template}.toml")
    example = Template(template).file
    wanted = {target: example}
    for each in load(example).resolved()["files"]:
        wanted[target.parent / each["file"]] = TEMPLATES / each["file"]
    for path, source in wanted.items():
        if _disk.read_if_any(path) not in (None, source.read_bytes()):
            raise ScenarioError(f"{path}: exists already; choose another name with --out")
    for path, source in wanted.items():
        if not path.exists():
            _disk.write(path, source.read_bytes(), replace=False)
        say(f"Wrote {path}")
    say(f"Try it: forebay compare {target}")


_in_option = click.option(
    "--in",
    "folder",
    metavar="DIR",
    type=PATH,
    default=Path(),
    help="Folder in which the crate is created.",
)
_source_option = path_option(
    "--source", "DIR", "Forebay's source code, if you are not inside it, or its packed crates."
)


@command.command("discipline", cls=Command)
@click.argument("name", metavar="NAME", help="What scenarios will call it, such as my-aqm.")
@_in_option
@_source_option
def discipline(name: str, folder: Path, source: Path | None) -> None:
    """Write the Rust crate of a queue discipline: a plug-in that builds and runs at once.

    It is built on the crate forebay-plugin: that of the source code around it, or of --source, or
    else the published one.

    Examples:
        forebay new discipline my-aqm
    """
    from forebay import _new_crate

    crate = _new_crate.write(_new_crate.DISCIPLINE, name, folder, source)
    say(
        f"{crate}: the rule is src/lib.rs. Next:\n"
        f"  cd {crate}\n"
        "  cargo test\n"
        "  cargo build --release\n"
        "  forebay compare scenario.toml"
    )


@command.command("endpoint", cls=Command)
@click.argument("name", metavar="NAME", help="The name of the crate, such as my-protocol.")
@_in_option
@_source_option
def endpoint(name: str, folder: Path, source: Path | None) -> None:
    """Write the Rust crate of a transport protocol without I/O, tested in virtual time.

    Its tests put both ends behind a link with a queue, beside TCP. They are built on the crate
    forebay-world: that of the source code around it, or of --source, or else the published one.

    Examples:
        forebay new endpoint my-protocol
    """
    from forebay import _new_crate

    crate = _new_crate.write(_new_crate.ENDPOINT, name, folder, source)
    say(
        f"{crate}: the protocol is src/lib.rs, its network tests/world.rs. Next:\n"
        f"  cd {crate}\n"
        "  cargo test"
    )
