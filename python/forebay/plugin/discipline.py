"""The class of which users' disciplines are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forebay import _engine
from forebay.plugin.part import Part

if TYPE_CHECKING:
    from forebay._engine import Packet


class Discipline(_engine.Port, Part):
    """A queue discipline: it takes packets and returns them, and is told the time.

    A class of this one has two methods, `enqueue(packet, now)` and `dequeue(now)`. Its annotated
    fields are parameters: scenarios may set them, and each instance has their values. Times are
    whole nanoseconds.

    - A packet that `enqueue` gets is kept until it is returned from `dequeue` or passed to
      `drop`. Each packet leaves once.
    - If there is nothing to send, `dequeue` returns None.
    - One that holds packets back has a method `wake(now)`, which says when `dequeue` is to be
      called: an instant, or None if nothing is held. It changes nothing. Others are asked whenever
      the link is free and they hold packets.
    - A method `probe(now)` may return a dict of variables by name, for plots.

    Example:
        >>> class Short(forebay.Discipline):
        ...     "Drops what finds a long queue."
        ...
        ...     limit: forebay.Packets = "20p"
        ...     "Packets that may wait."
        ...
        ...     def setup(self):
        ...         self.queue = forebay.Queue()
        ...
        ...     def enqueue(self, packet, now):
        ...         if len(self.queue) < self.limit:
        ...             self.queue.append(packet)
        ...         else:
        ...             self.drop(packet, "overflow")
        ...
        ...     def dequeue(self, now):
        ...         return self.queue.popleft() if self.queue else None
        >>> found = forebay.compare(scenario, disciplines=["fifo", "codel", Short])
    """

    family: ClassVar[str] = "discipline"
    required: ClassVar[tuple[str, ...]] = ("enqueue", "dequeue")
    keeps_order: ClassVar[bool] = True
    """Whether packets of one flow and class leave in the order in which they came."""

    rate: int = 10_000_000
    """The link's rate in bit/s, as it is now (where it varies, the mean rate at first)."""
    mtu: int = 1500
    """Largest IP packet in bytes."""

    if TYPE_CHECKING:

        def enqueue(self, packet: Packet, now: int, /) -> None:
            """Take an arriving packet: keep it, or drop it; others may be dropped, too."""

        def dequeue(self, now: int, /) -> Packet | None:
            """Return the next packet to send."""
