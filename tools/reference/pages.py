"""Reference pages in Markdown: templates beside this file, whose tables come from the schemas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from forebay._reference.fields import Field, Node, Schema
from forebay._reference.files import File, open_schema

_HOME = Path(__file__).parent
PAGED = (File.scenario, File.study, File.suite, File.gate, File.paper)
"""Kinds of files that have a page; that of a suite has a test's, too."""


def page(file: File) -> str:
    """The page of a kind of file; that of a suite also has the files of its tests."""
    schema = open_schema(file)

    def fields(path: str = "", beside: str = "", file: str = "", having: str = "") -> str:
        """The fields at a path, but for those that another table explains."""
        chosen = open_schema(File(file)) if file else schema
        found = chosen.fields(_at(chosen, path, having))
        known = {field.name for field in chosen.fields(_at(chosen, beside))} if beside else set()
        return table([field for field in found if field.name not in known - {"reverse"}])

    loader = Environment(
        loader=FileSystemLoader(_HOME), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return loader.get_template(f"{file.value}.md").render(
        fields=fields,
        common=lambda: table(_common(schema)),
        sources=lambda: _sources(schema),
    )


def _at(schema: Schema, path: str, having: str = "") -> Node:
    return schema.at(*path.split(".") if path else (), having=having)


def _common(schema: Schema) -> list[Field]:
    """The fields of traffic that every kind of source has."""
    tables = list(schema.tables(schema.root["properties"]["traffic"]))
    names = set.intersection(*(set(each["properties"]) for each in tables))
    return [field for field in schema.fields(tables[0]) if field.name in names]


def _sources(schema: Schema) -> str:
    """What each kind of source adds to the common fields."""
    common = {field.name for field in _common(schema)}
    parts = []
    for source in schema.tables(schema.root["properties"]["traffic"]):
        fields = [each for each in schema.fields(source) if each.name not in common]
        about = source["description"]
        parts += [f'### `kind = "{source["title"]}"`', f"{about[0].upper()}{about[1:]}."]
        if fields:
            parts.append(table(fields))
    return "\n\n".join(parts)


def table(fields: Sequence[Field]) -> str:
    """Fields as a table of Markdown."""
    lines = ["| Field | Value | Default | Meaning |", "|---|---|---|---|"]
    for field in fields:
        default = field.default.removeprefix("default ")
        if default not in ("", "required"):
            default = f"`{default}`"
        told = [f"`{value}`: {meaning}" for value, meaning in field.values if meaning]
        about = " ".join([field.description, *told])
        cells = (f"`{field.name}`", field.type, default, about)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
