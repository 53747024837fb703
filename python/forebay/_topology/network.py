"""Nodes and links, whatever file they come from, and what was assumed about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import networkx as nx

from forebay._engine import ScenarioError

MOST_NODES = 50_000
"""Most nodes of a network."""
MOST_LINKS = 50_000
"""Most links of a network; a scenario file has room for about 90 000."""

EARTH_KM = 6371.0
"""Mean radius of the earth."""

FIBRE_KM_S = 2 / 3 * 299_792.458
"""How fast light is in fibre: two thirds of its speed in a vacuum."""

MOST_NAMES = 3
"""Most examples of what a note is about."""


@dataclass(frozen=True, slots=True)
class Node:
    """Where links meet."""

    name: str
    place: tuple[float, float] | None = None
    """Longitude and latitude in degrees."""
    sends: bool = True
    """Whether traffic begins and ends here, unless a table of demands says so."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link with both its directions."""

    name: str
    start: str
    end: str
    rate_bps: float | None = None
    """Capacity from start to end; None if the file does not say."""
    back_bps: float | None = None
    """Capacity from end to start; that of the other direction if None."""
    delay_s: float | None = None
    """Propagation delay; that of the distance if None."""
    kind: str = ""
    """What the file calls its sort, in lower case: a rule for queues may name it."""
    queues: tuple[str | None, str | None] = (None, None)
    """Kinds of queue that the file asks for, from start to end and back."""


@dataclass
class Network:
    """Nodes by name, and the links between them."""

    name: str
    nodes: dict[str, Node]
    links: list[Link]
    root: str | None = None
    """Of a tree, the node where the rest of the world is; it sends to the leaves."""

    def parts(self) -> dict[str, int]:
        """For each node the number of the part that it is in: links lead only within one."""
        graph = nx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from((link.start, link.end) for link in self.links)
        parts = enumerate(nx.connected_components(graph))
        return {node: number for number, nodes in parts for node in nodes}

    def senders(self) -> list[str]:
        """Nodes between which traffic runs: those that may send, of a tree the leaves."""
        ends = [end for link in self.links for end in (link.start, link.end)]
        linked = dict.fromkeys(ends, 0)
        for end in ends:
            linked[end] += 1
        return [
            name
            for name, count in linked.items()
            if self.nodes[name].sends and (self.root is None or (count == 1 and name != self.root))
        ]

    def distance_km(self, link: Link) -> float | None:
        """Great circle between its ends; None where a place is not known."""
        start, end = self.nodes[link.start].place, self.nodes[link.end].place
        return None if start is None or end is None else great_circle_km(start, end)


def check_size(where: object, nodes: int, links: int) -> None:
    """Check that a network is not too large to become a scenario."""
    for count, most, what in ((nodes, MOST_NODES, "nodes"), (links, MOST_LINKS, "links")):
        if count > most:
            raise ScenarioError(
                f"{where}: has more than {most} {what}, the most that is imported; "
                "take a part of the network out"
            )


def great_circle_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Distance over ground of two places, longitude and latitude in degrees (haversine formula)."""
    (east, north), (far_east, far_north) = (
        (math.radians(longitude), math.radians(latitude)) for longitude, latitude in (one, other)
    )
    half = (
        math.sin((far_north - north) / 2) ** 2
        + math.cos(north) * math.cos(far_north) * math.sin((far_east - east) / 2) ** 2
    )
    return 2 * EARTH_KM * math.asin(min(1.0, math.sqrt(half)))


@dataclass
class Notes:
    """What was assumed or left out while a network was read, counted."""

    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Examples by what they are (a noun) and what was done."""
    remarks: list[str] = field(default_factory=list)
    """What is about no single thing."""

    def add(self, noun: str, done: str, examples: Iterable[str]) -> None:
        """Say that something was done to things of a sort; nothing if there are none."""
        listed = list(examples)
        if listed:
            self.found.setdefault((noun, done), []).extend(listed)

    def __iter__(self) -> Iterator[str]:
        """A sentence each."""
        for (noun, done), examples in self.found.items():
            shown = ", ".join(examples[:MOST_NAMES])
            more = len(examples) - MOST_NAMES
            rest = f" and {more} more" if more > 0 else ""
            count = f"{len(examples)} {noun}{'' if len(examples) == 1 else 's'}"
            yield f"{count} {done}: {shown}{rest}"
        yield from self.remarks
