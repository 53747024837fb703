"""The map of a network of links: where its nodes are, and what each link went through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay.comparison import Comparison
from forebay.topology.layout import laid_out

FEWEST_LINKS = 4
"""Links from which on a map is drawn, if the scenario gives no positions."""

MEASURES = {
    "utilization": ("links", "utilization", 100.0),
    "delay": ("queues", "p99_delay_ms", 1.0),
    "loss": ("queues", "loss", 100.0),
}
"""What links are coloured by: part of the summary, key, and scale to %, ms and %."""


def links_map(comparison: Comparison) -> dict[str, Any] | None:
    """What the map draws; None without a network to speak of.

    `nodes` have names and places in columns; `links` are, for each link, its two ends by number,
    its name and capacities there and back in bit/s; `values` are, by discipline and measure, two
    numbers a link, there and back, means over the replications.
    """
    document = comparison.scenario.document
    positions: Mapping[str, Sequence[float]] = document.get("positions") or {}
    if not positions and len(document.get("link") or []) < FEWEST_LINKS:
        return None
    links = comparison.scenario.resolved()["links"]
    forward = [link for link in links if not link["reverse"]]
    ends = [(link["from"], link["to"]) for link in forward]
    nodes = list(dict.fromkeys(end for pair in ends for end in pair))
    places = {node: positions[node] for node in nodes if node in positions}
    if len(places) < len(nodes):
        places = dict(laid_out(ends))
    number = {node: at for at, node in enumerate(nodes)}
    names = [link["name"] for link in links]
    rates = {link["name"]: link["rate_bps"] for link in links}
    return {
        "nodes": {
            "names": nodes,
            "x": [_short(places[node][0]) for node in nodes],
            "y": [_short(places[node][1]) for node in nodes],
        },
        "links": [
            [number[link["from"]], number[link["to"]], link["name"]]
            + [rates[link["name"] + back] for back in ("", "-reverse")]
            for link in forward
        ],
        "values": {
            label: {key: _values(comparison, label, key, names) for key in MEASURES}
            for label in comparison.labels
        },
    }


def _values(
    comparison: Comparison, label: str, measure: str, names: Sequence[str]
) -> list[float | None]:
    """A measure of each direction of the links, in their order."""
    part, key, scale = MEASURES[measure]
    tables = [run.result.summary[part] for run in comparison.runs_of(label)]

    def mean(name: str) -> float | None:
        found = [table[name][key] for table in tables if table[name][key] is not None]
        return _short(scale * sum(found) / len(found)) if found else None

    return [mean(name) for name in names]


def _short(value: float) -> float:
    """Four digits are more than a map shows."""
    return float(f"{value:.4g}")
