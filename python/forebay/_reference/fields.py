"""The fields of a JSON Schema: their types, defaults and meanings, found by path."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forebay._engine import ScenarioError

_UNITS = {
    "duration": 'time such as "5ms"',
    "rate": 'rate such as "10Mbit"',
    "bytes": 'size such as "45KB"',
    "limit": 'packets such as "30p", or size such as "45KB"',
    "length": 'packets such as "30p", size such as "45KB" or time such as "5ms"',
}
"""Formats of strings, in words."""

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table."""

    name: str
    type: str
    default: str
    """In words: "required", "default 1" or empty."""
    description: str
    values: tuple[tuple[str, str], ...] = ()
    """What it may be, each with its meaning, where that is a list of words."""


class Schema:
    """A JSON Schema with its definitions."""

    def __init__(self, whole: Node) -> None:
        """Look things up in `whole`."""
        self.root = whole
        self._definitions = whole.get("$defs", {})

    def resolved(self, node: Node) -> Node:
        """The node, its reference followed; what stands beside the reference goes first."""
        while "$ref" in node:
            beside = {key: value for key, value in node.items() if key != "$ref"}
            node = self._definitions[node["$ref"].rpartition("/")[2]] | beside
        return node

    def options(self, node: Node) -> Iterator[Node]:
        """What a node may be: itself, or each of its choices but null."""
        node = self.resolved(node)
        choices = node.get("oneOf") or node.get("anyOf")
        if choices is None:
            if node.get("type") != "null":
                yield node
            return
        for choice in choices:
            yield from self.options(choice)

    def tables(self, node: Node) -> Iterator[Node]:
        """The tables that a node may be, or the entries of its list."""
        for option in self.options(node):
            if isinstance(option.get("items"), dict):
                yield from self.tables(option["items"])
            elif "properties" in option or isinstance(option.get("additionalProperties"), dict):
                yield option

    def at(self, *steps: str, having: str = "") -> Node:
        """The table that the names lead to; where there are several, the first that has a field."""
        node = self.root
        for step in steps:
            table = next(each for each in self.tables(node) if step in each.get("properties", {}))
            node = table["properties"][step]
        tables = (each for each in self.tables(node) if not having or having in each["properties"])
        return next(tables, self.resolved(node))

    def fields(self, table: Node) -> list[Field]:
        """The fields of a table, those that must be given first."""
        required = table.get("required", [])
        made = [
            self.field(name, node, name in required)
            for name, node in table.get("properties", {}).items()
            if "const" not in self.resolved(node)
        ]
        return sorted(made, key=lambda field: field.default != "required")

    def field(self, name: str, node: Node, required: bool) -> Field:
        """A field from its node."""
        whole = self.resolved(node)
        default = "required" if required else ""
        if not required and whole.get("default") not in (None, "", [], {}):
            default = f"default {json.dumps(whole['default'], ensure_ascii=False)}"
        values = tuple(
            (json.dumps(option["const"]), _line(option.get("description", "")))
            for option in self.options(self._each(whole))
            if "const" in option
        )
        about = _line(whole.get("description", ""))
        return Field(name, self.type(node), default, about, values)

    def _each(self, node: Node) -> Node:
        """What the entries of a list are, or the field itself."""
        items = node.get("items")
        return self.resolved(items) if isinstance(items, dict) else node

    def type(self, node: Node) -> str:
        """What a value must be, in words."""
        names = [self._type(option) for option in self.options(node)]
        return " or ".join(dict.fromkeys(name for name in names if name)) or "value"

    def _type(self, option: Node) -> str:
        if "const" in option:
            return json.dumps(option["const"])
        if "enum" in option:
            return " or ".join(map(json.dumps, option["enum"]))
        kind = option.get("type")
        if option.get("format") in _UNITS:
            return _UNITS[option["format"]]
        if "prefixItems" in option:
            return f"[{', '.join(map(self.type, option['prefixItems']))}]"
        if kind == "function":
            return "function"
        if isinstance(option.get("items"), dict):
            return f"list of {self.type(option['items'])}"
        names = [kind] if isinstance(kind, str) else kind or []
        words = {"string": "text", "boolean": "true or false", "integer": "whole number"}
        words |= {"array": "list", "object": "table"}
        return " or ".join(words.get(name, name) for name in names if name != "null")

    def find(self, path: str) -> list[tuple[str, Field]]:
        """The field at a path, under each kind that has it.

        A path is written as for `--set`; numbers and names of a list's entries may be left out, and
        a kind may stand in their place: `link.queue.codel.target`, `traffic.web.reading`.

        Raises:
            ScenarioError: no field is there.
        """
        steps = re.sub(r"\[[^]]*\]", "", path).split(".")
        places: list[tuple[str, str, Node, bool]] = [("", "", self.root, False)]
        for number, step in enumerate(steps):
            found = list(self._below(places, step, last=number == len(steps) - 1))
            if not found:
                known = sorted({name for name, _ in self._names(places)})
                near = difflib.get_close_matches(step, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"
                hint = hint if known else "it has none"
                before = ".".join(steps[:number])
                raise ScenarioError(
                    f'{f"{before}: " if before else ""}there is no field "{step}"; {hint}'
                )
            places = found
        return [(kind, self.field(name, node, must)) for kind, name, node, must in places]

    def _below(
        self, places: list[tuple[str, str, Node, bool]], step: str, *, last: bool
    ) -> Iterator[tuple[str, str, Node, bool]]:
        tables = [
            (table.get("title", kind) if "title" in table else kind, name, table)
            for kind, name, node, _ in places
            for table in self.tables(node)
        ]
        found = False
        for kind, _, table in tables:
            if step in table.get("properties", {}):
                found = True
                yield kind, step, table["properties"][step], step in table.get("required", [])
        if found:
            return
        for _, name, table in tables:
            if table.get("title") == step:
                found = True
                yield step, name, table, False
        if found or last:
            return
        for kind, name, node, _ in places:
            whole = self.resolved(node)
            if isinstance(whole.get("items"), dict):
                yield kind, name, whole["items"], False
            for option in self.options(node):
                if isinstance(option.get("additionalProperties"), dict):
                    yield kind, step, option["additionalProperties"], False

    def _names(self, places: list[tuple[str, str, Node, bool]]) -> Iterator[tuple[str, Node]]:
        for _, _, node, _ in places:
            for table in self.tables(node):
                yield from table.get("properties", {}).items()

    def paths(self, deepest: int = 4) -> Iterator[str]:
        """Paths of fields, for completion; lists without numbers."""
        yield from dict.fromkeys(self._paths(self.root, "", deepest))

    def _paths(self, node: Node, before: str, left: int) -> Iterator[str]:
        for table in self.tables(node):
            for name, inner in table.get("properties", {}).items():
                yield f"{before}{name}"
                if left > 1:
                    yield from self._paths(inner, f"{before}{name}.", left - 1)


def _line(text: str) -> str:
    return " ".join(text.split())
