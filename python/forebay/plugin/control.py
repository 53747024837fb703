"""The class of which users' congestion controls are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from forebay.plugin.part import Part

if TYPE_CHECKING:
    from forebay._engine import Ack, Congestion, Window


class CongestionControl(Part):
    """A congestion control of TCP: how the windows of a connection grow and fall.

    A class of this one has `on_ack(window, ack)`, which grows `window.cwnd`, and
    `on_congestion(window, event)`, which sets `window.ssthresh`; the sender's recovery then sets
    the window. There is an instance for each connection. Windows are bytes, times nanoseconds.

    - `on_restart(window, now)` is called when a sender starts again that had nothing in flight.
    - `pacing_rate(window, srtt)` may return a rate in bit/s at which segments leave, or None. A
      class that has it is paced.

    Scenarios name it as `tcp.congestion`, and its parameters in a table of its name.

    Example:
        >>> class Timid(forebay.CongestionControl):
        ...     "Reno that halves twice."
        ...
        ...     def on_ack(self, window, ack):
        ...         slow = window.in_slow_start
        ...         window.cwnd += ack.acked if slow else window.mss * ack.acked // window.cwnd
        ...
        ...     def on_congestion(self, window, event):
        ...         window.ssthresh = max(event.flight // 4, 2 * window.mss)
        >>> result = forebay.run(scenario.with_classes(Timid).with_("tcp.congestion", "timid"))
    """

    family: ClassVar[str] = "control"
    required: ClassVar[tuple[str, ...]] = ("on_ack", "on_congestion")

    mss: int = 1448
    """Largest payload of a segment in bytes."""

    if TYPE_CHECKING:

        def on_ack(self, window: Window, ack: Ack, /) -> None:
            """React to new data that are acknowledged outside recovery."""

        def on_congestion(self, window: Window, event: Congestion, /) -> None:
            """React to congestion, at most once in each window of data."""
