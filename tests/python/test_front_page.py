"""The first page of the site: each of its figures stands on the page that it links to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forebay._report.page import anchor

DOCS = Path(__file__).parents[2] / "docs"
FIGURES = re.findall(
    r"^- \*\*(.+?)\*\* .*\[[^]]+\]\(([^)#]+)#([^)]+)\)$",
    (DOCS / "index.md").read_text("utf-8"),
    re.M,
)


def section(page: str, name: str) -> str:
    """The text of a section and of those in it."""
    text = (DOCS / page).read_text("utf-8")
    heads = list(re.finditer(r"^(#+) (.+)$", text, re.M))
    [place] = [at for at, head in enumerate(heads) if anchor(head[2]) == name]
    after = (each for each in heads[place + 1 :] if len(each[1]) <= len(heads[place][1]))
    end = next((each.start() for each in after), len(text))
    return text[heads[place].end() : end]


@pytest.mark.parametrize(("figure", "page", "name"), FIGURES)
def test_a_figure_stands_on_its_page(figure: str, page: str, name: str) -> None:
    number = figure.removesuffix(" %")
    assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d)", section(page, name))


def test_there_are_figures() -> None:
    assert len(FIGURES) >= 6
