"""A run as a time line that Perfetto and Chrome open: what is on the links, who sends what."""

from __future__ import annotations

import json
import socket
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from forebay import _disk, _engine
from forebay._runs import Result
from forebay.lab.topology import Topology
from forebay.lab.virtual.links import host_capture, link_capture

FILE = "timeline.json"
_OVERHEADS = {"none": "0B", "ppp": "7B", "ethernet": "38B"}
_HEAD = 24


class Packet(NamedTuple):
    """What a capture has of a packet."""

    at: int
    """Nanoseconds."""
    size: int
    flow: str
    """Source and destination with their ports."""
    seq: int | None
    """Of a TCP segment."""
    payload: int


def files(plan: Topology) -> list[str]:
    """The names of the captures of a run and of its time line."""
    links = (link["name"] for gate in plan.gates for link in (gate.forward, gate.reverse))
    return [*map(host_capture, plan.nodes), *map(link_capture, links), FILE]


def packets(path: Path) -> Iterator[Packet]:
    """The packets of a capture of IPv4."""
    data = path.read_bytes()
    at = _HEAD
    while at < len(data):
        seconds, nanos, kept, size = struct.unpack_from("<IIII", data, at)
        head = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        source, goal = socket.inet_ntoa(head[12:16]), socket.inet_ntoa(head[16:20])
        own, port = struct.unpack_from(">HH", head, 20)
        is_tcp = head[9] == socket.IPPROTO_TCP
        yield Packet(
            at=seconds * 10**9 + nanos,
            size=size,
            flow=f"{source}:{own} to {goal}:{port}",
            seq=int.from_bytes(head[24:28], "big") if is_tcp else None,
            payload=size - 20 - 4 * (head[32] >> 4) if is_tcp else size - 28,
        )


def write(plan: Topology, result: Result, folder: Path) -> None:
    """Write the time line of a run whose captures are in `folder` beside them.

    Links have a track with each packet while it is transmitted and a counter of their queue, in
    packets; hosts a track a flow with what they send, in which segments that are sent again are
    named so. Format: the Trace Event Format of Chrome, times in microseconds.
    """
    events: list[dict[str, Any]] = []
    links = [link for gate in plan.gates for link in (gate.forward, gate.reverse)]
    for number, link in enumerate(links):
        events.append(_named("process_name", f"link {link['name']}", number))
        rate, overhead = _value(link["rate"], "rate"), _bytes(link["overhead"])
        away = link["delay_ns"] + plan.access_delay_ns(link["name"])
        for each in packets(folder / link_capture(link["name"])):
            span = (each.size + overhead) * 8e9 / rate if rate else 0.0
            begin = each.at - away - span
            events.append(_slice(each, begin, span, number, 0))
        of_link = result.queue.filter(result.queue["link"] == link["name"])
        events += [
            {"ph": "C", "name": "queue", "ts": at * 1e6, "pid": number, "args": {"packets": count}}
            for at, count in of_link.select("time_s", "mean_packets").iter_rows()
        ]
    for number, node in enumerate(plan.nodes, start=len(links)):
        events.append(_named("process_name", f"host {node}", number))
        events += _sent(folder / host_capture(node), plan.address(node), number)
    whole = {"displayTimeUnit": "ns", "traceEvents": events}
    _disk.write(folder / FILE, json.dumps(whole, separators=(",", ":")))


def _sent(path: Path, address: str, process: int) -> Iterator[dict[str, Any]]:
    """What a host sends, a track a flow."""
    tracks: dict[str, int] = {}
    newest: dict[str, int] = defaultdict(int)
    for each in packets(path):
        if not each.flow.startswith(f"{address}:"):
            continue
        if each.flow not in tracks:
            tracks[each.flow] = len(tracks)
            yield _named("thread_name", each.flow, process, tracks[each.flow])
        event = _slice(each, each.at, 0.0, process, tracks[each.flow])
        if each.seq is not None and each.payload:
            end = each.seq + each.payload
            # Sequence numbers are compared modulo 2^32.
            if newest[each.flow] and (end - newest[each.flow]) % 2**32 > 2**31:
                event["name"] = "sent again"
            else:
                newest[each.flow] = end
        yield event


def _slice(each: Packet, begin: float, span: float, process: int, track: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": "data" if each.payload else "ACK",
        "ts": begin / 1e3,
        "dur": span / 1e3,
        "pid": process,
        "tid": track,
        "args": {"flow": each.flow, "bytes": each.size, "seq": each.seq},
    }


def _named(what: str, name: str, process: int, track: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": track, "args": {"name": name}}


def _value(text: str | None, dimension: str) -> float:
    if text is None:
        return 0.0
    return float(json.loads(_engine.quantity(text, dimension))["value"])


def _bytes(overhead: str) -> float:
    return _value(_OVERHEADS.get(overhead, overhead), "size")
