"""Measurements as tools write them, for tests of `forebay fit`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from forebay import ScenarioError, fit
from forebay.fit.direct import read_off
from forebay.fit.measurement import Flow
from forebay.fit.trial import Load, Route, document, recorded

ROOT = Path(__file__).parents[2]
HOME = ROOT / "examples" / "home.pcap.gz"
SECONDS = 12.0


def bench() -> Any:
    """The bench, whose files are as tools write them."""
    if "fit_bench" not in sys.modules:
        spec = importlib.util.spec_from_file_location("fit_bench", ROOT / "benches" / "fit.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["fit_bench"] = module
        spec.loader.exec_module(module)
    return sys.modules["fit_bench"]


def loaded(queue: dict[str, Any], **route: Any) -> dict[str, Any]:
    """Four transfers after 3 s of pings, over 5 Mbit/s and 30 ms."""
    flows = tuple(Flow(3.0 + at / 200, SECONDS) for at in range(4))
    load_ = Load(flows, SECONDS + 0.2, 0.05)
    return document(Route(5e6, 0.03, queue, **route), load_, seed=5)


def captured(folder: Path, whole: dict[str, Any], vantage: str = "sender") -> Path:
    path = folder / "link.pcap"
    path.write_bytes(bench().capture(recorded(whole, vantage), vantage))
    return path


IRTT: dict[str, Any] = {
    "version": {"irtt": "0.9.1"},
    "config": {"params": {"length": 60}, "remote_address": "192.0.2.1:2112"},
    "round_trips": [
        {
            "seqno": at,
            "lost": "false" if at != 3 else "true",
            "timestamps": {"client": {"send": {"wall": 1_600_000_000_000_000_000 + at * 10**7}}},
            "delay": {"rtt": 20_000_000 + at * 1000} if at != 3 else {},
        }
        for at in range(30)
    ],
}
FLENT: dict[str, Any] = {
    "metadata": {"T0": "2020-01-01T00:00:00Z", "TITLE": "home", "HOST": "192.0.2.1"},
    "x_values": [at * 0.2 for at in range(60)],
    "results": {
        "Ping (ms) ICMP": [20.0] * 20 + [90.0] * 40,
        "TCP upload BE": [None] * 20 + [4.8] * 40,
        "TCP upload BK": [None] * 20 + [4.7] * 40,
        "TCP upload avg": [None] * 20 + [4.75] * 40,
    },
    "raw_values": {},
}
IPERF: dict[str, Any] = {
    "start": {
        "timestamp": {"timesecs": 1_600_000_000},
        "tcp_mss_default": 1448,
        "test_start": {"protocol": "TCP", "reverse": 0, "tos": 0},
        "connecting_to": {"host": "192.0.2.1"},
    },
    "intervals": [
        {
            "streams": [
                {"socket": 5, "start": at, "end": at + 1, "bytes": 600_000, "retransmits": 1,
                 "rtt": 50_000}
            ]
        }
        for at in range(10)
    ],
    "end": {"sender_tcp_congestion": "cubic", "sum_received": {"bytes": 5_900_000}},
}  # fmt: skip
SENT = [
    *(10.39, 3.67, 4.84, 5.21, 4.69, 5.73, 5.22, 4.69, 4.17, 4.17, 5.74, 4.17, 5.21),
    *(4.69, 5.24, 5.21, 4.27, 4.24, 4.29, 5.73, 5.73, 3.65, 4.18, 5.21, 5.79),
]
"""What iperf3 3.12 handed to its sockets in each second, in Mbit/s: four transfers over a FIFO of
100 KB at 5.000 Mbit/s and 30 ms. Of it, `ARRIVED` came."""
ARRIVED = {"bytes": 15_128_704, "seconds": 25.181281}


def iperf(sent: list[float], arrived: dict[str, Any], streams: int = 4) -> dict[str, Any]:
    """A report of seconds in which so many Mbit/s were sent."""
    seconds = [
        [
            {"socket": 5 + each, "start": at, "end": at + 1, "bytes": rate * 125_000 / streams,
             "rtt": 180_000, "sender": True}
            for each in range(streams)
        ]
        for at, rate in enumerate(sent)
    ]  # fmt: skip
    intervals = [{"streams": each} for each in seconds]
    return IPERF | {"intervals": intervals, "end": {"sum_received": arrived}}


PING = b"""PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
[1600000000.020000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=56 time=20.0 ms
[1600000000.071000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=56 time=21 ms
[1600000000.150000] no answer yet for icmp_seq=3
"""


def put(path: Path, content: Any) -> Path:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(raw)
    return path


def check(path: Path) -> None:
    """The promise: refused in words, or read off without a fault."""
    try:
        seen = fit.read([path])
    except ScenarioError as error:
        assert str(path) in str(error) and "\n" not in str(error)
        return
    assert np.isfinite(seen.trips.delay).all() and (seen.trips.delay > 0).all()
    with np.errstate(all="raise", under="ignore"):
        read_off(seen)
