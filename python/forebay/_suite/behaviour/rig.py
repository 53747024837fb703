"""The network of the cases: one connection over one bottleneck, and ways to change it in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay._report.table import short
from forebay._suite import candidates
from forebay._suite.behaviour.trace import Trace, run

MTU, HEADERS = 1500, 40
ACCESS_S = 100e-6
"""One-way delay of each host's own link."""
TICK_S = 0.005
"""How often an application that is limited writes."""
Changes = dict[str, Any]
"""A field of a link over time."""
Numbers = dict[str, Any]
"""What a measure gives: numbers, states, and texts, by name."""
COURSE = "course"
"""The name of a run over time among them, for a figure."""


@dataclass(frozen=True, slots=True)
class Rig:
    """A control under test, on a path."""

    control: str
    rate: float
    """Mbit/s."""
    rtt: float
    """Base round-trip time in ms, transmission left out."""
    buffer: float = 8.0
    """Room of the queue in bandwidth-delay products."""

    @property
    def title(self) -> str:
        """The path in words."""
        return f"{self.rate:g} Mbit/s, {self.rtt:g} ms"

    @property
    def bandwidth(self) -> float:
        """Payload bytes a second of the bottleneck."""
        return self.rate * 1e6 / 8 * (MTU - HEADERS) / MTU

    @property
    def bdp(self) -> float:
        """Payload bytes."""
        return self.bandwidth * self.rtt / 1e3

    def scenario(
        self, duration: float, tcp: dict[str, Any] | None = None, **link: Any
    ) -> dict[str, Any]:
        """Endless data for `duration` seconds, with these fields of TCP and of the link."""
        limit = max(8, round(self.buffer * self.rate * 1e3 * self.rtt / 8 / MTU))
        delay = self.rtt / 2e3 - 2 * ACCESS_S
        row = {
            "rate": f"{self.rate:g}Mbit",
            "delay": seconds(delay),
            "access": {"delay": seconds(ACCESS_S), "rate": "10Gbit"},
            "queue": {"kind": "fifo", "limit": f"{limit}p"},
        }
        row = {name: each for name, each in (row | link).items() if each is not None}
        needs = dict.fromkeys(candidates.registered()[self.control], True)
        own = {"congestion": self.control, "recovery": "sack", "receive_window": "60MB"} | needs
        bulk = {"name": "flow", "kind": "bulk"}
        return {
            "duration": seconds(duration),
            "tcp": own | (tcp or {}),
            "dumbbell": row,
            "traffic": [bulk],
        }

    def run(self, duration: float, tcp: dict[str, Any] | None = None, **link: Any) -> Trace:
        """That scenario, run."""
        return run(self.scenario(duration, tcp, **link))

    def limited(self, duration: float, writes: list[tuple[float, int]], **link: Any) -> Trace:
        """The same with an application that writes by schedule: (s, bytes)."""
        document = self.scenario(duration, **link)
        document["traffic"] = [
            {
                "name": "flow",
                "kind": "writes",
                "writes": [[seconds(at), f"{size}B"] for at, size in writes],
            }
        ]
        return run(document)

    def at_rate(self, share: float, begin: float, end: float) -> list[tuple[float, int]]:
        """Writes that come to a share of the bandwidth in a span of seconds."""
        size = max(1, round(share * self.bandwidth * TICK_S))
        return [(begin + at * TICK_S, size) for at in range(int((end - begin) / TICK_S))]

    def course(self, trace: Trace, begin: float, end: float, title: str) -> Numbers:
        """A part of a run for the figure, at most 400 points.

        Data in flight is in bandwidth-delay products, bandwidth is BBR.max_bw over that of the
        bottleneck.
        """
        rows = [at for at, time in enumerate(trace.time) if begin <= time <= end]
        rows = rows[:: max(1, len(rows) // 400)]
        return {
            "title": title,
            "time": short([trace.time[at] for at in rows]),
            "inflight": short([trace["inflight"][at] / self.bdp for at in rows]),
            "bandwidth": short([trace["max_bw"][at] / self.bandwidth for at in rows]),
            "state": [float(trace["state"][at]) for at in rows],
        }

    def changed(self, at: float, factor: float) -> Changes:
        """The rate, which is `factor` times as large from `at` seconds on."""
        new = f"{self.rate * factor:g}Mbit"
        return {"steps": [["0s", f"{self.rate:g}Mbit"], [seconds(at), new]]}


def seconds(value: float) -> str:
    """A time as a scenario writes it, to the nanosecond."""
    return f"{round(value * 1e9)}ns"


def batches(begin: float, end: float, period: float, rate: str) -> Changes:
    """The rate of a link that sends only in the last tenth of every period, from `begin` on."""
    steps: list[list[Any]] = [["0s", rate]] if begin > 0 else []
    count = int((end - begin) / period)
    for at in range(count):
        start = begin + at * period
        steps += [[seconds(start), "0bit"], [seconds(start + 0.9 * period), rate]]
    return {"steps": steps}
