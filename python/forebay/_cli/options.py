"""Options that several commands have, and how a command declares its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from forebay._cli.complete import settings
from forebay._reference.files import File


def argument(metavar: str, says: str, completes: Callable[..., Any] | None = None) -> Any:
    """What a command is about, without a name."""
    return typer.Argument(metavar=metavar, help=says, show_default=False, autocompletion=completes)


def option(
    metavar: str,
    says: str,
    *names: str,
    default: str | bool = True,
    completes: Callable[..., Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    hidden: bool = False,
) -> Any:
    """An option with a value.

    Args:
        metavar: what help calls the value.
        says: a sentence of help.
        names: its names, if not that of the parameter.
        default: what happens without it, in words; the parameter's default unless given.
        completes: lists what a shell may complete.
        minimum: the least value.
        maximum: the largest value.
        hidden: whether only `--help-all` shows it.
    """
    return typer.Option(
        *names,
        metavar=metavar,
        help=says,
        show_default=default,
        autocompletion=completes,
        min=minimum,
        max=maximum,
        hidden=hidden,
    )


def flag(name: str, says: str, hidden: bool = False) -> Any:
    """An option without a value."""
    return typer.Option(name, help=says, hidden=hidden)


def out_option(says: str, default: str | bool = True, metavar: str = "DIR") -> Any:
    """`--out`: where what a command makes goes."""
    return option(metavar, says, "--out", "-o", default=default)


ScenarioFile = Annotated[Path, argument("SCENARIO", "The scenario file, TOML or JSON.")]
Settings = Annotated[
    list[str],
    option(
        "PATH=VALUE",
        "Change a field by its path: link[0].rate=5Mbit, traffic.voice.flows=20. Repeatable.",
        "--set",
        completes=settings,
    ),
]
Seed = Annotated[
    int | None, option("N", "Seed of the random numbers, instead of the scenario's.", minimum=0)
]
FirstSeed = Annotated[
    int | None,
    option("N", "Seed of the first run; later runs count up from it.", minimum=0),
]
Jobs = Annotated[
    int | None,
    option(
        "N",
        "Number of runs at the same time.",
        "--jobs",
        "-j",
        default="one a core",
        minimum=1,
        hidden=True,
    ),
]
For = Annotated[
    File, option("FILE", f"Kind of file: {', '.join(each.value for each in File)}.", "--for")
]
AsJson = Annotated[bool, flag("--json", "Print only JSON.")]


def names(text: str | None) -> list[str] | None:
    """The names in a list with commas; None without one."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]
