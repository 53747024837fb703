"""Captures of `forebay lab --virtual --pcap`: the folder of a seed, with a file for each host."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forebay import _disk
from forebay._engine import ScenarioError
from forebay.fit.measurement import Numbers, Wholes
from forebay.fit.readers.packets import Packets, read_packets

_TCP, _UDP = 6, 17
_SYN = 2
_HOST = "host-"
Columns = tuple[Numbers, Numbers, Wholes]


def read_lab(folder: Path) -> tuple[Packets, Columns | None]:
    """What the host that sends most recorded, and the round trips of the lab's datagrams.

    Raises:
        ScenarioError: there is no host that sends anything.
    """
    files = [each for each in _disk.files(folder, ".pcap") if each.name.startswith(_HOST)]
    if not files:
        raise ScenarioError(
            f"{folder}: holds no capture of a host (host-NAME.pcap); give the folder of a seed "
            "that forebay lab --virtual --pcap wrote"
        )
    hosts = [(_sent(packets), packets) for packets in (read_packets(str(each)) for each in files)]
    most = max(bytes_ for (bytes_, _), _ in hosts)
    if most == 0:
        raise ScenarioError(f"{folder}: no host sends data over TCP")
    # Sender and receiver recorded the same bytes, the sender first.
    near = [each for each in hosts if each[0][0] >= 0.9 * most]
    (_, own) = min(near, key=lambda each: each[0][1])
    others = [packets for _, packets in hosts if packets is not own]
    return own, _probes(own, others)


def _sent(packets: Packets) -> tuple[int, int]:
    """Bytes of data over TCP in the direction with most, and when the first went, in ns."""
    data = (packets["protocol"] == _TCP) & (packets["payload"] > 0)
    if not data.any():
        return 0, 0
    sums = np.bincount(packets["source"][data], weights=packets["payload"][data])
    return int(sums.max()), int(packets["at_ns"][data][0])


def _probes(own: Packets, others: list[Packets]) -> Columns | None:
    """Round trips of datagrams, in s since the first packet: a lab's have a number each.

    Their way back is that of the quickest answer to a SYN.
    """
    sent = {
        key: (time, size)
        for key, time, size in zip(
            _keys(own), own["at_ns"].tolist(), own["len"].tolist(), strict=True
        )
        if key is not None
    }
    rows = []
    for packets in others:
        for key, came in zip(_keys(packets), packets["at_ns"].tolist(), strict=True):
            if key is not None and key in sent and came > sent[key][0]:
                at, size = sent.pop(key)
                rows.append((at, came - at, size))
    shake = _handshake(own)
    if not rows or shake is None:
        return None
    at, one_way, size = (np.asarray(each, int) for each in zip(*sorted(rows), strict=True))
    back = max(0, shake - int(one_way.min()))
    return (at - int(own["at_ns"][0])) / 1e9, (one_way + back) / 1e9, size


def _keys(packets: Packets) -> list[tuple[int, int, int] | None]:
    """What tells a lab's datagram from all others: port, source and number."""
    columns = (packets["protocol"], packets["destination_port"], packets["seq"], packets["ack"])
    return [
        (port, source, number) if protocol == _UDP else None
        for protocol, port, source, number in zip(*(each.tolist() for each in columns), strict=True)
    ]


def _handshake(own: Packets) -> int | None:
    """The least time from a SYN to its answer, in ns."""
    tcp = own["protocol"] == _TCP
    asked = np.flatnonzero(tcp & (own["flags"] & 0x12 == _SYN))
    answers: dict[tuple[int, int], int] = {}
    for at in np.flatnonzero(tcp & (own["flags"] & 0x12 == 0x12)).tolist():
        answers.setdefault((int(own["source_port"][at]), int(own["destination_port"][at])), at)
    found = []
    for at in asked.tolist():
        answer = answers.get((int(own["destination_port"][at]), int(own["source_port"][at])))
        if answer is not None and answer > at:
            found.append(int(own["at_ns"][answer] - own["at_ns"][at]))
    return min(found, default=None)
