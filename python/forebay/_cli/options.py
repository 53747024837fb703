"""Options that several commands have."""

from __future__ import annotations

import math
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
    """A finite number within bounds."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The number, unless it is none or infinite."""
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{found} is not a finite number.", param, ctx)
        return found


def out_option(says: str, default: str | None = None, metavar: str = "DIR") -> Callable[[Any], Any]:
    """`--out`: where what a command makes goes; `default` says where it goes without it."""
    return click.option("--out", "-o", metavar=metavar, type=PATH, show_default=default, help=says)


def count(*flags: str, says: str, least: int = 1, **more: Any) -> Callable[[Any], Any]:
    """An option that is a whole number; `more` is what click takes."""
    return click.option(*flags, metavar="N", type=Whole(least), help=says, **more)


def path_option(flag: str, metavar: str, says: str, **more: Any) -> Callable[[Any], Any]:
    """An option that is the path of a file or a folder; `more` is what click takes."""
    return click.option(flag, metavar=metavar, type=PATH, help=says, **more)


def disciplines(says: str, metavar: str = "A,B,...", **more: Any) -> Callable[[Any], Any]:
    """`--disciplines`: a list with commas; `more` is what click takes."""
    offered = complete.kinds
    return click.option("--disciplines", metavar=metavar, shell_complete=offered, help=says, **more)


def link(says: str, **more: Any) -> Callable[[Any], Any]:
    """`--link`: a link of the scenario; `more` is what click takes."""
    return click.option("--link", metavar="NAME", shell_complete=complete.links, help=says, **more)


def baseline(metavar: str, **more: Any) -> Callable[[Any], Any]:
    """`--baseline`: what gain and efficiency are relative to; `more` is what click takes."""
    says = "Give gain and efficiency relative to this discipline."
    return click.option("--baseline", metavar=metavar, help=says, hidden=True, **more)


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
seed = count("--seed", least=0, says="Seed of the random numbers, instead of the scenario's.")
first_seed = count("--seed", least=0, says="Seed of the first run; later runs count up from it.")
jobs = count(
    "--jobs", "-j", show_default="one a core", says="Number of runs at the same time.", hidden=True
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
