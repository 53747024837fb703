"""The figure of the validation page: what every referee measured beside what forebay did."""

from __future__ import annotations

from collections.abc import Sequence

import beside
from beside import NAMES, Row

from forebay._report.panel import Panel, Series

IMAGE = "validation/referees.svg"
SPREAD = 0.35
"""Half of the width in which the dots of one referee lie, in parts of the distance of two."""
MOST = 2.0
"""Dots that would lie higher lie at the upper edge."""


def panels(rows: Sequence[Row]) -> list[Panel]:
    """A panel a quantity: a dot for each cell, forebay's over the referee's."""
    asked = beside.by_referee(rows)
    ticks = tuple((float(at), str(at + 1)) for at in range(len(asked)))
    return [
        Panel(
            title=words,
            x_label="referee",
            y_label="forebay / referee",
            series=[
                _series(f"{at + 1}: {referee}", at, _ratios(those, quantity))
                for at, (referee, those) in enumerate(asked.items())
            ],
            x_range=(-0.5, len(asked) - 0.5),
            y_range=(0.0, MOST),
            x_ticks=ticks,
            level=1.0,
        )
        for quantity, words in NAMES.items()
    ]


def _ratios(rows: Sequence[Row], quantity: str) -> list[float]:
    """Forebay's over the referee's, where this has any of the quantity."""
    pairs = [row.pairs[quantity] for row in rows if quantity in row.pairs]
    return [pair.ours / pair.theirs for pair in pairs if pair.theirs > 0]


def _series(referee: str, at: int, ratios: Sequence[float]) -> Series:
    """The dots of a referee beside each other, in the order of its rows."""
    step = 2 * SPREAD / max(len(ratios) - 1, 1)
    places = [round(at - SPREAD + step * number, 4) for number in range(len(ratios))]
    shown = [round(min(each, MOST), 4) for each in ratios]
    return Series(referee, places, shown, style="points")


def caption(rows: Sequence[Row]) -> str:
    """What the figure shows, in words."""
    pairs = [pair for row in rows for pair in row.pairs.values()]
    shown = [pair.ours / pair.theirs for pair in pairs if pair.theirs > 0]
    high = sum(ratio > MOST for ratio in shown)
    none = [pair for pair in pairs if pair.theirs == 0]
    both = sum(pair.ours == 0 for pair in none)
    return (
        f"Every cell of every referee: forebay's value over the referee's, {len(shown)} dots. "
        f"{high} of them are above {MOST:g} and lie at the edge. In {both} more cells both have "
        f"none of the quantity, and in {len(none) - both} forebay alone has."
    )


def comment(rows: Sequence[Row]) -> str:
    """What shows the figure on the site."""
    return f"<!-- figure {IMAGE}: {caption(rows)} -->"
