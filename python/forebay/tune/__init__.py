"""Tuning: the values of a scenario's parameters that serve a measure best within bounds.

    >>> from forebay import load, tune
    >>> outcome = tune.tune(load("scenario.toml"), "out/tune", maximize="classes.web.goodput_bps",
    ...     subject_to=["classes.voice.p99_delay_ms <= 50"],
    ...     parameters=["link[0].queue.limit=10p..400p:log"])
    >>> outcome.best.values

`docs/tune.md` explains how a point is found and judged.
"""

from forebay.tune.search import Outcome, Tried
from forebay.tune.tuning import tune

__all__ = ["Outcome", "Tried", "tune"]
