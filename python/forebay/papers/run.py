"""Running a paper: its studies, one after another, then figures, verdicts and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _disk, _written
from forebay._engine import ScenarioError
from forebay._runs.folder import claim
from forebay.papers import library, page, record, studies
from forebay.papers.data import Data
from forebay.papers.paper import load
from forebay.sweep import Study, several


def folder_for(key: str, quick: bool, suffix: str = "") -> Path:
    """Where the results of a paper go unless told otherwise."""
    name = _disk.leads_to(key).name
    return Path("out") / "papers" / f"{name}{suffix}{'-quick' * quick}"


def run(
    key: str,
    folder: Path,
    *,
    figure: str | None = None,
    quick: bool = False,
    partial: bool = False,
    settings: Sequence[str] = (),
    jobs: int | None = None,
    command: str,
    tell: several.Tell = lambda _text, _share: None,
) -> dict[str, Any]:
    """Run what a paper's studies still lack, judge its claims and draw its figures.

    Interrupted at any moment it goes on, called again, where it was.

    Args:
        key: the paper, or the path of a folder with one.
        folder: results of the studies, `results.json`, the page and its images.
        figure: only this one, and the claims that its studies decide.
        quick: fewer and shorter runs, as the paper declares.
        partial: run nothing, and leave out studies of which not every point has two runs.
        settings: fields of the studies' scenarios to change, each written `PATH=VALUE`. Claims are
            judged as for the unchanged paper.
        jobs: runs at a time; one a core unless given.
        command: the command line, for the page.
        tell: called about ten times a second.

    Returns:
        The record (see `forebay.papers.record`).

    Raises:
        ScenarioError: no such paper or figure, or a study that could not run.
        OSError: results could not be kept.
        KeyboardInterrupt: interrupted; every finished run is kept.
    """
    paper = load(key)
    numbers = [each.number for each in paper.file.figure]
    if figure is not None and figure not in numbers:
        raise ScenarioError(f'{key} has no figure "{figure}"; one of {", ".join(numbers)}')
    planned = {
        each.name: studies.read(each, paper.home, quick, settings) for each in paper.needed(figure)
    }
    made_for: dict[str, Any] = {"paper": paper.home.name, "quick": quick}
    if settings:
        made_for["set"] = list(settings)
    claim(folder, "paper.json", made_for, _words)
    kept = {each.name: each.tables for each in paper.file.study}
    folders = {name: folder / name for name in kept}
    data = Data(kept, folders, quick, paper.file.column, paper.pooled)
    if partial:
        planned = {name: each for name, each in planned.items() if _begun(data, name, folder, each)}
    else:
        several.run(planned, folder, kept, jobs, tell)
    for place in (folder, folder / page.IMAGES):
        _disk.remove_partial(place)
    found = record.record(
        paper,
        planned,
        data,
        key=key if key in library.names() else paper.home.name,
        command=command,
        cpu_seconds=several.spent(folder, planned),
        figure=figure,
    )
    if figure is None:
        write(folder / library.RESULTS, found)
        page.write(found, folder, paper.home)
    else:
        page.draw_all(found, folder)
    return found


def keep(found: Mapping[str, Any]) -> Path:
    """Keep a record with its paper and write the paper's short page in docs/papers.

    Raises:
        ScenarioError: this is not a source tree.
    """
    docs = docs_folder()
    home = library.folder_of(found["paper"])
    write(home / library.RESULTS, found)
    return page.write_short(found, docs, home)


def retold(key: str) -> dict[str, Any]:
    """The results that are kept with a paper, with the texts of its folder as they are now.

    Raises:
        ScenarioError: it has not been run in full.
    """
    found = library.kept(key)
    if found is None:
        raise ScenarioError(f"{key} has no full results yet; forebay paper run {key} --page")
    paper = load(key)
    told = record.retold(paper, found)
    now = {each.name: studies.read(each, paper.home, quick=False) for each in paper.file.study}
    if all(now[each["name"]].hash.startswith(each["hash"]) for each in found["studies"]):
        told["files"] = library.digest(paper.home)
    return told


def docs_folder() -> Path:
    """The pages of the papers in the source tree.

    Raises:
        ScenarioError: this is not a source tree.
    """
    docs = library.LIBRARY.resolve().parent / "docs" / "papers"
    if not docs.is_dir():
        raise ScenarioError("pages are kept in a source tree, and this forebay is not run from one")
    return docs


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a record, whole or not at all."""
    _disk.write(path, _written.dump(found))


def _words(held: Mapping[str, Any]) -> str:
    changed = f" with {', '.join(held['set'])}" if held.get("set") else ""
    return f"{'quick' if held['quick'] else 'full'} results of {held['paper']}{changed}"


def _begun(data: Data, name: str, folder: Path, study: Study) -> bool:
    """Whether every point of a study has an interval."""
    if not (folder / name / "study.json").exists():
        return False
    found = data.study(name)
    counts = found.runs.group_by("point").len()["len"].to_list()
    return len(counts) == len(study.points) and min(counts) > 1
