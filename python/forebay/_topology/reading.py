"""Which form a file has, and what is common to the forms."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._topology import libreqos, zoo
from forebay._topology.network import Network, Notes


def read(path: str | Path, notes: Notes, devices: str | Path | None = None) -> Network:
    """The network of a file: GraphML, node-link JSON, or LibreQoS' network.json.

    `devices` is LibreQoS' ShapedDevices.csv, whose circuits become subscribers.
    """
    path = Path(path)
    try:
        return _read(path, notes, devices)
    except RecursionError:
        raise ScenarioError(f"{path}: is nested too deeply") from None


def _read(path: Path, notes: Notes, devices: str | Path | None) -> Network:
    if path.suffix.lower() in (".graphml", ".xml"):
        network = zoo.from_graphml(path, notes)
    elif path.suffix.lower() == ".json":
        text = _disk.read_text(path)
        document = _json(text, path)
        if "nodes" in document and ("links" in document or "edges" in document):
            network = zoo.from_node_link(document, path, notes)
        else:
            return libreqos.read(text, path, notes, None if devices is None else Path(devices))
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


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character of UTF-16, which may lack the other half."""


def _json(text: str, path: Path) -> dict[str, Any]:
    """A JSON object in which no key occurs twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise ScenarioError(f'{path}: "{twice}" occurs twice in one object; rename one')
        return table

    try:
        document = json.loads(text, object_pairs_hook=once)
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError(f"{path}: is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: expected a JSON object, got {type(document).__name__}")
    return document
