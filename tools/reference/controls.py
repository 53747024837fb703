"""The reference pages of congestion controls and stacks: what the file of each says at its top."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kinds import about, parameters

from forebay import _engine

FILES = Path("crates/tcp/src")
"""Where they are, from the top of the source tree."""


def controls_page(tree: Path) -> str:
    """Every congestion control with its source, symbols, deviations and parameters, in Markdown.

    Raises:
        FileNotFoundError: `tree` is not the source tree of this engine.
    """
    lines = [
        "# Congestion controls",
        "",
        "This page says, for each congestion control, what it does, its source, its symbols, and "
        "how it deviates from the source. [Disciplines and other parts](kinds.md) has everything "
        "else that a scenario can name. (`make docs` generates this page from the comments at the "
        "top of each control's file.)",
    ]
    for entry in json.loads(_engine.kinds())["controls"]:
        file = FILES / "congestion" / f"{entry['name'].replace('-', '_')}.rs"
        lines += ["", f"## `{entry['name']}`", "", about(entry)]
        told, link = _told((tree / file).read_text("utf-8")), f"[{file.name}](../../{file})"
        lines += ["", told, *parameters(entry), "", link]
    return "\n".join(lines) + "\n"


def stacks_page(tree: Path) -> str:
    """Every stack of TCP with its source, abilities, deviations and parameters, in Markdown.

    Raises:
        FileNotFoundError: `tree` is not the source tree of this engine.
    """
    lines = [
        "# Stacks of TCP",
        "",
        "A stack has the rules of a connection for losses, timers and acknowledgments: "
        '`[tcp] stack = "linux-6.1"`, or with parameters `stack = { kind = "linux-6.1", tick = '
        '"4ms" }`. What a stack lacks is an error that names the stacks which have it. A '
        "preset is a set of conventions with a stack. (`make docs` generates this page from the "
        "comments at the top of each stack's file.)",
        "",
        "| Stack | Recovery | Congestion controls | Lacks |",
        "|---|---|---|---|",
    ]
    entries = json.loads(_engine.kinds())["stacks"]
    for entry in entries:
        controls = entry["congestion"]
        cells = (entry["recovery"], controls, entry["lacks"])
        able = [
            "any" if cell is None else ", ".join(f"`{each}`" for each in cell) for cell in cells
        ]
        lines.append(f"| `{entry['name']}` | {' | '.join(able)} |")
    told_of = None
    for entry in entries:
        file = _file(tree, entry["name"])
        lines += ["", f"## `{entry['name']}`", "", about(entry), *parameters(entry)]
        if file == told_of:
            lines += ["", "Its rules are in the same files as those of the stack before it."]
        else:
            told, link = _told((tree / file).read_text("utf-8")), f"[{file.name}](../../{file})"
            lines += ["", told, "", link]
        told_of = file
    return "\n".join(lines) + "\n"


def _file(tree: Path, stack: str) -> Path:
    """The file of a stack: `ns-3.18` is in ns318.rs, and all versions of Linux in linux/mod.rs."""
    stem = stack.replace("-", "").replace(".", "")
    names = (f"{stem}.rs", f"{stem}/mod.rs", f"{stack.partition('-')[0]}/mod.rs")
    files = [FILES / "stacks" / name for name in names]
    return next((file for file in files if (tree / file).exists()), files[-1])


def _told(source: str) -> str:
    """The documentation of a module, whose links to code are code here."""
    told = re.findall(r"^//! ?(.*)$", source, re.MULTILINE)
    text = re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", "\n".join(told)).replace("`crate::", "`")
    return re.sub(r"^# (.*)$", r"### \1\n", text, flags=re.MULTILINE).strip()
