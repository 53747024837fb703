"""Where papers are: a folder each, with `paper.py`, its studies, and the results last kept."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forebay import scenario, sweep, written
from forebay._engine import ScenarioError
from forebay.papers.declare import Paper, StudyFile
from forebay.scenario import Scenario
from forebay.sweep import Study

LIBRARY = Path(__file__).parent / "collection"
"""The folders of all papers: in a source tree a link to `papers`, in a wheel a copy."""
RESULTS = "results.json"
"""The record of a run (see `forebay.papers.record`), as it is kept with its paper."""


def names() -> list[str]:
    """The papers that there are."""
    return sorted(path.parent.name for path in LIBRARY.glob("*/paper.py"))


def folder_of(key: str) -> Path:
    """The folder of a paper: one of `names()`, or any folder with a `paper.py`, by its path.

    Raises:
        ScenarioError: there is no such paper.
    """
    if key in names():
        return LIBRARY / key
    path = Path(key)
    if (path / "paper.py").is_file():
        return path.resolve()
    raise ScenarioError(
        f'there is no paper "{key}"; one of {", ".join(names())}, or the path of a folder with a '
        "paper.py"
    )


def load(key: str) -> Paper:
    """A paper's declaration.

    Raises:
        ScenarioError: there is no such paper.
    """
    path = folder_of(key) / "paper.py"
    name = re.sub(r"\W", "_", path.parent.name)
    spec = importlib.util.spec_from_file_location(f"forebay_paper_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _siblings(path.parent):
        spec.loader.exec_module(module)
    paper: Paper = module.PAPER
    _check(paper, str(path))
    return paper


def kept(key: str) -> dict[str, Any] | None:
    """The results that are kept with a paper; none if it has not been run in full."""
    try:
        found: dict[str, Any] = json.loads((folder_of(key) / RESULTS).read_text("utf-8"))
    except FileNotFoundError:
        return None
    return found


def read(declared: StudyFile, folder: Path, quick: bool, settings: Sequence[str] = ()) -> Study:
    """A study of the paper in `folder`.

    Args:
        declared: the study.
        folder: where its file is.
        quick: fewer and shorter runs, as the paper declares.
        settings: fields of its scenario to change, each written `PATH=VALUE`.

    Raises:
        ScenarioError: the study's file is not understood, or an axis sets what is to be changed.
        OSError: it cannot be read.
    """
    path = folder / declared.file
    document = written.load(path)
    if quick:
        document = _shortened(document, declared, folder)
    if settings:
        document = _changed(document, declared.file, folder, settings)
    study = sweep.read(document, declared.file, folder)
    if declared.tables and study.replications is None:
        raise ScenarioError(f"{path}: a study that keeps tables needs replications, not until")
    return study


@contextmanager
def _siblings(folder: Path) -> Iterator[None]:
    """Let a paper import modules beside it, and no other paper find them."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(f"{folder}/"):
                del sys.modules[name]


def _shortened(document: Mapping[str, Any], study: StudyFile, folder: Path) -> dict[str, Any]:
    short = copy.deepcopy(dict(document))
    short.pop("until", None)
    short["replications"] = study.quick.replications
    if study.quick.set:
        base = _base(short, folder)
        for path, value in study.quick.set.items():
            base = base.with_(path, value)
        short["scenario"] = base.document
    axes = {axis.get("name", axis.get("path")): axis for axis in short.get("axis", [])}
    for name, values in study.quick.axes.items():
        if name not in axes:
            raise ScenarioError(f'{study.file}: quick: there is no axis "{name}"')
        axes[name].pop("range", None)
        axes[name]["rows" if "paths" in axes[name] else "values"] = list(values)
    return short


def _changed(
    document: Mapping[str, Any], name: str, folder: Path, settings: Sequence[str]
) -> dict[str, Any]:
    base = _base(document, folder)
    set_by = {path for axis in document.get("axis", []) for path in _paths(axis)}
    for setting in settings:
        path = setting.partition("=")[0].strip()
        if path in set_by:
            raise ScenarioError(
                f"{name}: --set {path}: an axis of this study sets it; change its values in a copy "
                "of the paper's folder, and run that (docs/papers/README.md)"
            )
        base = base.with_text(setting)
    return {**document, "scenario": base.document}


def _base(document: Mapping[str, Any], folder: Path) -> Scenario:
    given = document["scenario"]
    return scenario.load(folder / given) if isinstance(given, str) else Scenario.of(given)


def _paths(axis: Mapping[str, Any]) -> Sequence[str]:
    return axis.get("paths") or [axis["path"]]


def _check(paper: Paper, place: str) -> None:
    """Find slips in a declaration before anything runs."""
    known = {study.name for study in paper.studies}
    needs = {f"figure {each.number}": each.studies for each in paper.figures}
    needs |= {f"claim {each.id}": each.studies for each in paper.claims}
    needs |= {f'section "{each.heading}"': each.studies for each in paper.sections}
    for name, studies in needs.items():
        if missing := set(studies) - known:
            raise ScenarioError(f'{place}: {name}: there is no study "{min(missing)}"')
    for kind, names in (
        ("study", [study.name for study in paper.studies]),
        ("figure", [figure.number for figure in paper.figures]),
        ("claim", [claim.id for claim in paper.claims]),
    ):
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ScenarioError(f'{place}: two are called {kind} "{min(twice)}"')
