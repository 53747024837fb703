"""The command `forebay twin`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forebay import _disk
from forebay._cli.console import command_line, printable, say
from forebay._cli.help import Command
from forebay._cli.options import PATH, count, out_option, path_option


@click.command(cls=Command)
@click.argument("config", metavar="CONFIG", type=PATH, help="The gate's configuration.")
@path_option("--stats", "FILE", "Statistics of a day, CSV or of the gate.", required=True)
@count("--hour", least=0, show_default="the busiest", says="Hour of the statistics.")
@click.option("--site", metavar="NODE", help="Simulate only the circuits at this node and below.")
@click.option(
    "--by",
    type=click.Choice(["site", "plan", "circuit"]),
    default="site",
    help="Give results for each of these.",
)
@click.option(
    "--queue",
    "queues",
    metavar="QUEUE",
    multiple=True,
    help="Compare with this at circuits. Repeatable.",
)
@click.option(
    "--plans",
    metavar="CSV",
    type=PATH,
    multiple=True,
    help="Compare with the plans of this ShapedDevices.csv. Repeatable.",
)
@click.option(
    "--rtt", metavar="TIME", default="30ms", help="Round trip without queues.", hidden=True
)
@click.option("--size", metavar="SIZE", default="1MB", help="Mean size of a file.", hidden=True)
@out_option("The scenario to write.", "NAME-twin.toml", metavar="FILE")
def command(config: Path, stats: Path, out: Path | None, **choices: Any) -> None:
    """Make a scenario of a gate's subscribers and their day.

    The same files shape the gate and the scenario. Compare it with other disciplines or plans
    before customers get them.

    Examples:
        forebay twin gate.toml --stats day.csv --queue fq-codel
        forebay twin gate.toml --stats day.csv --site AP_7 --by circuit --plans new.csv
    """
    from forebay import _twin

    target = out if out is not None else Path(f"{config.stem}-twin.toml")
    _disk.check_new(target, "--out")
    scenario, notes = _twin.scenario_of(config, stats, _twin.Choices(**choices))
    head = "".join(f"# {printable(line)}\n" for line in (f"Written by: {command_line()}", *notes))
    _disk.write(target, f"{head}\n{scenario.to_toml()}", replace=False)
    for note in notes:
        say(f"note: {note}", err=True)
    say(f"Wrote {target}\nTry it: forebay compare {target}")
