"""The studies of a paper, in full or shortened for a quick look."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _scenario as scenario
from forebay import _written, sweep
from forebay._engine import ScenarioError
from forebay._scenario import Scenario
from forebay.papers.files import StudyTable
from forebay.sweep import Study


def read(declared: StudyTable, folder: Path, quick: bool, settings: Sequence[str] = ()) -> Study:
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
    file, folder = f"{declared.name}.toml", folder / "studies"
    path = folder / file
    document = _written.load(path)
    if quick:
        document = _shortened(document, declared, folder)
    study = sweep.read(document, file, folder, settings)
    if declared.tables and study.replications is None:
        raise ScenarioError(f"{path}: a study that keeps tables needs replications, not until")
    return study


def _shortened(document: Mapping[str, Any], study: StudyTable, folder: Path) -> dict[str, Any]:
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
            raise ScenarioError(f'{study.name}: quick: there is no axis "{name}"')
        axes[name].pop("range", None)
        axes[name]["rows" if "paths" in axes[name] else "values"] = list(values)
    return short
