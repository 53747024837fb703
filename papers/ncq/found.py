"""What was found, in a few sentences."""

from __future__ import annotations

from forebay.papers import Data

from .claims import call_change, gains, sensor_change, spread
from .points import CALLS, LARGE_GOODPUT, MANY, SENSORS, SMALL_GOODPUT, TEXT, View


def found(data: Data) -> str:
    """The page's beginning."""
    view = View(data)
    return TEXT["found"].format(
        gain=view.ratio(SMALL_GOODPUT, "10 %", 80).mean,
        cost=view.change(LARGE_GOODPUT, "10 %", 80).mean,
        gains=spread(gains(data)),
        sensors=sensor_change(data, SENSORS, 50).mean,
        calls=call_change(data, MANY, CALLS, 50).mean,
    )
