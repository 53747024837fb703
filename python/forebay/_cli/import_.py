"""The command `forebay import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from forebay import _disk
from forebay._cli.console import Bar, command_line, friendly, printable, say
from forebay._cli.options import argument, option, out_option
from forebay._engine import ScenarioError

MOST_BYTES = 16 << 20
"""Most bytes of a scenario file that the engine reads."""


def command(
    network: Annotated[
        Path, argument("FILE", "GraphML, node-link JSON or LibreQoS' network.json.")
    ],
    devices: Annotated[
        Path | None, option("CSV", "LibreQoS' ShapedDevices.csv: the subscribers.")
    ] = None,
    demands: Annotated[
        Path | None,
        option("CSV", "Table of demands: columns from, to, and flows or demand."),
    ] = None,
    flows: Annotated[
        int, option("N", "Number of bulk transfers, spread by a gravity model.", minimum=1)
    ] = 1000,
    load: Annotated[
        str | None, option("RATE", "Send files that add up to this rate instead.")
    ] = None,
    queue: Annotated[
        list[str],
        option(
            "[WHICH:]QUEUE",
            "Queue for all links, or for links of one type or name.",
            default="fq-codel",
        ),
    ] = [],  # noqa: B006 - read only
    metric: Annotated[
        str,
        option(
            "METRIC",
            "What shortest paths minimise: hops, delay, or rate (OSPF's cost).",
            hidden=True,
        ),
    ] = "hops",
    rate: Annotated[
        str, option("RATE", "Capacity of links whose capacity the file does not give.", hidden=True)
    ] = "1Gbit",
    delay: Annotated[
        str,
        option(
            "TIME",
            "Delay of links for which the file has neither delay nor coordinates.",
            hidden=True,
        ),
    ] = "1ms",
    scale: Annotated[
        float, option("X", "Multiply capacities and demands by this, to simulate less.")
    ] = 1.0,
    out: Annotated[
        Path | None, out_option("The scenario to write.", "NAME.toml", metavar="FILE")
    ] = None,
) -> None:
    """Make a scenario from a network file.

    Computes delays from longitude and latitude. Where the file lacks something, it assumes a
    default and prints what it assumed.

    Examples:
        forebay import examples/networks/towns.graphml --load 36Gbit --scale 0.01
        forebay import network.json --devices ShapedDevices.csv --queue fifo --queue circuit:cake
    """
    with friendly():
        from forebay import topology

        target = out if out is not None else Path(f"{network.stem}.toml")
        if target.exists():
            raise ScenarioError(f"{target}: exists already; choose another name with --out")
        notes = topology.Notes()
        choices = topology.Choices(
            rate=rate,
            delay=delay,
            queues=queue or ("fq-codel",),
            metric=metric,
            scale=scale,
            flows=flows,
            load=load,
            demands=demands,
        )
        with Bar() as bar:
            bar.say("reading", 0.0)
            read = topology.read(network, notes, devices)
            size = f"{len(read.nodes)} nodes, {len(read.links)} links"
            bar.say(f"computing routes: {size}", 0.2)
            scenario = topology.scenario_of(read, choices, notes)
            bar.say(f"writing: {size}", 0.7)
            head = "".join(
                f"# {_line(each)}\n" for each in (f"Written by: {command_line()}", *notes)
            )
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
