"""LibreQoS' network.json, a tree of sites with rates, and ShapedDevices.csv, its subscribers.

The engine reads them, as for a gate (crates/isp). A node's link is the one that leads to it from
its parent, and a circuit is a leaf.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._topology.network import Link, Network, Node, Notes, check_size

ROOT = "internet"
"""The node above the tree's first ones."""


def read(text: str, path: Path, notes: Notes, devices: Path | None) -> Network:
    """The tree in `text`, with the circuits of `devices` as its leaves."""
    subscribers = None if devices is None else (_disk.read_text(devices), str(devices))
    found: dict[str, Any] = json.loads(_engine.provider((text, str(path)), subscribers))
    notes.add("virtual node", "taken out, as they shape nothing", found["virtual"])
    notes.add("field", "of nodes not used", found["unused"])
    check_size(path, len(found["nodes"]), len(found["nodes"]) + len(found["circuits"]))
    network = Network(path.stem, {ROOT: Node(ROOT)}, [], ROOT)
    for node in found["nodes"]:
        place = None if node["place"] is None else tuple(node["place"])
        _add(network, node, Node(node["node"], place), node["parent"], path)
    circuits = sorted(found["circuits"], key=lambda circuit: int(circuit["line"]))
    for circuit in circuits:
        where = f"{devices}: line {circuit['line']}: Circuit ID"
        _add(network, circuit, Node(f"circuit {circuit['circuit']}"), circuit["node"], where)
    notes.add("further device", "of a circuit share it", found["further"])
    orphans = [circuit["circuit"] for circuit in circuits if circuit["node"] is None]
    notes.add("circuit", "without a parent put below the internet", orphans)
    if not network.links:
        raise ScenarioError(
            f"{path}: has no nodes; a flat network needs --devices with its ShapedDevices.csv"
        )
    return network


def _add(
    network: Network, found: dict[str, Any], node: Node, parent: str | None, where: object
) -> None:
    """Adds a node, and the link to it from its parent."""
    if node.name in network.nodes:
        raise ScenarioError(f'{where}: a node is called "{node.name}" already; rename one')
    network.nodes[node.name] = node
    down, up = found["down"], found["up"]
    kind, queues = found.get("kind", "circuit"), tuple(found.get("queues", (None, None)))
    network.links.append(Link(node.name, parent or ROOT, node.name, down, up, None, kind, queues))
