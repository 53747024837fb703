"""The map of a network of links: where its nodes are, and what each link went through."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay._comparison import Comparison
from forebay._report.page import (
    Block,
    Choice,
    Controls,
    Figure,
    Heading,
    Section,
    Select,
    Table,
    Text,
)
from forebay._report.panel import Map, Places, Segments

FEWEST_LINKS = 4
"""Links from which on a map is drawn, if the scenario gives no positions."""
WORST = 10
"""Directions that are listed."""
FEW = 60
"""Most nodes that are all drawn, with their names."""
_WIDTHS = (1.4, 1.8, 2.4, 3.2, 4.0, 4.8)


@dataclass(frozen=True, slots=True)
class Coloured:
    """A measure by which links are coloured."""

    part: str
    """Part of the summary."""
    key: str
    title: str
    unit: str
    scale: float
    steps: Sequence[float]
    """Where the colour changes, in the unit."""


MEASURES = {
    "utilization": Coloured(
        "links", "utilization", "Utilization", "%", 100.0, (20, 40, 60, 80, 95)
    ),
    "delay": Coloured(
        "queues", "p99_delay_ms", "99th percentile of the wait", "ms", 1.0, (1, 5, 20, 50, 200)
    ),
    "loss": Coloured("queues", "loss", "Dropped", "%", 100.0, (0, 0.1, 1, 3, 10)),
}
"""What links are coloured by."""


@dataclass(frozen=True, slots=True)
class Network:
    """The nodes of a network and both directions of its links, there and back in turn."""

    nodes: Mapping[str, tuple[float, float]]
    """Places by name."""
    ends: Sequence[tuple[str, str]]
    """From where to where each direction goes."""
    names: Sequence[str]
    rates_bps: Sequence[float | None]
    values: Mapping[str, Mapping[str, Sequence[float | None]]]
    """By discipline and measure a number for each direction, means over the replications."""

    @property
    def titles(self) -> list[str]:
        """Each direction in words."""
        return [f"{start} → {end}" for start, end in self.ends]


def network(comparison: Comparison) -> Network | None:
    """What the map draws; None without a network to speak of."""
    document = comparison.scenario.document
    positions: Mapping[str, Sequence[float]] = document.get("positions") or {}
    if not positions and len(document.get("link") or []) < FEWEST_LINKS:
        return None
    links = comparison.scenario.resolved()["links"]
    forward = [(link["from"], link["to"]) for link in links if not link["reverse"]]
    nodes = list(dict.fromkeys(end for pair in forward for end in pair))
    places = {node: tuple(positions[node]) for node in nodes if node in positions}
    if len(places) < len(nodes):
        try:
            from forebay._topology.layout import laid_out
        except ModuleNotFoundError:  # The page of the site has no networkx.
            return None
        places = dict(laid_out(forward))
    names = [link["name"] for link in links]
    return Network(
        {node: (places[node][0], places[node][1]) for node in nodes},
        [(link["from"], link["to"]) for link in links],
        names,
        [link["rate_bps"] for link in links],
        {
            label: {name: _values(comparison, label, of, names) for name, of in MEASURES.items()}
            for label in comparison.labels
        },
    )


def section(comparison: Comparison) -> Iterator[Section]:
    """The map with what it can be coloured by, and the worst links as a table."""
    found = network(comparison)
    if found is None:
        return
    labels = {str(at): label for at, label in enumerate(comparison.labels)}
    selects = (
        Select("map-by", "Colour", {name: of.title for name, of in MEASURES.items()}),
        Select("map-of", "Discipline", labels),
    )
    parts: dict[tuple[str, ...], Sequence[Block]] = {}
    for name in MEASURES:
        for at, label in labels.items():
            told = _told(found, label)
            parts[name, at] = [
                Figure([_map(found, label, name, told)], "Map of the network's links",
                       scale=list(_scale(MEASURES[name]))),
                *_worst(found, label, name, told),
            ]  # fmt: skip
    about = (
        f"{len(found.nodes)} nodes, {len(found.ends) // 2} links; means over the replications. "
        "Each half of a link shows the direction that leaves the node next to it. Point at a "
        "link to see its figures. Drag to move, scroll to zoom, double click to see everything."
    )
    choice = Choice(("map-by", "map-of"), parts)
    yield Section("The network", [Text(about, small=True), Controls(selects), choice])


def _map(found: Network, label: str, measure: str, told: Mapping[str, Sequence[Any]]) -> Map:
    starts = [found.nodes[start] for start, _ in found.ends]
    stops = [found.nodes[end] for _, end in found.ends]
    halves = [
        ((x + far_x) / 2, (y + far_y) / 2)
        for (x, y), (far_x, far_y) in zip(starts, stops, strict=True)
    ]
    steps = MEASURES[measure].steps
    few = len(found.nodes) <= FEW
    thin = 0.7 if len(found.ends) > 800 else 1.6 if few else 1.0
    # A link counts twice, there and back.
    joined = Counter(end for pair in found.ends for end in pair)
    shown = [node for node in found.nodes if few or joined[node] > 2]
    return Map(
        "",
        label,
        Segments(
            *([x for x, _ in starts], [y for _, y in starts]),
            *([x for x, _ in halves], [y for _, y in halves]),
            [bisect_left(steps, value or 0.0) for value in found.values[label][measure]],
            [width * thin for width in _WIDTHS],
            told,
        ),
        Places(
            [found.nodes[node][0] for node in shown],
            [found.nodes[node][1] for node in shown],
            shown if few else [""] * len(shown),
            [False] * len(shown),
            {"": shown},
        ),
        scale=True,
        large=True,
    )


def _told(found: Network, label: str) -> dict[str, Sequence[Any]]:
    """What is said of each direction."""
    values = found.values[label]
    return {"": found.titles, "Capacity": [_rate(bps) for bps in found.rates_bps]} | {
        f"{of.title}, {of.unit}": values[name] for name, of in MEASURES.items()
    }


def _worst(
    found: Network, label: str, measure: str, told: Mapping[str, Sequence[Any]]
) -> Iterator[Block]:
    values = found.values[label][measure]
    known = [(value, at) for at, value in enumerate(values) if value is not None]
    order = [at for _, at in sorted(known, key=lambda each: -each[0])][:WORST]
    yield Heading(f"The {len(order)} worst directions by {MEASURES[measure].title.lower()}")
    heads, columns = ["Link", *list(told)[1:]], list(told.values())
    rows = [[_number(column[at]) for column in columns] for at in order]
    yield Table(heads, rows, "The worst directions")


def _scale(of: Coloured) -> Iterator[str]:
    """What each colour means."""
    first, last = of.steps[0], of.steps[-1]
    yield f"up to {first:g} {of.unit}" if first else "none"
    for low, high in zip(of.steps, of.steps[1:], strict=False):
        yield f"{low:g} to {high:g} {of.unit}"
    yield f"over {last:g} {of.unit}"


def _rate(bps: float | None) -> str:
    if bps is None:
        return "varies"
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= size:
            return f"{bps / size:.3g} {unit}"
    return f"{bps:.3g} bit/s"


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{float(f'{value:.3g}'):,g}"


def _values(
    comparison: Comparison, label: str, of: Coloured, names: Sequence[str]
) -> list[float | None]:
    """A measure of each direction of the links, in their order."""
    tables = [run.result.summary[of.part] for run in comparison.runs_of(label)]

    def mean(name: str) -> float | None:
        found = [table[name][of.key] for table in tables if table[name][of.key] is not None]
        # Four digits are more than a map shows.
        return float(f"{of.scale * sum(found) / len(found):.4g}") if found else None

    return [mean(name) for name in names]
