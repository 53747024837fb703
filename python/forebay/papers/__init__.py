"""Reproductions of papers: files of data, run by the sweep engine, judged by intervals.

`docs/papers/README.md` explains how one is written; `forebay paper list` shows them all. What a
paper's `measures.py` needs is here, and explained in `docs/reference/paper.md`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forebay._judge import exactly
    from forebay._report.panel import Panel, Region, Series
    from forebay.papers.judge import Part
    from forebay.papers.numbers import Number, Setting, Sources
    from forebay.papers.tables import Table
    from forebay.papers.variables import Values

__all__ = [
    "Number",
    "Panel",
    "Part",
    "Region",
    "Series",
    "Setting",
    "Sources",
    "Table",
    "Values",
    "exactly",
]

_HOMES = {
    "_judge": ("exactly",),
    "papers.judge": ("Part",),
    "papers.numbers": ("Number", "Setting", "Sources"),
    "papers.tables": ("Table",),
    "papers.variables": ("Values",),
    "_report.panel": ("Panel", "Region", "Series"),
}


def __getattr__(name: str) -> object:
    # Tables and diagrams need libraries that take a second; a list of papers does not.
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"forebay.{home}"), name)
    raise AttributeError(f"module 'forebay.papers' has no attribute {name!r}")
