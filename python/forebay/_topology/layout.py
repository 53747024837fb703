"""Where to draw the nodes of a network that has no places."""

from __future__ import annotations

import math
from collections.abc import Iterable

import networkx as nx

MOST_BY_DISTANCE = 60
"""Most nodes that are laid out by their distances (Kamada and Kawai), which takes longest."""

MOST_BY_FORCE = 300
"""Most nodes that are laid out by forces between them (Fruchterman and Reingold)."""

Places = dict[str, tuple[float, float]]


def laid_out(links: Iterable[tuple[str, str]]) -> Places:
    """Places of the nodes of links, about from -1 to 1; equal links have equal places.

    Trees and large networks stand in rings about their middle, a ring for each step away from it.
    """
    graph = nx.Graph(list(links))
    if len(graph) > MOST_BY_FORCE or nx.is_forest(graph):
        return _rings(graph)
    if len(graph) <= MOST_BY_DISTANCE and nx.is_connected(graph):
        places = nx.kamada_kawai_layout(graph)
    else:
        places = nx.spring_layout(graph, seed=1, iterations=200)
    return {node: (float(x), float(y)) for node, (x, y) in places.items()}


def _rings(graph: nx.Graph) -> Places:
    """Each part's spanning tree about its middle; parts beside each other."""
    places: Places = {}
    for number, nodes in enumerate(nx.connected_components(graph)):
        part = graph.subgraph(sorted(nodes))
        tree = nx.bfs_tree(part, _middle(part))
        # Who comes later in a breadth-first search has been counted when it is its parent's turn.
        order = list(tree)
        leaves = dict.fromkeys(order, 0)
        for node in reversed(order):
            leaves[node] = max(1, sum(leaves[child] for child in tree[node]))
        depth = {order[0]: 0}
        begin = {order[0]: 0.0}
        for node in order:
            angle = begin[node]
            for child in tree[node]:
                depth[child], begin[child] = depth[node] + 1, angle
                angle += 2 * math.pi * leaves[child] / leaves[order[0]]
        most = max(depth.values()) or 1
        for node in order:
            angle = begin[node] + math.pi * leaves[node] / leaves[order[0]]
            far = depth[node] / most
            places[node] = (2.2 * number + far * math.cos(angle), far * math.sin(angle))
    return places


def _middle(graph: nx.Graph) -> str:
    """The middle of a longest path, of the shortest ones from any node to the farthest."""

    def farthest(start: str) -> list[str]:
        paths = nx.single_source_shortest_path(graph, start)
        path: list[str] = max(paths.values(), key=len)
        return path

    path = farthest(farthest(next(iter(graph)))[-1])
    return path[len(path) // 2]
