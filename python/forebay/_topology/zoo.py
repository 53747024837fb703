"""GraphML and node-link JSON with the attributes of the Internet Topology Zoo.

S. Knight, H. X. Nguyen, N. Falkner, R. Bowden, M. Roughan, The Internet Topology Zoo, IEEE JSAC
29(9), 2011. Of nodes `label`, `Longitude`, `Latitude` and `hyperedge` are read; of edges
`LinkSpeedRaw` (bit/s), `LinkSpeed` with `LinkSpeedUnits`, and `LinkType` where it names a line of a
known rate. Files of other origin may say `rate` and `delay` as scenarios do.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._topology.network import Link, Network, Node, Notes, check_size
from forebay._topology.values import degrees, measured, positive

NODE_FIELDS = {"id", "label", "name", "Longitude", "Latitude", "hyperedge"}
EDGE_FIELDS = {
    *("id", "key", "source", "target", "rate", "delay"),
    *("LinkSpeed", "LinkSpeedUnits", "LinkSpeedRaw", "LinkType", "LinkLabel"),
}
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
"""LinkSpeedUnits."""

LINES = {
    "E1": 2.048e6,
    "E3": 34.368e6,
    "T1": 1.544e6,
    "T3": 44.736e6,
    "DS-1": 1.544e6,
    "DS-3": 44.736e6,
    "FE": 100e6,
    "GIGE": 1e9,
}
"""Rates of lines by LinkType (ITU-T G.702; IEEE 802.3)."""

_NODE, _EDGE = (re.compile(rb"<(?:\w+:)?" + name + rb"[\s/>]") for name in (b"node", b"edge"))

HIERARCHIES = {"OC": 51.84e6, "STM": 155.52e6}
"""Rates of SONET and SDH (ITU-T G.707), times the number behind the hyphen."""


@dataclass
class _Bundle:
    """Edges from one node to another, taken together."""

    rate_bps: float | None
    delay_s: float | None
    kind: str

    def add(self, rate_bps: float | None, delay_s: float | None) -> None:
        rates = [rate for rate in (self.rate_bps, rate_bps) if rate is not None]
        delays = [delay for delay in (self.delay_s, delay_s) if delay is not None]
        self.rate_bps = sum(rates) if rates else None
        self.delay_s = min(delays, default=None)


def from_graphml(path: Path, notes: Notes) -> Network:
    """The network of a GraphML file."""
    content = _disk.read(path)
    check_size(path, *(len(each.findall(content)) for each in (_NODE, _EDGE)))
    try:
        graph = nx.read_graphml(io.BytesIO(content), force_multigraph=True)
    except (nx.NetworkXError, ParseError, ValueError, LookupError) as error:
        raise ScenarioError(f"{path}: is not GraphML: {error}") from None
    return _network(graph, path, notes)


def from_node_link(document: Mapping[str, Any], path: Path, notes: Notes) -> Network:
    """The network of node-link JSON, as networkx and d3 write it."""
    edges = "links" if "links" in document else "edges"
    nodes, links = document["nodes"], document[edges]
    for field, entries in (("nodes", nodes), (edges, links)):
        if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
            raise ScenarioError(f"{path}: {field}: expected a list of objects")
    check_size(path, len(nodes), len(links))
    if not any("id" in node for node in nodes):
        nodes = [node | {"id": number} for number, node in enumerate(nodes)]
    known: set[Any] = set()
    for number, node in enumerate(nodes):
        name = node.get("id")
        if not isinstance(name, str | int):
            raise ScenarioError(f"{path}: nodes[{number}].id: expected a text or a whole number")
        if name in known:
            raise ScenarioError(f"{path}: nodes[{number}].id: {name!r} occurs twice; rename one")
        known.add(name)
    for number, link in enumerate(links):
        for end in ("source", "target"):
            if not isinstance(link.get(end), str | int) or link[end] not in known:
                raise ScenarioError(
                    f"{path}: {edges}[{number}].{end}: no node has the id {link.get(end)!r}"
                )
    fields = document.get("graph") or {}
    if not isinstance(fields, dict):
        raise ScenarioError(f"{path}: graph: expected an object, got {type(fields).__name__}")
    plain = {**document, "nodes": nodes, "multigraph": True, "graph": fields}
    for link in links:
        link.pop("key", None)
    return _network(nx.node_link_graph(plain, edges=edges), path, notes)


def _network(graph: nx.MultiGraph, path: Path, notes: Notes) -> Network:
    names = _names(graph)
    nodes = {}
    for key, fields in graph.nodes(data=True):
        where = f"{path}: node {names[key]}"
        hub = str(fields.get("hyperedge", 0)) in ("1", "1.0", "True", "true")
        nodes[names[key]] = Node(names[key], _place(fields, where), sends=not hub)
    bundles: dict[tuple[str, str], _Bundle] = {}
    loops = []
    parallel = []
    for start, end, fields in graph.edges(data=True):
        a, b = names[start], names[end]
        if start == end:
            loops.append(a)
            continue
        where = f"{path}: edge {a}-{b}"
        rate, delay = _rate(fields, where), _delay(fields, where)
        pair = (b, a) if not graph.is_directed() and (b, a) in bundles else (a, b)
        if (bundle := bundles.get(pair)) is None:
            bundles[pair] = _Bundle(rate, delay, str(fields.get("LinkType", "")).lower())
        else:
            parallel.append(f"{a}-{b}")
            bundle.add(rate, delay)
    notes.add("edge", "from a node to itself left out", loops)
    notes.add("parallel edge", "joined with another one: their capacities add up", parallel)
    links: list[Link] = []
    alone = []
    for (a, b), bundle in bundles.items():
        back = bundles.get((b, a))
        if back is None and graph.is_directed():
            alone.append(f"{a}-{b}")
        if back is None or (a, b) < (b, a):
            back_bps = None if back is None else back.rate_bps
            links.append(
                Link(f"{a}-{b}", a, b, bundle.rate_bps, back_bps, bundle.delay_s, bundle.kind)
            )
    notes.add("edge", "that goes one way got a way back of the same rate", alone)
    hubs = [node.name for node in nodes.values() if not node.sends]
    notes.add("hyperedge", "taken as a node without traffic of its own", hubs)
    for what, tables, fields in (
        ("nodes", (fields for _, fields in graph.nodes(data=True)), NODE_FIELDS),
        ("edges", (fields for _, _, fields in graph.edges(data=True)), EDGE_FIELDS),
    ):
        unknown = sorted({str(field) for table in tables for field in table} - fields)
        notes.add("field", f"of {what} not used", unknown)
    title = graph.graph.get("Network") or graph.graph.get("label") or path.stem
    return Network(str(title), nodes, links)


def _names(graph: nx.MultiGraph) -> dict[Hashable, str]:
    """A name for each node: its label, with its id if others have the label too."""
    labels = {}
    for key, fields in graph.nodes(data=True):
        label = str(fields.get("label") or fields.get("name") or "").strip()
        labels[key] = str(key) if label in ("", "None", "?") else label
    count = Counter(labels.values())
    names = {
        key: label if count[label] == 1 else f"{label} ({key})" for key, label in labels.items()
    }
    if len(set(names.values())) < len(names):
        return {key: str(key) for key in names}
    return names


def _place(fields: Mapping[str, Any], where: str) -> tuple[float, float] | None:
    if fields.get("Longitude") is None or fields.get("Latitude") is None:
        return None
    east = degrees(fields["Longitude"], 180, f"{where}: Longitude")
    return east, degrees(fields["Latitude"], 90, f"{where}: Latitude")


def _rate(fields: Mapping[str, Any], where: str) -> float | None:
    """Capacity in bit/s; None if there is none, or of a kind that has no rate."""
    if fields.get("rate") is not None:
        return measured(fields["rate"], "bit/s", f"{where}: rate")
    if fields.get("LinkSpeedRaw") is not None:
        return positive(fields["LinkSpeedRaw"], "bit/s", f"{where}: LinkSpeedRaw")
    if fields.get("LinkSpeed") not in (None, ""):
        unit = str(fields.get("LinkSpeedUnits", "")).strip().upper()
        if unit not in UNITS:
            raise ScenarioError(
                f'{where}: LinkSpeedUnits: expected one of K, M, G and T, got "{unit}"'
            )
        return positive(fields["LinkSpeed"], "a number", f"{where}: LinkSpeed") * UNITS[unit]
    line = str(fields.get("LinkType", "")).upper()
    if match := re.fullmatch(r"(OC|STM)-(\d{1,4})C?", line):
        return HIERARCHIES[match[1]] * int(match[2]) or None
    return LINES.get(line)


def _delay(fields: Mapping[str, Any], where: str) -> float | None:
    given = fields.get("delay")
    return None if given is None else measured(given, "s", f"{where}: delay")
