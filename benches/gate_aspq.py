"""ASPQ on real packets: what a period of higher-priority traffic does to a Linux sender.

One TCP transfer of low priority over 10 Mbit/s and 40 ms there and back, through two queues of 240
packets under strict priority. After it has settled, datagrams of high priority take a part or all
of the link for five seconds.
"""

from __future__ import annotations

import socket
import statistics
import struct
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise, product
from multiprocessing import get_context
from typing import Any

from gate_net import ADDRESS, LEFT, RIGHT, gate, hosts, inside

RATE = 10e6
ONE_WAY_MS = 20
SETTLE_S = 12.0
"""Longer than ten seconds: by then BBR has measured the least round-trip time anew."""
FREEZE_S = 5.0
AFTER_S = 3.0
IDLE_MS = 50
"""After so long a silence the controller takes the high-priority flow for ended."""
PACKET = 1500
SEGMENT = PACKET - 52
"""Data in a packet beside IP header, TCP header and timestamps."""
PORTS = {"low": 7000, "high": 7001}
BOXES = {
    "strict priority": "",
    "ASPQ": f'box = {{ kind = "aspq", idle_timeout = "{IDLE_MS}ms" }}',
    "ASPQ, trickle": f'box = {{ kind = "aspq", idle_timeout = "{IDLE_MS}ms", trickle = "150ms" }}',
}
STACKS = ("reno", "cubic", "bbr")
SHARES = (0.05, 0.95, 1.0)
"""Of the link, that the high-priority datagrams take."""


def aspq(runs: int, jobs: int) -> list[dict[str, Any]]:
    """A row for each share, stack and box, with what `runs` periods did, `jobs` at a time."""
    cases = list(product(SHARES, STACKS, BOXES))
    rows = []
    # Namespaces are named after the process.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = pool.map(episode, *zip(*[case for case in cases for _ in range(runs)], strict=True))
        for share, stack, way in cases:
            episodes = [next(found) for _ in range(runs)]
            measures = {key: [one[key] for one in episodes] for key in episodes[0]}
            rows.append({"high_share": share, "stack": stack, "way": way} | measures)
            print(rows[-1], flush=True)
    return rows


def episode(share: float, stack: str, way: str) -> dict[str, float]:
    """One period of high priority, and what became of a transfer under `stack`."""
    box = BOXES[way]
    link = (
        f'rate = "10Mbit", delay = "{ONE_WAY_MS}ms", '
        'queue = { kind = "prio", limit = ["240p", "240p"] }, '
        f'reverse = {{ delay = "{ONE_WAY_MS}ms" }}' + (f", {box}" if box else "")
    )
    rule = f'[[rule]]\nname = "high"\nport = [{PORTS["high"]}]\nq = 1\n'
    with hosts("tun"), gate("tun", link, rule), Transfer(stack) as transfer:
        time.sleep(SETTLE_S)
        begin = time.monotonic()
        end = send_high(share)
        time.sleep(AFTER_S)
    released = end + (IDLE_MS / 1e3 if box else 0.0)
    return transfer.judge(begin, released)


def send_high(share: float) -> float:
    """Take `share` of the link for a while; the instant of the last datagram."""
    with inside(RIGHT):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind((ADDRESS, PORTS["high"]))
    with inside(LEFT):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender, receiver:
        sender.connect((ADDRESS, PORTS["high"]))
        payload, begin = bytes(PACKET - 28), time.monotonic()
        count = int(FREEZE_S * RATE * share / 8 / PACKET)
        for number in range(count):
            due = begin + number * FREEZE_S / count
            time.sleep(max(0.0, due - time.monotonic()))
            sender.send(payload)
        return time.monotonic()


class Transfer:
    """A TCP transfer from left to right that is watched."""

    # Of struct tcp_info: cwnd, segments sent again, delivered, and timeouts (since Linux 6.7).
    INFO = struct.Struct("=80xI16xI88xI44xH")

    def __init__(self, stack: str) -> None:
        """Connect, under the congestion control `stack`."""
        with inside(RIGHT):
            server = socket.create_server((ADDRESS, PORTS["low"]))
        with inside(LEFT):
            self.sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, stack.encode())
        self.sender.connect((ADDRESS, PORTS["low"]))
        self.receiver = server.accept()[0]
        server.close()
        self.arrivals: list[tuple[float, int]] = []
        self.states: list[tuple[float, int, int, int, int]] = []
        self.stop = threading.Event()
        work = (self._send, self._receive, self._watch)
        self.threads = [threading.Thread(target=each, daemon=True) for each in work]

    def __enter__(self) -> Transfer:
        """Begin."""
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it, wherever it is."""
        self.stop.set()
        self.sender.shutdown(socket.SHUT_RDWR)
        self.receiver.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.sender.close()
        self.receiver.close()

    def _send(self) -> None:
        chunk = bytes(1 << 16)
        while not self.stop.is_set():
            try:
                self.sender.sendall(chunk)
            except OSError:
                return

    def _receive(self) -> None:
        buffer = bytearray(1 << 16)
        while not self.stop.is_set():
            try:
                length = self.receiver.recv_into(buffer)
            except OSError:
                return
            self.arrivals.append((time.monotonic(), length))

    def _watch(self) -> None:
        while not self.stop.is_set():
            info = self.sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, self.INFO.size)
            self.states.append((time.monotonic(), *self.INFO.unpack(info)))
            time.sleep(0.005)

    def judge(self, begin: float, released: float) -> dict[str, float]:
        """What the period from `begin` on, and the second after `released`, did to it."""
        before = max(state for state in self.states if state[0] < begin)
        during = [state for state in self.states if begin <= state[0] < released]
        after = [state for state in self.states if released <= state[0] < released + 1]
        arrivals = [(at - released, length) for at, length in self.arrivals]
        # The longest silence that reaches into the second after the release.
        times = [at for at, _ in arrivals]
        gaps = [two - max(one, 0.0) for one, two in pairwise(times) if two > 0 and one < 1]
        silence = max(gaps, default=AFTER_S)
        first = sum(length for at, length in arrivals if 0 <= at < 1)
        return {
            "cwnd_before": before[1],
            "cwnd_least_held": min(state[1] for state in during),
            "cwnd_at_release": during[-1][1],
            "cwnd_least_after": min(state[1] for state in after),
            "timeouts": after[-1][4] - before[4],
            "resent": after[-1][2] - before[2],
            "held_kb": sum(n for at, n in self.arrivals if begin <= at < released) / 1e3,
            "silence_ms": 1e3 * silence,
            "first_second": (after[-1][3] - during[-1][3]) * PACKET * 8 / RATE,
            "first_second_in_order": first / SEGMENT * PACKET * 8 / RATE,
        }


def table(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Columns and rows for docs/validation.md: medians."""
    columns = {
        "cwnd_before": "cwnd before",
        "cwnd_least_held": "least during",
        "cwnd_at_release": "at release",
        "cwnd_least_after": "least in the second after",
        "timeouts": "timeouts",
        "resent": "segments sent again",
        "silence_ms": "silence after release in ms",
        "first_second": "share of the link in the first second",
        "first_second_in_order": "in order",
    }
    cells = [
        [f"{row['high_share']:.0%}", row["stack"], row["way"]]
        + [statistics.median(row[key]) for key in columns]
        + [min(row["first_second"]), len(row["first_second"])]
        for row in rows
    ]
    names = ["high takes", "TCP", "way", *columns.values(), "least of the runs", "runs"]
    return names, cells
