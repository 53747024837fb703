"""What is kept of the stage: scenarios with their changes, comparisons, reports."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._explore.protocol import Command
from forebay._explore.stage import Client, File, Stage, attempt
from forebay._scenario import Scenario

if TYPE_CHECKING:
    from forebay._comparison import Comparison
    from forebay._runs import Progress

Lanes = list[tuple[str, Scenario]]
RUNS = 10
"""Replications of a report, unless there is a comparison."""
Tell = Callable[[str], None]


class _Ended(Exception):
    """The server ends, and a comparison with it."""


class Results:
    """Answers `save`, `compare`, `report` and `why`; all but the first in a thread of their own."""

    def __init__(self, stage: Stage, address: str) -> None:
        """What is kept of `stage`; its report is to be had at `address`."""
        self._stage = stage
        self._address = address
        self._busy = threading.Lock()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        self._comparison: Comparison | None = None
        self.page: str | None = None
        """The report, once there is one."""

    def takes(self, client: Client, command: Command, done: Callable[[], None]) -> bool:
        """Whether it answers the command to the tab, when what came before is `done`."""
        match command.type:
            case "save":
                act = partial(self._save, client.tell)
            case "compare":
                act = partial(self._beside, self._compare, command.fields["runs"], client.tell)
            case "report":
                act = partial(self._beside, self._report, RUNS, client.tell)
            case "why":
                asked = partial(self._why, **command.fields)
                act = partial(self._beside, asked, 1, client.tell)
            case _:
                return False
        self._stage.call(client, act, done)
        return True

    def _beside(self, act: Callable[[Lanes, int, Tell], None], runs: int, tell: Tell) -> None:
        """Do what takes long in a thread of its own, for the lanes as they are."""
        # Who has just said that it ended is about to let go.
        if not self._busy.acquire(timeout=0.5):
            raise ScenarioError("a comparison or an answer is being made; wait for its end")
        lanes = self._stage.lanes()

        def work() -> None:
            try:
                # Of a report's tables, polars raises Ctrl-C in whatever thread makes them.
                with contextlib.suppress(_Ended, KeyboardInterrupt):
                    act(lanes, runs, tell)
            finally:
                self._busy.release()

        self._thread = threading.Thread(target=lambda: attempt(work, tell), name="compare")
        self._thread.start()

    def stop(self) -> None:
        """End what is being compared, and wait for its end."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def _save(self, tell: Tell) -> None:
        """Save all lanes, or none."""
        files: list[dict[str, Any]] = []
        lanes = self._stage.lanes()
        try:
            for number, (file, lane) in enumerate(zip(self._stage.files(), lanes, strict=True)):
                files.append(
                    {
                        "lane": number,
                        "path": str(save(file, lane[1])),
                        "text": file.text,
                        "fingerprint": file.fingerprint,
                    }
                )
        except OSError as error:
            for written in files:
                Path(written["path"]).unlink(missing_ok=True)
            raise ScenarioError(
                f"{error.filename}: nothing was saved: {error.strerror}; make room there, or start "
                "forebay in another folder with a copy of the scenario"
            ) from None
        tell(json.dumps({"type": "saved", "files": files}))

    def _compare(self, lanes: Lanes, runs: int, tell: Tell) -> None:
        from forebay._explore import compared

        labels = [label for label, _ in lanes]

        def told(done: float) -> None:
            tell(json.dumps(compared.under_way(labels, runs, done)))

        try:
            message = compared.message(self._run(lanes, runs, told))
        except Exception:
            told(-1)  # no progress is shown any more
            raise
        tell(json.dumps(message))

    def _report(self, lanes: Lanes, runs: int, tell: Tell) -> None:
        from forebay._compared.report import render

        def told(done: float, address: str | None = None) -> None:
            tell(json.dumps({"type": "reported", "done": done, "address": address}))

        found = self._comparison
        if found is None or [(each.label, each.scenario) for each in found.variants] != lanes:
            found = self._run(lanes, runs, told)
        self.page = render(found)
        told(1.0, self._address)

    def _why(
        self, lanes: Lanes, _runs: int, tell: Tell, *, lane: int, at_ns: int, loss: bool
    ) -> None:
        """Say why packets waited, or were dropped, under the discipline of a lane."""
        from forebay.attack import because
        from forebay.attack.cause import why

        if lane >= len(lanes):
            raise ScenarioError(f"why: lane: there are {len(lanes)} lanes, got {lane}")
        label, scenario = lanes[lane]
        what = "were dropped" if loss else "waited"
        title = f"Why packets {what} under {label}"

        def told(done: float, *texts: list[str]) -> None:
            if self._ends.is_set():
                raise _Ended
            tell(json.dumps({"type": "explained", "title": title, "done": done, "parts": texts}))

        told(0.0)
        answer = why(
            scenario,
            at=f"{at_ns}ns",
            of="loss" if loss else "delay",
            link=self._stage.watched,
            told=lambda done: told(min(done, 0.99)),
        )
        seen, shown, others = because.sentences(answer)
        told(1.0, seen, shown, because.reruns(answer), others)

    def _run(self, lanes: Lanes, runs: int, told: Callable[[float], None]) -> Comparison:
        """Run all lanes, with replications, and keep what was found."""
        from forebay import _comparison as comparison
        from forebay._explore import compared

        prepared, seeds = compared.of_lanes(lanes, self._stage.watched, runs)

        def progress(of: Progress) -> None:
            if self._ends.is_set():
                raise _Ended
            told(min(of.fraction, 0.99))

        self._comparison = comparison.run_variants(prepared, seeds, progress=progress)
        return self._comparison


def save(file: File, scenario: Scenario) -> Path:
    """Write the scenario of a lane, beside the file that it comes from.

    A name that is taken is not used; those of no file go to the present folder.
    """
    package = Path(__file__).parent
    base = Path(scenario.base).resolve()
    folder = Path.cwd() if base.is_relative_to(package) else base
    content = file.text.encode()
    for number in itertools.count(1):
        path = folder / (f"{file.stem}.toml" if number == 1 else f"{file.stem}-{number}.toml")
        with contextlib.suppress(FileExistsError):
            _disk.write(path, content, replace=False)
            break
    return path
