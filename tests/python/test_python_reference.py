"""The reference of the Python package: complete, current, and its examples run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import griffe
import pytest
from modules import exports, file_of, members, modules, public, python_page, setting

from forebay.lab.errors import LabError
from forebay.lab.gates import library
from forebay.lab.virtual import kernel

ROOT = Path(__file__).parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
NAMES = [(module, name) for module in modules() for name in public(module)]
EXTRAS = {"forebay.gym": "gymnasium"}
"""Modules that need a package which is not always there."""
PAPERS = "forebay.papers"
"""The module that the page of a paper's files explains."""


@pytest.mark.parametrize("module", modules())
def test_pages_are_current(module: str) -> None:
    kept = (ROOT / "docs" / "reference" / file_of(module)).read_text("utf-8")
    assert kept == python_page(module), "run make docs"


def test_a_module_is_explained_or_private() -> None:
    package = ROOT / "python" / "forebay"
    there = {
        path.stem
        for path in package.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    named = {"forebay", *(f"forebay.{name}" for name in there if not name.startswith("_"))}
    assert {".".join(module.split(".")[:2]) for module in modules()} | {PAPERS} == named


def test_what_a_paper_s_functions_need_is_explained_with_its_files() -> None:
    page = (ROOT / "docs" / "reference" / "paper.md").read_text("utf-8")
    words = set(re.findall(r"\w+", page.partition("## `measures.py`")[2]))
    assert set(exports(PAPERS)) <= words


@pytest.mark.parametrize("module", modules())
def test_a_public_module_lists_its_names(module: str) -> None:
    assert exports(module), "it has no __all__"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_is_explained_with_types(module: str, name: str) -> None:
    found = public(module)[name]
    silent = [key for key, each in {name: found, **members(found)}.items() if not each.docstring]
    assert not silent
    if isinstance(found, griffe.Function):
        assert found.returns is not None
        assert all(each.annotation for each in found.parameters)
        told = {
            one.name
            for section in (found.docstring.parsed if found.docstring else ())
            if isinstance(section, griffe.DocstringSectionParameters)
            for one in section.value
        }
        assert {each.name for each in found.parameters} == told


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_has_an_example_that_runs(
    module: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = public(module)[name]
    text = found.docstring.value if found.docstring else ""
    assert ">>>" in text, "an example is missing"
    if module in EXTRAS:
        pytest.importorskip(EXTRAS[module])
    if module.startswith("forebay.lab"):
        try:
            kernel.found(), library()
        except LabError as why:
            pytest.skip(str(why))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    parsed = doctest.DocTestParser().get_doctest(
        setting(module) + "\n" + text, {"__name__": "__main__"}, name, None, None
    )
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(
        parsed, out=said.append, clear_globs=False
    )
    assert result.failed == 0, "".join(said)
    assert result.attempted > len(doctest.DocTestParser().get_examples(setting(module)))
