"""What was found, in a few sentences."""

from __future__ import annotations

from forebay.papers import Data

from .points import P0, P1, TEXT, at, best, by_law, extremes


def found(data: Data) -> str:
    """The page's beginning."""
    low, high = extremes(data, P0, "adaptive", 3, 100)
    laws = by_law(data, 1)

    def lost(upper: int, lower: int) -> float:
        key = "classes.p0.loss"
        return data.interval("tcp-thresholds", key, at((upper, lower)), scale=100).mean

    return TEXT["found"].format(
        low=low,
        high=high,
        fluid=laws["fluid"],
        brownian=laws["Brownian motion"],
        best=best(data, "mixed-thresholds", P1, -P0, 1),
        alike=lost(35, 35),
        apart=lost(35, 20),
    )
