"""The map of a wireless network: stations, routes, and what they look out for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from forebay._comparison import Comparison
from forebay._report.panel import Map, Places, Segments, Way

_WIDTHS = 8
"""Widths of hops."""

_DUMBBELL = re.compile(r"left|right|router\d+")
"""What the routers of a dumbbell are called."""


def maps(comparison: Comparison) -> list[Map]:
    """A map for each discipline, of its first replication; none without a wireless network.

    Stations are where they were at the end of the run, in metres. A segment is a hop with both of
    its directions; its width says how many packets took it, of those of the busiest hop.
    """
    effective = comparison.variants[0].effective
    if not effective.get("wireless"):
        return []
    first = comparison.runs[0].replication
    runs = [run for run in comparison.runs if run.replication == first]
    found = {run.discipline: run.result.summary["wireless"] for run in runs}
    hops = {label: _hops(each) for label, each in found.items()}
    most = max([1, *(sum(counts) for each in hops.values() for counts in each.values())])
    ways = _ways(effective)
    return [
        Map(label, label, _segments(each["stations"], hops[label], most),
            _places(each["stations"], effective), ways, unit="m")
        for label, each in found.items()
    ]  # fmt: skip


def _segments(
    stations: Mapping[str, Any], hops: Mapping[tuple[str, str], Sequence[int]], most: int
) -> Segments:
    starts, ends = ([stations[pair[end]] for pair in hops] for end in (0, 1))
    there, back = ([counts[way] for counts in hops.values()] for way in (0, 1))
    return Segments(
        [each["x_m"] for each in starts],
        [each["y_m"] for each in starts],
        [each["x_m"] for each in ends],
        [each["y_m"] for each in ends],
        [-(-_WIDTHS * sum(counts) // most) - 1 for counts in hops.values()],
        list(range(1, _WIDTHS + 1)),
        {
            "": [f"{start} ↔ {end}" for start, end in hops],
            "packets there": there,
            "packets back": back,
        },
    )


def _places(stations: Mapping[str, Any], effective: Mapping[str, Any]) -> Places:
    wired = _wired(effective)
    single = {node["name"] for node in effective["wireless"]["node"]}
    lost = ("queue_dropped", "link_dropped", "route_dropped")
    return Places(
        [each["x_m"] for each in stations.values()],
        [each["y_m"] for each in stations.values()],
        [name if name in single else "" for name in stations],
        [name in wired for name in stations],
        {
            "": list(stations),
            "packets received": [each["received"] for each in stations.values()],
            "lost": [sum(each[key] for key in lost) for each in stations.values()],
        },
    )


def _wired(effective: Mapping[str, Any]) -> set[str]:
    """Single stations that have the name of a link's node."""
    nodes = [node["name"] for node in effective["wireless"]["node"]]
    ends = {link[end] for link in effective.get("link") or [] for end in ("from", "to")}
    dumbbell = bool(effective.get("dumbbell"))
    return {name for name in nodes if name in ends or (dumbbell and _DUMBBELL.fullmatch(name))}


def _ways(effective: Mapping[str, Any]) -> list[Way]:
    """Ways of stations that move and of phenomena, each once."""
    found = [
        (f"station {node['name']}", node["track"], None)
        for node in effective["wireless"]["node"]
        if node.get("track")
    ]
    found += [
        (f"phenomenon {entry['name']}", entry["track"], entry["range"])
        for entry in effective["traffic"]
        if entry["kind"] == "sensing"
    ]
    ways: list[Way] = []
    for name, track, reach in found:
        times, x, y = (list(column) for column in zip(*track, strict=True))
        way = Way(name, times, x, y, reach)
        if all(replace(each, name=name) != way for each in ways):
            ways.append(way)
    return ways


def _hops(wireless: Mapping[str, Any]) -> dict[tuple[str, str], list[int]]:
    """The packets that each hop carried, there and back, by its two stations in their order."""
    number = {name: at for at, name in enumerate(wireless["stations"])}
    carried: dict[tuple[str, str], list[int]] = {}
    for hop in wireless["hops"]:
        ends = hop["from"], hop["to"]
        first, second = sorted(ends, key=number.__getitem__)
        carried.setdefault((first, second), [0, 0])[ends != (first, second)] += hop["packets"]
    return carried
