"""Who sends what to whom: a gravity model, or a table of demands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from forebay._engine import ScenarioError
from forebay._scenario import value_of
from forebay._topology.network import Network, Notes
from forebay._topology.values import measured, table

MOST_PAIRS = 20_000
"""Most pairs of nodes that a scenario's traffic names."""

MOST_DEMANDS = 50_000
"""Most lines of a table of demands."""

MOST_NODES = 1000
"""Most nodes between all of which there is gravity traffic."""

START = ["0s", "1s"]
"""Flows begin at random within the first second."""

FILE_BYTES = 1_000_000
"""Mean size of the files that make up a demand in bit/s."""

Pair = tuple[str, str]


def gravity(network: Network, capacity: Mapping[str, float]) -> dict[Pair, float]:
    """Shares of all traffic by pair of nodes, which add up to 1.

    Each node weighs as much as its links carry together, and two exchange traffic in proportion to
    the product of their weights (Y. Zhang, M. Roughan, N. Duffield, A. Greenberg, Fast accurate
    computation of large-scale IP traffic matrices from link loads, SIGMETRICS 2003).
    In a tree the root sends to the leaves. Capacities are bit/s, both directions together.
    """
    senders = network.senders()
    weight = dict.fromkeys(network.nodes, 0.0)
    for link in network.links:
        for end in (link.start, link.end):
            weight[end] += capacity[link.name]
    if network.root is not None:
        pairs = [(network.root, leaf) for leaf in senders]
    else:
        part = network.parts()
        if len(senders) > MOST_NODES:
            raise ScenarioError(
                f"{network.name}: gravity traffic is for at most {MOST_NODES} nodes, and there are "
                f"{len(senders)}; give --demands with the pairs that matter"
            )
        pairs = [
            (one, other)
            for one, other in product(senders, senders)
            if one != other and part[one] == part[other]
        ]
    if not pairs:
        raise ScenarioError(f"{network.name}: there are no two nodes between which traffic can run")
    products = np.array([weight[one] * weight[other] for one, other in pairs])
    shares = products / products.sum()
    return dict(zip(pairs, shares.tolist(), strict=True))


def flows_by_gravity(shares: Mapping[Pair, float], flows: int) -> list[dict[str, Any]]:
    """Bulk transfers, spread over the pairs by largest remainder; pairs without one fall away."""
    _check_pairs(min(flows, len(shares)), "--flows: give fewer")
    wanted = flows * np.array(list(shares.values()))
    counts = np.floor(wanted).astype(int)
    rest = flows - int(counts.sum())
    for at in np.argsort(counts - wanted, kind="stable")[:rest]:
        counts[at] += 1
    return [
        _entry(pair, {"kind": "bulk", "class": "gravity", "flows": int(count), "start": START})
        for pair, count in zip(shares, counts, strict=True)
        if count
    ]


def load_by_gravity(shares: Mapping[Pair, float], load_bps: float) -> list[dict[str, Any]]:
    """Files at random times that add up to `load_bps`, spread over the pairs."""
    _check_pairs(len(shares), "--load: give --flows instead")
    return [
        _entry(pair, {"class": "gravity"} | _files(load_bps * share))
        for pair, share in shares.items()
    ]


def _check_pairs(pairs: int, remedy: str) -> None:
    if pairs > MOST_PAIRS:
        raise ScenarioError(
            f"{remedy}, or --demands with the pairs that matter: a scenario's traffic has at most "
            f"{MOST_PAIRS} pairs, and these would be {pairs}"
        )


def of_table(
    path: Path, network: Network, scale: float, notes: Notes
) -> list[tuple[int, dict[str, Any]]]:
    """The traffic of a table of demands (CSV): a line a pair of nodes.

    Its columns are `from`, `to`, and fields of a scenario's traffic, such as `flows`, `kind` or
    `class`; or `demand`, a mean rate, which files at random times make up.

    Returns:
        Entries of traffic, each with the line that it comes from.
    """
    lines = table(path, MOST_DEMANDS)
    _, columns = next(lines, (0, []))
    for column in ("from", "to"):
        if column not in columns:
            raise ScenarioError(f'{path}: has no column "{column}"; the first line names columns')
    rows = list(lines)
    if not rows:
        raise ScenarioError(f"{path}: has no demands")
    entries = [
        _of_row(columns, cells, f"{path}: line {line}", network, scale) for line, cells in rows
    ]
    part = network.parts()
    for (line, _), entry in zip(rows, entries, strict=True):
        if part[entry["from"]] != part[entry["to"]]:
            raise ScenarioError(
                f'{path}: line {line}: no links lead from "{entry["from"]}" to "{entry["to"]}"'
            )
    plain = [
        entry["name"] for entry in entries if entry["kind"] == "bulk" and "kind" not in columns
    ]
    notes.add("demand", "without a kind became bulk transfers", plain)
    return list(zip((line for line, _ in rows), _named_apart(entries), strict=True))


def _of_row(
    columns: Sequence[str], cells: Sequence[str], where: str, network: Network, scale: float
) -> dict[str, Any]:
    if len(cells) > len(columns):
        raise ScenarioError(f"{where}: has more cells than the first line has columns")
    row = zip(columns, cells, strict=False)
    given = {field: text.strip() for field, text in row if text.strip()}
    for end in ("from", "to"):
        node = given.get(end, "")
        if node not in network.nodes:
            near = get_close_matches(node, network.nodes, 1)
            meant = f'; did you mean "{near[0]}"?' if near else ""
            raise ScenarioError(f'{where}: {end}: no node is called "{node}"{meant}')
    pair = given.pop("from"), given.pop("to")
    fields = {field: value_of(text) for field, text in given.items()}
    demand = fields.pop("demand", None)
    if demand is None:
        return _entry(pair, {"kind": "bulk", "start": START} | fields)
    if "kind" in fields:
        raise ScenarioError(f"{where}: demand: goes with no kind; it makes files of its own")
    rate = scale * measured(demand, "bit/s", f"{where}: demand")
    return _entry(pair, _files(rate) | fields)


def _files(rate_bps: float) -> dict[str, Any]:
    """Files at Poisson times, of exponential sizes, that make up a mean rate of payload.

    Heavy-tailed sizes would come up to their mean in long runs only.
    """
    interval_us = max(1, round(8e6 * FILE_BYTES / rate_bps))
    return {
        "kind": "files",
        "size": f"{FILE_BYTES}B",
        "sizes": "exponential",
        "arrivals": "poisson",
        "interval": f"{interval_us}us",
    }


def _entry(pair: Pair, fields: dict[str, Any]) -> dict[str, Any]:
    name = {} if "name" in fields else {"name": f"{pair[0]} to {pair[1]}"}
    one_class = {} if "class" in fields else {"class": str(fields["kind"])}
    return name | {"from": pair[0], "to": pair[1]} | one_class | fields


def _named_apart(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries, those of one name numbered."""
    used: dict[str, int] = {}
    found = []
    for entry in entries:
        name = str(entry["name"])
        used[name] = used.get(name, 0) + 1
        found.append(entry if used[name] == 1 else entry | {"name": f"{name} {used[name]}"})
    return found
