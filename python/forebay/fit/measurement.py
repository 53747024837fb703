"""What a measurement of a link tells, whatever tool took it: trips, arrivals, losses, flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Wholes = NDArray[np.int64]

HEADERS = 52
"""Bytes of the headers of IPv4 and TCP with timestamps, as Linux has them."""
MTU = 1500
"""Bytes of a full IP packet where a measurement does not say."""

QUIET_S = 30.0
"""Seconds before and behind a load that are used."""


@dataclass(frozen=True, slots=True)
class Trips:
    """Round trips of single packets, as columns of equal length, in order of time."""

    at: Numbers
    """When the packet was sent, in s since the measurement's beginning."""
    delay: Numbers
    """Until the answer came, in s."""
    size: Wholes
    """Bytes of the IP packet that waited in the queue."""
    flow: Wholes
    """Number of the flow, or -1 for a probe such as ping."""

    @property
    def probes(self) -> NDArray[np.bool_]:
        """Which are of probes."""
        return self.flow < 0


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Data that got over the link, as columns of equal length, in order of time."""

    at: Numbers
    """When, in s; the end of the interval if it is a sum over one."""
    size: Numbers
    """Bytes of IP packets."""
    flow: Wholes
    """Number of the flow."""
    sent: Numbers
    """When the packet was sent, in s; NaN where that is not known."""
    span: float
    """Seconds that a value is a sum over; 0 if each is of an instant."""


@dataclass(frozen=True, slots=True)
class Losses:
    """Packets that did not arrive, as columns of equal length, in order of time."""

    at: Numbers
    """When they were sent, or where only the gap is seen, when it was; in s."""
    flow: Wholes
    """Number of the flow, or -1 for a probe."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A connection that loads the link."""

    start: float
    """In s."""
    stop: float
    """When its last data was sent, in s."""
    dscp: int = 0
    size: int = MTU
    """Bytes of its full IP packets."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement of a link in one direction, the one that the load fills.

    Example:
        >>> measured = fit.read(["examples/home.pcap.gz"])
        >>> measured.vantage, len(measured.flows)
        ('sender', 4)
    """

    name: str
    """The files, for messages."""
    vantage: str
    """`sender` or `receiver` for a capture of one end; `summary` for a tool's report."""
    end: float
    """Seconds that it lasted."""
    flows: tuple[Flow, ...]
    """What loaded the link."""
    trips: Trips
    """Round trips of packets of the load, and of probes."""
    arrivals: Arrivals
    """The load that got over the link."""
    losses: Losses
    """The load that did not."""
    exact_losses: bool = True
    """Whether each loss is known with its time."""
    received: bool = False
    """Whether the load of a report is, in all, what its receiver says has arrived."""
    ecn: bool = False
    """Whether the load could be marked (ECN)."""
    marks: Losses = field(default_factory=lambda: losses([]))
    """The load that was marked, as `losses`; a sender sees the first one of a round trip."""
    congestion: str = "cubic"
    """Congestion control of the senders, as far as it is known."""
    said_congestion: bool = False
    """Whether a report names it."""
    two_way: bool = False
    """Whether the other direction was loaded, too."""
    source: str = ""
    """The direction in words."""
    said: dict[str, str] = field(default_factory=dict)
    """What the file itself says of the link, such as a title."""
    notes: tuple[str, ...] = ()
    """What a reader had to leave out or assume."""

    @property
    def probe_interval(self) -> float | None:
        """Median time between two probes in s, None with fewer than five."""
        at = np.sort(self.trips.at[self.trips.probes])
        return float(np.median(np.diff(at))) if len(at) >= 5 else None

    @property
    def load(self) -> tuple[float, float]:
        """When the load began and when it ended, in s."""
        return (
            min((each.start for each in self.flows), default=0.0),
            max((each.stop for each in self.flows), default=0.0),
        )


def part_of(seen: Measurement, begin: float, end: float) -> Measurement:
    """What was measured from `begin` to `end`, in s; times count from `begin`."""
    flows = tuple(
        replace(flow, start=max(0.0, flow.start - begin), stop=min(flow.stop, end) - begin)
        for flow in seen.flows
        if flow.start < end - 1.0 and flow.stop > begin
    )
    trips_, arrived, lost = seen.trips, seen.arrivals, seen.losses
    of = (trips_.at >= begin) & (trips_.at + trips_.delay <= end)
    came = (arrived.at >= begin) & (arrived.at <= end)
    gone = (lost.at >= begin) & (lost.at <= end)
    marked = (seen.marks.at >= begin) & (seen.marks.at <= end)
    return replace(
        seen,
        end=min(seen.end, end) - begin,
        flows=flows or seen.flows,
        trips=Trips(trips_.at[of] - begin, trips_.delay[of], trips_.size[of], trips_.flow[of]),
        arrivals=Arrivals(
            arrived.at[came] - begin,
            arrived.size[came],
            arrived.flow[came],
            arrived.sent[came] - begin,
            arrived.span,
        ),
        losses=Losses(lost.at[gone] - begin, lost.flow[gone]),
        marks=Losses(seen.marks.at[marked] - begin, seen.marks.flow[marked]),
    )


def trimmed(seen: Measurement) -> Measurement:
    """The load, with so much before and behind it as tells how the link is without one."""
    begin, end = seen.load
    begin, end = max(0.0, begin - QUIET_S), min(seen.end, end + QUIET_S)
    if not seen.flows or (begin == 0.0 and end == seen.end):
        return seen
    found = part_of(seen, begin, end)
    note = f"{found.end:.0f} of {seen.end:.0f} s are used, around the load, from {begin:.0f} s on"
    return replace(found, notes=(*found.notes, note))


def trips(rows: Sequence[tuple[Any, ...]]) -> Trips:
    """Trips of columns (at, delay, size, flow), each a piece of all, in order of time."""
    at, delay, size, flow = _joined(rows, 4)
    order = np.argsort(at, kind="stable")
    return Trips(at[order], delay[order], size[order].astype(int), flow[order].astype(int))


def arrivals(rows: Sequence[tuple[Any, ...]], span: float = 0.0) -> Arrivals:
    """Arrivals of columns (at, bytes, sent, flow), each a piece of all, in order of time."""
    at, size, sent, flow = _joined(rows, 4)
    order = np.argsort(at, kind="stable")
    return Arrivals(at[order], size[order], flow[order].astype(int), sent[order], span)


def losses(rows: Sequence[tuple[Any, ...]]) -> Losses:
    """Losses of columns (at, flow), each a piece of all, in order of time."""
    at, flow = _joined(rows, 2)
    order = np.argsort(at, kind="stable")
    return Losses(at[order], flow[order].astype(int))


def _joined(rows: Sequence[tuple[Any, ...]], count: int) -> list[Numbers]:
    """The pieces one after the other; a value that is the same in a piece may stand for all."""
    if not rows:
        return [np.empty(0) for _ in range(count)]
    pieces = [[np.asarray(each, float) for each in np.broadcast_arrays(*row)] for row in rows]
    return [np.concatenate([piece[at] for piece in pieces]) for at in range(count)]
