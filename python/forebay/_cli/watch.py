"""The command `forebay watch`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from forebay._cli.help import Command
from forebay._cli.options import Number, disciplines, link, names, scenario_file, seed, settings
from forebay._engine import ScenarioError
from forebay._scenario import load_with


@click.command(cls=Command)
@scenario_file
@disciplines("Disciplines side by side.", show_default="today's queue and a contrast")
@link("Link whose queue is shown.")
@click.option(
    "--speed",
    metavar="FACTOR",
    type=Number(0),
    default=1.0,
    help="Simulated seconds per real second; 0: as fast as possible.",
)
@settings
@seed
def command(
    scenario: Path,
    disciplines: str | None,
    link: str | None,
    speed: float,
    set_: tuple[str, ...],
    seed: int | None,
) -> None:
    """Watch a scenario in the terminal.

    Shows the queue of a link and its series while the scenario runs, under several disciplines
    side by side: by default the link's own queue and one of the scenario's list. Keys pause it, go
    on step by step and change the speed.

    Examples:
        forebay watch examples/branch-uplink.toml
        forebay watch examples/branch-uplink.toml --disciplines fifo,codel,fq-codel
        forebay watch examples/cellular.toml --speed 0.1
    """
    from forebay._cli.drawn import Terminal
    from forebay._comparison import contrast, variants_of
    from forebay._watch import FASTEST, SLOWEST, Watch, show

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ScenarioError("watch draws in a terminal; forebay run prints what was measured")
    if speed and not SLOWEST <= speed <= FASTEST:
        raise ScenarioError(f"--speed: must be 0, or {SLOWEST:g} to {FASTEST:g}, got {speed:g}")
    prepared = load_with(scenario, set_)
    watched = prepared.compared_link(link)
    chosen = contrast(prepared, link) if disciplines is None else names(disciplines)
    watch = Watch(variants_of(prepared, link, chosen), watched, seed)
    watch.speed = speed or None
    show(watch, Terminal())
