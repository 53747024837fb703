"""The stage in a thread: disciplines side by side, one stage for a process, seen by all its tabs.

What is played is in the engine (`crates/stage`), which knows no thread and no clock. Commands reach
it by an inbox, and one thread alone touches it.
"""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from time import perf_counter
from typing import NamedTuple

from forebay import _engine
from forebay._comparison import usual
from forebay._engine import Cancelled, ScenarioError
from forebay._explore import stories
from forebay._explore.inbox import Asked, Inbox
from forebay._explore.protocol import Command
from forebay._explore.stories import Story
from forebay._scenario import Queue, Scenario, named


class Client:
    """A tab: frames are sent to it one at a time."""

    _numbers = count()

    def __init__(self, tell: Callable[[str], None]) -> None:
        """A tab that has been sent nothing; `tell` is called from the stage's thread."""
        self.tell = tell
        self.number = next(self._numbers)
        """Its number for the engine."""
        self.drawn: int | None = None
        """A frame that it has drawn, of which the engine has not heard."""


def attempt(act: Callable[[], None], tell: Callable[[str], None]) -> None:
    """Do something; what is wrong is told."""
    try:
        act()
    except Cancelled:
        raise
    except (ScenarioError, ValueError, OSError) as error:
        tell(said("error", str(error)))
    except Exception as error:
        # A defect of ours ends what was asked for, and nothing else.
        traceback.print_exc()
        tell(said("error", f"this failed: {error!r}"))


class File(NamedTuple):
    """The scenario of a lane, to be kept."""

    stem: str
    """A name without an ending."""
    text: str
    """The scenario with its changes, as TOML."""
    fingerprint: str | None
    """That of the run, if it is complete."""


class Stage:
    """What is played."""

    def __init__(
        self,
        scenario: Scenario,
        queues: Sequence[Queue] | None = None,
        link: str | None = None,
        *,
        plays: bool = False,
        story: Story | None = None,
    ) -> None:
        """The stage at the beginning of a scenario.

        Unless `queues` are given, the link's own queue is beside one that the scenario compares;
        the link is the compared one. If it `plays`, it begins when the first tab has come;
        otherwise also the first story waits until somebody lets it play. A `story` that does not
        come with forebay is offered beside those that do.
        """
        told = stories.all_stories()
        if story is not None and story not in told:
            told = (story, *told)
        self._inbox = Inbox()
        self._ends = _engine.Cancel()
        self._clients: list[Client] = []
        with named(scenario):
            self._engine = _engine.stage(
                scenario.text,
                scenario.name,
                scenario.base,
                queues=json.dumps(usual(scenario, link) if queues is None else list(queues)),
                link=link,
                stories=json.dumps([each.for_stage() for each in told]),
                plays=plays,
                ends=self._ends,
            )
        self._thread = threading.Thread(target=self._work, name="stage", daemon=True)

    # From other threads.

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """End, whatever is being done or has been asked for."""
        self._ends.set()
        self._inbox.wake()
        self._thread.join(timeout=10)

    def connect(self, client: Client) -> None:
        """A tab wants to see it."""

        def act() -> None:
            self._clients.append(client)
            self._tell(self._engine.connect(client.number))

        self.call(client, act)

    def disconnect(self, client: Client) -> None:
        """A tab has gone; without any, it does not play on."""

        def act() -> None:
            self._clients.remove(client)
            self._engine.disconnect(client.number)

        self.call(client, act)

    def post(
        self, client: Client, command: Command, done: Callable[[], None] = lambda: None
    ) -> None:
        """A tab asks for something; what is wrong with it is told to it.

        `done` is called, from any thread, when it has been done or a later command makes up for it.
        """
        if command.type == "ack":
            client.drawn = command.fields["number"]
            self._inbox.wake()
            done()
            return
        kind = command.type if command.type in ("seek", "speed") else None
        self.call(client, lambda: self._obey(client, command), done, kind)

    def call(
        self,
        client: Client,
        act: Callable[[], None],
        done: Callable[[], None] = lambda: None,
        kind: str | None = None,
    ) -> None:
        """Do something when all that the tab asked for before is done.

        What is wrong is told to the tab. Of several of a kind in a row, the last one alone is done.
        """
        self._inbox.put(client, Asked(lambda: attempt(act, client.tell), done, kind))

    @property
    def watched(self) -> str | None:
        """The link whose queue is shown."""
        return self._engine.watched()

    def lanes(self) -> list[tuple[str, Scenario]]:
        """Label and recorded scenario of each lane."""
        return [
            (label, Scenario(text, name, str(base)))
            for label, text, name, base in self._engine.lanes()
        ]

    def instants(self) -> list[int]:
        """The present instant of each lane, in ns."""
        return self._engine.instants()

    def files(self) -> list[File]:
        """The scenarios of all lanes, to be kept."""
        return [File(*each) for each in self._engine.files()]

    def tell_all(self, text: str) -> None:
        """Send a message to every tab."""
        for client in list(self._clients):
            client.tell(text)

    # In its own thread.

    def _work(self) -> None:
        with suppress(Cancelled):
            while not self._ends.is_set():
                asked = self._inbox.take(self._engine.wait(perf_counter()))
                if asked is not None:
                    try:
                        asked.act()
                    finally:
                        asked.done()
                # However much is asked for, it plays on.
                attempt(self._go_on, self.tell_all)

    def _go_on(self) -> None:
        for client in self._clients:
            drawn, client.drawn = client.drawn, None
            if drawn is not None:
                self._engine.acknowledge(client.number, drawn)
        self._engine.turn(perf_counter())
        self._tell(self._engine.show(perf_counter()))

    def _obey(self, client: Client, command: Command) -> None:
        self._tell(self._engine.obey(client.number, command.text))

    def _tell(self, messages: Sequence[tuple[int | None, str]]) -> None:
        for number, text in messages:
            for client in list(self._clients):
                if number is None or client.number == number:
                    client.tell(text)


def said(level: str, text: str) -> str:
    """The message that shows a text."""
    return json.dumps({"type": "said", "level": level, "text": text, "field": None})
