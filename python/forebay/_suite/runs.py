"""What the runs of a test measured, and sums over them that all suites take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import sweep
from forebay._scenario import Scenario, quantity
from forebay.sweep import StudyData
from forebay.sweep.axes import Axis

Samples = Mapping[str, list[Any]]
"""Columns by name: a value for each run of a point, or for each row of a table."""


def read(folder: Path) -> tuple[StudyData, dict[str, Samples]]:
    """The results in a test's folder, and the measures of every point, by its id.

    They are plain lists: there are thousands of small sums to take, and few numbers in each.
    """
    data = sweep.results(folder)
    whole = data.runs.partition_by("point", as_dict=True)
    return data, {str(id_): frame.to_dict(as_series=False) for (id_,), frame in whole.items()}


def quotients(
    above: Sequence[float | None], below: Sequence[float | None], scale: float = 1.0
) -> list[float | None]:
    """Quotients, run by run; none where a number is missing or the lower one is zero."""
    pairs = zip(above, below, strict=True)
    return [scale * a / b if a is not None and b else None for a, b in pairs]


def scaled(values: Sequence[float | None], scale: float, less: float = 0.0) -> list[float | None]:
    """Values less a number, times a number."""
    return [None if value is None else scale * (value - less) for value in values]


def setting(axes: Sequence[Axis], steps: Sequence[int]) -> list[str]:
    """Names of axes, each with its value at a step."""
    pairs = zip(axes, steps, strict=True)
    return [f"{axis.name} {axis.labels[step]}" for axis, step in pairs]


def rtt_ms(scenario: Scenario) -> float:
    """The base round-trip time of a dumbbell, transmission times left out."""
    row = scenario.effective()["dumbbell"]
    ways = [row, row["access"], row["access"]]
    found = [quantity(each["delay"]) for each in ways]
    return 2e3 * sum(each.value for each in found if each is not None)
