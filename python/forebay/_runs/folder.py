"""Folders of results: written whole or not at all, and never in the place of something else."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from forebay import _disk
from forebay._engine import ScenarioError

if TYPE_CHECKING:
    import polars as pl

_OURS = frozenset(
    ("runs.parquet", "links.parquet", "flows.parquet", "series.parquet", "delays.parquet",
     "flow_series.parquet", "transfers.parquet", "summary.json", "report.html", "programs")
)  # fmt: skip


Content: TypeAlias = "pl.DataFrame | dict[str, Any] | str | bytes"
"""A table (Parquet), plain values (JSON), text, or bytes as they are."""


def check_folder(folder: Path) -> None:
    """Check, before any work is done, that results can be written to `folder`.

    Raises:
        FileExistsError: something stands there that is not an earlier result.
        OSError: the folder cannot be made.
    """
    if folder.exists() or folder.is_symlink():
        if not folder.is_dir():
            raise FileExistsError(f"{folder}: is a file; choose another folder with --out")
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in _OURS)
        if foreign:
            raise FileExistsError(
                f"{folder}: holds {foreign[0]}, which is not a result of forebay, and would be "
                "replaced; choose another folder with --out"
            )
        entries = any(folder.iterdir())
        if entries and not _is_result(folder / "summary.json"):
            raise FileExistsError(
                f"{folder}: holds files that forebay did not write, and they would be replaced; "
                "choose another folder with --out"
            )
    parent = _parent(folder)
    if folder.exists() and _target(folder).samefile(Path.cwd()):
        raise FileExistsError(
            f"{folder}: is the folder in which the command runs, which cannot be replaced; choose "
            "another folder with --out"
        )
    _disk.make_folder(parent, follow=True)
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _disk.refused(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), parent)


def claim(folder: Path, mark: str, wanted: Mapping[str, Any], words: Callable[[Any], str]) -> None:
    """Make a folder whose results come run by run, or check that it was made for the same.

    Args:
        folder: where results come.
        mark: the file in it that says what it was made for.
        wanted: what it is for, as plain values.
        words: what another folder holds, by its own such values.

    Raises:
        ScenarioError: it holds something else.
        OSError: it cannot be made.
    """
    path = folder / mark
    if (content := _disk.read_if_any(path)) is not None:
        try:
            held = json.loads(content)
            said = words(held)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ScenarioError(f"{path}: is damaged; choose another folder with --out") from None
        if held != wanted:
            raise ScenarioError(f"{folder}: holds {said}; choose another folder with --out")
        return
    if folder.exists() and not folder.is_dir():
        raise ScenarioError(f"{folder}: is a file; choose another folder with --out")
    if folder.exists() and (names := sorted(entry.name for entry in folder.iterdir())):
        raise ScenarioError(
            f"{folder}: holds {names[0]}, which is not of this command; choose another folder with "
            "--out"
        )
    _disk.make_folder(folder, follow=True)
    _disk.write(path, json.dumps(wanted) + "\n")


def write_folder(folder: Path, files: Mapping[str, Content]) -> Path:
    """Write `files` to `folder`, in place of an earlier result.

    What stands under the name is always whole.

    Raises:
        FileExistsError: something stands there that is not an earlier result.
        OSError: it cannot be written; an earlier result stays.
    """
    check_folder(folder)

    def fill(fresh: Path) -> None:
        for name, content in files.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            _disk.write(fresh / name, _bytes(content))

    _disk.write_folder(_target(folder), fill)
    return folder


def _target(folder: Path) -> Path:
    """The folder itself, where `folder` is a link to one."""
    return folder.resolve() if folder.is_symlink() else folder.absolute()


def _parent(folder: Path) -> Path:
    return _target(folder).parent


def _is_result(summary: Path) -> bool:
    try:
        content = _disk.read_if_any(summary)
        return content is not None and "forebay" in json.loads(content)
    except (ValueError, TypeError):
        return False


def _bytes(content: Content) -> bytes | str:
    if isinstance(content, str | bytes):
        return content
    if isinstance(content, dict):
        return json.dumps(content, indent=2, allow_nan=False) + "\n"
    from forebay._runs.frames import parquet

    return parquet(content)
