"""Pages of the documents show what their commands print."""

from __future__ import annotations

import pytest

from shown_output import PAGES, shown

AGAIN = "run python tests/python/shown_output.py, and read the sentences around it"


@pytest.mark.parametrize(
    "page", [PAGES[0], *(pytest.param(each, marks=pytest.mark.long) for each in PAGES[1:])]
)
def test_a_page_shows_what_its_command_prints(page: str) -> None:
    found = list(shown(page))
    assert found
    for was, now in found:
        assert was == now, AGAIN
