"""From a network to a scenario: capacities, delays, costs, queues, traffic, positions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from forebay._engine import ScenarioError
from forebay._scenario import Scenario, value_of
from forebay._topology import traffic
from forebay._topology.network import EARTH_KM, FIBRE_KM_S, Link, Network, Notes
from forebay._topology.values import measured

DURATION_S = 10
WARMUP_S = 2
LARGEST_BPS = 1e18
"""Of a link's capacity; the engine's times end at less."""
LARGEST_DELAY_S = 1e6
"""Of a link's delay: eleven days."""
POINTS = 300_000
"""About how many points the time series of all links have together."""

LEAST_DELAY_S = 5e-6
"""Delay of a kilometre of fibre, of links between nodes at the same place."""


@dataclass(frozen=True)
class Choices:
    """What a file of a network does not say."""

    rate: str = "1Gbit"
    """Of links without a capacity."""
    delay: str = "1ms"
    """Of links without a delay or places of both ends."""
    queues: Sequence[str] = ("fq-codel",)
    """Rules, the last that matches counts: a queue, or which links, ":" and a queue."""
    metric: str = "hops"
    """What makes paths short: hops, delay or rate."""
    scale: float = 1.0
    """By what all capacities and demands in bit/s are multiplied; above 0."""
    flows: int = 1000
    """Bulk transfers of gravity traffic, unless one of the two below is given."""
    load: str | None = None
    """Gravity traffic as files of so much payload a second."""
    demands: Path | None = None
    """Table of demands, in place of gravity traffic."""


def scenario_of(network: Network, choices: Choices, notes: Notes) -> Scenario:
    """The scenario of a network; it runs as it is."""
    if not 0 < choices.scale < math.inf:
        raise ScenarioError(f"--scale: must be above 0, got {choices.scale}")
    rates = _rates(network, choices, notes)
    delays = _delays(network, choices, notes)
    queues = _queues(network, choices.queues, notes)
    costs = _costs(network, choices.metric, rates, delays)
    linked = {end for link in network.links for end in (link.start, link.end)}
    notes.add("node", "without a link left out", [n for n in network.nodes if n not in linked])
    links = [
        {
            "name": link.name,
            "from": link.start,
            "to": link.end,
            "rate": rate_text(rates[link.name][0]),
            "delay": f"{delays[link.name]}us",
            **({"cost": costs[link.name]} if costs[link.name] > 1 else {}),
            "queue": queues[link.name][0],
            "reverse": {"rate": rate_text(rates[link.name][1]), "queue": queues[link.name][1]},
        }
        for link in network.links
    ]
    document: dict[str, Any] = {
        "title": network.name,
        "duration": f"{DURATION_S}s",
        "warmup": f"{WARMUP_S}s",
        "tcp": {"congestion": "cubic"},
    }
    sample_ms = math.ceil(1000 * DURATION_S * 2 * len(links) / POINTS)
    if sample_ms * 300 > 1000 * DURATION_S:
        document["sample"] = f"{sample_ms}ms"
        notes.remarks.append(f"time series have a point each {sample_ms} ms, to need less memory")
    document["compare"] = {
        "link": "*",
        "replications": 3,
        "disciplines": ["today", "fifo"],
    }
    if positions := _positions(network, linked):
        document["positions"] = positions
    document["link"] = links
    lines, document["traffic"] = _traffic(network, choices, rates, notes)
    scenario = Scenario.of(document, network.name)
    try:
        scenario.effective()
    except ScenarioError as error:
        raise _of_demands(error, choices.demands, lines) from None
    return scenario


def rate_text(bps: float) -> str:
    """A rate as scenarios write it, in the largest unit that leaves a whole number."""
    whole = max(1, round(bps))
    for unit, size in (("Gbit", 10**9), ("Mbit", 10**6), ("kbit", 10**3)):
        if whole % size == 0:
            return f"{whole // size}{unit}"
    return f"{whole}bit"


def _rates(network: Network, choices: Choices, notes: Notes) -> dict[str, tuple[float, float]]:
    """Capacities by link, in both directions, in bit/s."""
    default = measured(choices.rate, "bit/s", "--rate")
    without = [link.name for link in network.links if link.rate_bps is None]
    notes.add("link", f"without a capacity: {rate_text(default)} taken, --rate changes it", without)

    def both(link: Link) -> tuple[float, float]:
        rate = default if link.rate_bps is None else link.rate_bps
        back = rate if link.back_bps is None else link.back_bps
        return rate * choices.scale, back * choices.scale

    found = {link.name: both(link) for link in network.links}
    for name, each in found.items():
        if not 1 <= min(each) <= max(each) <= LARGEST_BPS:
            raise ScenarioError(
                f"link {name}: its capacity times --scale must be 1 to {LARGEST_BPS:.0e} bit/s"
            )
    return found


def _delays(network: Network, choices: Choices, notes: Notes) -> dict[str, int]:
    """Propagation delays by link, in us: as given, or of light in fibre along a great circle."""
    default = measured(choices.delay, "s", "--delay")
    found = {}
    without = []
    for link in network.links:
        delay = link.delay_s
        if delay is None and (distance := network.distance_km(link)) is not None:
            delay = max(LEAST_DELAY_S, distance / FIBRE_KM_S)
        if delay is None:
            without.append(link.name)
            delay = default
        if delay > LARGEST_DELAY_S:
            raise ScenarioError(
                f"link {link.name}: its delay must be at most {LARGEST_DELAY_S:.0e} s"
            )
        found[link.name] = max(1, round(delay * 1e6))
    done = f"without a delay or places of both ends: {choices.delay} taken, --delay changes it"
    notes.add("link", done, without)
    return found


def _costs(
    network: Network,
    metric: str,
    rates: dict[str, tuple[float, float]],
    delays: dict[str, int],
) -> dict[str, int]:
    """Costs by link: 1, or us of delay, or the largest capacity over the link's own as in OSPF."""
    if metric == "hops":
        return {link.name: 1 for link in network.links}
    if metric == "delay":
        return delays
    if metric == "rate":
        most = max((rate for rate, _ in rates.values()), default=1.0)
        return {link.name: max(1, round(most / rates[link.name][0])) for link in network.links}
    raise ScenarioError(f'--metric: expected hops, delay or rate, got "{metric}"')


def _queues(
    network: Network, rules: Sequence[str], notes: Notes
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Queues by link, in both directions: by the last rule that matches, unless the file says."""
    found: dict[str, dict[str, Any]] = {}
    for rule in rules:
        which, table = _rule(rule)
        matched = [
            link.name
            for link in network.links
            if fnmatchcase(link.kind, which.lower()) or fnmatchcase(link.name, which)
        ]
        if not matched:
            kinds = sorted({link.kind for link in network.links if link.kind})
            known = f"types are {', '.join(kinds)}" if kinds else "the links have no types"
            raise ScenarioError(f'--queue "{rule}": no link has a type or name "{which}"; {known}')
        found |= dict.fromkeys(matched, table)
    default = {"kind": "fifo"}
    bare = [link.name for link in network.links if link.name not in found]
    notes.add("link", "that no --queue names got a fifo", bare)

    def both(link: Link) -> tuple[dict[str, Any], dict[str, Any]]:
        own = found.get(link.name, default)
        there, back = ({"kind": kind} if kind else own for kind in link.queues)
        return there, back

    own = [link.name for link in network.links if any(link.queues)]
    notes.add("link", "with a queue of the file's own (sqm)", own)
    return {link.name: both(link) for link in network.links}


def _rule(rule: str) -> tuple[str, dict[str, Any]]:
    """Which links a rule is for, and its queue."""
    match = re.fullmatch(r"(?:([^:{}\"=]+):)?(.+)", rule)
    which, text = (match[1] or "*", match[2]) if match else ("*", rule)
    value = value_of(text.strip())
    if isinstance(value, dict):
        return which, value
    if isinstance(value, str):
        return which, {"kind": value}
    raise ScenarioError(
        f'--queue "{rule}": expected a kind such as fq-codel, site:cake, or a table such as '
        '{ kind = "codel", target = "5ms" }'
    )


def _positions(network: Network, linked: set[str]) -> dict[str, list[float]]:
    """Nodes in km east and north of their middle; none unless each has a place."""
    places = {name: network.nodes[name].place for name in network.nodes if name in linked}
    known = {name: place for name, place in places.items() if place is not None}
    if not known or len(known) < len(places):
        return {}
    east = sum(place[0] for place in known.values()) / len(known)
    north = sum(place[1] for place in known.values()) / len(known)
    km = math.radians(EARTH_KM)
    return {
        name: [
            round(km * math.cos(math.radians(north)) * (place[0] - east), 3),
            round(km * (place[1] - north), 3),
        ]
        for name, place in known.items()
    }


def _traffic(
    network: Network, choices: Choices, rates: dict[str, tuple[float, float]], notes: Notes
) -> tuple[list[int], list[dict[str, Any]]]:
    """Entries of traffic; those of a table with their lines."""
    if choices.demands is not None:
        table = traffic.of_table(choices.demands, network, choices.scale, notes)
        return [line for line, _ in table], [entry for _, entry in table]
    shares = traffic.gravity(network, {name: sum(both) for name, both in rates.items()})
    if choices.load is not None:
        load = measured(choices.load, "bit/s", "--load")
        return [], traffic.load_by_gravity(shares, load * choices.scale)
    if choices.flows < 1:
        raise ScenarioError(f"--flows: must be 1 or more, got {choices.flows}")
    return [], traffic.flows_by_gravity(shares, choices.flows)


def _of_demands(error: ScenarioError, demands: Path | None, lines: Sequence[int]) -> ScenarioError:
    """An error of a traffic entry, at the line that the entry comes from."""
    match = re.search(r"traffic\[(\d+)\]\.?(.*)", str(error), re.DOTALL)
    if match is None or not lines:
        return error
    return ScenarioError(f"{demands}: line {lines[int(match[1])]}: {match[2]}")
