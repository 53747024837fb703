"""The kinds of files that people write, their schemas, and examples to start from."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path

from forebay import _engine
from forebay._reference.fields import Node, Schema
from forebay._scenario import plugins


class File(str, Enum):
    """Kinds of files that people write."""

    scenario = "scenario"
    study = "study"
    suite = "suite"
    test = "test"
    gate = "gate"
    paper = "paper"


def schema(file: File) -> Node:
    """The JSON Schema of a kind of file."""
    if file is File.scenario:
        whole: Node = json.loads(_engine.schema(plugins))
        return whole
    if file is File.study:
        from forebay.sweep import study

        return study.schema()
    if file is File.gate:
        return _of_gate()
    if file is File.paper:
        from forebay._reference import papers

        return papers.schema()
    from forebay._suite import catalogue

    return catalogue.schema(file is File.suite)


def _of_gate() -> Node:
    """The gate's own tables, as `make docs` has kept them, and a scenario's queues."""
    own: Node = json.loads(Path(__file__).with_name("gate.schema.json").read_text("utf-8"))
    definitions = schema(File.scenario)["$defs"] | own["$defs"]
    return own | {"$defs": definitions}


def open_schema(file: File) -> Schema:
    """The schema of a kind of file, to look fields up."""
    return Schema(schema(file))


TEMPLATES = Path(__file__).parents[1] / "templates"
"""The examples of the source tree, of which a wheel has a copy."""


class Template(str, Enum):
    """Scenarios to start from."""

    household = "household"
    provider = "provider"
    satellite = "satellite"
    branch = "branch"
    parking_lot = "parking-lot"
    cellular = "cellular"
    lte = "lte"
    wifi = "wifi"
    starlink = "starlink"
    sensors = "sensors"

    @property
    def file(self) -> Path:
        """The example."""
        name = "branch-uplink" if self is Template.branch else self.value
        return TEMPLATES / f"{name}.toml"
