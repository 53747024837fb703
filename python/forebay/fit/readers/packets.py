"""From packets at one end of a path to a measurement: sequence numbers, acknowledgments, echoes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forebay import _engine
from forebay._engine import ScenarioError
from forebay.fit.measurement import (
    Flow,
    Measurement,
    Numbers,
    Wholes,
    arrivals,
    losses,
    trips,
)

_TCP, _UDP = 6, 17
_ECHOES = {1: (8, 0), 58: (128, 129)}
"""Request and reply of ICMP by its protocol number."""
_SYN, _ACK, _ECE = 2, 16, 64
_CE = 3
_LEAST_SHARE = 0.02
"""Flows with less of the load's bytes are not of the load."""
_CLOCKS = (1000.0, 250.0, 100.0)
"""Ticks a second of TCP's timestamps: Linux's today, those of older ones and of others."""
_CLOCK_OFF = 0.05
"""By how much a clock may seem to be off, as a queue grows from the first packet to the last."""
_USUAL = (1460, 1448, 1440, 1428)
"""Bytes of payload of a full segment: over IPv4 and IPv6, without timestamps and with them."""
_SHORT_S = 1.0
"""Flows that sent for a shorter time are not of the load."""


@dataclass(frozen=True, slots=True)
class Packets:
    """IP packets in order of time, a column for each field of `_engine.read_segments`."""

    columns: dict[str, Wholes]
    addresses: list[str]

    def __getitem__(self, name: str) -> Wholes:
        """A column."""
        return self.columns[name]

    def __len__(self) -> int:
        """Packets."""
        return len(self.columns["at_ns"])

    def where(self, chosen: Wholes) -> Packets:
        """Only some of them, by their numbers."""
        return Packets({name: each[chosen] for name, each in self.columns.items()}, self.addresses)


def read_packets(path: str) -> Packets:
    """The packets of a capture, with `at_ns` since 1970.

    Raises:
        ScenarioError: it cannot be read, or is no whole capture.
    """
    addresses, first, columns = _engine.read_segments(path)
    found = dict(columns)
    if not -(2**62) < first < 2**62:
        raise ScenarioError(f"{path}: has a time that is out of range; record it again")
    found["at_ns"] = found["at_ns"] + first
    return Packets(found, addresses)


def merged(several: list[Packets]) -> Packets:
    """Captures of one host as one, in order of time."""
    names: dict[str, int] = {}
    parts = []
    for each in several:
        numbers = [names.setdefault(name, len(names)) for name in each.addresses]
        table = np.asarray(numbers, int)
        own = dict(each.columns)
        own["source"], own["destination"] = table[own["source"]], table[own["destination"]]
        parts.append(own)
    columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    order = np.argsort(columns["at_ns"], kind="stable")
    return Packets({key: each[order] for key, each in columns.items()}, list(names))


def measurement_of(
    packets: Packets,
    name: str,
    probes: tuple[Numbers, Numbers, Wholes] | None = None,
    begin: int | None = None,
) -> Measurement:
    """What the packets of one end say.

    Args:
        packets: of a capture.
        name: what messages call it.
        probes: round trips that were measured beside it: when in s since `begin`, how long, and
            bytes.
        begin: zero of all times in ns, the first packet unless given.

    Raises:
        ScenarioError: there is no TCP load in it.
    """
    tcp = packets["protocol"] == _TCP
    if tcp.any() and np.mean(packets["cut"][tcp]) > 0.5:
        raise ScenarioError(
            f"{name}: holds so little of each packet that TCP's headers are cut; record it with "
            "tcpdump -s 120, as forebay fit --measure says"
        )
    begin = int(packets["at_ns"][0]) if begin is None else begin
    time = (packets["at_ns"] - begin) / 1e9
    heavy = list(_loads(packets, time))
    if not heavy:
        raise ScenarioError(
            f"{name}: holds no TCP transfer of a second or more; record one with "
            "`forebay fit --measure`"
        )
    total: dict[tuple[int, int], int] = {}
    for each in heavy:
        total[each.ends] = total.get(each.ends, 0) + each.bytes
    ends = max(total, key=lambda pair: total[pair])
    chosen = [each for each in heavy if each.ends == ends]
    chosen = [each for each in chosen if each.bytes >= _LEAST_SHARE * total[ends]]
    others = sum(bytes_ for pair, bytes_ in total.items() if pair != ends)
    notes = []
    two_way = total.get((ends[1], ends[0]), 0) > 0.1 * total[ends]
    if others > 0.2 * total[ends]:
        notes.append("there was much traffic in the other direction or to other hosts, too")
    at_sender = _is_sender(packets, time, chosen)
    echoes = list(_echoes(packets, time)) + ([] if probes is None else [probes])
    quickest = min(
        (float(np.min(delay)) for _, delay, _ in echoes if len(delay)),
        default=_handshake(packets, time, chosen),
    )
    flows, all_trips, all_arrivals, all_losses, all_marks = [], [], [], [], []
    for number, each in enumerate(chosen):
        back = packets.where(each.back)
        data, of, place = _segments(packets.where(each.data))
        # One after the other, however little.
        sent = time[each.data][of] + place * 1e-9
        ways = _Ways(data, back, sent, time[each.back])
        if at_sender:
            found = ways.sender()
        else:
            late = _late(packets.where(each.way), time[each.way])
            found = ways.receiver(None if late is None else late[of], quickest)
        all_trips.append((*found.trips, number))
        all_arrivals.append((*found.arrived, number))
        all_losses.append((found.lost, number))
        all_marks.append((found.marked, number))
        full = int(np.max(np.minimum(data["len"], 1500)))
        flows.append(Flow(float(sent[0]), float(sent[-1]), int(np.median(data["dscp"])), full))
    all_trips += [(*each, -1) for each in echoes]
    source, destination = (packets.addresses[number] for number in ends)
    return Measurement(
        name,
        "sender" if at_sender else "receiver",
        float(time[-1]),
        tuple(flows),
        trips(all_trips),
        arrivals(all_arrivals),
        losses(all_losses),
        ecn=any(np.mean(packets["ecn"][each.data] > 0) > 0.5 for each in chosen),
        marks=losses(all_marks),
        two_way=two_way,
        source=f"{source} to {destination}",
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Load:
    """A connection in the direction of its data."""

    ends: tuple[int, int]
    way: Wholes
    """Packets in the direction of its data, by number."""
    data: Wholes
    """Those with payload."""
    back: Wholes
    """Packets in the other direction, with ACK."""
    bytes: int


def _segments(data: Packets) -> tuple[Packets, Wholes, Wholes]:
    """Data as it is on the wire; of which recorded packet each segment is, and its place there.

    A host hands several segments to its network card at once, or is given them so, and records them
    as one packet (segmentation offload).
    """
    payload = data["payload"]
    whole = data, np.arange(len(payload)), np.zeros(len(payload), int)
    if payload.max(initial=0) <= _USUAL[0]:
        return whole
    sizes, counts = np.unique(payload, return_counts=True)
    usual = sizes[sizes <= _USUAL[0]]
    common = [int(usual[np.argmax(counts[sizes <= _USUAL[0]])])] if len(usual) else []
    # The segment of which most packets are a multiple, the largest of several.
    shares = {each: counts[sizes % each == 0].sum() for each in {*common, *_USUAL}}
    size = max(shares, key=lambda each: (shares[each], each))
    if shares[size] < 0.5 * len(payload):
        return whole
    parts = np.maximum(1, -(-payload // size))
    of = np.repeat(np.arange(len(payload)), parts)
    place = np.arange(len(of)) - np.repeat(np.cumsum(parts) - parts, parts)
    before = place * size
    found = {name: each[of] for name, each in data.columns.items()}
    head = found["len"] - found["payload"]
    found["payload"] = np.minimum(size, found["payload"] - before)
    found["len"] = head + found["payload"]
    found["seq"] = (found["seq"] + before) % 2**32
    return Packets(found, data.addresses), of, place


def _loads(packets: Packets, time: Numbers) -> Iterator[_Load]:
    """Connections that send much for a while."""
    tcp = (packets["protocol"] == _TCP) & (packets["source_port"] >= 0)
    numbers = np.flatnonzero(tcp)
    if not len(numbers):
        return
    names = ("source", "destination", "source_port", "destination_port")
    columns = [packets[name][numbers] for name in names]
    # One number for two is sorted much faster than a row of a table.
    pairs = columns[0] * len(packets.addresses) + columns[1]
    _, pair = np.unique(pairs, return_inverse=True)
    key = (pair << 32) + (columns[2] << 16) + columns[3]
    order = np.argsort(key, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
    by_way = {tuple(int(each[part[0]]) for each in columns): numbers[part] for part in parts}
    for (source, destination, port, other), own in by_way.items():
        data = own[packets["payload"][own] > 0]
        back = by_way.get((destination, source, other, port), np.empty(0, int))
        back = back[(packets["flags"][back] & _ACK) > 0]
        if len(data) < 50 or time[data[-1]] - time[data[0]] < _SHORT_S:
            continue
        yield _Load((source, destination), own, data, back, int(packets["payload"][data].sum()))


def _is_sender(packets: Packets, time: Numbers, chosen: list[_Load]) -> bool:
    """Whether the packets were recorded where the data comes from.

    There, acknowledgments come a round trip after the data; at the other end, at once.
    """
    gaps, marks = [], []  # data to its answer; answer to the next data
    for each in chosen:
        if not len(each.back):
            continue
        numbers = packets["seq"][each.data]
        ends = _unwrapped(numbers) + packets["payload"][each.data]
        acks = _unwrapped(packets["ack"][each.back], int(numbers[0]))
        sent = np.maximum.accumulate(ends)
        place = np.searchsorted(acks_sorted := np.maximum.accumulate(acks), sent)
        known = place < len(acks_sorted)
        gaps.append(time[each.back][place[known]] - time[each.data][known])
        # The receiver's answers to its own data: the next data after an acknowledgment.
        following = np.searchsorted(time[each.data], time[each.back])
        fine = following < len(each.data)
        marks.append(time[each.data][following[fine]] - time[each.back][fine])
    if not gaps:
        return False
    # Every second segment is answered at once, and every acknowledgment releases data at once.
    answer = float(np.quantile(np.concatenate(gaps), 0.25))
    release = float(np.quantile(np.concatenate(marks), 0.25)) if marks else 0.0
    return answer > release


@dataclass(frozen=True, slots=True)
class _Told:
    """What one connection tells: columns of `Trips`, `Arrivals` and `Losses` without the flow.

    Marks are columns of `Losses`, too.
    """

    trips: tuple[Numbers, Numbers, Wholes]
    arrived: tuple[Numbers, Numbers, Numbers]
    lost: Numbers
    marked: Numbers


class _Ways:
    """One connection's data and acknowledgments."""

    def __init__(self, data: Packets, back: Packets, sent: Numbers, heard: Numbers) -> None:
        """Unwrap the numbers, and tell new data from repeated."""
        self.back, self.sent, self.heard = back, sent, heard
        self.experienced = data["ecn"] == _CE
        self.size = data["len"]
        first = int(data["seq"][0])
        self.begin = _unwrapped(data["seq"], first)
        self.end = self.begin + data["payload"]
        before = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(self.end)[:-1]])
        self.fresh = self.end > before
        """Packets with data that no earlier one had."""
        self.late = ~self.fresh
        self.first = first

    def sender(self) -> _Told:
        """From data that leaves and acknowledgments that come back."""
        back = self.back
        ack = np.maximum.accumulate(_unwrapped(back["ack"], self.first))
        right = np.where(back["has_sack"] > 0, _unwrapped(back["sack_right"], self.first), ack)
        # A duplicate's block (RFC 2883) lies below what is acknowledged.
        high = np.maximum.accumulate(np.maximum(ack, right))
        fresh = np.flatnonzero(self.fresh)
        ends, sent, size = self.end[fresh], self.sent[fresh], self.size[fresh]
        repeated = self._repeated(ends)
        last = int(high[-1]) if len(high) else np.iinfo(np.int64).min
        known = ends <= last
        place = np.searchsorted(high, ends[known])
        heard = self.heard[place]
        newest = np.concatenate([heard[1:] != heard[:-1], [True]]) if len(heard) else heard > 0
        good = newest & ~repeated[known] & (heard > sent[known])
        # What acknowledges a single segment may have waited for a second one.
        covered = np.diff(np.concatenate([[-1], np.flatnonzero(newest)]))
        alone = np.zeros(len(heard), bool)
        alone[newest] = (covered == 1) & (back["has_sack"][place[newest]] == 0)
        if np.count_nonzero(alone) < 0.5 * np.count_nonzero(newest):
            good &= ~alone
        # Without SACK, what follows a gap is acknowledged with the gap.
        gap = np.concatenate([[0], np.diff(high)])[place]
        good &= (gap <= 65_536) | (back["has_sack"][place] > 0)
        told = (sent[known][good], (heard - sent[known])[good], size[known][good])
        arrived_at, arrived_size = heard[~repeated[known]], size[known][~repeated[known]]
        # A repetition fills its gap, which the acknowledgment then passes.
        # Of several repetitions the last one did.
        again = np.flatnonzero(self.late)
        again = again[::-1][np.unique(self.end[again][::-1], return_index=True)[1]]
        again = again[self.end[again] <= (int(ack[-1]) if len(ack) else 0)]
        filled = self.heard[np.searchsorted(ack, self.end[again])] if len(ack) else np.empty(0)
        good_again = filled > self.sent[again]
        again, filled = again[good_again], filled[good_again]
        arrived = (
            np.concatenate([arrived_at, filled]),
            np.concatenate([arrived_size, self.size[again]]).astype(float),
            np.concatenate([sent[known][~repeated[known]], self.sent[again]]),
        )
        # A receiver echoes a mark until the sender has answered it (RFC 3168).
        echo = (back["flags"] & (_ECE | _SYN) == _ECE).astype(int)
        begun = np.flatnonzero(np.diff(echo, prepend=0) > 0)
        marked = sent[np.maximum(0, np.searchsorted(ends, high[begun], side="right") - 1)]
        return _Told(told, arrived, sent[repeated], marked)

    def receiver(self, late: Numbers | None, quickest: float | None) -> _Told:
        """From data that arrives: gaps are losses, and timestamps tell when it was sent.

        Args:
            late: how much later than the quickest packet each came, in s, if that is known.
            quickest: the quickest round trip in s, if that is known.
        """
        begin = self.begin[self.fresh]
        before = np.concatenate([[begin[0]], np.maximum.accumulate(self.end[self.fresh])[:-1]])
        gaps = np.flatnonzero(begin > before)
        typical = max(1, int(np.median((self.end - self.begin)[self.fresh])))
        count = np.maximum(1, np.round((begin - before)[gaps] / typical).astype(int))
        lost = np.repeat(self.sent[self.fresh][gaps], np.minimum(count, 10_000))
        nothing = np.empty(0)
        unknown = np.full(len(self.sent), np.nan)
        marked = self.sent[self.experienced]
        arrived = (self.sent, self.size.astype(float), unknown)
        if late is None or quickest is None:
            return _Told((nothing, nothing, np.empty(0, int)), arrived, lost, marked)
        delay = late + quickest
        return _Told((self.sent - delay, delay, self.size), arrived, lost, marked)

    def _repeated(self, ends: Wholes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which first packets were sent again, wholly or in part."""
        again = np.zeros(len(ends) + 1, int)
        low = np.searchsorted(ends, self.begin[self.late], side="right")
        high = np.searchsorted(ends, self.end[self.late], side="left") + 1
        np.add.at(again, np.minimum(low, len(ends)), 1)
        np.add.at(again, np.minimum(np.maximum(high, low), len(ends)), -1)
        return np.cumsum(again)[:-1] > 0


def _late(way: Packets, came: Numbers) -> Numbers | None:
    """How much later than the quickest packet those with data came, in s, by TCP's timestamps.

    The sender's clock counts ticks, so that a delay is known to half a tick. None if packets have
    no timestamps (RFC 7323), or its clock has none of the usual speeds.
    """
    if not (way["has_timestamps"] > 0).all() or came[-1] - came[0] < _SHORT_S:
        return None
    ticks = _unwrapped(way["timestamp"])
    speed = float(ticks[-1] - ticks[0]) / float(came[-1] - came[0])
    tick = 1 / min(_CLOCKS, key=lambda each: abs(each - speed))
    if abs(speed * tick - 1) > _CLOCK_OFF:
        return None
    # A packet without data, such as a SYN, may be the quickest one.
    late = came - ticks * tick
    late = np.maximum(0.0, late - late.min() - tick / 2)
    found: Numbers = late[way["payload"] > 0]
    return found


def _handshake(packets: Packets, time: Numbers, chosen: list[_Load]) -> float | None:
    """The least time from a receiver's SYN to the sender's answer, in s; None without one."""
    found = []
    for each in chosen:
        flags = packets["flags"]
        asked = each.back[flags[each.back] & (_SYN | _ACK) == _SYN | _ACK]
        answers = each.way[flags[each.way] & (_SYN | _ACK) == _ACK]
        if len(asked) and len(answers) and time[answers[0]] > time[asked[-1]]:
            found.append(float(time[answers[0]] - time[asked[-1]]))
    return min(found, default=None)


def _unwrapped(numbers: Wholes, first: int | None = None) -> Wholes:
    """Sequence numbers of 32 bits as ones that go on growing, from the first one on."""
    if not len(numbers):
        return numbers
    start = int(numbers[0]) if first is None else first
    steps = np.diff(numbers, prepend=start)
    steps = (steps + 2**31) % 2**32 - 2**31
    return start + np.cumsum(steps)


def _echoes(packets: Packets, time: Numbers) -> Iterator[tuple[Numbers, Numbers, Wholes]]:
    """Round trips of ping: time of the request, until the reply, size of the packet that waits."""
    for protocol, (request, reply) in _ECHOES.items():
        of = packets["protocol"] == protocol
        asked = np.flatnonzero(of & (packets["flags"] == request))
        answered = np.flatnonzero(of & (packets["flags"] == reply))
        key = packets["ack"] * 65_536 + packets["seq"]
        rows = []
        replies: dict[int, list[int]] = {}
        for number in answered.tolist():
            replies.setdefault(int(key[number]), []).append(number)
        for number in asked.tolist():
            waiting = replies.get(int(key[number]))
            # Identifier and number come again in long recordings.
            while waiting and time[waiting[0]] < time[number]:
                waiting.pop(0)
            if waiting and time[waiting[0]] - time[number] < 60:
                rows.append((time[number], time[waiting.pop(0)] - time[number], number))
        if rows:
            at, delay, which = (np.asarray(each) for each in zip(*rows, strict=True))
            yield at, delay, packets["len"][which.astype(int)]
