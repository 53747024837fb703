"""What the runs of a suite of requirements come to: a verdict a check, setting and queue.

A check *holds* in a setting if the whole 95 % interval of its number lies within its bounds, and
does not hold if it lies without. An interval that has an end on either side leaves it open. It does
not apply where what it is about does not occur, such as marks of a queue that marks nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from forebay import _written, stats, sweep
from forebay._engine import ScenarioError
from forebay.scenario import Scenario, quantity
from forebay.stats import Interval
from forebay.suite.catalogue import Check, Suite, Test, anchor
from forebay.suite.league import rtt_ms
from forebay.sweep.study import Point

Verdict = Literal["holds", "does not hold", "open", "does not apply", "not judged"]
PACKET_BITS = 8 * 1500.0
Runs = Mapping[str, list[Any]]
"""Columns by name, a value a replication."""


@dataclass(frozen=True)
class Found:
    """A check in one setting under one queue."""

    setting: str
    interval: Interval | None
    low: float
    high: float
    verdict: Verdict


@dataclass(frozen=True)
class Cell:
    """A check under one queue: its verdict over all settings."""

    found: tuple[Found, ...]

    @cached_property
    def asked(self) -> tuple[Found, ...]:
        """The settings to which it applies."""
        return tuple(each for each in self.found if each.verdict != "does not apply")

    @cached_property
    def verdict(self) -> Verdict:
        """The worst of its settings."""
        given = {each.verdict for each in self.asked}
        order: tuple[Verdict, ...] = ("does not hold", "open", "holds", "not judged")
        return next((each for each in order if each in given), "does not apply")

    @property
    def span(self) -> tuple[float, float] | None:
        """Least and greatest mean of the settings to which it applies."""
        means = [each.interval.mean for each in self.asked if each.interval]
        return (min(means), max(means)) if means else None


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
    anchor: str
    runs: int
    lines: tuple[Line, ...]


def collect(suite: Suite, folder: Path) -> list[Outcome]:
    """The outcome of every test.

    Raises:
        ScenarioError: a test has not been run, or a check names a measure that there is not.
    """
    return [_outcome(test, folder / test.name) for test in suite.tests]


def _outcome(test: Test, folder: Path) -> Outcome:
    data = sweep.results(folder)
    whole = data.runs.partition_by("point", as_dict=True)
    runs = {str(id_): frame.to_dict(as_series=False) for (id_,), frame in whole.items()}
    at = {(point.steps, point.discipline): point for point in test.study.points}
    lines = []
    for check in test.checks:
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
                base = runs[at[(step, *point.steps[1:]), point.discipline].id]
            found = judged(test, check, point, runs[point.id], base)
            cells.setdefault(point.discipline, []).append(found)
        lines.append(Line(test, check, {name: Cell(tuple(each)) for name, each in cells.items()}))
    return Outcome(test, anchor(test), data.runs.height, tuple(lines))


def judged(test: Test, check: Check, point: Point, runs: Runs, base: Runs | None = None) -> Found:
    """A check at one point.

    Args:
        test: its test.
        check: what is asked.
        point: where.
        runs: the point's measures.
        base: those of the point that it is divided by.
    """
    scenario = test.study.scenario_of(point)
    values = _values(test, check, scenario, runs)
    if base is not None:
        values = _quotients(values, _values(test, check, scenario, base))
    values = [None if value is None else check.scale * value for value in values]
    low = -math.inf if check.low is None else check.low
    high = math.inf if check.high is None else check.high
    if check.packets is not None:
        packet = _packet_ms(test, scenario)
        high = check.packets * packet if packet > high else high
    interval = stats.interval(values)
    verdict = _verdict(check, values, interval, low, high)
    if check.applies is not None and not any(runs[check.applies]):
        verdict = "does not apply"
    return Found(_title(test, point), interval, low, high, verdict)


def _verdict(
    check: Check,
    values: Sequence[float | None],
    interval: Interval | None,
    low: float,
    high: float,
) -> Verdict:
    if check.low is None and check.high is None:
        return "not judged"
    if check.every:
        known = [value for value in values if value is not None]
        lies = all(low <= value <= high for value in known) if known else None
    else:
        lies = stats.inside(interval, low, high)
    return "open" if lies is None else "holds" if lies else "does not hold"


def _values(test: Test, check: Check, scenario: Scenario, runs: Runs) -> list[float | None]:
    values: list[float | None] = list(runs[check.of])
    if check.over is not None:
        values = _quotients(values, runs[check.over])
        if check.per_flow:
            share = _flows(scenario, check.over) / _flows(scenario, check.of)
            values = [None if value is None else share * value for value in values]
    if check.per_round:
        resolved = scenario.resolved()
        span = resolved["duration_s"] - resolved["warmup_s"]
        rounds = 1e3 * span / rtt_ms(scenario)
        values = [None if value is None else value / rounds for value in values]
    if check.queueing:
        row = scenario.effective()["dumbbell"]
        access = quantity(row["access"]["rate"])
        way = rtt_ms(scenario) / 2 + _packet_ms(test, scenario)
        way += 2e3 * PACKET_BITS / (access.value if access else math.inf)
        values = [None if value is None else value - way for value in values]
    return values


def _flows(scenario: Scenario, measure: str) -> int:
    """Flows of the class that a measure is of."""
    name = measure.split(".")[1]
    return sum(each["flows"] for each in scenario.resolved()["traffic"] if each["class"] == name)


def _quotients(above: Sequence[float | None], below: Sequence[float | None]) -> list[float | None]:
    return [a / b if a is not None and b else None for a, b in zip(above, below, strict=True)]


def _packet_ms(test: Test, scenario: Scenario) -> float:
    """Time of a packet of 1500 B on the link under test; at its lowest rate if it has several."""
    name = scenario.compared_link(test.study.links[0])
    [link] = [each for each in scenario.resolved()["links"] if each["name"] == name]
    if link["rate_bps"] is not None:
        return 1e3 * PACKET_BITS / float(link["rate_bps"])
    steps = [quantity(rate) for _, rate in scenario.effective()["dumbbell"]["rate"]["steps"]]
    return 1e3 * PACKET_BITS / min(each.value for each in steps if each and each.value)


def _title(test: Test, point: Point) -> str:
    pairs = zip(test.study.axes, point.steps, strict=True)
    return ", ".join(f"{axis.name} {axis.labels[step]}" for axis, step in pairs)
