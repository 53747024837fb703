"""The class of which users' sources of traffic are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forebay import _engine
from forebay.plugin.part import Part


class Source(_engine.Stream, Part):
    """A source of datagrams.

    A class of this one has `next(after)`. It returns when the next datagram is sent, in ns and not
    before `after`, and the bytes of its IP packet (1 to 65535); or None when it has ended. `after`
    is the source's start at first, then the last datagram's instant. There is an instance for each
    flow. Random numbers come from `self.random()`.

    Scenarios name it as the `kind` of a traffic entry.

    Example:
        >>> class Pairs(forebay.Source):
        ...     "Two datagrams at a time."
        ...
        ...     every: forebay.Time = "20ms"
        ...
        ...     def setup(self):
        ...         self.count = 0
        ...
        ...     def next(self, after):
        ...         self.count += 1
        ...         return (after + self.every if self.count % 2 else after), 500
    """

    family: ClassVar[str] = "source"
    required: ClassVar[tuple[str, ...]] = ("next",)

    if TYPE_CHECKING:

        def next(self, after: int, /) -> tuple[int, int] | None:
            """Return the next datagram."""
