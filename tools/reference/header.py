"""The reference page of the C interface: what the comments of `forebay.h` say."""

from __future__ import annotations

import re
from pathlib import Path

FILE = Path("crates/abi/include/forebay.h")
"""The header, from the top of the source tree."""

_COMMENT = r"^ */\*\*\n(?P<comment>(?: *\*(?: [^\n]*)?\n)+?) *\*/\n"
_CONSTANT = re.compile(_COMMENT + r"#define (?P<name>FOREBAY_\w+) (?P<value>.+)", re.M)
_STRUCT = re.compile(_COMMENT + r"typedef struct (?P<name>\w+) \{\n(?P<body>.*?)^\} ", re.S | re.M)
_MEMBER = re.compile(_COMMENT + r"(?P<code>[^;]+;)", re.M)
_MACRO = re.compile(_COMMENT + r"#define (?P<code>forebay_\w+\([^)]*\))", re.M)
_FUNCTION = re.compile(_COMMENT + r"(?P<code>[\w *]+? \*?forebay_\w+\([^)]*\))( \{|;)", re.M)


def c_page(tree: Path) -> str:
    """Constants, structs and functions of `forebay.h` in Markdown.

    Raises:
        FileNotFoundError: `tree` is not the source tree.
    """
    text = (tree / FILE).read_text("utf-8")
    lines = [
        "# The C interface",
        "",
        f"This page lists the functions, structs and constants of [forebay.h](../../{FILE}). "
        "(`make docs` generates it from the comments there.)",
        "",
        "A plug-in fills in a `ForebayDiscipline` and exports `forebay_plugin`. A program that "
        "uses forebay's disciplines asks `forebay_discipline` for one. "
        "[Extending forebay](../extending.md#a-plug-in-in-c) shows both. A transport protocol "
        "fills in a `ForebayEndpoint` and exports `forebay_endpoint`: "
        "[endpoints](../endpoints.md#in-c).",
        "",
        "Each minor version only adds: constants, functions, and members at the ends of structs "
        "that have a `struct_size`. So a built plug-in runs in every program, and a built program "
        "with every library, that has the same major version ([what lasts](../stability.md)).",
        "",
        "**Threads.** Calls on one queue, or on one end of a flow, come one at a time, from any "
        "thread. Calls on different ones may come at once. Each function says what holds for it.",
        "",
        "## Functions",
        "",
        "`static inline` functions are in the header itself. They are for plug-ins, which read "
        "their parameters with them.",
    ]
    for form in (_FUNCTION, _MACRO):
        for each in form.finditer(text):
            lines += ["", "```c", f"{each['code']};", "```", "", _told(each["comment"])]
    lines += ["", "## Structs"]
    for each in _STRUCT.finditer(text):
        lines += ["", f"### `{each['name']}`", "", _told(each["comment"]), ""]
        lines += ["| Member | Meaning |", "|---|---|"]
        lines += [
            _row(_code(m["code"]), _told(m["comment"])) for m in _MEMBER.finditer(each["body"])
        ]
    lines += ["", "## Constants", "", "| Name | Value | Meaning |", "|---|---|---|"]
    for each in _CONSTANT.finditer(text):
        lines.append(_row(f"`{each['name']}`", f"`{each['value']}`", _told(each["comment"])))
    return "\n".join(lines) + "\n"


def _told(comment: str) -> str:
    """The text of a comment, paragraph by paragraph."""
    told = re.sub(r"^\s*\* ?", "", comment, flags=re.M).strip()
    told = re.sub(r"^# Safety\n", "Safety: ", told, flags=re.M)
    return "\n\n".join(" ".join(part.split()) for part in told.split("\n\n"))


def _code(declaration: str) -> str:
    return f"`{re.sub(r'[(] ', '(', ' '.join(declaration.split()))}`"


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(c.split()).replace("|", "\\|") for c in cells) + " |"
