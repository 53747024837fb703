"""What all commands share: errors as one message, the progress bar, exit codes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from forebay._engine import ScenarioError
from forebay.runs.service import Progress as Runs

BAD_INPUT = 2
"""Exit code if what the user gave cannot be used."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells count it."""


class Bar:
    """A progress bar on standard error, shown only to a person."""

    def __init__(self) -> None:
        """A bar that has not begun."""
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("starting", total=1.0)
        self.state = "0 runs"

    def __enter__(self) -> Bar:
        """Show it."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take it away."""
        self._progress.stop()

    def update(self, progress: Runs) -> None:
        """Show how far a comparison is."""
        self.state = f"{progress.finished} of {progress.runs} runs"
        self._progress.update(self._task, description=self.state, completed=progress.fraction)

    def set(self, fraction: float) -> None:
        """Show how far one run is."""
        self.say("running", fraction)

    def say(self, what: str, fraction: float) -> None:
        """Show what is being done, and how far it is."""
        self._progress.update(self._task, description=what, completed=fraction)


@contextmanager
def friendly() -> Iterator[None]:
    """Turn what a user can mend into one message and exit code 2."""
    try:
        yield
    except (ScenarioError, OSError) as error:
        typer.echo(f"error: {_message(error)}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        stopped("Nothing had been written.")


def _message(error: ScenarioError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def command_line() -> str:
    """The command as a user can type it again."""
    return shlex.join(["forebay", *sys.argv[1:]])


def stopped(what: str) -> NoReturn:
    """End the command after Ctrl-C, saying what is kept."""
    typer.echo(f"stopped: {what}", err=True)
    raise typer.Exit(INTERRUPTED)
