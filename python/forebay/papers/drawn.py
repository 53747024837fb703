"""Figures: diagrams and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forebay._engine import ScenarioError
from forebay._report.panel import Panel, Series
from forebay._scenario import quantity
from forebay.papers.files import Axes, Curve, FigureTable, PanelTable
from forebay.papers.numbers import Number, Sources, like
from forebay.papers.variables import Values, amount, filled
from forebay.stats import Interval


def panels(sources: Sources, figure: FigureTable) -> list[Panel]:
    """The diagrams of a figure."""
    tables = (like(each, figure, list(Axes.model_fields)) for each in figure.panel)
    return [panel for table in tables for panel in _panels(sources, table)]


def _panels(sources: Sources, table: PanelTable) -> list[Panel]:
    """A diagram, or one for each combination of its variables."""
    found: list[Panel] = []
    for values in sources.rows(table.for_, Number(study=table.study), {}):
        if table.call:
            found += sources.told(table.call, values)
            continue
        lines = [like(each, table, ("study", "along", "x_is")) for each in table.curve]
        found.append(
            Panel(
                filled(table.title, values),
                table.x,
                filled(table.y, values),
                [one for each in lines for one in curves(sources, each, values)],
                x_range=_ends(table.x_range),
                y_range=_ends(filled(table.y_range, values)),
                x_log=table.x_log,
                y_log=table.y_log,
                ordered=table.ordered,
            )
        )
    return found


def curves(sources: Sources, curve: Curve, values: Values) -> list[Series]:
    """A curve for each combination of its variables."""
    if curve.y is not None:
        x, y = filled(curve.x, values) or [], filled(curve.y, values)
        label = filled(curve.label, values)
        return [Series(label, x, y, style=curve.style, stated=curve.stated)] if y else []
    found = []
    for here in sources.rows(curve.for_, curve, values):
        points = curve.points or {curve.along: curve.x or "all"}
        steps = sources.rows(points, curve, here)
        if curve.x is None and all(
            isinstance(each.get(curve.along), int | float) for each in steps
        ):
            steps.sort(key=lambda each: each[curve.along])
        means = [sources.interval(curve, step) for step in steps]
        x = [_place(sources, curve, step) for step in steps]
        found.append(_series(filled(curve.label, here), x, means, curve))
    return found


def _series(label: str, x: Sequence[Any], found: Sequence[Interval | None], curve: Curve) -> Series:
    mean, low, high = (
        [None if each is None else getattr(each, end) for each in found]
        for end in ("mean", "low", "high")
    )
    if curve.stated or not curve.intervals:
        low = high = []
    return Series(label, x, mean, low, high, curve.style, curve.stated)


def _place(sources: Sources, curve: Curve, values: Values) -> Any:
    """Where a step is on the axis: a number, or the name of a bar."""
    scale = amount(curve.x_scale, values)
    assert scale is not None
    if curve.x_is:
        known = filled(curve.x_is, values)
        if known is None:
            raise ScenarioError(f'"{curve.x_is}" has no value at {dict(values)}')
        if not isinstance(known, str):
            return scale * known
        same = {"study": curve.study, "at": curve.at, "over": curve.over, "take": curve.take}
        plain = Number(of=curve.x_is, scale=scale).model_copy(update=same)
        found = sources.interval(plain, values)
        return None if found is None else found.mean
    step = values[curve.along]
    base = quantity(step) if isinstance(step, str) else None
    if base is not None:
        return scale * base.value
    return step if isinstance(step, str) else scale * step


def _ends(given: Sequence[float] | None) -> tuple[float, float] | None:
    return None if given is None else (given[0], given[1])
