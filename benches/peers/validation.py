"""The page `docs/validation.md`: `python benches/peers/validation.py docs/validation PAGE`.

It is put together from results in `docs/validation/*.json`. The page in the tree has the opening,
and what each comparison is; `tools/results_pages.py` writes the whole one for the site.

Each of these files is one section, whoever wrote it:

    {"section": "Closed forms", "order": 4, "version": "0.1.0", "command": "forebay validate",
     "text": ["A paragraph.", ...],
     "tables": [{"heading": "...", "text": "...", "columns": ["...", ...], "rows": [[...], ...]}]}

Cells are text or numbers; numbers appear with five digits. Sections stand in the order of `order`.
Before them stands the opening, which counts what the files have (`opening`). A comparison with a
referee keeps its figures under `results`; a row there may have the field `difference`, the first
decision that differs: text, or a table with `decision`, a time and both sides. The rows that miss
the goal are shown with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import beside
import opening

from forebay import _disk
from forebay._report import markdown
from forebay._report.page import Block, Bullets, Heading, Section, Table, Text, anchor
from forebay._report.table import cell

HEAD = """\
# Validation

How far can you trust forebay's results? The first section answers in two minutes. The
others have every comparison."""

SITE = "The sections are short here. On the site (`make site`) they have all their tables."
MADE = """\
## How this page is made

Every figure comes from the results in `docs/validation/`. `make validate` runs all that your
machine can, names the programs that are missing, and writes this page. Equal builds and seeds give
equal figures on any machine, except for times. Builds of one version may differ: `forebay
--version` names the commit."""


def assemble(documents: Mapping[str, Mapping[str, Any]], *, whole: bool = True) -> str:
    """The page in Markdown.

    Args:
        documents: by the names of their files without `.json`.
        whole: also has what each comparison found in detail.
    """
    sections = [opening.section(documents)]
    sections += [_with_missed(name, documents) for name in documents]
    sections.sort(key=lambda each: (each["order"], each["section"]))
    first, *others = (
        Section(each["section"], list((_blocks if whole or not each["order"] else _brief)(each)))
        for each in sections
    )
    links = Bullets([_link(each.title) for each in others])
    known: list[Block] = [links] if whole else [Text(SITE), links]
    blocks = [Text(HEAD), first, Section("All comparisons", known), *others, Text(MADE)]
    return f"{markdown.render(blocks)}\n"


def _command(section: Mapping[str, Any]) -> Iterator[Block]:
    if "command" in section:
        known = f"forebay {section['version']}; " if "version" in section else ""
        yield Text(f"{known}`{section['command']}`.")


def _brief(section: Mapping[str, Any]) -> Iterator[Block]:
    yield from _command(section)
    yield from map(Text, section["text"][: 1 + section.get("counted", 0)])


def _blocks(section: Mapping[str, Any]) -> Iterator[Block]:
    yield from _command(section)
    yield from map(Text, section["text"])
    for each in section["tables"]:
        if each["heading"]:
            yield Heading(each["heading"])
        yield Text(each["text"])
        yield Table(each["columns"], [[cell(value, 5) for value in row] for row in each["rows"]])


def _link(heading: str) -> str:
    """A link to a heading of the page."""
    return f"[{heading}](#{anchor(heading)})"


def _with_missed(name: str, documents: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """A section, how many of its rows are within the goal, and those that are not."""
    document = documents[name]
    rows = list(beside.READERS[name](documents)) if name in beside.READERS else []
    section = document
    if name == "linux-2.6":
        known = {key: document[key] for key in ("version",) if key in document}
        section = {**opening.old_linux(rows), **known}
    # With rules of their own, ns-2 and ns-3 have reasons in place of decisions.
    if not rows or name == "peers":
        return section
    good = sum(not row.missed for row in rows)
    count = f"{good} of {len(rows)} rows are within [the goal](#in-two-minutes)."
    table = opening.missed(rows)
    return {
        **section,
        "counted": 1,
        "text": [count, *section["text"]],
        "tables": [*([] if table is None else [table]), *section["tables"]],
    }


def write(folder: Path, page: Path) -> None:
    """Assemble the short page of the sections in `folder`."""
    _disk.write(page, assemble(read(folder), whole=False))


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """The results in `folder`, by the names of their files without `.json`."""
    return {
        path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
