"""Guided stories: a TOML file each, beside this module.

A story is a scenario, the disciplines that are seen side by side, and steps. A step is a text and
the state that goes with it. Figures in a text are claims: a test repeats the run and measures them.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PrivateAttr, model_validator

from forebay import _written
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, nanoseconds

HOME = Path(str(resources.files("forebay._explore.stories")))

Shown = Literal["queue", "delay", "throughput", "drops", "cwnd", "variables"]
"""The series of the page."""


def lane_scenario(scenario: Scenario, lane: dict[str, Any], link: str) -> Scenario:
    """A scenario with the discipline of a lane on a link, and the lane's `box` in front of it."""
    table = dict(lane)
    table.pop("label", None)
    box = table.pop("box", None)
    changed = scenario.with_queue(table, link)
    if box is None:
        return changed
    links = {each["name"]: each["path"] for each in changed.resolved()["links"]}
    return changed.with_(f"{links[link]}.box", box)


class Claim(_written.Table):
    """A figure in a step's text, and the range in which the run has it."""

    says: str
    """The words of the text that hold the figure."""
    lane: str
    """Label of the discipline that it is about."""
    of: str
    """The measure, a key of `forebay run --json`, such as `classes.calls.p99_delay_ms`."""
    from_: Annotated[str, Field(alias="from")]
    """When measuring begins, such as "5s"."""
    until: str
    """When it ends."""
    per: str | None = None
    """A measure of the same run that it is divided by."""
    scale: float = 1.0
    """Shown value for a value of 1."""
    low: float
    """Least value, as it is shown, for which the words are true."""
    high: float
    """Greatest such value."""


class Step(_written.Table):
    """A text, and the state that the page shows beside it."""

    title: str
    """What it is called."""
    text: str
    """Plain paragraphs, with an empty line between them; `code` and *emphasis* are marked up."""
    at: str
    """Instant at which playing begins, such as "4s"; everything before it has been run."""
    until: str
    """Instant at which the page pauses by itself."""
    speed: Annotated[float, Field(ge=0.001, le=1000)] = 1.0
    """Simulated seconds per real second."""
    lanes: list[dict[str, Any]] = Field(default_factory=list)
    """Disciplines side by side, instead of the story's."""
    shows: list[Shown] = Field(default=["queue", "delay"])
    """The series that are shown."""
    look: list[str] = Field(default_factory=list)
    """What to look at: a lane by its label, or a series by its name."""
    claim: list[Claim] = Field(default_factory=list)
    """The figures of the text."""

    @property
    def at_ns(self) -> int:
        """`at` in nanoseconds."""
        return nanoseconds(self.at)

    @property
    def until_ns(self) -> int:
        """`until` in nanoseconds."""
        return nanoseconds(self.until)

    @model_validator(mode="after")
    def _check(self) -> Step:
        if self.at_ns >= self.until_ns:
            raise ValueError(f'at: "{self.at}" is not before "{self.until}"')
        for claim in self.claim:
            if claim.says not in " ".join(self.text.split()):
                raise ValueError(f'claim: the text does not say "{claim.says}"')
            if nanoseconds(claim.from_) >= nanoseconds(claim.until):
                raise ValueError(f'claim "{claim.says}": from is not before until')
        return self


class Story(_written.Table):
    """A guided story."""

    title: str
    """What it is called."""
    question: str
    """What it answers, in a sentence."""
    order: int
    """Its place among the others."""
    link: str
    """The link whose queue is seen."""
    lanes: list[dict[str, Any]]
    """The disciplines side by side: tables of a queue, each with a `label`."""
    scenario: dict[str, Any]
    """What is run."""
    step: Annotated[list[Step], Field(min_length=5, max_length=8)]
    """Its steps."""
    _name: str = PrivateAttr("")
    _base: Path = PrivateAttr(HOME)

    @property
    def name(self) -> str:
        """Name of its file, and in addresses."""
        return self._name

    @property
    def run(self) -> Scenario:
        """The scenario, named after the story in messages."""
        return Scenario.of(self.scenario, f"{self.name}.toml", str(self._base))

    def lanes_of(self, number: int) -> list[dict[str, Any]]:
        """The disciplines of a step, counted from 1."""
        return self.step[number - 1].lanes or self.lanes

    def for_stage(self) -> dict[str, Any]:
        """What the stage is told of it, as plain values."""
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "link": self.link,
            "lanes": self.lanes,
            "scenario": self.scenario,
            "base": self.run.base,
            "steps": [
                {
                    "title": step.title,
                    "text": step.text,
                    "at_ns": step.at_ns,
                    "until_ns": step.until_ns,
                    "speed": step.speed,
                    "lanes": step.lanes,
                    "shows": step.shows,
                    "look": step.look,
                }
                for step in self.step
            ],
        }

    @model_validator(mode="after")
    def _check(self) -> Story:
        for number, step in enumerate(self.step):
            place = f"step[{number}]"
            lanes = self.lanes_of(number + 1)
            labels = [lane.get("label") for lane in lanes]
            if None in labels or len(set(labels)) < len(labels):
                raise ValueError(f"{place}: every lane needs a label of its own")
            series = get_args(Shown)
            for look in step.look:
                if look not in labels and look not in series:
                    raise ValueError(f'{place}.look: there is no lane or series "{look}"')
            for claim in step.claim:
                if claim.lane not in labels:
                    raise ValueError(f'{place}.claim: there is no lane "{claim.lane}"')
        return self


def read(path: Path) -> Story:
    """The story in a file."""
    story = _written.read(Story, _written.load(path), path.name)
    story._name = path.stem
    story._base = path.parent
    return story


@cache
def all_stories() -> tuple[Story, ...]:
    """Every story that comes with forebay, in their order."""
    return tuple(sorted((read(path) for path in HOME.glob("*.toml")), key=lambda each: each.order))


def names() -> list[str]:
    """Their names, in their order."""
    return [story.name for story in all_stories()]


def load(name: str) -> Story:
    """A story by its name, or by its file, such as `forebay attack` writes."""
    if name.endswith(".toml"):
        return read(Path(name))
    for story in all_stories():
        if story.name == name:
            return story
    raise ScenarioError(f'there is no story "{name}"{_written.nearest(name, names())}')
