"""Which form a file has, and what is common to the forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forebay._engine import ScenarioError
from forebay.topology import libreqos, zoo
from forebay.topology.network import Network, Notes

LARGEST = 64 << 20
"""Largest file in bytes."""


def read(path: str | Path, notes: Notes, devices: str | Path | None = None) -> Network:
    """The network of a file: GraphML, node-link JSON, or LibreQoS' network.json.

    Args:
        path: the file.
        notes: is told what was assumed or left out.
        devices: LibreQoS' ShapedDevices.csv, whose circuits become subscribers.

    Raises:
        ScenarioError: the file is of another form, or what it says makes no network.
        OSError: a file cannot be read.
    """
    path = Path(path)
    size = path.stat().st_size
    if size > LARGEST:
        raise ScenarioError(f"{path}: has {size} bytes, and at most {LARGEST} are read")
    if path.suffix.lower() in (".graphml", ".xml"):
        network = zoo.from_graphml(path, notes)
    elif path.suffix.lower() == ".json":
        document = _json(path)
        if "nodes" in document and ("links" in document or "edges" in document):
            network = zoo.from_node_link(document, path, notes)
        else:
            return libreqos.read(document, path, notes, devices)
    else:
        raise ScenarioError(
            f"{path}: expected a file that ends in .graphml (the Internet Topology Zoo's form) or "
            ".json (node-link JSON, or LibreQoS' network.json)"
        )
    if devices is not None:
        raise ScenarioError(
            f"{devices}: only goes with LibreQoS' network.json, and {path} is of another form"
        )
    return network


def _json(path: Path) -> dict[str, Any]:
    """A JSON object in which no key occurs twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ScenarioError(f'{path}: "{twice}" occurs twice in one object; rename one')
        return table

    try:
        document = json.loads(path.read_bytes(), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{path}: is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: expected a JSON object, got {type(document).__name__}")
    return document
