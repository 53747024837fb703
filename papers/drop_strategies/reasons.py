"""Why some claims differ, in the numbers of the runs that show it."""

from __future__ import annotations

from forebay.papers import Data

from .claims import crossings
from .points import (
    ARRIVALS,
    AT_5_6,
    AT_HALF,
    AVERAGE,
    GENTLE_RENO,
    GENTLE_SACK,
    GOODPUT,
    HIGHEST,
    LEVELS,
    LOSS,
    MAIN,
    OUT,
    QUEUE,
    RATES,
    RENO,
    SACK,
    TIMEOUTS,
    Case,
    point,
    rates,
    text,
)


def mean(data: Data, key: str, rate: str, case: Case, strategy: str, scale: float = 1.0) -> float:
    """Mean of a measure at a point."""
    return data.interval(MAIN, key, point(rate, *case, strategy), scale=scale).mean


def ends(data: Data) -> str:
    """What is left out of profile at the upper end."""
    last = "4600kbit"
    levels = [mean(data, f"{LEVELS}.{at}.offered", last, RENO, QUEUE) for at in (0, 1)]
    share, queue = levels[1] / sum(levels), mean(data, AVERAGE, last, RENO, QUEUE)
    return text("ends").format(
        share=100 * share,
        held=share * queue,
        queue=queue,
        half=mean(data, LOSS, AT_HALF, RENO, QUEUE, 100),
        from_queue=mean(data, LOSS, last, RENO, QUEUE, 100),
        arrivals=mean(data, LOSS, last, RENO, ARRIVALS, 100),
        out_from_queue=mean(data, OUT, last, RENO, QUEUE, 100),
        out_arrivals=mean(data, OUT, last, RENO, ARRIVALS, 100),
    )


def nearly(data: Data) -> str:
    """Where drop-arrivals has the higher throughput, and by how much."""
    found = {
        RATES[name]: data.difference(
            MAIN, GOODPUT, point(name, *RENO, ARRIVALS), point(name, *RENO, QUEUE), scale=1e-3
        )
        for name in rates(data)
    }
    above = [
        f"{each.mean:.1f} ± {each.half_width:.1f} kbit/s at {rate:g} Mbit/s"
        for rate, each in found.items()
        if each.low is not None and each.low > 0
    ]
    return text("nearly").format(above=" and ".join(above))


def spared(data: Data) -> str:
    """SACK repairs bursts of losses without timeouts, so that the queue does not swing."""
    numbers = {}
    for name, case in (("reno", RENO), ("sack", SACK)):
        for what, key, scale in (
            ("highest", HIGHEST, 1.0),
            ("out", OUT, 100.0),
            ("throughput", GOODPUT, 1e-6),
            ("timeouts", TIMEOUTS, 1 / 120),
        ):
            numbers[f"{name}_{what}"] = mean(data, key, AT_5_6, case, ARRIVALS, scale)
        numbers[f"{name}_rises"] = crossings(data, case)
    return text("spared").format(**numbers)


def longer(data: Data) -> str:
    """How much longer the law lets the queue become."""
    found = {
        name: [mean(data, AVERAGE, AT_HALF, case, each) for each in (QUEUE, ARRIVALS)]
        for name, case in (("reno", GENTLE_RENO), ("sack", GENTLE_SACK))
    }
    queue = found["reno"][0]
    return text("longer").format(**found, most=(2 * queue - 15) / queue)


def filled(data: Data) -> str:
    """Both strategies fill the link."""
    reno = [mean(data, GOODPUT, AT_5_6, GENTLE_RENO, each, 1e-6) for each in (ARRIVALS, QUEUE)]
    late = [mean(data, TIMEOUTS, AT_5_6, GENTLE_RENO, each, 1 / 120) for each in (ARRIVALS, QUEUE)]
    return text("filled").format(reno=reno, late=late)
