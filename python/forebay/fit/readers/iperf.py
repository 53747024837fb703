"""iperf3's report (`iperf3 --json`): bytes of each stream in each interval, and what TCP knows."""

from __future__ import annotations

from typing import Any

from forebay._engine import ScenarioError
from forebay.fit.readers.part import Part, Stream, number, rows, table, text

_LEAST_S = 0.01
_MOST = 1e13


def is_one(document: dict[str, Any]) -> bool:
    """Whether a document is iperf3's."""
    return "intervals" in document and "start" in document and "end" in document


def part_of(document: dict[str, Any], name: str) -> Part:
    """The streams.

    Raises:
        ScenarioError: it reports an error, is of UDP, or holds no interval.
    """
    if message := text(document.get("error")):
        raise ScenarioError(f"{name}: iperf3 says: {message}; run it again")
    start, end = table(document["start"]), table(document["end"])
    test = table(start.get("test_start"))
    if text(test.get("protocol")) == "UDP":
        raise ScenarioError(f"{name}: is of UDP; run iperf3 without -u, so that the load adapts")
    began = number(table(start.get("timestamp")).get("timesecs"), 0, 1e11)
    host = text(table(start.get("connecting_to")).get("host"))
    reverse = number(test.get("reverse")) == 1
    found = Part(
        name,
        congestion=_congestion(text(end.get("sender_tcp_congestion"))),
        source=f"from {host}" if reverse else f"to {host}",
    )
    segment = number(start.get("tcp_mss_default"), 100, 65_000)
    found.segment = int(segment) if segment is not None else 1448
    tos = number(test.get("tos"), 0, 255)
    streams: dict[int, Stream] = {}
    ways = set()
    for interval in rows(document["intervals"]):
        for each in rows(interval.get("streams")):
            low, high = number(each.get("start"), 0, 1e6), number(each.get("end"), 0, 1e6)
            socket, sum_ = number(each.get("socket")), number(each.get("bytes"), 0, _MOST)
            if None in (low, high, socket, sum_) or (high or 0) - (low or 0) < _LEAST_S:
                continue
            assert low is not None and high is not None and socket is not None and sum_ is not None
            ways.add(each.get("sender") is not False)
            stream = streams.setdefault(int(socket), Stream(dscp=int(tos or 0) >> 2))
            zero = began or 0.0
            stream.begins.append(zero + low)
            stream.ends.append(zero + high)
            stream.sums.append(sum_)
            stream.repeats.append(number(each.get("retransmits"), 0, 1e9) or 0.0)
            rtt = number(each.get("rtt"), 1, 6e7)
            if rtt is not None:
                stream.rtts.append((zero + high, rtt / 1e6))
    found.streams = [each for each in streams.values() if sum(each.sums) > 0]
    if not found.streams:
        raise ScenarioError(f"{name}: holds no interval in which anything was sent; run it again")
    found.two_way = len(ways) > 1
    _correct(found, end)
    return found


def _correct(part: Part, end: dict[str, Any]) -> None:
    """A sender counts what it hands to its socket; in its time, no more can have arrived than did.

    The receiver counts for longer: what is in the queue at the end comes later.
    """
    received = table(end.get("sum_received"))
    got = number(received.get("bytes"), 1, _MOST)
    told = sum(sum(stream.sums) for stream in part.streams)
    if got is None or not told:
        return
    part.received = True
    lasted = max(each.ends[-1] for each in part.streams)
    lasted -= min(each.begins[0] for each in part.streams)
    took = number(received.get("seconds"), lasted, 1e6) or lasted
    rest = max(0.0, told - got * lasted / took)
    for stream in part.streams:
        # The socket's buffer fills at the beginning.
        share = rest * sum(stream.sums) / told
        for at, sum_ in enumerate(stream.sums):
            taken = min(share, 0.9 * sum_)
            stream.sums[at] -= taken
            share -= taken


def _congestion(name: str) -> str | None:
    return {"cubic": "cubic", "reno": "new-reno", "bbr": "bbr"}.get(name)
