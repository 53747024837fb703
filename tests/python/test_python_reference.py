"""The reference of the Python package: complete, current, and its examples run."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

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


Start = Callable[[str], tuple[Path, dict[str, Any]]]


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """What every example of a module begins with, made once: a folder, and names."""

    @cache
    def made(module: str) -> tuple[Path, dict[str, Any]]:
        folder, names = tmp_path_factory.mktemp("setting"), {"__name__": "__main__"}
        (folder / "examples").symlink_to(ROOT / "examples")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            assert examples_run(setting(module), names) > 0
        return folder, names

    return made


def examples_run(text: str, names: dict[str, Any]) -> int:
    """How many examples a text has, all of which print what it says; `names` gets theirs."""
    parsed = doctest.DocTestParser().get_doctest(text, {}, "", None, None)
    parsed.globs = names
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(
        parsed, out=said.append, clear_globs=False
    )
    assert result.failed == 0, "".join(said)
    return result.attempted


@pytest.mark.parametrize(
    ("module", "name"),
    [pytest.param(*each, marks=pytest.mark.xdist_group(each[0])) for each in NAMES],
)
def test_every_public_name_has_an_example_that_runs(
    module: str, name: str, start: Start, monkeypatch: pytest.MonkeyPatch
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
    folder, names = start(module)
    monkeypatch.chdir(folder)
    assert examples_run(text, dict(names)) > 0
