"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forebay.cli.complete import settings
from forebay.reference.files import File

ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO", help="The scenario file, TOML or JSON.", show_default=False),
]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a field by its path: link[0].rate=5Mbit, traffic.voice.flows=20. Repeatable.",
        autocompletion=settings,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="Seed of the random numbers, instead of the scenario's.", min=0),
]
FirstSeed = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Seed of the first run; the following ones count up from it.", min=0
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Runs at a time.",
        show_default="one a core",
        min=1,
        hidden=True,
    ),
]
For = Annotated[
    File,
    typer.Option(
        "--for", metavar="FILE", help=f"Kind of file: {', '.join(each.value for each in File)}."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON and nothing else.")]


def names(text: str | None) -> list[str] | None:
    """The names in a list with commas; None without one."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]
