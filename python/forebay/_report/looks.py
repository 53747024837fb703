"""How variants look: a colour, a dash and a shape each, the same in every panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from forebay._report.panel import Map, Panel

COLOURS = 10
"""Colours of variants in the style sheet."""
SHADES = 9
"""Shades of an ordered set in the style sheet, from dark to light."""
DASHES = ([1, 0], [6, 3], [1.5, 2.5], [6, 3, 1.5, 3], [10, 4])
SHAPES = (
    "M-.9 0A.9 .9 0 1 1 .9 0A.9 .9 0 1 1 -.9 0Z",
    "M-.8 -.8H.8V.8H-.8Z",
    "M0 -1.1L1.1 0L0 1.1L-1.1 0Z",
    "M0 -1L1.1 .8H-1.1Z",
    "M-.36 -1H.36V-.36H1V.36H.36V1H-.36V.36H-1V-.36H-.36Z",
    "M0 1L1.1 -.8H-1.1Z",
)
"""Circle, square, diamond, triangle, cross and triangle downwards, between -1 and 1."""
STAR = "M0 -1L.26 -.36L.95 -.31L.42 .14L.59 .81L0 .44L-.59 .81L-.42 .14L-.95 -.31L-.26 -.36Z"


@dataclass(frozen=True, slots=True)
class Looks:
    """The looks of variants, in their order."""

    labels: tuple[str, ...]
    colours: tuple[str, ...]
    dashes: tuple[Sequence[float], ...]
    shapes: tuple[str, ...]

    def encoding(self, of: str) -> dict[str, Any]:
        """What gives a mark the "colours", "dashes" or "shapes" of its field `s`."""
        scale = {"domain": list(self.labels), "range": list(getattr(self, of))}
        return {"field": "s", "type": "nominal", "scale": scale, "legend": None}


def looks(panels: Iterable[Panel | Map], labels: Sequence[str] = ()) -> Looks:
    """The looks of all variants of some panels.

    Args:
        panels: what is drawn.
        labels: the first variants, whether they occur or not.
    """
    shown = list(panels)
    plain = [each for each in shown if isinstance(each, Panel)]
    known = list(dict.fromkeys([*labels, *(label for each in shown for label in each.labels)]))
    stated = [each.label for panel in plain for each in panel.series if each.stated]
    only = [label for label in dict.fromkeys(stated) if label not in known]
    ordered, count = any(each.ordered for each in plain), len(known)
    step = (SHADES - 1) / max(count - 1, 1)
    colours = [
        f"var(--o{round(at * step)})" if ordered else f"var(--d{at % COLOURS})"
        for at in range(count)
    ]
    # After ten the colours come again, with other dashes and shapes.
    turns = [at + at // COLOURS for at in range(count)]
    return Looks(
        (*known, *only),
        (*colours, *("var(--ink)" for _ in only)),
        (*(DASHES[turn % len(DASHES)] for turn in turns), *(DASHES[0] for _ in only)),
        (*(SHAPES[turn % len(SHAPES)] for turn in turns), *(STAR for _ in only)),
    )
