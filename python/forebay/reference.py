"""The reference pages that are generated: `python -m forebay.reference docs/reference`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from forebay import _engine
from forebay.terminal import GROUPS, default_text


def kinds_page(catalogue: dict[str, Any]) -> str:
    """Every discipline, part, source and profile with its parameters, as a page of Markdown."""
    lines = [
        "# Disciplines, parts, sources and profiles",
        "",
        "Generated from the engine by `make docs`; `forebay kinds NAME` prints the same.",
    ]
    for group, title in GROUPS.items():
        lines += ["", f"## {title}"]
        for entry in catalogue[group]:
            lines += ["", f"### `{entry['name']}`", ""]
            lines.append(f"{_sentence(entry['summary'])} Source: {entry['source']}.")
            if entry["parameters"]:
                lines += ["", "| Parameter | Type | Default | Meaning |", "|---|---|---|---|"]
            lines += [_row(parameter) for parameter in entry["parameters"]]
    return "\n".join(lines) + "\n"


def _row(parameter: dict[str, Any]) -> str:
    default = default_text(parameter).removeprefix("default ")
    quoted = default if default in ("required", "unset") else f"`{default}`"
    cells = (f"`{parameter['name']}`", parameter["type"], quoted, parameter["description"])
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def main(folder: str) -> None:
    """Write the pages to `folder`."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / "kinds.md").write_text(kinds_page(json.loads(_engine.kinds())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
