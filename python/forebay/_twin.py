"""The twin of a gate: its subscribers and the statistics of a day as a scenario.

The trees are those that the gate makes of the same files. A circuit's traffic is files over TCP at
random times, whose mean rate is the circuit's in one hour of the statistics.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _disk, _engine
from forebay._advice.words import listed
from forebay._comparison import variants_of
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, quantity, with_plugins
from forebay._topology.values import measured, table

MOST_LINES = 2_000_000
"""Most lines of statistics: 80 000 circuits in 24 hours."""
LEAST_BPS = 1000.0
"""Circuits that were slower than this in an hour have no traffic in it."""
MOST_OF_PLAN = 1.1
"""A rate beyond this part of a circuit's plan is wrong; counters of frames count headers, too."""

Hour = dict[str, tuple[float, float]]
"""Mean rates of an hour by circuit, in bit/s, down and up."""


@dataclass(frozen=True)
class Choices:
    """What the files do not say."""

    hour: int | None = None
    """Hour of the statistics; the busiest one if None."""
    site: str | None = None
    """Node whose circuits are simulated; all if None."""
    by: str = "site"
    """What the results are for: each site, plan or circuit."""
    queues: Sequence[str] = ()
    """Other disciplines for circuits."""
    plans: Sequence[Path] = ()
    """Other ShapedDevices.csv of the same circuits."""
    rtt: str = "30ms"
    """Round trip without queues."""
    size: str = "1MB"
    """Mean size of a file."""


def scenario_of(config: Path, statistics: Path, choices: Choices) -> tuple[Scenario, list[str]]:
    """The scenario, and what was assumed.

    Raises:
        ScenarioError: a file is wrong; the message names it and the place.
    """
    gate = json.loads(_engine.load(str(config)))
    table_ = gate.get("subscribers")
    if not isinstance(table_, dict) or "devices" not in table_:
        raise ScenarioError(f"{config}: subscribers.devices: is missing; docs/isp.md shows one")
    link = gate.get("link") or {}
    reverse = link.get("reverse") or {}
    if not isinstance(link.get("rate"), str) or not isinstance(reverse.get("rate"), str):
        raise ScenarioError(f'{config}: link: needs a rate, and reverse.rate, such as "10Gbit"')
    sent, received = (link, reverse) if table_.get("side") != "outside" else (reverse, link)
    own = table_.get("queue") or {"kind": "cake"}

    def tree(queue: dict[str, Any], devices: Path) -> dict[str, Any]:
        network = table_.get("network")
        found = _engine.subscribers(
            None if network is None else _file(config.parent / network),
            _file(devices),
            choices.site,
            (received["rate"], sent["rate"]),
            table_.get("others"),
            json.dumps(queue),
        )
        read: dict[str, Any] = json.loads(found)
        return read

    devices = config.parent / table_["devices"]
    today = tree(own, devices)
    hours = _hours(statistics)
    hour = _busiest(hours, today) if choices.hour is None else choices.hour
    if hour not in hours:
        raise ScenarioError(f"{statistics}: has no hour {hour}; it has {_span(hours)}")
    _check_plans(statistics, hour, hours[hour], today)
    others: list[dict[str, Any]] = []
    for text in choices.queues:
        kind, block = _queue(text)
        others.append({"label": kind, **tree(block, devices)["down"]})
    for path in choices.plans:
        other = tree(own, path)
        if _ids(other) != _ids(today):
            raise ScenarioError(f"{path}: has other circuits or nodes than {devices}")
        others.append({"label": path.stem, **other["down"]})
    document: dict[str, Any] = {
        "title": f"{config.stem}, hour {hour}" + (f", {choices.site}" if choices.site else ""),
        "duration": "20s",
        "warmup": "5s",
        "tcp": {"preset": "linux"},
        "link": [
            {
                "name": "down",
                "from": "internet",
                "to": "subscribers",
                "rate": today["rates"][0],
                "delay": f"{measured(choices.rtt, 's', '--rtt') / 2:.6f}s",
                "overhead": received.get("overhead", "none"),
                "queue": today["down"],
                "reverse": {"rate": today["rates"][1], "queue": today["up"]},
            }
        ],
        "compare": {"link": "down", "replications": 3, "disciplines": ["today", *others]},
    }
    document["traffic"], notes = _traffic(today, hours[hour], choices)
    if gate.get("plugins"):
        document["plugins"] = gate["plugins"]
    scenario = Scenario.of(document, config.stem)
    # What could not run, such as an unknown discipline, is found before anything is written.
    variants_of(Scenario.of(with_plugins(document), config.stem), None, None)
    return scenario, [f"hour {hour} of {_span(hours)}", *notes]


def _file(path: Path) -> tuple[str, str]:
    return _disk.read_text(path), str(path)


def _ids(found: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(each["circuit"], each["node"]) for each in found["circuits"]]


def _queue(text: str) -> tuple[str, dict[str, Any]]:
    label, block = _engine.labelled(text)
    return label, json.loads(block)


def _traffic(
    found: dict[str, Any], rates: Hour, choices: Choices
) -> tuple[list[dict[str, Any]], list[str]]:
    size = quantity(choices.size)
    if size is None or size.base_unit != "B" or size.value < 1:
        raise ScenarioError(f'--size: expected a size such as "1MB", got "{choices.size}"')
    entries: list[dict[str, Any]] = []
    silent = 0
    for host, circuit in enumerate(found["circuits"], 1):
        both = rates.get(circuit["circuit"], (0.0, 0.0))
        silent += max(both) < LEAST_BPS
        for way, rate in zip(("down", "up"), both, strict=True):
            if rate < LEAST_BPS:
                continue
            ends = ("internet", "subscribers", "to_host")
            start, end, field = ends if way == "down" else ("subscribers", "internet", "from_host")
            entries.append(
                {
                    "name": f"{circuit['circuit']} {way}",
                    "class": f"{_class(circuit, choices.by)} {way}",
                    "kind": "files",
                    "from": start,
                    "to": end,
                    field: host,
                    "size": choices.size,
                    "sizes": "exponential",
                    "arrivals": "poisson",
                    "interval": f"{size.value * 8 / rate:.6f}s",
                }
            )
    if not entries:
        raise ScenarioError("the statistics of this hour have no traffic of these circuits")
    known = {circuit["circuit"] for circuit in found["circuits"]}
    strangers = 0 if choices.site else len(rates.keys() - known)
    notes = [f"{len(found['circuits'])} circuits, {len(entries)} entries of traffic"]
    if silent:
        notes.append(f"{silent} circuits without traffic in this hour")
    if strangers:
        notes.append(f"{strangers} circuits of the statistics are not in the network: left out")
    return entries, notes


def _class(circuit: dict[str, Any], by: str) -> str:
    if by == "circuit":
        return str(circuit["circuit"])
    if by == "plan":
        down, up = (f"{(circuit[way] or 0) / 1e6:g}" for way in ("down", "up"))
        return f"{down}/{up} Mbit/s"
    return str(circuit["node"] or "link")


def _busiest(hours: dict[int, Hour], found: dict[str, Any]) -> int:
    known = {circuit["circuit"] for circuit in found["circuits"]}

    def load(hour: int) -> float:
        return sum(sum(both) for circuit, both in hours[hour].items() if circuit in known)

    return max(hours, key=load)


def _check_plans(path: Path, hour: int, rates: Hour, found: dict[str, Any]) -> None:
    for circuit in found["circuits"]:
        both = rates.get(circuit["circuit"], (0.0, 0.0))
        for way, rate in zip(("down", "up"), both, strict=True):
            plan = circuit[way]
            if plan is not None and rate > MOST_OF_PLAN * plan:
                raise ScenarioError(
                    f"{path}: hour {hour}: circuit {circuit['circuit']} has {rate / 1e6:g} Mbit/s "
                    f"{way}, more than its plan of {plan / 1e6:g}; correct one of them"
                )


def _span(hours: Collection[int]) -> str:
    """Hours as text: "0 to 5, 7 and 20"."""
    runs: list[list[int]] = []
    for hour in sorted(hours):
        if runs and hour == runs[-1][-1] + 1:
            runs[-1].append(hour)
        else:
            runs.append([hour])
    parts = [
        part
        for run in runs
        for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))
    ]
    return listed(parts)


def _hours(path: Path) -> dict[int, Hour]:
    hours = _of_gate(path) if path.suffix in (".json", ".jsonl") else _of_table(path)
    if not hours:
        raise ScenarioError(f"{path}: has no hours")
    return hours


def _of_table(path: Path) -> dict[int, Hour]:
    """Columns circuit, hour, down_mbps and up_mbps: mean rates of an hour of the day."""
    rows = table(path, MOST_LINES, comment="#")
    _, header = next(rows, (0, []))
    header = [column.strip() for column in header]
    needed = ("circuit", "hour", "down_mbps", "up_mbps")
    for column in needed:
        if column not in header:
            raise ScenarioError(f'{path}: has no column "{column}"; needed are {", ".join(needed)}')
    hours: dict[int, Hour] = {}
    for line, cells in rows:
        where = f"{path}: line {line}"
        if len(cells) > len(header):
            raise ScenarioError(
                f"{where}: has {len(cells)} fields, and the first line {len(header)}; take one out"
            )
        row = dict(zip(header, map(str.strip, cells), strict=False))
        for column in needed:
            if not row.get(column):
                zero = "; write 0 for no traffic" if column in needed[2:] else ""
                raise ScenarioError(f"{where}: {column}: is missing{zero}")
        circuit, hour = row["circuit"], row["hour"]
        if not (hour.isdecimal() and len(hour) < 3 and int(hour) < 24):
            raise ScenarioError(f'{where}: hour: expected a number from 0 to 23, got "{hour}"')
        down, up = (_bps(row[column], f"{where}: {column}") for column in needed[2:])
        of_hour = hours.setdefault(int(hour), {})
        if circuit in of_hour:
            raise ScenarioError(
                f"{where}: circuit {circuit} has hour {int(hour)} already; keep one of the lines"
            )
        of_hour[circuit] = (down, up)
    return hours


def _bps(text: str, where: str) -> float:
    try:
        found = float(text) * 1e6
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e15:
        raise ScenarioError(f'{where}: expected Mbit/s, 0 or more, got "{text}"')
    return found


def _of_gate(path: Path) -> dict[int, Hour]:
    """Lines of `forebay-gate circuits --json`: an hour is the difference of two lines."""
    hours: dict[int, Hour] = {}
    before: dict[str, Any] | None = None
    for line, text in enumerate(_disk.read_text(path).splitlines(), 1):
        if not text.strip():
            continue
        try:
            now = json.loads(text)
            sent = {
                each["circuit"]: (each["down"]["sent"]["bytes"], each["up"]["sent"]["bytes"])
                for each in now["circuits"]
                if each["circuit"] is not None
            }
            now = {"at": float(now["uptime_s"]), "sent": sent}
        except (ValueError, KeyError, TypeError):
            raise ScenarioError(
                f"{path}: line {line}: expected what forebay-gate circuits --json prints"
            ) from None
        # After a restart the counters begin anew.
        if before is not None and (span := now["at"] - before["at"]) > 0:
            zero = (0, 0)
            hours[len(hours)] = {
                circuit: tuple(
                    8 * max(0, one - other) / span
                    for one, other in zip(both, before["sent"].get(circuit, zero), strict=True)
                )
                for circuit, both in sent.items()
            }
        before = now
    return hours
