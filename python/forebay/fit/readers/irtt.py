"""irtt's JSON (`irtt client -o FILE`): a round trip for each packet, by the client's clock."""

from __future__ import annotations

from typing import Any

from forebay._engine import ScenarioError
from forebay.fit.readers.part import Part, number, rows, table, text

_HEADERS = 28
"""Bytes of IPv4 and UDP."""


def is_one(document: dict[str, Any]) -> bool:
    """Whether a document is irtt's."""
    return "round_trips" in document and "irtt" in table(document.get("version"))


def part_of(document: dict[str, Any], name: str) -> Part:
    """The round trips.

    Raises:
        ScenarioError: there is none.
    """
    config = table(document.get("config"))
    length = number(table(config.get("params")).get("length"), 0, 65_000)
    size = int(length or 60) + _HEADERS
    found = Part(name, source=f"to {text(config.get('remote_address'))}")
    for each in rows(document["round_trips"]):
        client = table(table(each.get("timestamps")).get("client"))
        sent = number(table(client.get("send")).get("wall"), 0, 4e18)
        rtt = number(table(each.get("delay")).get("rtt"), 1, 6e10)
        if sent is None:
            continue
        if each.get("lost") in ("false", False) and rtt is not None:
            found.probes.append((sent / 1e9, rtt / 1e9, size))
        else:
            found.lost.append(sent / 1e9)
    if not found.probes:
        raise ScenarioError(f"{name}: holds no round trip with its time; run irtt client again")
    return found
