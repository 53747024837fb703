"""Attacks: the network in which a discipline, or a congestion control, does worst.

    >>> from forebay import attack, load
    >>> found = attack.attack(load("scenario.toml"), "out/attack", discipline="codel",
    ...     measure="p99", seconds=60)
    >>> found.finds[0].harm

`docs/attack.md` explains how finds are made, made small and confirmed.
"""

from forebay.attack.attacking import attack
from forebay.attack.bounds import Bounds
from forebay.attack.cause import Answer, why
from forebay.attack.finds import Found
from forebay.attack.measure import MEASURES
from forebay.attack.outcome import Outcome

__all__ = ["MEASURES", "Answer", "Bounds", "Found", "Outcome", "attack", "why"]
