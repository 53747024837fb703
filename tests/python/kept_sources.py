"""Folders of sources that are kept from one test run to the next, so that little is built again."""

from __future__ import annotations

from pathlib import Path


def kept(folder: Path, into: Path) -> Path:
    """The folder `into` with the files of another; those that are as before keep their times."""
    there = {path.relative_to(into) for path in into.rglob("*") if path.is_file()}
    files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    for path in files:
        if path not in there or (into / path).read_bytes() != (folder / path).read_bytes():
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            (into / path).write_bytes((folder / path).read_bytes())
    for path in there - files:
        (into / path).unlink()
    return into
