"""The command `forebay import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from forebay import _disk
from forebay._cli.console import command_line, friendly, say
from forebay._cli.options import argument, option, out_option
from forebay._engine import ScenarioError


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
        read = topology.read(network, notes, devices)
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
        scenario = topology.scenario_of(read, choices, notes)
        head = [f"Written by: {command_line()}", *notes]
        text = "".join(f"# {line}\n" for line in head) + "\n" + scenario.to_toml()
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
