"""The reference page of disciplines, parts, sources, stacks, congestion controls and profiles."""

from __future__ import annotations

import json
from typing import Any

from forebay import _engine
from forebay._terminal import GROUPS, default_text


def kinds_page() -> str:
    """Everything that a scenario can name, with its parameters, as a page of Markdown."""
    catalogue: dict[str, Any] = json.loads(_engine.kinds())
    lines = [
        "# Disciplines, parts, sources, stacks, congestion controls and profiles",
        "",
        "This page lists everything that a scenario can name, with its parameters. `forebay kinds "
        "NAME` prints the same on the command line. (`make docs` generates this page from the "
        "engine.)",
    ]
    for group, title in GROUPS.items():
        lines += ["", f"## {title}"]
        for entry in catalogue[group]:
            lines += ["", f"### `{entry['name']}`", "", about(entry), *parameters(entry)]
    return "\n".join(lines) + "\n"


def about(entry: dict[str, Any]) -> str:
    """What an entry of the catalogue does, and by which source."""
    source = f" Source: {entry['source']}." if entry["source"] else ""
    return f"{_sentence(entry['summary'])}{source}"


def parameters(entry: dict[str, Any]) -> list[str]:
    """The parameters of an entry of the catalogue, as lines of a table; none if it has none."""
    if not entry["parameters"]:
        return []
    head = ["", "| Parameter | Type | Default | Meaning |", "|---|---|---|---|"]
    return head + [_row(parameter) for parameter in entry["parameters"]]


def _row(parameter: dict[str, Any]) -> str:
    default = default_text(parameter).removeprefix("default ")
    quoted = default if default in ("required", "unset") else f"`{default}`"
    cells = (f"`{parameter['name']}`", parameter["type"], quoted, parameter["description"])
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
