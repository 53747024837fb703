"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO", help="The scenario file, TOML or JSON.", show_default=False),
]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change one field of the scenario, by its path: link[0].rate=5Mbit, or "
        "traffic.voice.flows=20 where the entries of a list have names. May be given repeatedly.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Seed of the random numbers, instead of the scenario's; of the first run, where there "
        "are several.",
        min=0,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Runs at a time.", show_default="one a core", min=1),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON and nothing else.")]


def names(text: str | None) -> list[str] | None:
    """The names in a list with commas; None without one."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]
