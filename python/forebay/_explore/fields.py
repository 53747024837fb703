"""What may be changed while a scenario runs, as the page shows it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from forebay import _engine
from forebay._scenario import Queue, quantity

Table = dict[str, Any]
_KINDS = {"rate", "duration", "limit", "length", "bytes", "number", "integer", "boolean"}
_UNITS = {"rate": "bit/s", "duration": "s", "limit": "p", "length": "p", "bytes": "B"}
_RANGES = {
    "rate": (1e4, 1e9),
    "duration": (1e-4, 1.0),
    "limit": (1, 1000),
    "length": (1, 1000),
    "bytes": (100, 1e6),
}
"""Sliders of fields that have no value to begin from."""
_SPAN = 20
"""A slider ends so many times above what it begins from, and as many below."""


def of_link(link: dict[str, Any]) -> list[Table]:
    """What may change of a link, an entry of `Scenario.resolved()["links"]`."""
    abouts = _link_help()
    fields = []
    if link["rate_bps"] is not None:
        rate = _engine.format_quantity(link["rate_bps"], "rate")
        fields.append(_field(f"{link['path']}.rate", "rate", rate, None, abouts["rate"]))
    if link["delay_s"] is not None:
        delay = _engine.format_quantity(link["delay_s"], "time")
        fields.append(_field(f"{link['path']}.delay", "duration", delay, None, abouts["delay"]))
    if link["loss"] is not None:
        loss = _field(f"{link['path']}.loss", "number", link["loss"], 0, abouts["loss"])
        loss["low"], loss["high"] = 0.0, 0.1
        fields.append(loss)
    return fields


def of_queue(path: str, queue: dict[str, Any]) -> list[Table]:
    """The parameters of a queue written at `path`; none of a combination of parts."""
    entry = _catalogue().get(queue.get("kind", ""))
    if entry is None:
        return []
    return [
        _field(
            f"{path}.{parameter['name']}",
            parameter["type"],
            queue.get(parameter["name"]),
            parameter["default"],
            parameter["description"],
        )
        for parameter in entry["parameters"]
    ]


def kinds() -> list[Table]:
    """The disciplines to choose from, and boxes, which `with_box` puts in front of one."""
    return [
        {"name": each["name"], "summary": each["summary"], "source": each["source"]}
        for each in [*_catalogue().values(), *_boxes().values()]
    ]


def with_box(queue: Queue) -> Queue:
    """A box's name as the lane of strict priority behind it; other queues as they are."""
    if not isinstance(queue, str) or queue not in _boxes():
        return queue
    return {"label": queue, "kind": "prio", "box": {"kind": queue}}


def limits(queue: dict[str, Any]) -> tuple[int | None, int | None]:
    """The room in a queue, in packets and in bytes, where it has one limit."""
    found = quantity(queue.get("limit"))
    if found is None or found.base_unit not in ("p", "B"):
        return None, None
    room = int(found.value)
    return (room, None) if found.base_unit == "p" else (None, room)


def _field(path: str, type_: str, value: Any, default: Any, about: str) -> Table:
    choices = [each.strip().strip('"') for each in type_.split("|")] if '"' in type_ else []
    kind = type_ if type_ in _KINDS else "value"
    # One limit for all queues, or a list with one for each.
    if type_.startswith("limit |") and not isinstance(value, list):
        kind = "limit"
    if choices and type_.count('"') == 2 * len(choices):
        kind = "choice"
    found = quantity(value) if kind in _KINDS and kind != "boolean" else None
    unit = found.base_unit if found is not None else _UNITS.get(kind, "")
    low, high = _range(kind, found.value if found is not None else None, unit)
    return {
        "path": path,
        "name": path.rpartition(".")[2],
        "kind": kind,
        "unit": unit,
        "value": value,
        "number": None if found is None else found.value,
        "low": low,
        "high": high,
        "default": default,
        "choices": choices if kind == "choice" else [],
        "help": " ".join(about.split()),
    }


def _range(kind: str, value: float | None, unit: str) -> tuple[float | None, float | None]:
    if kind not in _KINDS or kind == "boolean":
        return None, None
    if value is None or value <= 0:
        return _RANGES.get(kind, (0.0, 1.0))
    least = 1 if kind == "integer" or unit in ("p", "B") else value / _SPAN
    return max(value / _SPAN, least), value * _SPAN


@cache
def _catalogue(group: str = "kinds") -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(_engine.kinds())[group]}


def _boxes() -> dict[str, dict[str, Any]]:
    return _catalogue("boxes")


@cache
def _link_help() -> dict[str, str]:
    fields = json.loads(_engine.schema())["$defs"]["link"]["properties"]
    return {name: str(fields[name].get("description", "")) for name in ("rate", "delay", "loss")}
