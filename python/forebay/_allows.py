"""The bounds of a claim as files write them."""

from __future__ import annotations

import math

from forebay import _written
from forebay._judge import Bounds


class Allows(_written.Table):
    """The range that somebody's words allow a number."""

    within: list[float] | None = None
    """Least and greatest value that the words allow."""
    at_least: float | None = None
    """Least value that they allow."""
    at_most: float | None = None
    """Greatest value that they allow."""
    exactly: float | None = None
    """The only value that they allow."""

    def allowed(self) -> list[Bounds]:
        """The bounds of every form that is given. A number that is judged has exactly one."""
        given = []
        if self.within is not None:
            given.append(Bounds(*self.within))
        if self.at_least is not None or self.at_most is not None:
            low = -math.inf if self.at_least is None else self.at_least
            given.append(Bounds(low, math.inf if self.at_most is None else self.at_most))
        if self.exactly is not None:
            given.append(Bounds(self.exactly, self.exactly))
        return given
