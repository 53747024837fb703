"""The results of a study on disk: appended run by run, whole after any crash.

A folder holds

- `study.json`: the study, its hash and the engine's version;
- `journal`: finished runs, a line each with its check sum, written as soon as a run has ended;
- `runs/part-*.parquet`: the journal's lines once there are enough of them, one part when the study
  is complete; written under another name, synchronised and renamed, a part is whole or absent;
- `complete`: there once the study is;
- `lock`: held by the sweep that writes.

A crash between a part's renaming and the journal's truncation leaves runs in both; readers take
one of two that have the same key. Lines are synchronised every second, so a power cut loses a
second's runs, a killed process none that had ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from forebay import _engine
from forebay.sweep.axes import StudyError
from forebay.sweep.layout import (
    COMPLETE,
    Layout,
    Record,
    differing,
    line_of,
    parts,
    read_journal,
)
from forebay.sweep.plan import Study

JOURNAL_RUNS = 1000
"""Runs in the journal that make a part."""
SYNC_EVERY_S = 1.0
"""Longest time between a run's end and its safety from a power cut, in seconds."""
COMPACT_UP_TO = 1_000_000
"""Runs up to which a complete study becomes a single part, for which all are held in memory."""


class Store:
    """The folder of a study, held by the one sweep that writes to it."""

    def __init__(self, study: Study, folder: Path) -> None:
        """Open a folder, new or begun earlier; `close` it at the end.

        Raises:
            StudyError: another sweep holds it, or it holds something else than this study.
            OSError: it cannot be written.
        """
        self.folder = folder
        self._layout = Layout.of(study)
        check_folder(folder)
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        self._lock = locked(folder)
        self._journal: io.FileIO | None = None
        try:
            self._claim()
            for stale in folder.glob("**/.*.partial"):
                stale.unlink()
            self._pending, whole = read_journal(folder / "journal")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._journal = io.FileIO(os.open(folder / "journal", flags, 0o666), "r+")
            self._journal.truncate(whole)
            self._journal.seek(whole)
            self._synced = time.monotonic()
        except BaseException:
            self.close()
            raise

    def finished(self, key: str | None = None) -> Iterator[tuple[str, int, float | None]]:
        """Every run that is there: its point, its replication and one of its measures.

        A run may come twice.
        """
        for name in parts(self.folder):
            known = pl.read_parquet_schema(name)
            measured = key is not None and known.get(key) == pl.Float64
            columns = ["point", "replication", *([key] if measured and key else [])]
            frame = pl.read_parquet(name, columns=columns)
            values = frame[columns[2]].to_list() if measured else [None] * frame.height
            yield from zip(frame["point"], frame["replication"], values, strict=True)
        for record in self._pending:
            value = record.measures.get(key) if key is not None else None
            yield record.point, record.replication, None if isinstance(value, str) else value

    def append(self, records: Sequence[Record]) -> None:
        """Keep finished runs.

        Raises:
            OSError: they could not be written, such as on a full disk; what had been kept stays.
        """
        assert self._journal is not None
        start = self._journal.tell()
        lines = memoryview(b"".join(map(line_of, records)))
        try:
            while lines:
                lines = lines[self._journal.write(lines) :]
            if time.monotonic() - self._synced > SYNC_EVERY_S:
                self._sync()
        except OSError as error:
            self._journal.truncate(start)
            self._journal.seek(start)
            raise _named(error, self.folder) from None
        self._pending.extend(records)
        if len(self._pending) >= JOURNAL_RUNS:
            self._roll()

    def finish(self) -> None:
        """Mark the study as complete and make its parts one, in order.

        Raises:
            OSError: it could not be written; what had been kept stays.
        """
        self._roll()
        names = parts(self.folder)
        heights = [pl.scan_parquet(name).select(pl.len()).collect().item() for name in names]
        if len(names) > 1 and sum(heights) <= COMPACT_UP_TO:
            self._write(self._layout.arranged([pl.read_parquet(name) for name in names]))
            for name in names:
                name.unlink()
        write_whole(self.folder / COMPLETE, b"")

    def close(self) -> None:
        """Let go of the folder; what was kept is safe from a power cut."""
        if self._journal is not None:
            with contextlib.suppress(OSError):
                self._sync()
            self._journal.close()
            self._journal = None
        self._lock.close()

    def __enter__(self) -> Store:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the folder."""
        self.close()

    def _claim(self) -> None:
        """Write the manifest, or check that the folder's is this study's."""
        path = self.folder / "study.json"
        if not path.exists():
            text = json.dumps(self._layout.manifest, indent=1, ensure_ascii=False)
            write_whole(path, f"{text}\n".encode())
            return
        found = Layout.read(self.folder)
        if found.manifest["hash"] != self._layout.manifest["hash"]:
            fields = ", ".join(differing(found.study, self._layout.study))
            raise StudyError(
                f"{self.folder}: holds results of another study, which differs in: {fields}. "
                "Restore the study, or give another folder with --out"
            )
        if found.manifest["version"] != _engine.version:
            raise StudyError(
                f"{self.folder}: was begun with forebay {found.manifest['version']}, and this is "
                f"{_engine.version}, whose numbers may differ; finish it with that version, or "
                "give another folder with --out"
            )
        if found.manifest["points"] != self._layout.manifest["points"]:
            raise StudyError(
                f"{self.folder}: its points have changed though the study has not: a default of "
                "the engine has; give another folder with --out"
            )

    def _roll(self) -> None:
        """Make a part of the journal."""
        assert self._journal is not None
        if not self._pending:
            return
        self._write(self._layout.arranged([self._layout.frame(self._pending)]))
        self._journal.truncate(0)
        self._journal.seek(0)
        self._pending.clear()

    def _write(self, frame: pl.DataFrame) -> None:
        """Add a part."""
        buffer = io.BytesIO()
        frame.write_parquet(buffer, statistics=False)
        names = parts(self.folder)
        number = int(names[-1].stem.rpartition("-")[2]) + 1 if names else 1
        write_whole(self.folder / "runs" / f"part-{number:06d}.parquet", buffer.getvalue())

    def _sync(self) -> None:
        assert self._journal is not None
        os.fsync(self._journal.fileno())
        self._synced = time.monotonic()


def check_folder(folder: Path) -> None:
    """Check that a study can be written to `folder`.

    Raises:
        StudyError: something stands there that is not a study.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StudyError(f"{folder}: is a file; choose another folder with --out")
    names = sorted(entry.name for entry in folder.iterdir())
    # A sweep that was killed as it began leaves all but the manifest.
    ours = {"study.json", "lock", "runs", ".study.json.partial"}
    if "study.json" not in names and (foreign := [name for name in names if name not in ours]):
        raise StudyError(
            f"{folder}: holds {foreign[0]}, which is not of a study; "
            "choose another folder with --out"
        )


def locked(folder: Path) -> io.FileIO:
    """The folder's lock file, held until it is closed or the process ends."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    lock = io.FileIO(os.open(folder / "lock", flags, 0o666), "r+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = lock.readall().decode(errors="replace").strip()
        lock.close()
        raise StudyError(
            f"{folder}: another sweep is writing there ({owner or 'unknown process'}); "
            "wait for it, stop it, or choose another folder with --out"
        ) from None
    with contextlib.suppress(OSError):
        # Only for the message above; a full disk must not hide what is wrong.
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    return lock


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is whole or absent, even after a power cut."""
    fresh = path.with_name(f".{path.name}.partial")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise _named(error, path.parent) from None


def _named(error: OSError, folder: Path) -> OSError:
    """The error with the folder's name, which those of a write lack, and the remedy."""
    what = f"{error.strerror}; the runs that had ended are kept, and the same command goes on"
    return OSError(error.errno, what, str(folder))
