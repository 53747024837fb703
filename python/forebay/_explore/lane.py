"""One of the disciplines side by side: a run under way, and the scenario that it records."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from forebay import _engine
from forebay._scenario import Scenario, named

Entry = dict[str, Any]
"""What changes, as `[[change]]` has it, without its instant."""


class Ended(Exception):
    """The stage ends; what takes long is left."""


class Lane:
    """A discipline on the watched link."""

    def __init__(
        self,
        label: str,
        scenario: Scenario,
        link: str | None,
        grain_ns: int,
        ends: threading.Event | None = None,
    ) -> None:
        """The run of `scenario` at its beginning; when `ends` is set, it raises `Ended`."""
        self.label = label
        self.scenario = scenario
        self._link = link
        self._grain_ns = grain_ns
        self._ends = ends or threading.Event()
        self.run = self._open()

    def _open(self) -> _engine.Session:
        with named(self.scenario):
            run = _engine.open(self.scenario.text, self.scenario.base)
            run.watch(self._link, self._grain_ns)
        return run

    @property
    def times(self) -> tuple[int, int]:
        """The present instant, and the end, in ns."""
        return self.run.times()

    def advance(self, until_ns: int) -> None:
        """Go on to an instant."""
        self._go(lambda: self.run.advance(until_ns))

    def advance_to_packet(self) -> None:
        """Go on to the next instant at which a packet joins or leaves the watched queue."""
        self._go(self.run.advance_to_packet)

    def _go(self, slice_: Callable[[], bool]) -> None:
        """Go on by slices of some milliseconds, until one is the last."""
        with named(self.scenario):
            while not slice_():
                if self._ends.is_set():
                    raise Ended

    def seek(self, at_ns: int) -> None:
        """Be at an instant: from the beginning if it is over."""
        if at_ns < self.times[0]:
            self.restart(at_ns)
        else:
            self.advance(at_ns)

    def restart(self, at_ns: int) -> None:
        """Run the scenario from the beginning to an instant."""
        self.run = self._open()
        self.advance(at_ns)

    def fingerprint(self) -> str | None:
        """The run's fingerprint, if it is complete."""
        now, end = self.times
        return self.run.fingerprint() if now >= end else None

    def change(self, at_ns: int, entry: Mapping[str, Any]) -> None:
        """Change something from now on, which is `at_ns`, and record it; or nothing has changed."""
        recorded = self.scenario.with_change(at_ns, entry)
        with named(self.scenario):
            self.run.change(recorded.text)
        self.scenario = recorded

    @property
    def now(self) -> Scenario:
        """The scenario as it now is."""
        return Scenario(self.run.scenario(), self.scenario.name, self.scenario.base)

    def scenario_at_end(self) -> Scenario:
        """The scenario when all its recorded changes have been made, as far as who takes part."""
        document = self.scenario.document
        changes = document.pop("change", [])
        document["traffic"] += [each["join"] for each in changes if "join" in each]
        return Scenario.of(document, self.scenario.name, self.scenario.base)

    @property
    def shown(self) -> dict[str, Any]:
        """Classes and flows by their numbers in pictures."""
        found: dict[str, Any] = json.loads(self.run.shown())
        return found

    def story(self, number: int) -> dict[str, Any] | None:
        """The story of a packet; None if it is not kept."""
        found = self.run.story(number)
        return None if found is None else json.loads(found)


def in_words(entry: Mapping[str, Any]) -> str:
    """A change as the page shows it."""
    if "set" in entry:
        return ", ".join(f"{path} = {_value(value)}" for path, value in entry["set"].items())
    if "join" in entry:
        traffic = entry["join"]
        return f"{traffic.get('name', traffic.get('kind'))} joins"
    return f"{entry['leave']} leaves"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("label") or value.get("kind") or json.dumps(value))
    return value if isinstance(value, str) else json.dumps(value)


def recorded_at(scenario: Scenario, changes: list[tuple[int, Entry]]) -> Scenario:
    """The scenario with these changes, each at its instant in ns, beside its own."""
    for at_ns, entry in changes:
        scenario = scenario.with_change(at_ns, entry)
    return scenario
