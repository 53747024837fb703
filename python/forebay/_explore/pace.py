"""How far a tick of the stage goes: at the speed that is asked for, or that can be had."""

from __future__ import annotations

import time

TICK_S = 1 / 60
"""Time between two pictures."""
SPARE_S = 0.012
"""Time that the runs may take of it."""
LONGEST_S = 0.1
"""Real time that a tick makes up for, at most: after a standstill nothing is hurried."""


class Pace:
    """How fast it plays: as far as a tick may go, and how far the ticks went lately."""

    def __init__(self) -> None:
        """It has not played yet."""
        self.actual: float | None = None
        """Simulated seconds a second, lately; None while it does not play."""
        self._last: float | None = None
        self._due = 0.0
        self._begun = 0.0
        self._real = TICK_S
        """Real time since the tick before."""
        self._ability: float | None = None
        """Simulated ns a second of work, lately."""
        self._slow_since: float | None = None
        self._has_told = False

    def rest(self) -> None:
        """It does not play, or plays at another speed."""
        self._last, self.actual, self._slow_since = None, None, None
        self._has_told = False

    def until_next(self) -> float:
        """Seconds until the next tick."""
        now = time.perf_counter()
        if self._last is None:
            self._last, self._due = now, now + TICK_S
        return max(0.0, self._due - now)

    def span(self, speed: float | None) -> int:
        """How far the tick that is due goes, in simulated ns."""
        now = time.perf_counter()
        self._real = TICK_S if self._last is None else now - self._last
        self._last = self._begun = now
        self._due = max(self._due + TICK_S, now)
        most = 1e6 if self._ability is None else self._ability * SPARE_S
        wanted = float("inf") if speed is None else speed * min(self._real, LONGEST_S) * 1e9
        return max(1, round(min(wanted, most)))

    def went(self, span: int) -> None:
        """The tick is over."""
        took = max(1e-6, time.perf_counter() - self._begun)
        # A short tick says little of what a long one could be.
        weight = min(1.0, took / SPARE_S)
        ability = span / took
        before = self._ability if self._ability is not None else ability
        self._ability = (
            max(ability, before) if weight < 0.1 else before + weight * (ability - before) / 2
        )
        actual = span / 1e9 / max(self._real, 1e-6)
        self.actual = actual if self.actual is None else self.actual + 0.05 * (actual - self.actual)

    def is_slow(self, speed: float | None) -> bool:
        """Whether it has been slower than asked for a second: once."""
        now = time.perf_counter()
        if speed is None or self.actual is None or self.actual > 0.7 * speed:
            self._slow_since = None
            return False
        self._slow_since = self._slow_since or now
        if self._has_told or now - self._slow_since < 1:
            return False
        self._has_told = True
        return True
