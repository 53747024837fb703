"""The command `forebay new discipline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forebay.console import friendly


def discipline(
    name: Annotated[str, typer.Argument(help="What scenarios will call it, such as my-aqm.")],
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Where the crate's folder is made.")
    ] = Path(),
    source: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Forebay's source tree, if it is not around here."),
    ] = None,
) -> None:
    """Write the crate of a queue discipline: a plug-in that builds, tests and runs at once.

    Example: forebay new discipline my-aqm
    """
    with friendly():
        from forebay import new_discipline

        tree = source if source is not None else new_discipline.source_tree(folder)
        crate = new_discipline.write(name, folder, tree)
        print(
            f"{crate}: the rule is src/lib.rs. Next:\n"
            f"  cd {crate}\n"
            "  cargo test\n"
            "  cargo build --release\n"
            "  forebay compare scenario.toml"
        )
