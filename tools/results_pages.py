"""Pages of results: short ones in docs, and whole ones for the site (`tools/site.py`).

    python tools/results_pages.py keep NAME=FOLDER ...   keep the results of suites, and write pages
    python tools/results_pages.py short                  write the short pages of docs again

What is kept of a suite is `docs/suites/NAME.json`: its page, line by line, and its figures' panels.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forebay import _written
from forebay._report.panel import Panel, read

sys.path.append(str(Path(__file__).resolve().parents[1] / "benches" / "peers"))
import beside
import dots
import validation

DOCS = Path(__file__).resolve().parents[1] / "docs"
SUITES = DOCS / "suites"
TITLES = {
    "rfc7928": "RFC 7928",
    "rfc9743": "RFC 9743",
    "l4s": "L4S",
    "bbr": "The BBR draft's test cases",
    "attack": "Worst cases",
}
EXPLAINED = {"attack": "attack.md"}
"""Pages that explain a suite, where they are not named after it."""
GLANCES = ("## At a glance", "## League table", "## Verdicts", "## The worst known network of each")
"""Headings of what a suite comes to."""


def keep(name: str, folder: Path) -> None:
    """Keep what a run of a suite has written."""
    kept = {
        "page": (folder / "summary.md").read_text("utf-8").splitlines(),
        "figures": json.loads((folder / "figures.json").read_text("utf-8")),
    }
    SUITES.mkdir(exist_ok=True)
    (SUITES / f"{name}.json").write_text(_written.dump(kept), "utf-8")


def kept(name: str) -> dict[str, Any]:
    """What is kept of a suite."""
    found: dict[str, Any] = json.loads((SUITES / f"{name}.json").read_text("utf-8"))
    return found


def whole(name: str, page: list[str]) -> str:
    """The whole page of a suite's results."""
    explained = EXPLAINED.get(name, f"suite-{name}.md")
    about = f"[What is run, and how to read it]({explained})."
    return "\n".join([f"# {TITLES[name]}: results", "", about, "", *page, ""])


def short(name: str, page: list[str]) -> str:
    """The page without pictures: everything at a glance, and what does not hold in words."""
    opening, *tests = re.split(r"^(?=## )", "\n".join(page), flags=re.M)
    if tests[0].startswith(GLANCES):
        opening += tests.pop(0)
    opening = re.sub(r"\[([^\]]+)\]\(#[^)]+\)", r"\1", opening.partition("\n![")[0])
    differing = [each.partition("\n|")[0] for each in tests if "**Does not hold" in each]
    rest = f"`make site` writes the whole page, with {len(tests)} tests in numbers and pictures."
    return whole(name, "\n\n".join(map(str.strip, [opening, *differing, rest])).splitlines())


def write_short() -> None:
    """Write the pages in the tree."""
    for name in TITLES:
        (DOCS / f"suite-{name}-results.md").write_text(short(name, kept(name)["page"]), "utf-8")
    validation.write(DOCS / "validation", DOCS / "validation.md")


def pages() -> Iterator[tuple[str, str]]:
    """The whole pages of suites and validation, for the site: the file in docs, and its text."""
    for name in TITLES:
        yield f"suite-{name}-results.md", whole(name, kept(name)["page"])
    yield "validation.md", validation.assemble(validation.read(DOCS / "validation"))


def figures() -> Iterator[tuple[str, list[Panel], str]]:
    """The figures of suites and validation: the file on the site, the panels, and the words."""
    for name in TITLES:
        for image, each in kept(name)["figures"].items():
            yield image, list(map(read, each["panels"])), each["words"]
    rows = beside.rows_of(validation.read(DOCS / "validation"))
    yield dots.IMAGE, dots.panels(rows), dots.caption(rows)


def main(words: list[str]) -> None:
    """Do what the words of the command line say."""
    match words:
        case ["keep", *suites] if suites:
            for each in suites:
                name, _, folder = each.partition("=")
                keep(name, Path(folder))
            write_short()
        case ["short"]:
            write_short()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
