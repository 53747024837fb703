"""The classes of users' parts: disciplines, congestion controls, sources and endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from forebay import _engine
from forebay._plugin.parameters import parameters_of

if TYPE_CHECKING:
    from forebay._engine import Ack, Congestion, Packet, Window


class Part:
    """A part of a scenario that is a class; its annotated fields are parameters."""

    family: ClassVar[str] = ""
    """What it is: "discipline", "control", "source" or "endpoint"."""
    required: ClassVar[tuple[str, ...]] = ()
    """Methods that a class of this family must have."""
    name: ClassVar[str] = ""
    """What a scenario writes as its kind; the class's name in small letters unless given."""
    source: ClassVar[str] = "a class in Python"
    """Paper, section or RFC that it follows."""

    def __init__(self, **parameters: Any) -> None:
        """Set the parameters, then call `setup`.

        Raises:
            ParameterError: an unknown one, or a value that is not allowed.
        """
        for name, value in parameters_of(type(self), base_of(type(self))).read(parameters).items():
            setattr(self, name, value)
        self.setup()

    def setup(self) -> None:
        """Make what an instance needs; parameters, and what is known of the place, are set."""


def base_of(owner: type[Part]) -> type[Part]:
    """The class of a family of which `owner` is one."""
    return next(each for each in owner.__mro__ if "family" in vars(each))


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


class Endpoint(_engine.Stream, Part):
    """One end of a flow whose protocol is your own, without I/O: QUIC, TCP or something new.

    A class of this one has `transmit(now)`, which returns the next datagram to send now, bytes, or
    None; and `handle(datagram, now)`, which gets what arrives. There are two instances for each
    flow. `self.sends` says whether one is the sending end, at `from`, or the receiving, at `to`.
    What arrives at the second counts as data. Times are whole nanoseconds.

    - After each call of another method, `transmit` is called until it returns None.
    - `timeout()` returns when `on_timeout(now)` is to be called, or None. It is asked after each
      call.
    - `begin(now)` is called at the flow's start, and for the sending end `end(now)` at its stop.
    - `delivered()` returns the bytes that the application has got, if these are fewer than all that
      arrive.
    - Random numbers come from `self.random()`, once the flow has begun.

    Every datagram is sent with the 28 bytes of UDP and IPv4, and without ECN. Scenarios name the
    class as the `kind` of a traffic entry.

    Example:
        >>> class Echo(forebay.Endpoint):
        ...     "Keeps a number of datagrams on the way; each is answered."
        ...
        ...     window: forebay.Packets = "10p"
        ...
        ...     def setup(self):
        ...         self.waiting = int(self.window) if self.sends else 0
        ...
        ...     def handle(self, datagram, now):
        ...         self.waiting += 1
        ...
        ...     def transmit(self, now):
        ...         if not self.waiting:
        ...             return None
        ...         self.waiting -= 1
        ...         return bytes(1200 if self.sends else 30)
        >>> echo = scenario.with_classes(Echo).with_("traffic", [{"kind": "echo"}])
        >>> forebay.run(echo).summary["classes"]["echo"]["goodput_bps"] > 0
        True
    """

    family: ClassVar[str] = "endpoint"
    required: ClassVar[tuple[str, ...]] = ("transmit", "handle")

    sends: int = 1
    """Whether it is the sending end: 1, or 0."""

    if TYPE_CHECKING:

        def transmit(self, now: int, /) -> bytes | None:
            """Return the next datagram."""

        def handle(self, datagram: bytes, now: int, /) -> None:
            """Take a datagram that arrives."""
