"""What the runs of a suite of requirements come to: a judgement a check, setting and queue.

A check does not apply where what it is about does not occur, such as marks of a queue that marks
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from forebay import _written, stats
from forebay._engine import ScenarioError
from forebay._judge import STANDARD, Bounds, Judgement, Standing, exactly, worst
from forebay._scenario import Scenario, quantity, resolved_link
from forebay._suite import runs
from forebay._suite.catalogue import Check, Suite, Test
from forebay._suite.runs import Samples
from forebay.sweep.study import Point

NOT_ASKED = "does not apply"
NOT_JUDGED = "not judged"
PACKET_BITS = 8 * 1500.0


@dataclass(frozen=True)
class Found:
    """A check in one setting under one queue."""

    setting: str
    judgement: Judgement
    """Of the mean."""
    standing: Standing | None
    """Where the mean lies, or the worst of all runs; none if nothing is asked for."""
    applies: bool = True

    @property
    def verdict(self) -> str:
        """The same in words."""
        return _verdict([self])

    @property
    def runs_needed(self) -> int | None:
        """Seeds that would decide an open check; none if it is decided, or if none are known to."""
        return self.judgement.samples_needed() if self.standing is Standing.OPEN else None


@dataclass(frozen=True)
class Cell:
    """A check under one queue: its verdict over all settings."""

    found: tuple[Found, ...]

    @cached_property
    def asked(self) -> tuple[Found, ...]:
        """The settings to which it applies."""
        return tuple(each for each in self.found if each.applies)

    @cached_property
    def verdict(self) -> str:
        """The worst of its settings."""
        return _verdict(self.found)

    @property
    def span(self) -> tuple[float, float] | None:
        """Least and greatest mean of the settings to which it applies."""
        means = [each.judgement.interval.mean for each in self.asked if each.judgement.interval]
        return (min(means), max(means)) if means else None


def _verdict(found: Sequence[Found]) -> str:
    asked = [each.standing for each in found if each.applies]
    judged = [each for each in asked if each is not None]
    if judged:
        return STANDARD[worst(judged)]
    return NOT_JUDGED if asked else NOT_ASKED


@dataclass(frozen=True)
class Line:
    """A check under every queue: a line of the matrix."""

    test: Test
    check: Check
    cells: dict[str, Cell]
    """By queue."""


@dataclass(frozen=True)
class Outcome:
    """All of a test that the report shows."""

    test: Test
    runs: int
    lines: tuple[Line, ...]


def outcome(_: Suite, test: Test, folder: Path) -> Outcome:
    """What a test came to, whose results are in a folder."""
    data, measured = runs.read(folder)
    at = {(point.steps, point.discipline): point for point in test.study.points}
    lines = []
    for check in test.file.check:
        for measure in filter(None, (check.of, check.over, check.applies)):
            if measure not in data.measures:
                near = _written.nearest(measure, list(data.measures))
                raise ScenarioError(f'{test.name}: {check.title}: no measure "{measure}"{near}')
        cells: dict[str, list[Found]] = {}
        for point in test.study.points:
            first = test.study.axes[0].labels[point.steps[0]] if test.study.axes else None
            if check.only and first not in check.only:
                continue
            base = None
            if check.base is not None:
                if first == check.base:
                    continue
                step = test.study.axes[0].labels.index(check.base)
                base = measured[at[(step, *point.steps[1:]), point.discipline].id]
            found = judged(test, check, point, measured[point.id], base)
            cells.setdefault(point.discipline, []).append(found)
        lines.append(Line(test, check, {name: Cell(tuple(each)) for name, each in cells.items()}))
    return Outcome(test, data.runs.height, tuple(lines))


def judged(
    test: Test, check: Check, point: Point, measured: Samples, base: Samples | None = None
) -> Found:
    """A check at one point."""
    scenario = test.study.scenario_of(point)
    values = _values(test, check, scenario, measured)
    if base is not None:
        values = runs.quotients(values, _values(test, check, scenario, base))
    values = runs.scaled(values, check.scale)
    bounds = check.bounds
    if check.packets is not None:
        packet = _packet_ms(test, scenario)
        if packet > bounds.high:
            bounds = replace(bounds, high=check.packets * packet)
    mean = Judgement(stats.interval(values), bounds)
    every = [Judgement(exactly(value), bounds) for value in values if value is not None]
    return Found(
        ", ".join(runs.setting(test.study.axes, point.steps)),
        mean,
        None
        if bounds == Bounds()
        else worst(each.standing for each in (check.every and every) or [mean]),
        check.applies is None or any(measured[check.applies]),
    )


def _values(test: Test, check: Check, scenario: Scenario, measured: Samples) -> list[float | None]:
    values: list[float | None] = list(measured[check.of])
    if check.over is not None:
        values = runs.quotients(values, measured[check.over])
        if check.per_flow:
            share = _flows(scenario, check.over) / _flows(scenario, check.of)
            values = runs.scaled(values, share)
    if check.per_round:
        resolved = scenario.resolved()
        span = resolved["duration_s"] - resolved["warmup_s"]
        values = runs.scaled(values, runs.rtt_ms(scenario) / (1e3 * span))
    if check.queueing:
        row = scenario.effective()["dumbbell"]
        access = quantity(row["access"]["rate"])
        way = runs.rtt_ms(scenario) / 2 + _packet_ms(test, scenario)
        way += 2e3 * PACKET_BITS / (access.value if access else math.inf)
        values = runs.scaled(values, 1.0, less=way)
    return values


def _flows(scenario: Scenario, measure: str) -> int:
    """Flows of the class that a measure is of."""
    name = measure.split(".")[1]
    return sum(each["flows"] for each in scenario.resolved()["traffic"] if each["class"] == name)


def _packet_ms(test: Test, scenario: Scenario) -> float:
    """Time of a packet of 1500 B on the link under test; at its lowest rate if it has several."""
    link = resolved_link(scenario, scenario.compared_link(test.study.links[0]))
    if link["rate_bps"] is not None:
        return 1e3 * PACKET_BITS / float(link["rate_bps"])
    steps = [quantity(rate) for _, rate in scenario.effective()["dumbbell"]["rate"]["steps"]]
    return 1e3 * PACKET_BITS / min(each.value for each in steps if each and each.value)
