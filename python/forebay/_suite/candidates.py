"""Congestion controls as an axis of a study: what they are set to in the traffic under test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from forebay import _engine, _written
from forebay._engine import ScenarioError
from forebay._scenario import plugins

AXIS = "control"
"""What the axis is called."""


def registered() -> dict[str, tuple[str, ...]]:
    """Every congestion control, with the fields of `tcp` that must be true for it."""
    controls = json.loads(_engine.kinds(plugins))["controls"]
    return {each["name"]: tuple(each["needs"]) for each in controls}


def named(controls: Sequence[str] | None) -> list[str]:
    """The controls of these names; unless given, all that do something of themselves."""
    known = list(registered())
    if controls is None:
        return [name for name in known if name != "agent"]
    for name in controls:
        if name not in known:
            near = _written.nearest(name, known)
            raise ScenarioError(f'there is no congestion control "{name}"{near}')
    if not controls:
        raise ScenarioError(f"no congestion controls are named; choose among {', '.join(known)}")
    return list(controls)


def axis(entries: Sequence[str], controls: Sequence[str], tcp: Mapping[str, Any]) -> dict[str, Any]:
    """The axis, as a study writes it.

    Args:
        entries: names of the traffic entries that use the control under test.
        controls: the controls, a step each.
        tcp: what the scenario says of all TCP; what a control needs is set beside it.
    """
    needs = registered()
    fields = sorted({field for each in controls for field in needs[each]})
    paths = [f"traffic.{name}.tcp.{each}" for name in entries for each in ["congestion", *fields]]

    def row(control: str) -> list[Any]:
        needed = [field in needs[control] or bool(tcp.get(field, False)) for field in fields]
        return [control, *needed]

    if len(paths) == 1:
        return {"name": AXIS, "path": paths[0], "values": list(controls)}
    rows = [row(control) * len(entries) for control in controls]
    return {"name": AXIS, "paths": paths, "rows": rows, "labels": list(controls)}
