#!/usr/bin/env python3
"""A metro network of 1000 links and 100 000 flows: metro.graphml, and metro-demands.csv beside it.

Twenty hubs form a ring of 4 Gbit/s. Between each hub and the next there are seven rings of six
access nodes, at 100 Mbit/s. Two hubs have data centres. At every access node people read web pages,
watch video and make calls. The network is fictitious, and the same each time.

    python metro.py [FOLDER]
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import networkx as nx

HUBS = 20
RINGS = 7
ACCESS = 6
CENTRE = 52.0, 5.0
"""Latitude and longitude in degrees."""
RADIUS = 0.25
"""Radius of the hubs' ring, in degrees of latitude."""
USERS = {"web": 115, "adaptive-video": 2, "voice": 2}
"""Flows of each kind from a data centre to each access node."""
FLOWS = 100_000
START = {"web": '["0s", "30s"]', "adaptive-video": '["0s", "4s"]'}
"""When they begin: people read a page for 30 s, and a segment of video lasts 4 s."""


def place(angle: float, radius: float) -> dict[str, float]:
    """Coordinates in degrees."""
    latitude, longitude = CENTRE
    east = radius * math.cos(angle) / math.cos(math.radians(latitude))
    return {
        "Latitude": round(latitude + radius * math.sin(angle), 5),
        "Longitude": round(longitude + east, 5),
    }


def network() -> nx.Graph:
    """Hubs and access nodes."""
    graph = nx.Graph(Network="Metro ring")
    step = 2 * math.pi / HUBS
    for hub in range(HUBS):
        graph.add_node(f"hub{hub + 1}", **place(hub * step, RADIUS))
    for hub in range(HUBS):
        here, there = f"hub{hub + 1}", f"hub{(hub + 1) % HUBS + 1}"
        graph.add_edge(here, there, LinkSpeedRaw=4e9)
        for ring in range(RINGS):
            # The rings of a sector are nested.
            radius = RADIUS * (1.12 + 0.13 * ring)
            before = here
            for number in range(ACCESS):
                node = f"a{hub + 1}-{ring + 1}-{number + 1}"
                angle = (hub + (number + 0.5) / ACCESS) * step
                bulge = math.sin(math.pi * (number + 0.5) / ACCESS)
                graph.add_node(node, **place(angle, radius * (0.94 + 0.06 * bulge)))
                graph.add_edge(before, node, LinkSpeedRaw=100e6)
                before = node
            graph.add_edge(before, there, LinkSpeedRaw=100e6)
    return graph


def demands(graph: nx.Graph) -> list[tuple[str, str, str, int]]:
    """Rows: from, to, kind, flows. The nearer of the two data centres serves a node."""
    centres = ["hub1", f"hub{HUBS // 2 + 1}"]
    hops = {centre: nx.single_source_shortest_path_length(graph, centre) for centre in centres}
    rows = []
    for node in graph:
        if node.startswith("a"):
            near = min(centres, key=lambda centre: hops[centre][node])
            rows += [(near, node, kind, flows) for kind, flows in USERS.items()]
    left = FLOWS - sum(flows for *_, flows in rows)
    return [*rows, (*centres, "bulk", left)]


def main() -> None:
    """Write both files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    graph = network()
    nx.write_graphml(graph, folder / "metro.graphml", named_key_ids=True)
    with (folder / "metro-demands.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("from", "to", "kind", "flows", "start"))
        table.writerows((*row, START.get(row[2], "0s")) for row in demands(graph))
    print(f"{graph.number_of_nodes()} nodes, {graph.number_of_edges()} links")


if __name__ == "__main__":
    main()
