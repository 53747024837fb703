"""Reproductions of papers: declared as data, run by the sweep engine, judged by intervals.

`docs/papers/README.md` explains how one is written; `forebay paper list` shows them all.
"""

from forebay.papers.data import Data
from forebay.papers.declare import (
    Claim,
    Conclusion,
    Figure,
    Paper,
    Quick,
    Section,
    Statement,
    StudyFile,
    Table,
)
from forebay.papers.judge import NotTestable, Part, exactly
from forebay.papers.numbers import Sources
from forebay.report.panel import Panel, Region, Series

__all__ = [
    "Claim",
    "Conclusion",
    "Data",
    "Figure",
    "NotTestable",
    "Panel",
    "Paper",
    "Part",
    "Quick",
    "Region",
    "Section",
    "Series",
    "Sources",
    "Statement",
    "StudyFile",
    "Table",
    "exactly",
]
