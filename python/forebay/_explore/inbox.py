"""What is asked of the stage: from each tab in turn, so that none waits for another's many."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import NamedTuple


class Asked(NamedTuple):
    """Something that is to be done."""

    act: Callable[[], None]
    """Does it."""
    done: Callable[[], None]
    """Called when it has been done, or need not be done any more."""
    kind: str | None
    """Of several of one kind that a tab asks for in a row, the last one alone is done."""


class Inbox:
    """What has been asked and not been done."""

    def __init__(self) -> None:
        """Nothing has been asked."""
        self._changed = threading.Condition()
        self._waiting: OrderedDict[Hashable, deque[Asked]] = OrderedDict()
        """By who asked; the one whose turn it is, first."""
        self._woken = False

    def put(self, who: Hashable, asked: Asked) -> None:
        """Ask for something behind all else that `who` has asked for."""
        replaced: Asked | None = None
        with self._changed:
            own = self._waiting.setdefault(who, deque())
            if own and asked.kind is not None and own[-1].kind == asked.kind:
                replaced = own.pop()
            own.append(asked)
            self._changed.notify()
        if replaced is not None:
            replaced.done()

    def take(self, seconds: float | None) -> Asked | None:
        """What is to be done next; None if nothing comes in this time, or `wake` is called."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._woken, seconds)
            self._woken = False
            if not self._waiting:
                return None
            who, own = self._waiting.popitem(last=False)
            asked = own.popleft()
            if own:
                self._waiting[who] = own
            return asked

    def wake(self) -> None:
        """Let `take` return."""
        with self._changed:
            self._woken = True
            self._changed.notify()
