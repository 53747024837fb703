"""What can be read off a measurement without a model: round trip, rate, waits, buffer, others.

Capacity is the rate at which the link hands over packets while a queue waits in front of it. It is
taken from stretches of packets, short ones too: where others' packets come between, the highest
rate that many stretches share is the link's own (Dovrolis et al., INFOCOM 2001, on the modes of
packet dispersion). The round trip is the least one, less the transmission of the packet. What a
packet waits is the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from forebay.fit.course import AGREE, FEW, Course, Mode, course_of, highest_mode, slower
from forebay.fit.measurement import Measurement, Numbers

_STRETCHES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Packets in the stretches that are looked at."""
_OFTEN = 0.1
"""Share of the time in which a rate must be lower to be one that changes."""
_PARTS, _CHANGED = 8, 1.15
"""Parts of a measurement whose rates are compared, and the ratio from which they differ."""
_TICK_S = 0.001
"""Of the clock of TCP's timestamps."""
_COURSE = 8
"""Packets in the stretches of which a course is made."""
_FULL = 0.8
"""Share of the time in which packets must wait for a course: otherwise the senders made it."""
_SLOTS, _BUSY = 20, 0.95
"""Parts of the load in which others' traffic is looked for, and the share of one in which packets
must wait."""
HARDLY = 0.1
"""Share of the load's time in which packets must wait, or it did not fill the link."""
_STEADY = 0.03
"""Spread of the rates of long stretches, 10th to 90th percentile over median, without others."""


@dataclass(frozen=True, slots=True)
class Between:
    """An estimate, with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the link can carry."""

    rate: Between | None
    """In bit/s; None if it is not known, or changes."""
    most: float
    """The highest rate of many packets, in bit/s."""
    steady: bool
    """Whether long stretches had the rate of short ones."""
    why: str
    """Why it is not known."""
    course: Course = ()
    """How it changes; empty if it does not, or is not known."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """What packets waited at losses."""

    waits: Numbers
    """The longest wait around each group of losses, in s."""
    counts: Numbers
    """Packets lost in each group."""


@dataclass(frozen=True, slots=True)
class Direct:
    """What was read off."""

    rtt: Between | None
    """Least round trip, in s."""
    rate: Between | None
    """Capacity in bit/s; None if it cannot be told."""
    most: float
    """The highest rate at which much got over the link, in bit/s: the capacity is no less."""
    steady: bool
    """Whether long stretches had the rate of short ones: nobody else used the link."""
    cross: Between | None
    """Mean rate of others while the link was busy, in bit/s."""
    overflow: Overflow
    busy: float
    """Share of the load's time in which packets waited."""
    why: str = ""
    """Why the rate cannot be told."""
    course: Course = ()
    """The rate over time if it changes."""


def read_off(measured: Measurement) -> Direct:
    """Read off a measurement what needs no model."""
    stretches = _Stretches(measured)
    capacity = stretches.capacity()
    rate, most, steady, why = capacity.rate, capacity.most, capacity.steady, capacity.why
    if rate is None and most > 0 and measured.vantage == "summary":
        rate, why = _plateau(measured, most)
        steady = True
    assumed = rate.value if rate is not None else most
    # A report leaves open what others sent.
    known = rate is not None and measured.vantage != "summary"
    rtt = _least(measured, assumed if assumed > 0 else np.inf, known)
    nothing = Overflow(np.empty(0), np.empty(0))
    if rtt is None or assumed <= 0:
        return Direct(rtt, rate, most, steady, None, nothing, 0.0, why)
    waits = waits_of(measured, rtt.value, assumed)
    busy = _busy(measured, waits, assumed)
    if rate is not None and busy < HARDLY:
        why = "packets hardly ever waited, so the load did not fill the link"
        rate, rtt = None, _least(measured, assumed, known=False) or rtt
    course: Course = ()
    if busy > _FULL and len(measured.flows) > 1:
        # The share of a single one depends on what others send.
        # What arrives, or is acknowledged, left the queue so much earlier.
        late = rtt.value * (1.0 if measured.vantage == "sender" else 0.5)
        course = tuple((max(0.0, at - late), value) for at, value in capacity.course)
    cross = None if rate is None else _others(measured, rate, waits)
    overflow = overflow_of(measured, waits, assumed, rtt.value)
    return Direct(rtt, rate, most, steady, cross, overflow, busy, why, course)


def waits_of(measured: Measurement, rtt: float, rate: float) -> Numbers:
    """What each trip's packet waited in queues, in s: not below 0."""
    trips = measured.trips
    return np.maximum(0.0, trips.delay - rtt - trips.size * 8 / rate)


def _least(measured: Measurement, rate: float, known: bool) -> Between | None:
    """The least round trip; its interval reaches down by what a clock or a timer may add.

    Args:
        measured: what was measured.
        rate: capacity in bit/s.
        known: whether it is known, or the capacity may be larger.
    """
    trips = measured.trips
    if not len(trips.at):
        return None
    ticks = measured.vantage == "receiver"
    # A receiver knows delays of data to a tick of the sender's clock, those of probes better. Small
    # packets tell more if it is not known how long one is sent.
    small = trips.probes.any() and (ticks or not known)
    of = trips.probes if small else np.ones(len(trips.at), bool)
    clean = np.sort((trips.delay - trips.size * 8 / rate)[of])
    least = float(clean[0])
    if least <= 0:
        least = float(max(1e-6, np.min(trips.delay) * 0.5))
    fifth = float(clean[min(5, len(clean) - 1)])
    slack = max(2 * (fifth - least), 2e-4, 0.002 * least)
    more = 1e-4 + 0.001 * least
    if not known:
        more += float(np.median(trips.size[of])) * 8 / rate
    if ticks and not trips.probes.any():
        slack, more = slack + _TICK_S, more + _TICK_S
    return Between(least, max(1e-6, least - slack), least + more)


class _Stretches:
    """Rates of stretches of packets that arrived one after the other."""

    def __init__(self, measured: Measurement) -> None:
        """Find the points in time at which what had got over the link is known."""
        self.measured = measured
        arrived, trips = measured.arrivals, measured.trips
        self.ordered = True
        data = ~trips.probes
        self.exact = False
        if measured.vantage == "sender" and data.any():
            sent, came = trips.at[data], (trips.at + trips.delay)[data]
            back = np.diff(came) < -1e-5
            self.ordered = bool(np.mean(back) < 0.02) if len(back) else True
            if self.ordered:
                # In a queue that keeps the order, what was sent before has arrived before.
                known = ~np.isnan(arrived.sent)
                times = np.concatenate([arrived.sent[known], trips.at[trips.probes]])
                sizes = np.concatenate([arrived.size[known], trips.size[trips.probes]])
                order = np.argsort(times, kind="stable")
                total = np.concatenate([[0.0], np.cumsum(sizes[order])])
                place = np.searchsorted(times[order], sent, side="right")
                grow = np.concatenate([[True], np.diff(np.maximum.accumulate(came)) > 0])
                self.time, self.bytes = came[grow], total[place][grow]
                self.exact = True
                return
        time, last = np.unique(arrived.at, return_index=True)
        total = np.cumsum(arrived.size)
        ends = np.concatenate([last[1:], [len(total)]]) - 1 if len(last) else last
        self.time, self.bytes = time, total[ends] if len(last) else total
        self.exact = measured.vantage == "receiver"

    def rates(self, packets: int) -> Numbers:
        """Rates in bit/s of all stretches of about so many full packets."""
        return self._timed(packets)[1]

    def _timed(self, packets: int) -> tuple[Numbers, Numbers]:
        """When such stretches begin in s, and their rates in bit/s."""
        size = max((each.size for each in self.measured.flows), default=1500)
        wanted = packets * size
        first = np.arange(len(self.time))
        last = np.searchsorted(self.bytes, self.bytes + wanted - size / 2)
        inside = last < len(self.time)
        first, last = first[inside], last[inside]
        took = self.time[last] - self.time[first]
        fine = took > 0
        bits = 8 * (self.bytes[last] - self.bytes[first])
        return self.time[first][fine], bits[fine] / took[fine]

    def capacity(self) -> Capacity:
        """The capacity, or why it is not known."""
        if self.measured.arrivals.span > 0 or len(self.time) < FEW:
            why = "there are too few packets with a time of their own"
            return Capacity(None, self._most(), False, why)
        long = None
        for packets in reversed(_STRETCHES):
            rates = self.rates(packets)
            if len(rates) >= FEW:
                long = rates, packets
                break
        if long is None:
            return Capacity(None, self._most(), False, "there are too few packets")
        rates, packets = long
        top = float(np.quantile(rates, 0.95))
        # Stretches in which the sender, not the link, set the pace are slower.
        filled = rates[rates > 0.5 * top]
        middle = float(np.median(filled))
        spread = float(np.quantile(filled, 0.9) - np.quantile(filled, 0.25)) / middle
        fair = self.measured.vantage == "sender" and not self.ordered
        modes = self._modes_of_pairs() if fair else self._modes()
        if not modes:
            why = "no rate is common to many stretches of packets"
            return Capacity(None, top, False, why, () if fair else self._course())
        # The shortest stretches that agree: the longer one is, the more of others' is in it.
        common = max(modes, key=lambda each: each.share)
        best = next((each for each in modes if each.share >= AGREE), common)
        if not fair and (span := self._span(best.rate)) is not None:
            why = (
                f"it changes while the load lasts, from {span[0] / 1e6:.3g} to "
                f"{span[1] / 1e6:.3g} Mbit/s"
            )
            return Capacity(None, top, False, why, self._course())
        steady = abs(best.rate / top - 1) < _STEADY and spread < 2 * _STEADY
        low, high = best.rate * (1 - best.error), best.rate * (1 + best.error)
        return Capacity(Between(best.rate, low, high), top, steady, "")

    def _modes(self) -> list[Mode]:
        """The highest common rate of each length of stretches."""
        found = []
        for packets in _STRETCHES:
            if not self.exact and packets < 64:
                continue
            rates = self.rates(packets)
            if len(rates) >= FEW and (mode := highest_mode(rates)) is not None:
                found.append(replace(mode, error=max(0.003, mode.error)))
        return found

    def _course(self) -> Course:
        """The rate over time, of stretches that are long enough for the clock."""
        return course_of(*self._timed(_COURSE if self.exact else 64))

    def _span(self, rate: float) -> tuple[float, float] | None:
        """The least and the largest rate, if it is one for a while and another later.

        Others' traffic leaves the rate of short stretches as it is, in which there is none of it.
        """
        begin, rates = self._timed(4)
        if self.exact and slower(begin, rates, rate) > _OFTEN:
            course = [each for _, each in self._course()]
            return (min(course), max(course)) if len(course) > 1 else None
        for packets in _STRETCHES[:4]:
            begin, rates = self._timed(packets)
            if len(rates) < FEW * _PARTS:
                return None
            part = ((begin - begin[0]) / (begin[-1] - begin[0] + 1e-9) * _PARTS).astype(int)
            found = []
            for number in range(_PARTS):
                own = rates[part == number]
                mode = highest_mode(own) if len(own) >= FEW else None
                if mode is not None and mode.share >= AGREE:
                    found.append(mode.rate)
            if len(found) >= _PARTS - 2:
                low, high = min(found), max(found)
                return (low, high) if high > _CHANGED * low and low < 0.95 * rate else None
        return None

    def _modes_of_pairs(self) -> list[Mode]:
        """As `_modes` where flows have queues of their own, so that only each one's order is known.

        Between two acknowledgments, at least the packet that caused the second one was sent. The
        shortest common time between two is that of a packet.
        """
        size = max(each.size for each in self.measured.flows)
        gaps = np.diff(np.unique(self.measured.arrivals.at))
        gaps = gaps[gaps > 1e-7]
        if len(gaps) < FEW:
            return []
        mode = highest_mode(size * 8 / gaps)
        return [] if mode is None else [replace(mode, error=max(0.003, mode.error))]

    def _most(self) -> float:
        arrived = self.measured.arrivals
        if not len(arrived.at):
            return 0.0
        # A tool counts what it hands to its socket, so that only the sum of all intervals is sure.
        begin, end = self.measured.load if arrived.span > 0 else (arrived.at[0], arrived.at[-1])
        return float(arrived.size.sum() * 8 / (end - begin)) if end > begin else 0.0


def _plateau(measured: Measurement, most: float) -> tuple[Between | None, str]:
    """The rate of a tool's report: what went over the link from the load's first fifth on.

    Args:
        measured: what was measured.
        most: the rate of all of the load, in bit/s. What has arrived bounds the link's rate;
            intervals, in which a sender fills its socket, do not.
    """
    arrived = measured.arrivals
    begin, end = measured.load
    span = max(arrived.span, 1e-3)
    # A timer is some milliseconds early or late, so that the nearest interval is meant.
    slot = np.rint((arrived.at - begin) / span).astype(int)
    count = round((end - begin) / span)
    sums = np.bincount(slot.clip(0), weights=arrived.size)
    bins = sums[math.ceil(0.2 * count) + 1 : count] * 8 / span
    if len(bins) < 4:
        return None, "the report has too few intervals"
    parts = np.array_split(bins, min(10, len(bins)))
    means = np.array([part.mean() for part in parts])
    mean = float(bins.mean())
    error = 2.3 * float(np.std(means, ddof=1)) / np.sqrt(len(means))
    if error > 0.1 * mean:
        return None, "the report's intervals differ too much to tell whether the rate changed"
    error = max(error, 0.01 * mean)
    least = most if measured.received else mean - error
    return Between(max(mean, least), least, max(mean + error, least)), ""


def _busy(measured: Measurement, waits: Numbers, rate: float) -> float:
    """Share of the load's trips that waited for at least another packet."""
    trips = measured.trips
    begin, end = measured.load
    inside = (trips.at > begin + 0.2 * (end - begin)) & (trips.at < end)
    if inside.any() and (data := inside & ~trips.probes).any():
        inside = data
    if not inside.any():
        return 0.0
    return float(np.mean(waits[inside] > 0.7 * measured.flows[0].size * 8 / rate))


def _others(measured: Measurement, rate: Between, waits: Numbers) -> Between | None:
    """What others sent while packets of the load always waited: the capacity less load and pings.

    Whatever the queue, a link is busy while a packet waits for it. Where none of the load does, it
    is not known whether others send.
    """
    trips = measured.trips
    data = ~trips.probes if (~trips.probes).any() else trips.probes
    begin, end = measured.load
    begin += 0.3 * (end - begin)
    edges = np.linspace(begin, end, _SLOTS + 1)
    width = float(edges[1] - edges[0])
    arrived = measured.arrivals
    came, pings = trips.at + trips.delay, trips.probes
    own = np.histogram(arrived.at, edges, weights=arrived.size)[0]
    own = 8 * (own + np.histogram(came[pings], edges, weights=trips.size[pings])[0])
    came = came[data]
    busy = _covered(came - waits[data] - trips.size[data] * 8 / rate.value, came, edges)
    known = busy > _BUSY * width
    if np.count_nonzero(known) < 4:
        return None
    rest = rate.value - own[known] / busy[known]
    mean = float(np.average(rest, weights=busy[known]))
    error = 2.1 * float(np.std(rest, ddof=1)) / np.sqrt(len(rest)) + rate.high - rate.value
    high = max(0.0, mean + error)
    return Between(min(max(0.0, mean), high), max(0.0, mean - error), high)


def _covered(begin: Numbers, end: Numbers, edges: Numbers) -> Numbers:
    """How much of the time between two edges is in one interval at least, in s."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    first = np.concatenate([[True], begin[1:] > end[:-1]])
    last = np.concatenate([first[1:], [True]])
    begin, end = begin[first], end[last]
    until = np.cumsum(end - begin)
    at = np.stack([begin, end], axis=1).reshape(-1)
    so_far = np.stack([until - (end - begin), until], axis=1).reshape(-1)
    covered: Numbers = np.diff(np.interp(edges, at, so_far))
    return covered


def overflow_of(measured: Measurement, waits: Numbers, rate: float, rtt: float) -> Overflow:
    """The longest wait around each group of losses."""
    trips, lost = measured.trips, measured.losses
    at = lost.at
    if not len(at) or not len(trips.at) or not measured.exact_losses:
        return Overflow(np.empty(0), np.empty(0))
    groups = np.split(at, np.flatnonzero(np.diff(at) > max(0.5 * rtt, 0.01)) + 1)
    packet = 1500 * 8 / rate
    if measured.vantage == "receiver":
        # Seen when the packet behind arrived.
        sent, shift = trips.at + trips.delay, 3 * packet
    else:
        sent, shift = trips.at, 0.0
    order = np.argsort(sent, kind="stable")
    sent, waits = sent[order], waits[order]
    found, counts = [], []
    gap = measured.probe_interval or 0.0
    sparse = not (~trips.probes).any()
    reach = max(12 * packet, gap if sparse else 0.0, 1e-3)
    for group in groups:
        low, high = np.searchsorted(sent, [group[0] - reach - shift, group[-1] + reach])
        if high > low:
            found.append(float(np.max(waits[low:high])))
            counts.append(float(len(group)))
    return Overflow(np.asarray(found), np.asarray(counts))
