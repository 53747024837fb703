"""What was found, in a few sentences."""

from __future__ import annotations

from forebay.papers import Data

from .points import (
    ARRIVALS,
    AT_HALF,
    AVERAGE,
    GENTLE_RENO,
    GOODPUT,
    LONGER,
    LOSS,
    QUEUE,
    RENO,
    TEXT,
    View,
)
from .sections import in_range


def found(data: Data) -> str:
    """The page's beginning."""
    view = View(data)

    def pair(key: str, case: tuple[str, bool], scale: float = 1.0) -> list[float]:
        return [view.mean(key, AT_HALF, case, each, scale) for each in (ARRIVALS, QUEUE)]

    return TEXT["found"].format(
        loss=pair(LOSS, RENO, 100),
        throughput=pair(GOODPUT, RENO, 1e-6),
        queue=pair(AVERAGE, GENTLE_RENO),
        good=in_range(view)[0],
        of=in_range(view)[1],
        other=in_range(View(data, LONGER))[0],
    )
