"""The command `forebay import`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forebay import _disk
from forebay._cli.console import command_line, printable, say
from forebay._cli.help import Command
from forebay._cli.options import PATH, Number, count, out_option, path_option
from forebay._engine import ScenarioError

MOST_BYTES = 16 << 20
"""Most bytes of a scenario file that the engine reads."""


@click.command(cls=Command)
@click.argument(
    "network", metavar="FILE", type=PATH, help="GraphML, node-link JSON or LibreQoS' network.json."
)
@path_option("--devices", "CSV", "LibreQoS' ShapedDevices.csv: the subscribers.")
@path_option("--demands", "CSV", "Table of demands: columns from, to, and flows or demand.")
@count("--flows", default=1000, says="Number of bulk transfers, spread by a gravity model.")
@click.option("--load", metavar="RATE", help="Send files that add up to this rate instead.")
@click.option(
    "--queue",
    "queues",
    metavar="[WHICH:]QUEUE",
    multiple=True,
    show_default="fq-codel",
    help="Queue for all links, or for links of one type or name. Repeatable.",
)
@click.option(
    "--metric",
    metavar="METRIC",
    default="hops",
    help="What shortest paths minimise: hops, delay, or rate (OSPF's cost).",
    hidden=True,
)
@click.option(
    "--rate",
    metavar="RATE",
    default="1Gbit",
    help="Capacity of links whose capacity the file does not give.",
    hidden=True,
)
@click.option(
    "--delay",
    metavar="TIME",
    default="1ms",
    help="Delay of links for which the file has neither delay nor coordinates.",
    hidden=True,
)
@click.option(
    "--scale",
    metavar="X",
    type=Number(),
    default=1.0,
    help="Multiply capacities and demands by this, to simulate less.",
)
@out_option("The scenario to write.", "NAME.toml", metavar="FILE")
def command(
    network: Path,
    devices: Path | None,
    queues: tuple[str, ...],
    out: Path | None,
    **choices: Any,
) -> None:
    """Make a scenario from a network file.

    Computes delays from longitude and latitude. Where the file lacks something, it assumes a
    default and prints what it assumed.

    Examples:
        forebay import examples/networks/towns.graphml --load 36Gbit --scale 0.01
        forebay import network.json --devices ShapedDevices.csv --queue fifo --queue circuit:cake
    """
    from forebay import _topology as topology
    from forebay._cli.drawn import Bar

    target = out if out is not None else Path(f"{network.stem}.toml")
    _disk.check_new(target, "--out")
    notes = topology.Notes()
    # The other options are its fields, by the same names.
    chosen = topology.Choices(queues=queues or ("fq-codel",), **choices)
    with Bar() as bar:
        bar.say("reading", 0.0)
        read = topology.read(network, notes, devices)
        size = f"{len(read.nodes)} nodes, {len(read.links)} links"
        bar.say(f"computing routes: {size}", 0.2)
        scenario = topology.scenario_of(read, chosen, notes)
        bar.say(f"writing: {size}", 0.7)
        head = "".join(f"# {_line(each)}\n" for each in (f"Written by: {command_line()}", *notes))
        text = f"{head}\n{scenario.to_toml()}"
        _check_size(network, text)
        _disk.write(target, text, replace=False)
    for note in notes:
        say(f"note: {network.name}: {note}", err=True)
    document = scenario.document
    entries = document["traffic"]
    flows_made = sum(entry.get("flows", 1) for entry in entries)
    say(
        f"Wrote {target}: {len(read.nodes)} nodes, {len(document['link'])} links, "
        f"{flows_made} flows of {len(entries)} entries\nTry it: forebay compare {target}"
    )


def _line(text: str) -> str:
    """A text as one line, as a comment must be."""
    return printable(" ".join(text.splitlines()))


def _check_size(network: Path, text: str) -> None:
    """Refuse a scenario that would be too large to read.

    Raises:
        ScenarioError: it is.
    """
    if len(text.encode()) > MOST_BYTES:
        raise ScenarioError(
            f"{network}: the scenario would have more than {MOST_BYTES >> 20} MiB, the most that "
            "is read; take a part of the network out, or shorten its names"
        )
