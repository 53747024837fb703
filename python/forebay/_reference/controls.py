"""The reference page of congestion controls: what the file of each says at its top."""

from __future__ import annotations

import json
import re
from pathlib import Path

from forebay import _engine
from forebay._reference.kinds import about, parameters

GROUP = "controls"
FILES = Path("crates/tcp/src/congestion")
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
    for entry in json.loads(_engine.kinds())[GROUP]:
        file = FILES / f"{entry['name'].replace('-', '_')}.rs"
        told = _told((tree / file).read_text("utf-8"))
        lines += ["", f"## `{entry['name']}`", "", about(entry), "", told]
        lines += parameters(entry)
        lines += ["", f"[{file.name}](../../{file})"]
    return "\n".join(lines) + "\n"


def _told(source: str) -> str:
    """The documentation of a module, whose links to code are code here."""
    told = re.findall(r"^//! ?(.*)$", source, re.MULTILINE)
    text = re.sub(r"\[(`[^`]+`)\](?!\()", r"\1", "\n".join(told)).replace("`crate::", "`")
    return re.sub(r"^# (.*)$", r"### \1\n", text, flags=re.MULTILINE).strip()
