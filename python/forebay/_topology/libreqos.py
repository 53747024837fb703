"""LibreQoS' network.json, a tree of sites with rates, and ShapedDevices.csv, its subscribers.

The forms are those of LibreQoS 1.5 and 2.0 (docs/v2.0/configuration-advanced.md there). A node's
link is the one that leads to it from its parent: its rate is `downloadBandwidthMbps`, that of the
way back `uploadBandwidthMbps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from forebay._engine import ScenarioError
from forebay._topology.network import MOST_LINKS, Link, Network, Node, Notes, check_size
from forebay._topology.values import degrees, positive, table

ROOT = "internet"
"""The node above the tree's first ones."""

FIELDS = {
    *("downloadBandwidthMbps", "uploadBandwidthMbps", "type", "children", "virtual"),
    *("latitude", "longitude"),
}
SQM = {"cake": "cake", "fq_codel": "fq-codel", "none": "fifo"}
"""What the column `sqm` may say, and the kind of queue that it is here."""


class _Row(NamedTuple):
    """A circuit's first line, and where it stands."""

    line: int
    fields: dict[str, str]


def read(
    document: Mapping[str, Any], path: Path, notes: Notes, devices: str | Path | None
) -> Network:
    """The tree of `document`, with the circuits of `devices` as its leaves."""
    tree = _Tree(path)
    for name, node in document.items():
        tree.add(name, node, ROOT, "")
    notes.add("virtual node", "taken out, as they shape nothing", tree.virtual)
    unknown = sorted(tree.unknown)
    notes.add("field", "of nodes not used", unknown)
    network = Network(path.stem, tree.nodes, tree.links, ROOT)
    if devices is not None:
        _add_circuits(network, tree.parents, Path(devices), notes)
    if not network.links:
        raise ScenarioError(
            f"{path}: has no nodes; a flat network needs --devices with its ShapedDevices.csv"
        )
    return network


class _Tree:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.nodes = {ROOT: Node(ROOT)}
        self.links: list[Link] = []
        self.parents = {ROOT: ROOT, "": ROOT}
        """The node by which each name of the file is shaped: itself, or a virtual one's parent."""
        self._at: dict[str, str] = {}
        self.virtual: list[str] = []
        self.unknown: set[str] = set()

    def add(self, name: str, node: Any, parent: str, above: str) -> None:
        """A node and all below it."""
        at = f"{above}.children.{name}" if above else name
        if not isinstance(node, dict):
            raise ScenarioError(
                f"{self._path}: {at}: expected an object with downloadBandwidthMbps, "
                "uploadBandwidthMbps and children"
            )
        if name == ROOT or name in self._at:
            other = self._at.get(name, "the node above all")
            raise ScenarioError(
                f"{self._path}: {at}: the name occurs twice, also at {other}; a tree has each node "
                "once, so rename one"
            )
        self._at[name] = at
        check_size(self._path, len(self._at), 0)
        self.unknown |= node.keys() - FIELDS
        if node.get("virtual") is True:
            self.virtual.append(name)
            self.parents[name] = parent
        else:
            parent = self._linked(name, node, parent, at)
        children = node.get("children") or {}
        if not isinstance(children, dict):
            raise ScenarioError(f"{self._path}: {at}.children: expected an object of nodes by name")
        for child, below in children.items():
            self.add(child, below, parent, at)

    def _linked(self, name: str, node: Mapping[str, Any], parent: str, at: str) -> str:
        down, up = (
            _mbps(node.get(field), f"{self._path}: {at}.{field}")
            for field in ("downloadBandwidthMbps", "uploadBandwidthMbps")
        )
        self.nodes[name] = Node(name, _place(node, f"{self._path}: {at}"))
        kind = str(node.get("type", "")).lower()
        self.links.append(Link(name, parent, name, down or up, up, None, kind))
        self.parents[name] = name
        return name


def _place(node: Mapping[str, Any], where: str) -> tuple[float, float] | None:
    east, north = node.get("longitude"), node.get("latitude")
    if east is None or north is None:
        return None
    return degrees(east, 180, f"{where}.longitude"), degrees(north, 90, f"{where}.latitude")


def _mbps(value: Any, where: str) -> float | None:
    """A rate in Mbit/s as one in bit/s; None if there is none."""
    return None if value is None or value == "" else 1e6 * positive(value, "Mbit/s", where)


def _add_circuits(network: Network, parents: Mapping[str, str], path: Path, notes: Notes) -> None:
    """Every circuit a leaf; devices of one circuit share it."""
    orphans = []
    more = []
    known: set[str] = set()
    for row in _rows(path):
        where = f"{path}: line {row.line}"
        name, parent = row.fields["Circuit ID"], row.fields["Parent Node"]
        if not name:
            raise ScenarioError(f"{where}: Circuit ID: is missing")
        if name in known:
            more.append(name)
            continue
        known.add(name)
        check_size(path, len(network.nodes), len(network.links) + 1)
        if parent not in parents:
            near = get_close_matches(parent, parents, 1)
            meant = (
                f'; did you mean "{near[0]}"?' if near else "; leave it empty for a flat network"
            )
            raise ScenarioError(f'{where}: Parent Node: no node is called "{parent}"{meant}')
        if not parent:
            orphans.append(name)
        node = f"circuit {name}"
        if node in network.nodes:
            raise ScenarioError(f'{where}: Circuit ID: a node is called "{node}"; rename one')
        down, up = (
            _mbps(row.fields[column], f"{where}: {column}")
            for column in ("Download Max Mbps", "Upload Max Mbps")
        )
        queues = _queues(row.fields.get("sqm", ""), where)
        network.nodes[node] = Node(node)
        network.links.append(
            Link(node, parents[parent], node, down or up, up, None, "circuit", queues)
        )
    if not known:
        raise ScenarioError(f"{path}: has no circuits")
    notes.add("further device", "of a circuit share it", more)
    notes.add("circuit", "without a parent put below the internet", orphans)


def _rows(path: Path) -> Iterator[_Row]:
    needed = ("Circuit ID", "Parent Node", "Download Max Mbps", "Upload Max Mbps")
    rows = table(path, MOST_LINKS, comment="#")
    _, header = next(rows, (0, []))
    header = [column.strip() for column in header]
    for column in needed:
        if column not in header:
            raise ScenarioError(
                f'{path}: has no column "{column}"; expected LibreQoS\' ShapedDevices.csv'
            )
    for line, cells in rows:
        if any(cells):
            padded = [*(cell.strip() for cell in cells), *[""] * len(header)]
            yield _Row(line, dict(zip(header, padded, strict=False)))


def _queues(text: str, where: str) -> tuple[str | None, str | None]:
    """What the column sqm asks for, down and up: "cake", "cake/fq_codel", "/none" or nothing."""
    down, slash, up = (part.strip().lower() for part in text.partition("/"))
    kinds = (down, up if slash else down)
    for kind in kinds:
        if kind and kind not in SQM:
            raise ScenarioError(
                f'{where}: sqm: expected cake, fq_codel, none or two with "/", got "{text}"'
            )
    return SQM.get(kinds[0]), SQM.get(kinds[1])
