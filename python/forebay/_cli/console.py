"""What all commands share: errors as one message, exit codes."""

from __future__ import annotations

import os
import select
import shlex
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click
from click.exceptions import Exit

from forebay import _disk
from forebay._engine import ScenarioError

BAD_INPUT = 2
"""Exit code if what the user gave cannot be used."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells count it."""
READER_GONE = 141
"""Exit code if nobody reads the output to its end, as of a program that SIGPIPE ends."""
_SHORT = (
    "memory or threads ran out; raise the limit (ulimit -v, ulimit -u), or run less at a time "
    "(--jobs 1, or a shorter scenario)"
)
OPTIONAL = {"distributed", "optuna"}
"""Packages that only some commands need."""


def printable(text: str) -> str:
    """The text without control characters but for the end of a line.

    Bytes of names that are not UTF-8 come out as the replacement character.
    """
    kept = (each for each in text if each in "\n\t" or unicodedata.category(each) != "Cc")
    return "".join("\ufffd" if unicodedata.category(each) == "Cs" else each for each in kept)


def check_arguments() -> None:
    """Refuse arguments that are not UTF-8: scenarios, results and reports could not hold them.

    Raises:
        ScenarioError: one is not.
    """
    for given in sys.argv[1:]:
        try:
            given.encode()
        except UnicodeEncodeError:
            raise ScenarioError(f"{given}: is not UTF-8; rename the file or folder") from None


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may hold names."""
    click.echo(printable(text), err=err)


@contextmanager
def friendly() -> Iterator[None]:
    """Turn what a user can mend into one message and exit code 2."""
    try:
        yield
    except (ScenarioError, OSError) as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            let_go()
            raise Exit(READER_GONE) from None
        say(f"error: {_message(error)}", err=True)
        raise Exit(BAD_INPUT) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in OPTIONAL:
            raise
        install = shlex.join([sys.executable, "-m", "pip", "install", package])
        say(f"error: this needs {package}, which is not installed: {install}", err=True)
        raise Exit(BAD_INPUT) from None
    except RecursionError:
        say("error: what was given is nested too deeply", err=True)
        raise Exit(BAD_INPUT) from None
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "start new thread" not in str(error):
            raise
        say(f"error: {_SHORT}", err=True)
        raise Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        stopped("Nothing had been written.")


def flushed(code: int | str | None) -> int | str | None:
    """The exit code when all output is out: that of a broken pipe if its reader has gone."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        let_go()
        return READER_GONE
    except OSError as error:
        let_go()
        say(f"error: standard output: {_disk.words(error)}", err=True)
        return BAD_INPUT
    return code


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has gone."""
    asked = select.poll()
    asked.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in asked.poll(0))


def let_go() -> None:
    """Let what is left in the buffer go nowhere, so that Python does not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: ScenarioError | OSError) -> str:
    if not isinstance(error, OSError):
        return str(error)
    place = "" if error.filename is None else f"{error.filename}: "
    return f"{place}{_disk.words(error)}"


def command_line() -> str:
    """The command as a user can type it again."""
    return shlex.join(["forebay", *sys.argv[1:]])


def stopped(what: str) -> NoReturn:
    """End the command after Ctrl-C, saying what is kept."""
    say(f"stopped: {what}", err=True)
    raise Exit(INTERRUPTED)


def unchanged(folder: Path) -> str:
    """What to say of results that were not written."""
    if folder.exists() and any(folder.iterdir()):
        return f"{folder} still holds the earlier result."
    return "Nothing was written."
