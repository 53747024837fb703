"""The kinds of files that people write, and their schemas."""

from __future__ import annotations

import json
from enum import Enum

from forebay import _engine
from forebay.reference.fields import Node, Schema


class File(str, Enum):
    """Kinds of files that people write."""

    scenario = "scenario"
    study = "study"
    suite = "suite"
    test = "test"


def schema(file: File) -> Node:
    """The JSON Schema of a kind of file."""
    if file is File.scenario:
        whole: Node = json.loads(_engine.schema())
        return whole
    if file is File.study:
        from forebay.sweep import study

        return study.schema()
    from forebay.suite import catalogue

    return catalogue.schema(file is File.suite)


def open_schema(file: File) -> Schema:
    """The schema of a kind of file, to look fields up."""
    return Schema(schema(file))
