"""A stage that tests drive without a server."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from forebay._explore import protocol
from forebay._explore.stage import Client, Stage
from forebay._scenario import Scenario

T = TypeVar("T")
SCENARIO = {
    "title": "Small",
    "duration": "2s",
    "dumbbell": {"rate": "4Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "40p"}},
    "traffic": [
        {"name": "bulk", "kind": "bulk", "flows": 2},
        {"name": "calls", "kind": "voice"},
    ],
    "compare": {"disciplines": ["fifo", "codel"]},
}


DECLARED = (Path(protocol.__file__).parent / "page" / "messages.d.ts").read_text("utf-8")
INTERFACES = {
    name: dict(re.findall(r"^  (\w+):\s+([^;]+);", body, re.M))
    for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}", DECLARED, re.M | re.S)
}


def declared(value: Any, form: str) -> int:
    """Checks that a message has the fields that are declared; how many objects it has."""
    if value is not None and (name := form.removesuffix(" | null")) in INTERFACES:
        assert value.keys() == INTERFACES[name].keys(), name
        return 1 + sum(declared(value[field], of) for field, of in INTERFACES[name].items())
    return sum(declared(each, form[:-2]) for each in value) if form.endswith("[]") else 0


class Tab:
    """A tab that draws every frame at once and keeps what is said."""

    def __init__(self, stage: Stage) -> None:
        """A tab that has connected."""
        self.stage = stage
        self.shown: dict[str, Any] = {}
        self.frame: dict[str, Any] = {}
        self.said: list[str] = []
        self.heard: dict[str, dict[str, Any]] = {}
        self.points: list[int] = []
        self.client = Client(self._told)
        stage.connect(self.client)

    def _told(self, text: str) -> None:
        message = json.loads(text)
        self.heard[message["type"]] = message
        if message["type"] == "stage":
            self.shown = message
        elif message["type"] == "frame":
            self.frame = message
            self.points = [lane["first"] + len(lane["points"]) for lane in message["lanes"]]
            drawn = {"type": "ack", "number": message["number"]}
            self.stage.post(self.client, protocol.command(json.dumps(drawn)))
        elif message["type"] == "said":
            self.said.append(message["text"])

    def send(self, type_: str, **more: Any) -> threading.Event:
        """Ask for something; the event is set when it is done."""
        done = threading.Event()
        command = protocol.command(json.dumps({"type": type_, **more}))
        self.stage.post(self.client, command, done.set)
        return done

    def ask(self, type_: str, **more: Any) -> list[str]:
        """Ask for something and wait until it is done; what was wrong with it."""
        self.said.clear()
        assert self.send(type_, **more).wait(60), "the stage does not answer"
        return list(self.said)


@contextmanager
def staged(scenario: dict[str, Any] = SCENARIO, folder: str = ".") -> Iterator[Stage]:
    """A stage that works until the block ends."""
    stage = Stage(Scenario.of(scenario, "small.toml", folder))
    stage.start()
    try:
        yield stage
    finally:
        stage.stop()
        assert not stage._thread.is_alive()


@contextmanager
def held(stage: Stage, tab: Tab) -> Iterator[None]:
    """The stage does nothing until the block ends."""
    busy, go = threading.Event(), threading.Event()

    def wait() -> None:
        busy.set()
        go.wait(60)

    stage.call(tab.client, wait)
    assert busy.wait(60)
    try:
        yield
    finally:
        go.set()


def looked(stage: Stage, tab: Tab, look: Callable[[], T]) -> T:
    """What is seen in the stage's own thread, which alone may touch the runs."""
    found: list[T] = []
    done = threading.Event()
    stage.call(tab.client, lambda: found.append(look()), done.set)
    assert done.wait(60)
    return found[0]
