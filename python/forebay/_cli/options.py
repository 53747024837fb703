"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from forebay._cli import complete
from forebay._reference.files import File

PATH = click.Path(path_type=Path)
"""The type of an argument or an option that is the path of a file or a folder."""


class Whole(click.IntRange):
    """A whole number within bounds."""

    name = "whole number"


class Number(click.FloatRange):
    """A number within bounds."""

    name = "number"


def out_option(says: str, default: str | None = None, metavar: str = "DIR") -> Callable[[Any], Any]:
    """`--out`: where what a command makes goes; `default` says where it goes without it."""
    return click.option("--out", "-o", metavar=metavar, type=PATH, show_default=default, help=says)


scenario_file = click.argument(
    "scenario", metavar="SCENARIO", type=PATH, help="The scenario file, TOML or JSON."
)
settings = click.option(
    "--set",
    "set_",
    metavar="PATH=VALUE",
    multiple=True,
    shell_complete=complete.settings,
    help="Change a field by its path: link[0].rate=5Mbit, traffic.voice.flows=20. Repeatable.",
)
seed = click.option(
    "--seed",
    metavar="N",
    type=Whole(0),
    help="Seed of the random numbers, instead of the scenario's.",
)
first_seed = click.option(
    "--seed",
    metavar="N",
    type=Whole(0),
    help="Seed of the first run; later runs count up from it.",
)
jobs = click.option(
    "--jobs",
    "-j",
    metavar="N",
    type=Whole(1),
    show_default="one a core",
    help="Number of runs at the same time.",
    hidden=True,
)
for_file = click.option(
    "--for",
    "for_",
    metavar="FILE",
    type=click.Choice(File),
    default=File.scenario,
    show_default=File.scenario.value,
    help=f"Kind of file: {', '.join(each.value for each in File)}.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print only JSON.")


def names(text: str | None) -> list[str] | None:
    """The names in a list with commas; None without one."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]
