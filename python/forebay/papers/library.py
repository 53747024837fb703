"""Where papers are: a folder each, with its files, its studies, and the results last kept."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from forebay import _disk
from forebay._engine import ScenarioError

LIBRARY = Path(__file__).parent / "collection"
"""The packages of all papers: in a source tree a link to `papers`, in a wheel a copy."""
RESULTS = "results.json"
"""The record of a run (see `forebay.papers.record`), as it is kept with its paper."""
FIT = "fit.json"
"""What `forebay paper fit` found, as it is kept with its paper."""
ATTACKED = "attack/found.json"
"""The worst known network of a paper's system (see `forebay.papers.attacked`)."""
WORDS = "words.md"
"""The texts of a paper's page."""


def names() -> list[str]:
    """The papers that there are."""
    return sorted(path.parent.name.replace("_", "-") for path in LIBRARY.glob("*/paper.toml"))


def folder_of(key: str) -> Path:
    """The folder of a paper: one of `names()`, or any folder with a `paper.toml`, by its path.

    Raises:
        ScenarioError: there is no such paper.
    """
    if key in names():
        return LIBRARY / key.replace("-", "_")
    path = Path(key)
    if (path / "paper.toml").is_file():
        return path.resolve()
    raise ScenarioError(
        f'there is no paper "{key}"; one of {", ".join(names())}, or the path of a folder with a '
        "paper.toml"
    )


def title(key: str) -> str:
    """A paper's title.

    Raises:
        ScenarioError: its file is not understood.
    """
    from forebay import _written  # and pydantic, which takes its time

    return str(_written.load(folder_of(key) / "paper.toml").get("title", ""))


def kept(key: str) -> dict[str, Any] | None:
    """The results that are kept with a paper; none if it has not been run in full."""
    return _read(folder_of(key) / RESULTS)


def fitted(home: Path) -> dict[str, Any] | None:
    """What `forebay paper fit` found of the paper in a folder; none if it was not kept."""
    return _read(home / FIT)


def attacked(home: Path) -> dict[str, Any] | None:
    """The worst known network of the system of the paper in a folder, if one is kept."""
    return _read(home / ATTACKED)


def _read(path: Path) -> dict[str, Any] | None:
    content = _disk.read_if_any(path)
    found: dict[str, Any] | None = None if content is None else json.loads(content)
    return found


_ELSEWHERE = re.compile(rb'^scenario = "(.*/.*)"', re.MULTILINE)
"""The scenario of another paper that a study names; to parse all studies takes too long."""


def digest(folder: Path) -> str:
    """What tells whether any file of a paper's studies has changed."""
    found = hashlib.sha256()
    for path in sorted((folder / "studies").iterdir()):
        elsewhere = _ELSEWHERE.findall(path.read_bytes()) if path.suffix == ".toml" else ()
        for file in (path, *(path.parent / name.decode() for name in elsewhere)):
            content = file.read_bytes()
            found.update(f"{file.name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:16]
