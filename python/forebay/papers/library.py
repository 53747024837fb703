"""Where papers are: a package each, with `paper.py`, its studies, and the results last kept."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from forebay import _disk, _written, scenario, sweep
from forebay._engine import ScenarioError
from forebay.papers import written
from forebay.papers.declare import Paper, StudyFile
from forebay.scenario import Scenario
from forebay.sweep import Study

LIBRARY = Path(__file__).parent / "collection"
"""The packages of all papers: in a source tree a link to `papers`, in a wheel a copy."""
RESULTS = "results.json"
"""The record of a run (see `forebay.papers.record`), as it is kept with its paper."""


def names() -> list[str]:
    """The papers that there are."""
    return sorted(path.parent.name.replace("_", "-") for path in LIBRARY.glob("*/paper.*"))


def folder_of(key: str) -> Path:
    """The folder of a paper: one of `names()`, or any folder with a `paper.py`, by its path.

    Raises:
        ScenarioError: there is no such paper.
    """
    if key in names():
        return LIBRARY / key.replace("-", "_")
    path = Path(key)
    if (path / "paper.toml").is_file() or (path / "paper.py").is_file():
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
    folder = folder_of(key)
    package = "forebay_paper_" + re.sub(r"\W", "_", folder.name)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]  # Another copy of the paper may have been loaded.
    spec = ModuleSpec(package, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    sys.modules[package] = module_from_spec(spec)
    if (folder / "paper.toml").is_file():
        own = (folder / "measures.py").is_file()
        paper = written.read(folder, import_module(f"{package}.measures") if own else None)
        _check(paper, str(folder / "paper.toml"))
        return paper
    found: Paper = import_module(f"{package}.paper").PAPER
    _check(found, str(folder / "paper.py"))
    return found


def kept(key: str) -> dict[str, Any] | None:
    """The results that are kept with a paper; none if it has not been run in full."""
    content = _disk.read_if_any(folder_of(key) / RESULTS)
    found: dict[str, Any] | None = None if content is None else json.loads(content)
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
    folder = path.parent
    document = _written.load(path)
    if quick:
        document = _shortened(document, declared, folder)
    study = sweep.read(document, declared.file, folder, settings)
    if declared.tables and study.replications is None:
        raise ScenarioError(f"{path}: a study that keeps tables needs replications, not until")
    return study


def _shortened(document: Mapping[str, Any], study: StudyFile, folder: Path) -> dict[str, Any]:
    short = copy.deepcopy(dict(document))
    short.pop("until", None)
    short["replications"] = study.quick.replications
    if study.quick.set:
        given = short["scenario"]
        base = scenario.load(folder / given) if isinstance(given, str) else Scenario.of(given)
        short["scenario"] = base.with_all(study.quick.set).document
    axes = {axis.get("name", axis.get("path")): axis for axis in short.get("axis", [])}
    for name, values in study.quick.axes.items():
        if name not in axes:
            raise ScenarioError(f'{study.file}: quick: there is no axis "{name}"')
        axes[name].pop("range", None)
        axes[name]["rows" if "paths" in axes[name] else "values"] = list(values)
    return short


def _check(paper: Paper, place: str) -> None:
    """Find slips in a declaration before anything runs."""
    known = {study.name for study in paper.studies}
    needs = {f"figure {each.number}": each.studies for each in paper.figures}
    judged = (*paper.claims, *paper.hypotheses)
    needs |= {f"claim {each.id}": each.studies for each in judged}
    needs |= {f'section "{each.heading}"': each.studies for each in paper.sections}
    for name, studies in needs.items():
        if missing := set(studies) - known:
            raise ScenarioError(f'{place}: {name}: there is no study "{min(missing)}"')
    for kind, names in (
        ("study", [study.name for study in paper.studies]),
        ("figure", [figure.number for figure in paper.figures]),
        ("claim", [claim.id for claim in judged]),
    ):
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ScenarioError(f'{place}: two are called {kind} "{min(twice)}"')
