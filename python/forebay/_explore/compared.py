"""Comparisons of lanes, and what the page is told of them: messages of type `compared`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from forebay._advice import Advice, advise
from forebay._compared.tables import columns_of
from forebay._comparison import Comparison, Variant
from forebay._engine import ScenarioError
from forebay._measures import ABSENT, DISTORTED, MARKED
from forebay._scenario import Scenario


def of_lanes(
    lanes: Sequence[tuple[str, Scenario]], watched: str | None, runs: int
) -> tuple[Comparison, range]:
    """A comparison without its runs, and their seeds.

    Args:
        lanes: label and scenario of each, at least one.
        watched: the link whose queue is shown.
        runs: replications, at least 1.

    Raises:
        ScenarioError: there is no link to be compared, or two lanes have the same label.
    """
    if watched is None:
        raise ScenarioError("there is no link on which disciplines could be compared")
    for label, number in Counter(label for label, _ in lanes).items():
        if number > 1:
            raise ScenarioError(f'{number} lanes are called "{label}"; remove all but one of them')
    variants = tuple(
        Variant(label, _queue(scenario, watched), scenario) for label, scenario in lanes
    )
    first = int(lanes[0][1].document.get("seed", 1))
    return Comparison(lanes[0][1], watched, variants, ()), range(first, first + runs)


def under_way(labels: Sequence[str], runs: int, done: float) -> dict[str, Any]:
    """The message that a share (0 to 1) of a comparison is done; below 0, that it has failed."""
    return {
        "type": "compared", "runs": runs, "lanes": list(labels), "done": done,
        "rows": [], "advice": None, "marked": "",
    }  # fmt: skip


def message(found: Comparison) -> dict[str, Any]:
    """What was found."""
    marked = (
        f"Mean ± {100 * found.level:g} % interval. In each row: {MARKED} "
        f"{DISTORTED} distorted, and kept out of the score."
    )
    whole = {"rows": _rows(found), "advice": _advice(advise(found)), "marked": marked}
    return under_way(found.labels, len(found.seeds), 1.0) | whole


def _advice(advice: Advice) -> dict[str, Any]:
    beside = [{"title": title, "sentences": list(each)} for title, each in advice.beside_today]
    return {"headline": advice.headline, "why": advice.why, "beside": beside}


def _queue(scenario: Scenario, watched: str) -> dict[str, object]:
    for link in scenario.resolved()["links"]:
        if link["name"] == watched:
            return dict(link["queue"] or {"kind": "fifo"})
    raise ScenarioError(f'there is no link "{watched}"')


def _rows(found: Comparison) -> list[dict[str, Any]]:
    """The measures of every class that has them: the report's cells, a row each."""
    return [
        {
            "class_name": class_,
            "measure": f"{measure.title} ({measure.unit})",
            "cells": [asdict(cell) for cell in column.values()],
        }
        for measure, columns in columns_of(found)
        for class_, column in columns.items()
        if any(cell.text != ABSENT for cell in column.values())
    ]
