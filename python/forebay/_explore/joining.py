"""Traffic entries that join while a lane runs."""

from __future__ import annotations

from typing import Any

from forebay._explore import protocol
from forebay._explore.lane import Lane
from forebay._scenario import instant

Entry = dict[str, Any]
_KEPT = ("from", "to", "direction", "hop", "q", "precedence", "drop_precedence", "dscp")
"""What a burst has from the entry that it is like."""


def entry(lane: Lane, place: int) -> Entry:
    """A traffic entry by its place."""
    entries: list[Entry] = lane.now.resolved()["traffic"]
    if not 0 <= place < len(entries):
        raise ValueError(f"there is no traffic entry {place}")
    return entries[place]


def named(lane: Lane, traffic: Entry) -> Entry:
    """The entry with a name that nobody has."""
    taken = {each["name"] for each in lane.scenario_at_end().resolved()["traffic"]}
    wanted = name = str(traffic.get("name") or traffic.get("kind") or "traffic")
    number = 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return {**traffic, "name": name}


def burst(lane: Lane, wanted: protocol.Burst, watched: str | None) -> Entry:
    """Datagrams at the rate of the hosts' own links, or a hundred times the watched link's."""
    place = wanted.like if wanted.like is not None else _crossing(lane, watched)
    entry(lane, place)
    like = lane.now.document["traffic"][place]
    rate = 10**9
    span = wanted.packets * wanted.size * 8 / rate
    table = {key: like[key] for key in _KEPT if key in like} | {
        "name": "burst",
        "kind": "cbr",
        "rate": "1Gbit",
        "size": f"{wanted.size}B",
        "stop": instant(lane.times[0] + round(span * 1e9)),
    }
    return named(lane, table)


def _crossing(lane: Lane, watched: str | None) -> int:
    """The first entry that crosses the watched link."""
    entries = lane.now.resolved()["traffic"]
    return next((place for place, each in enumerate(entries) if watched in each["links"]), 0)
