"""Cases as data, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import Field

from forebay import _written
from forebay._allows import Allows
from forebay._engine import ScenarioError
from forebay._judge import Bounds, Judgement, Standing, exactly
from forebay._suite.behaviour import path, probing, startup
from forebay._suite.behaviour.rig import COURSE, Numbers, Rig

MODULES = (startup, probing, path)
"""Where the measures are."""


class Check(Allows):
    """A number within bounds; without bounds it is shown and not judged."""

    what: str
    """What is measured. Here and in `text` and `asks`, braces hold numbers of the measure."""
    of: str
    """The number, a state, or whether something is so (1)."""
    states: list[str] = Field(default_factory=list)
    """The states that are allowed, in place of bounds."""
    text: str
    """The number in words."""
    asks: str
    """What is asked, in words."""
    own: bool = False
    """Whether the bounds are ours, since the source gives none."""
    optional: bool = False
    """Whether it is left out where the measure does not give the number."""

    def judged(self, numbers: Numbers) -> Judgement:
        """The number beside its bounds."""
        value = numbers[self.of]
        if self.states:
            return Judgement(exactly(value.name in self.states), Bounds(1, 1))
        [bounds] = self.allowed() or [Bounds()]
        return Judgement(exactly(value), bounds)


class Case(_written.Table):
    """A case of the source."""

    number: int
    """Its number."""
    title: str
    """The source's."""
    asks: str
    """What the source asks for, in our words."""
    note: str = ""
    """What is done otherwise than the source says, or why the case does not hold."""
    measure: str
    """The function that gives the numbers of a path."""
    paths: list[list[float]] = Field(
        default_factory=lambda: [[2.0, 100.0, 8.0], [10.0, 40.0, 8.0], [50.0, 10.0, 8.0]]
    )
    """Mbit/s, ms, and room of the queue in bandwidth-delay products, enough to lose none to it."""
    path_title: str = "{title}"
    """What a path is called."""
    check: list[Check]
    """What is judged."""

    def run(self, rig: Rig) -> Outcome:
        """What it comes to on one path."""
        numbers: Numbers = {"title": rig.title, "rate": rig.rate, "rtt": rig.rtt}
        numbers |= self._measure(rig)
        told = {name: _told(value) for name, value in numbers.items()}
        found = []
        for check in self.check:
            if check.of in numbers:
                found.append(
                    Judged(
                        check.what.format_map(told),
                        check.text.format_map(told),
                        check.asks.format_map(told),
                        check.judged(numbers).standing is Standing.INSIDE,
                        check.own,
                    )
                )
            elif not check.optional:
                raise ScenarioError(f'case {self.number}: {self.measure} gives no "{check.of}"')
        return Outcome(self.path_title.format_map(told), found, numbers.get(COURSE))

    @property
    def _measure(self) -> Callable[[Rig], Numbers]:
        for module in MODULES:
            if hasattr(module, self.measure):
                found: Callable[[Rig], Numbers] = getattr(module, self.measure)
                return found
        raise ScenarioError(f'case {self.number}: there is no measure "{self.measure}"')


class CaseFile(_written.Table):
    """The file `cases.toml`."""

    case: list[Case]
    """The cases, in the source's order."""


@dataclass(frozen=True)
class Judged:
    """A number beside its threshold, in words."""

    what: str
    number: str
    threshold: str
    holds: bool
    derived: bool = False
    """Whether the threshold is ours."""


@dataclass(frozen=True)
class Outcome:
    """What a case came to on one path."""

    path: str
    checks: Sequence[Judged]
    course: Mapping[str, Any] | None = None


def read(file: Path) -> list[Case]:
    """The cases in a file."""
    return _written.read(CaseFile, _written.load(file), file.name).case


def _told(value: Any) -> Any:
    """A number as texts show it: states by their names."""
    if isinstance(value, Enum):
        return value.name
    return str(value).lower() if isinstance(value, bool) else value
