"""Files that users name: read up to a limit, written whole or not at all, errors with a remedy.

The rule for files that are there (docs/reliability.md):

- What a command computes replaces an earlier regular file (`write`), but never a file that the same
  command reads (`check_output`).
- What people go on to edit, such as a new scenario, replaces nothing (`check_new`, and
  `write(replace=False)`).
- Folders, links and devices are never replaced; a folder only by `write_folder`, whose callers have
  checked that it holds results of forebay.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from forebay import _engine
from forebay._engine import ScenarioError

LARGEST = 64 << 20
"""Most bytes of a file that others provide."""
OWN_LARGEST = 4 << 30
"""Most bytes of a file that forebay itself wrote."""
PARTIAL = ".partial"
"""How the hidden names end under which files are written."""

_NOREPLACE, _EXCHANGE = 1, 2
_AT_FDCWD = -100


def read(path: str | Path, most: int = LARGEST) -> bytes:
    """What a regular file holds.

    Args:
        path: the file.
        most: bytes; a larger file is refused.

    Raises:
        ScenarioError: it is no regular file, it is larger, or it cannot be read.
    """
    content = read_if_any(path, most)
    if content is None:
        raise ScenarioError(f"{path}: {_engine.error_words(errno.ENOENT)}")
    return content


def read_if_any(path: str | Path, most: int = OWN_LARGEST) -> bytes | None:
    """What a regular file holds, or None if there is none; errors as of `read`."""
    return _engine.read_file(path, most)


def read_text(path: str | Path, most: int = LARGEST) -> str:
    """The text of a regular file in UTF-8, without a byte order mark.

    Raises:
        ScenarioError: as of `read`, or it is not UTF-8.
    """
    try:
        return read(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: is not UTF-8, from byte {error.start} on") from None


def write(
    path: Path, content: bytes | str, *, replace: bool = True, synchronised: bool = True
) -> None:
    """Write a file that is whole or absent.

    Args:
        path: the file; its folder is there.
        content: what it is to hold; text is written in UTF-8.
        replace: whether a file of this name is replaced.
        synchronised: whether it is whole even after a power cut.

    Raises:
        OSError: it could not be written, with the remedy; an earlier file stays. The name is that
            of a symbolic link or of no regular file, which are not replaced.
    """
    try:
        _check_replaceable(path)
        fresh = _beside(path)
        try:
            _fill(fresh, content if isinstance(content, bytes) else content.encode(), synchronised)
            if replace:
                fresh.rename(path)
            else:
                _rename(fresh, path, _NOREPLACE)
        except BaseException:
            _remove(fresh)
            raise
        if synchronised:
            _synchronise(path.parent)
    except OSError as error:
        raise refused(error, path) from None


def check_output(path: Path, inputs: Iterable[Path]) -> None:
    """Check, before any work is done, that a file can be written that an option names.

    Args:
        path: the file; one that is there will be replaced.
        inputs: the files that the command reads, and folders in which it reads every file.

    Raises:
        OSError: it is an input, no regular file, or its folder is missing; with the remedy.
    """
    try:
        _check_replaceable(path)
        if not path.parent.is_dir():
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if path.exists() and any(
            each.exists() and (path.samefile(each) or each.resolve() in path.resolve().parents)
            for each in inputs
        ):
            raise OSError(errno.EEXIST, "is read by this command; choose another file")
    except OSError as error:
        raise refused(error, path) from None


def check_new(path: Path, option: str) -> None:
    """Check, before any work is done, that a file can be made that users go on to edit.

    Args:
        path: the file.
        option: the option that names it.

    Raises:
        ScenarioError: there is something of this name.
        OSError: its folder is missing, with the remedy.
    """
    if os.path.lexists(path):
        raise ScenarioError(f"{path}: exists already; choose another name with {option}")
    check_output(path, ())


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder, or replace it, in one step.

    Args:
        folder: its name; a folder of this name is deleted.
        fill: writes the files, into the folder that it is given.

    Raises:
        OSError: it could not be made, with the remedy; an earlier folder stays.
    """
    fresh = _beside(folder)
    try:
        try:
            fresh.mkdir()
            fill(fresh)
            _synchronise(fresh)
            if folder.exists():
                _rename(fresh, folder, _EXCHANGE)
            else:
                fresh.rename(folder)
        finally:
            _remove(fresh)
        _synchronise(folder.parent)
    except OSError as error:
        raise refused(error, folder) from None


def make_folder(path: Path, *, follow: bool = False) -> None:
    """Make a folder, unless it is there.

    Args:
        path: the folder; those above it are made, too.
        follow: whether a symbolic link to a folder will do, as where a user names it.

    Raises:
        OSError: it cannot be made, with the remedy; something else is in its place.
    """
    try:
        with suppress(FileExistsError):
            path.mkdir(parents=True)
        mode = (path.stat() if follow else path.lstat()).st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not stat.S_ISDIR(mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise refused(error, path) from None


def open_own(path: Path) -> io.FileIO:
    """A regular file to read and write, made unless it is there; not through a symbolic link.

    Raises:
        OSError: it cannot be opened, with the remedy.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = io.FileIO(os.open(path, flags, 0o666), "r+")
    except OSError as error:
        raise refused(error, path) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refused(OSError(errno.EEXIST, "is not a regular file; remove it"), path)
    return file


def files(folder: Path, ending: str) -> list[Path]:
    """The files of a folder by the end of their names, in order; none if there is no folder.

    `Path.glob` would take a folder that it may not list for an empty one.

    Raises:
        OSError: the folder cannot be listed, with the remedy.
    """
    try:
        return sorted(each for each in folder.iterdir() if each.name.endswith(ending))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refused(error, folder) from None


def check_regular(path: Path) -> None:
    """Check that a file is a regular one: to open a FIFO could block for ever.

    Raises:
        ScenarioError: it is not.
        OSError: there is none.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ScenarioError(
            f"{path}: is not a regular file; give the name of a file, or move it away"
        )


def leads_to(path: str | Path) -> Path:
    """The place to which a path leads, without links; a link that leads to itself stays."""
    return Path(os.path.realpath(path))


def refused(error: OSError, path: Path, more: str = "") -> OSError:
    """The error with the file that the user named, in words and with the remedy.

    Args:
        error: the system's.
        path: the file or folder.
        more: what else there is to know, such as what is kept.
    """
    said = words(error)
    if error.errno == errno.ENOENT:
        said = "its folder is missing; make it, or choose another place"
    said = f"{said}; {more}" if more else said
    return OSError(error.errno or errno.EIO, said, str(path))


def words(error: OSError) -> str:
    """What is wrong and the remedy; a message of forebay's own as it is."""
    if error.errno is None or error.strerror is None:
        return str(error)
    own = error.strerror != os.strerror(error.errno)
    return error.strerror if own else _engine.error_words(error.errno)


def remove_partial(folder: Path, within: str = "") -> None:
    """Remove what was half-written when an earlier command could not even remove it.

    Args:
        folder: where nobody else writes meanwhile.
        within: "**/" for the folders in it, too.

    Raises:
        OSError: a file cannot be removed.
    """
    for stale in folder.glob(f"{within}.*{PARTIAL}"):
        stale.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """A hidden name that is free, in the same folder."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}{PARTIAL}")


def _remove(path: Path) -> None:
    """Take a file or a folder away; what fails once may succeed again."""
    for _ in range(2):
        with suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _check_replaceable(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EEXIST, "is not a regular file; give the name of a file")


def _fill(fresh: Path, content: bytes, synchronised: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with io.FileIO(os.open(fresh, flags, 0o666), "w") as file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]
        if synchronised:
            os.fsync(file.fileno())


def _synchronise(folder: Path) -> None:
    """Make the names in a folder safe from a power cut, where its file system can."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(opened)


def _rename(old: Path, new: Path, how: int) -> None:
    """Rename by Linux' renameat2; in two steps where the file system lacks it."""
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    names = (_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new))
    if call is not None and call(*names, how) == 0:
        return
    number = errno.ENOSYS if call is None else ctypes.get_errno()
    if number not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        raise OSError(number, os.strerror(number), str(new))
    if how == _NOREPLACE:
        os.link(old, new)
        old.unlink()
        return
    aside = _beside(new)
    new.rename(aside)
    try:
        old.rename(new)
    except BaseException:
        aside.rename(new)
        raise
    aside.rename(old)
