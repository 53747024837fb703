"""Pages of kept results: that those in the tree are current, and that whole ones can be made."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "results_pages.py"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results_pages", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


TOOLS = _tool()


@pytest.mark.parametrize("name", list(TOOLS.TITLES))
def test_pages_in_the_tree_are_short_and_current(name: str) -> None:
    kept = TOOLS.kept(name)
    text = (TOOLS.DOCS / f"suite-{name}-results.md").read_text("utf-8")
    assert text == TOOLS.short(name, kept["page"]), "run python tools/results_pages.py short"
    assert "|---|" in text and "](#" not in text and "images/" not in text
    assert len(text.splitlines()) < 100 < len(kept["page"])


def test_every_picture_of_a_whole_page_is_kept() -> None:
    for name in TOOLS.TITLES:
        kept = TOOLS.kept(name)
        shown = re.findall(r"^!\[.*\]\((images/.*\.svg)\)$", "\n".join(kept["page"]), re.M)
        # Worst cases are tables alone.
        assert (shown or name == "attack") and set(shown) == set(kept["figures"])


def test_results_are_kept_and_whole_pages_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bbr = TOOLS.kept("bbr")
    ran, docs = tmp_path / "out", tmp_path / "docs"
    ran.mkdir()
    docs.mkdir()
    (ran / "summary.md").write_text("\n".join(bbr["page"]), "utf-8")
    (ran / "figures.json").write_text(TOOLS.json.dumps(bbr["figures"]), "utf-8")
    validation = TOOLS.DOCS / "validation"
    (docs / "validation").symlink_to(validation)
    for name, value in (
        ("DOCS", docs),
        ("SUITES", docs / "suites"),
        ("TITLES", {"bbr": "The BBR draft's test cases"}),
    ):
        monkeypatch.setattr(TOOLS, name, value)
    TOOLS.main(["keep", f"bbr={ran}"])
    assert TOOLS.kept("bbr") == bbr
    assert len((docs / "suite-bbr-results.md").read_text("utf-8").splitlines()) < 100
    whole = dict(TOOLS.pages())
    page = whole["suite-bbr-results.md"]
    assert page.startswith("# The BBR draft's test cases: results\n") and "## Case 22" in page
    short = (docs / "validation.md").read_text("utf-8")
    assert len(whole["validation.md"].splitlines()) > len(short.splitlines()) > 100
    with pytest.raises(SystemExit, match="keep NAME=FOLDER"):
        TOOLS.main([])
