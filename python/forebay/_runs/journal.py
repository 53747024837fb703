"""Finished runs on disk: a journal that survives crashes, and the folder's lock."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any

from typing_extensions import Self

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._runs.task import Record

SYNC_EVERY_S = 1.0
"""Longest time between a run's end and its safety from a power cut, in seconds."""
_NAME = "journal"


class Journal:
    """Finished runs, a line each with its check sum, written as soon as a run has ended.

    Lines are synchronised every second, so a power cut loses a second's runs, a killed process
    none that had ended. Tables of a run stand in files of their own, which are whole before the
    run's line is written.
    """

    def __init__(self, folder: Path) -> None:
        """Open the journal of a folder that is locked; what a crash tore is cut off.

        Raises:
            OSError: it cannot be opened.
        """
        self._folder = folder
        self.records, whole = read_journal(folder)
        """Runs since it was cleared."""
        self._file = _disk.open_own(folder / _NAME)
        try:
            _disk.remove_partial(folder, "**/")
            self._file.truncate(whole)
            self._file.seek(whole)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise _disk.refused(error, folder / _NAME) from None
        self._synced = time.monotonic()

    def append(self, records: Sequence[Record]) -> None:
        """Keep finished runs."""
        lines = memoryview(b"".join(map(line_of, records)))
        start = self._file.tell()
        try:
            for record in records:
                _write_tables(self._folder, record)
            while lines:
                lines = lines[self._file.write(lines) :]
            if time.monotonic() - self._synced > SYNC_EVERY_S:
                self._sync()
        except OSError as error:
            # What is left of a line is cut off when the journal is opened again.
            with contextlib.suppress(OSError):
                self._file.truncate(start)
                self._file.seek(start)
            raise going_on(error, self._folder) from None
        self.records += [replace(record, tables={}) for record in records]

    def clear(self) -> None:
        """Forget all runs, which are kept elsewhere now."""
        try:
            self._file.truncate(0)
            self._file.seek(0)
        except OSError as error:
            raise going_on(error, self._folder) from None
        self.records.clear()

    def close(self) -> None:
        """Make what was kept safe from a power cut, and let go of the file."""
        if not self._file.closed:
            try:
                with self._file:
                    self._sync()
            except OSError as error:
                raise going_on(error, self._folder) from None

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


class Kept:
    """A folder of finished runs, held by the one command that writes to it until it is closed.

    What cannot be written is an `OSError` with the remedy; what had been kept stays.
    """

    def __init__(self, folder: Path, check: Callable[[], None] = lambda: None) -> None:
        """Open a folder that is there, and `check` it once nobody else writes to it.

        Raises:
            ScenarioError: another command holds it.
            OSError: it cannot be written.
        """
        self.folder = folder
        self._lock = locked(folder)
        try:
            check()
            self._journal = Journal(folder)
        except BaseException:
            unlock(self._lock)
            raise

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the folder; what was kept is safe from a power cut."""
        try:
            self._journal.close()
        finally:
            unlock(self._lock)


def line_of(record: Record) -> bytes:
    """A finished run as a line of the journal."""
    fields = [record.id, record.replication, record.fingerprint, record.measures]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def read_journal(folder: Path) -> tuple[list[Record], int]:
    """The whole lines of a folder's journal and where they end.

    Raises:
        ScenarioError: it cannot be read, or a line is not one of this version's.
    """
    raw = _disk.read_if_any(folder / _NAME)
    if raw is None:
        return [], 0
    records: list[Record] = []
    at = 0
    while (end := raw.find(b"\n", at)) >= 0:
        check, _, text = raw[at:end].partition(b" ")
        if check != b"%08x" % zlib.crc32(text):
            break
        records.append(_record(text, folder / _NAME, len(records) + 1))
        at = end + 1
    return records, at


def _record(text: bytes, path: Path, number: int) -> Record:
    """The run of a line whose check sum is right."""
    try:
        fields: Any = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    match fields:
        case [str(id_), int(replication), str(fingerprint), dict(measures)] if all(
            value is None or isinstance(value, int | float | str) for value in measures.values()
        ):
            return Record(id_, replication, fingerprint, measures)
    raise ScenarioError(
        f"{path}: line {number}: is not a run as forebay writes it; move the file away, and the "
        "same command repeats its runs, or choose another folder with --out"
    )


def table_file(folder: Path, id_: str, replication: int, table: str) -> Path:
    """The file of a table of one run."""
    return folder / "tables" / f"{id_}-{replication}.{table}.parquet"


def locked(folder: Path) -> FileIO:
    """The folder's lock file, held until it is closed or the process ends.

    Raises:
        ScenarioError: another process holds it.
        OSError: it cannot be opened or locked.
    """
    lock = _disk.open_own(folder / "lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = lock.readall().decode(errors="replace").strip()
        unlock(lock)
        raise ScenarioError(
            f"{folder}: another command is writing there ({owner or 'unknown process'}); "
            "wait for it, stop it, or choose another folder with --out"
        ) from None
    except OSError as error:
        unlock(lock)
        raise _disk.refused(error, folder / "lock") from None
    with contextlib.suppress(OSError):
        # Only for the message above; a full disk must not hide what is wrong.
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    return lock


def unlock(lock: FileIO) -> None:
    """Let go of a folder's lock."""
    with contextlib.suppress(OSError):
        lock.close()  # It is let go of whatever the system says.


def _write_tables(folder: Path, record: Record) -> None:
    for name, content in record.tables.items():
        path = table_file(folder, record.id, record.replication, name)
        _disk.make_folder(path.parent)
        _disk.write(path, content, synchronised=False)


def going_on(error: OSError, folder: Path) -> OSError:
    """The error of a folder to which runs come, with what is kept there."""
    kept = "the runs that had ended are kept, and the same command goes on"
    if not folder.exists():
        kept = "the folder has been removed, and with it the runs that had ended"
    return _disk.refused(error, Path(error.filename or folder / _NAME), kept)
