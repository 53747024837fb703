"""The map of a wireless network: stations, routes, and what they look out for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from forebay.comparison import Comparison

_DUMBBELL = re.compile(r"left|right|router\d+")
"""What the routers of a dumbbell are called."""


def network(comparison: Comparison) -> dict[str, Any] | None:
    """What the maps draw, of the first replication; None without a wireless network.

    `stations` have names, places in metres at the end of the run and whether they are joined to
    wires; `paths` are what moves, or is sensed; `routes` are, by discipline, a list `hops` of
    stations by number, with the packets that went from the first to the second and back, and what
    each station received and lost.
    """
    effective = comparison.variants[0].effective
    table = effective.get("wireless")
    if not table:
        return None
    first = comparison.runs[0]
    stations = first.result.summary["wireless"]["stations"]
    wired = _wired(effective)
    single = {node["name"] for node in table["node"]}
    return {
        "stations": [
            {
                "name": name,
                "x": station["x_m"],
                "y": station["y_m"],
                "base": name in wired,
                "single": name in single,
            }
            for name, station in stations.items()
        ],
        "paths": _paths(effective),
        "routes": {
            run.discipline: _routes(run.result.summary["wireless"])
            for run in comparison.runs
            if run.replication == first.replication
        },
    }


def _wired(effective: Mapping[str, Any]) -> set[str]:
    """Single stations that have the name of a link's node."""
    nodes = [node["name"] for node in effective["wireless"]["node"]]
    ends = {link[end] for link in effective.get("link") or [] for end in ("from", "to")}
    dumbbell = bool(effective.get("dumbbell"))
    return {name for name in nodes if name in ends or (dumbbell and _DUMBBELL.fullmatch(name))}


def _paths(effective: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ways of stations that move and of phenomena, each once."""
    found = [
        ("station", node["name"], node["track"], None)
        for node in effective["wireless"]["node"]
        if node.get("track")
    ]
    found += [
        ("phenomenon", entry["name"], entry["track"], entry["range"])
        for entry in effective["traffic"]
        if entry["kind"] == "sensing"
    ]
    paths: list[dict[str, Any]] = []
    for what, name, track, reach in found:
        times, x, y = (list(column) for column in zip(*track, strict=True))
        drawn = {"what": what, "name": name, "times": times, "x": x, "y": y, "range": reach}
        if all(path | {"name": name} != drawn for path in paths):
            paths.append(drawn)
    return paths


def _routes(wireless: Mapping[str, Any]) -> dict[str, Any]:
    """Hops with both directions together, and counts of each station."""
    stations: Mapping[str, Mapping[str, int]] = wireless["stations"]
    number = {name: index for index, name in enumerate(stations)}
    carried: dict[tuple[int, int], list[int]] = {}
    for hop in wireless["hops"]:
        ends = number[hop["from"]], number[hop["to"]]
        forward, back = min(ends), max(ends)
        both = carried.setdefault((forward, back), [0, 0])
        both[ends != (forward, back)] += hop["packets"]
    return {
        "hops": [[*ends, *packets] for ends, packets in sorted(carried.items())],
        "received": [station["received"] for station in stations.values()],
        "lost": _sums(stations.values(), ("queue_dropped", "link_dropped", "route_dropped")),
    }


def _sums(stations: Any, keys: Sequence[str]) -> list[int]:
    return [sum(station[key] for key in keys) for station in stations]
