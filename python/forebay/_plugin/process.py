"""Runs with parts in Python, several at a time: the first in this process, others in their own.

In one process Python's lock would let them run one after the other.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING

from forebay import _engine
from forebay._engine import Cancelled, ScenarioError
from forebay._plugin import loading
from forebay._plugins import is_python

if TYPE_CHECKING:
    from forebay._engine import Cancel, Output

LOOK_EVERY_S = 0.1
"""Longest time from the cancelling of a run to its end, in seconds."""

Tables = list[tuple[str, dict[str, str], dict[str, bytes]]]

_here = threading.Lock()
_idle: list[_Worker] = []


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run in another process measured, as the engine's `Output`."""

    summary: str
    _tables: Tables

    def tables(self) -> Tables:
        """Every table of the run."""
        return self._tables


def run(
    scenario: str,
    base: str,
    cancel: Cancel | None = None,
    progress: Callable[[float], None] | None = None,
) -> Output | Finished:
    """Run a scenario (JSON), as `_engine.run` does."""
    if not any(map(is_python, _plugins(scenario))):
        return _engine.run(scenario, base, cancel, progress)
    if _here.acquire(blocking=False):
        try:
            return _engine.run(scenario, base, cancel, progress)
        finally:
            _here.release()
    worker = _idle.pop() if _idle else _Worker()
    try:
        answer = worker.run(scenario, base, cancel, progress)
    except BaseException:
        worker.end()
        raise
    _idle.append(worker)
    if isinstance(answer, str):
        raise ScenarioError(answer)
    return Finished(*answer)


def _plugins(scenario: str) -> list[str]:
    named = json.loads(scenario).get("plugins", [])
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


class _Worker:
    """A process that runs one scenario after the other."""

    def __init__(self) -> None:
        self._link, theirs = Pipe()
        # Its own engine first, if the package has another one; it stands in the place of ours.
        engine = sys.modules["forebay._engine"].__name__
        serve = f"import {engine}; from forebay._plugin.process import serve; serve()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", serve, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        theirs.close()

    def run(
        self,
        scenario: str,
        base: str,
        cancel: Cancel | None,
        progress: Callable[[float], None] | None,
    ) -> tuple[str, Tables] | str:
        """What a run comes to, or why it could not run."""
        classes = loading.packed(_plugins(scenario))
        try:
            path = [os.path.abspath(folder) for folder in sys.path]  # noqa: PTH100 - text
            self._link.send((scenario, os.path.abspath(base), classes, path))  # noqa: PTH100
            while True:
                while not self._link.poll(LOOK_EVERY_S):
                    if cancel is not None and cancel.is_set():
                        raise Cancelled("the run was cancelled")
                answer: tuple[str, Tables] | str | float = self._link.recv()
                if not isinstance(answer, float):
                    return answer
                if progress is not None:
                    progress(answer)
        except (EOFError, OSError):
            code = self._process.wait()
            raise ScenarioError(f"the process of the run ended, with code {code}") from None

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._link.close()


@atexit.register
def _end() -> None:
    while _idle:
        _idle.pop().end()


def serve() -> None:
    """In the other process: run what comes, until nothing comes any more."""
    # Who pressed Ctrl-C is heard where the runs were asked for.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link: Connection = Connection(int(sys.argv[1]))
    try:
        while True:
            scenario, base, classes, path = link.recv()
            # What classes import may lie where the one who asks has looked only now.
            sys.path[:] = path
            loading.unpack(classes)
            link.send(_served(scenario, base, link.send))
    except (EOFError, OSError):
        return


def _served(scenario: str, base: str, tell: Callable[[float], None]) -> tuple[str, Tables] | str:
    try:
        output = _engine.run(scenario, base, None, tell)
    except ScenarioError as error:
        return str(error)
    return output.summary, output.tables()
