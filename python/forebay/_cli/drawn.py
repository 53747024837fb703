"""The progress bar, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from click.exceptions import Exit
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.segment import Segment

from forebay._cli.console import READER_GONE, let_go, printable

if TYPE_CHECKING:
    from forebay._runs.service import Progress as Runs


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
        self.shown = console.is_terminal
        """Whether there is a person to see it."""
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


class Terminal(Console):
    """A console on which names from files cannot move the cursor or change colours.

    No line ends with spaces.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is to be shown, without the control characters of its texts."""
        spaces: list[Segment] = []
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            for number, part in enumerate(printable(segment.text).split("\n")):
                if number:
                    spaces.clear()
                    yield Segment.line()
                text = part.rstrip(" ")
                if text:
                    yield from spaces
                    spaces.clear()
                    yield Segment(text, segment.style)
                if part != text:
                    spaces.append(Segment(part[len(text) :], segment.style))
        yield from spaces

    def on_broken_pipe(self) -> None:
        """End quietly when nobody reads any more."""
        let_go()
        raise Exit(READER_GONE)
