"""What hints need to know of a scenario: the compared link, and who sends over it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, lookup, quantity, resolved_link


@dataclass(frozen=True, slots=True)
class Entry:
    """A traffic entry whose packets cross the link."""

    place: int
    """Its place in the scenario's list."""
    table: Mapping[str, Any]
    """Every default filled in."""
    transport: str
    """"tcp", "datagrams", or "own" of two endpoints."""
    rtt_s: float
    """Round trip without queues; 0 where it is not known."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.table["name"])

    @property
    def reacts(self) -> bool:
        """Whether it slows down when packets are lost or late, as endpoints are taken to do."""
        return self.transport != "datagrams"


@dataclass(frozen=True, slots=True)
class Network:
    """A link and its traffic."""

    link: str
    path: str
    """Where the link's table stands in the scenario."""
    rate_bps: float | None
    """Its rate, the lowest where it varies by schedule; None where that is not known."""
    highest_bps: float | None
    mtu_bytes: float
    duration_s: float
    warmup_s: float
    entries: tuple[Entry, ...]
    """Whose packets (not only acknowledgments) cross the link."""
    box: Mapping[str, Any]
    """The box in front of the link, every default filled in; empty if there is none."""

    @property
    def constant(self) -> bool:
        """Whether the rate is known and never changes."""
        return self.rate_bps is not None and self.rate_bps == self.highest_bps

    @property
    def rtt_s(self) -> float:
        """Longest round trip of a transfer over the link, of any traffic if there is none."""
        transfers = [entry.rtt_s for entry in self.entries if entry.reacts]
        return max(transfers or [entry.rtt_s for entry in self.entries], default=0.0)


def network_of(scenario: Scenario, link: str) -> Network:
    """The link called `link` of a scenario that can run.

    Where the engine knows no ways (on a radio channel), all traffic counts as crossing it and round
    trips as unknown.
    """
    effective = scenario.effective()
    traffic: Sequence[Mapping[str, Any]] = effective["traffic"]
    transports = [str(entry["transport"]) for entry in scenario.resolved()["traffic"]]
    links: Mapping[str, Mapping[str, Any]] = {}
    try:
        plan = json.loads(_engine.plan(scenario.text, scenario.base))
        links = {each["name"]: each for each in plan["links"]}
        entries = tuple(
            Entry(place, entry, transports[place], _rtt_s(entry, links))
            for place, entry in enumerate(plan["traffic"])
            if link in entry["forward"]
        )
    except ScenarioError:
        entries = tuple(
            Entry(place, entry, transports[place], 0.0) for place, entry in enumerate(traffic)
        )
    path = resolved_link(scenario, link)["path"]
    table = links.get(link) or at(effective, path)
    rates = _rates(table)
    return Network(
        link,
        path,
        min(rates, default=None),
        max(rates, default=None),
        number(table.get("mtu")) or 1500.0,
        number(effective.get("duration")) or 0.0,
        number(effective.get("warmup")) or 0.0,
        entries,
        at(effective, path).get("box") or {},
    )


def other_direction(link: str) -> str:
    """What results call the other direction of a link."""
    return link.removesuffix("-reverse") if link.endswith("-reverse") else f"{link}-reverse"


def at(effective: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The table of a link by its path; empty if there is none."""
    found = lookup(dict(effective), path)
    return found if isinstance(found, Mapping) else {}


def queue_on(scenario: Scenario, link: str) -> Mapping[str, Any]:
    """The queue of a link, every default filled in; empty if it has none."""
    return resolved_link(scenario, link)["queue"] or {}


def number(value: Any) -> float | None:
    """A quantity in its base unit (s, bit/s, B, packets); None if it is none."""
    found = quantity(value)
    return None if found is None else found.value


def rate(bps: float) -> str:
    """A rate as scenarios write it, to four digits."""
    scale, unit = (1e6, "Mbit") if bps >= 1e6 else (1e3, "kbit")
    return f"{float(f'{bps / scale:.4g}'):.12g}{unit}"


def bytes_of(limit: Any, mtu_bytes: float) -> float | None:
    """Bytes of a limit in packets or bytes, packets being as large as they can be."""
    if isinstance(limit, list):
        found = [each for each in (bytes_of(one, mtu_bytes) for one in limit) if each is not None]
        return max(found, default=None)
    split = quantity(limit)
    if split is None:
        return None
    return split.value * mtu_bytes if split.base_unit in ("p", "") else split.value


def _rates(table: Mapping[str, Any]) -> list[float]:
    """Every rate that a link may have, outages apart; none if it follows a recording."""
    rate = table.get("rate")
    if not isinstance(rate, Mapping):
        rates = [rate]
    else:
        rates = [*(step[1] for step in rate.get("steps", [])), *rate.get("draw", [])]
    return [each for each in map(number, rates) if each]


def _rtt_s(entry: Mapping[str, Any], links: Mapping[str, Mapping[str, Any]]) -> float:
    hops = (*entry["forward"], *entry["backward"])
    return sum(1e-9 * float(links[hop]["delay_ns"]) for hop in hops) + 2e-9 * float(
        entry["access_ns"]
    )
