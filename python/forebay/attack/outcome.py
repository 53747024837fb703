"""What an attack found, all of it."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.attack.bounds import Bounds
from forebay.attack.finds import Found
from forebay.attack.measure import Measure
from forebay.attack.plan import Target
from forebay.attack.search import Searched


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack found.

    Example:
        >>> found.calm < found.finds[0].harm
        True
    """

    target: Target
    """The scenario that was attacked."""
    called: str
    """What was attacked, in words."""
    beside: str
    """The rival, in words; empty if there is none."""
    measure: Measure
    """The harm."""
    bounds: Bounds
    """Of the search."""
    calm: float
    """The harm in the scenario as it is."""
    searched: Searched
    """The search."""
    finds: tuple[Found, ...]
    """The worst of different niches, the worst first."""
    faults: tuple[str, ...]
    """How a plug-in broke the contract, if it did."""
