"""Finished runs on disk: a journal that survives crashes, and the folder's lock."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import socket
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forebay._engine import ScenarioError
from forebay._runs.task import Record

SYNC_EVERY_S = 1.0
"""Longest time between a run's end and its safety from a power cut, in seconds."""
_NAME = "journal"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


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
        for stale in folder.glob("**/.*.partial"):
            stale.unlink()
        self.records, whole = read_journal(folder)
        """Runs since it was cleared."""
        self._file = io.FileIO(os.open(folder / _NAME, _FLAGS, 0o666), "r+")
        self._file.truncate(whole)
        self._file.seek(whole)
        self._synced = time.monotonic()

    def append(self, records: Sequence[Record]) -> None:
        """Keep finished runs.

        Raises:
            OSError: they could not be written, such as on a full disk; what had been kept stays.
        """
        for record in records:
            _write_tables(self._folder, record)
        start = self._file.tell()
        lines = memoryview(b"".join(map(line_of, records)))
        try:
            while lines:
                lines = lines[self._file.write(lines) :]
            if time.monotonic() - self._synced > SYNC_EVERY_S:
                self._sync()
        except OSError as error:
            self._file.truncate(start)
            self._file.seek(start)
            raise _named(error, self._folder) from None
        self.records += [replace(record, tables={}) for record in records]

    def clear(self) -> None:
        """Forget all runs, which are kept elsewhere now."""
        self._file.truncate(0)
        self._file.seek(0)
        self.records.clear()

    def close(self) -> None:
        """Make what was kept safe from a power cut, and let go of the file."""
        if not self._file.closed:
            with contextlib.suppress(OSError):
                self._sync()
            self._file.close()

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


def line_of(record: Record) -> bytes:
    """A finished run as a line of the journal."""
    fields = [record.id, record.replication, record.fingerprint, record.measures]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def read_journal(folder: Path) -> tuple[list[Record], int]:
    """The whole lines of a folder's journal and where they end."""
    try:
        raw = (folder / _NAME).read_bytes()
    except FileNotFoundError:
        return [], 0
    records: list[Record] = []
    at = 0
    while (end := raw.find(b"\n", at)) >= 0:
        check, _, text = raw[at:end].partition(b" ")
        if check != b"%08x" % zlib.crc32(text):
            break
        records.append(Record(*json.loads(text)))
        at = end + 1
    return records, at


def table_file(folder: Path, id_: str, replication: int, table: str) -> Path:
    """The file of a table of one run."""
    return folder / "tables" / f"{id_}-{replication}.{table}.parquet"


def locked(folder: Path) -> io.FileIO:
    """The folder's lock file, held until it is closed or the process ends.

    Raises:
        ScenarioError: another process holds it.
    """
    lock = io.FileIO(os.open(folder / "lock", _FLAGS, 0o666), "r+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = lock.readall().decode(errors="replace").strip()
        lock.close()
        raise ScenarioError(
            f"{folder}: another command is writing there ({owner or 'unknown process'}); "
            "wait for it, stop it, or choose another folder with --out"
        ) from None
    with contextlib.suppress(OSError):
        # Only for the message above; a full disk must not hide what is wrong.
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    return lock


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is whole or absent, even after a power cut.

    Raises:
        OSError: it could not be written; an earlier one stays.
    """
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


def _write_tables(folder: Path, record: Record) -> None:
    for name, content in record.tables.items():
        path = table_file(folder, record.id, record.replication, name)
        fresh = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(exist_ok=True)
            fresh.write_bytes(content)
            fresh.rename(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise _named(error, folder) from None


def _named(error: OSError, folder: Path) -> OSError:
    """The error with the folder's name, which those of a write lack, and the remedy."""
    if folder.exists():
        kept = "the runs that had ended are kept, and the same command goes on"
    else:
        kept = "the folder has been removed, and with it the runs that had ended"
    return OSError(error.errno, f"{error.strerror}; {kept}", str(folder))
