"""Values of files and options, each refused with its place and what was expected."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._scenario import quantity

EXAMPLES = {"bit/s": ("rate", "10Mbit"), "s": ("time", "5ms")}
"""What a quantity in a base unit is called, and how one is written."""


def measured(value: Any, unit: str, where: str) -> float:
    """A quantity as scenarios write it, or a number in the base unit, above 0."""
    found = quantity(value)
    if found is None or found.base_unit not in ("", unit) or not 0 < found.value < float("inf"):
        noun, example = EXAMPLES[unit]
        raise ScenarioError(f'{where}: expected a {noun} such as "{example}", got "{value}"')
    return found.value


def positive(value: Any, what: str, where: str) -> float:
    """A number above 0, which may be written as a text."""
    number = _number(value)
    if not 0 < number < float("inf"):
        raise ScenarioError(
            f'{where}: expected {what} above 0, got "{value}"; correct it, '
            "or remove it to use --rate"
        )
    return number


def degrees(value: Any, most: float, where: str) -> float:
    """A longitude or latitude, which may be written as a text."""
    number = _number(value)
    if not -most <= number <= most:
        raise ScenarioError(f'{where}: expected degrees from -{most} to {most}, got "{value}"')
    return number


def _number(value: Any) -> float:
    try:
        return float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def table(path: Path, most: int, comment: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """The lines of a file of comma-separated values that are not empty, numbered from 1."""
    lines = _disk.read_text(path).splitlines()
    if len(lines) > most:
        raise ScenarioError(
            f"{path}: has more than {most} lines, the most that are read; take a part out"
        )
    kept = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if comment is None or not line.startswith(comment)
    ]
    reader = csv.reader(line for _, line in kept)
    try:
        for cells in reader:
            if cells:
                yield kept[reader.line_num - 1][0], cells
    except csv.Error as error:
        raise ScenarioError(f"{path}: line {kept[reader.line_num - 1][0]}: {error}") from None
