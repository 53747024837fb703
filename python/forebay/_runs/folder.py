"""Folders of results: written whole or not at all, and never in the place of something else."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from forebay._engine import ScenarioError
from forebay._runs.journal import write_whole

_OURS = frozenset(
    ("runs.parquet", "links.parquet", "flows.parquet", "series.parquet", "delays.parquet",
     "flow_series.parquet", "transfers.parquet", "summary.json", "report.html")
)  # fmt: skip


Content = pl.DataFrame | dict[str, Any] | str
"""A table (Parquet), plain values (JSON) or text."""


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
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(parent, error) from None
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{parent}: cannot be written to; choose another folder with --out")


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
    if path.exists():
        held = json.loads(path.read_text("utf-8"))
        if held != wanted:
            raise ScenarioError(f"{folder}: holds {words(held)}; choose another folder with --out")
        return
    if folder.exists() and not folder.is_dir():
        raise ScenarioError(f"{folder}: is a file; choose another folder with --out")
    if folder.exists() and (names := sorted(entry.name for entry in folder.iterdir())):
        raise ScenarioError(
            f"{folder}: holds {names[0]}, which is not of this command; choose another folder with "
            "--out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(wanted) + "\n").encode())


def write_folder(folder: Path, files: Mapping[str, Content]) -> Path:
    """Write `files` to `folder`, in place of an earlier result.

    Everything is written to a hidden folder beside it, which is then renamed: what stands under
    the name is always whole.

    Raises:
        FileExistsError: something stands there that is not an earlier result.
    """
    check_folder(folder)
    parent = _parent(folder)
    prefix = f".{_target(folder).name}."
    try:
        fresh = Path(tempfile.mkdtemp(prefix=prefix, suffix=".partial", dir=parent))
    except OSError as error:
        raise _unwritable(parent, error) from None
    try:
        fresh.chmod(0o755)
        for name, content in files.items():
            _write(fresh / name, content)
        _exchange(fresh, _target(folder))
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return folder


def _unwritable(folder: Path, error: OSError) -> OSError:
    """The error with what to do about it."""
    why = f"cannot be written to ({error.strerror}); choose another folder with --out"
    return type(error)(f"{folder}: {why}")


def _target(folder: Path) -> Path:
    """The folder itself, where `folder` is a link to one."""
    return folder.resolve() if folder.is_symlink() else folder.absolute()


def _parent(folder: Path) -> Path:
    return _target(folder).parent


def _is_result(summary: Path) -> bool:
    try:
        return "forebay" in json.loads(summary.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _write(path: Path, content: Content) -> None:
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path, statistics=False)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _exchange(fresh: Path, folder: Path) -> None:
    """Put `fresh` in the place of `folder`."""
    if not folder.exists():
        fresh.rename(folder)
        return
    old = fresh.with_suffix(".old")
    folder.rename(old)
    try:
        fresh.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
    shutil.rmtree(old)
