"""Candidates in the engine: a link with the measured load, and what a measurement of it would tell.

The network has the sender, the bottleneck, the receiver, and behind it a host for probes, so that
captures at the sender and of the probes tell what the user's own tools told.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._scenario import Scenario
from forebay.fit.course import Course
from forebay.fit.measurement import (
    Flow,
    Measurement,
    Numbers,
    Wholes,
    arrivals,
    losses,
    trips,
)
from forebay.fit.readers.packets import Packets, measurement_of, merged, read_packets

if TYPE_CHECKING:
    from forebay._engine import Cancel

UPLINK = "uplink"
"""The bottleneck's name in scenarios."""
_MOST_PROBES = 400
"""Most flows that take turns as probes; each waits for its answer before it asks again."""
_TCP = 6
_EMPTY = 24
"""Bytes of a capture without packets."""
_FILES = ("sent.pcap", "back.pcap", "probes.pcap", "came.pcap")
_ENDS = ("10.0.0.1", "10.0.0.2")
_SMOOTH = 8
"""Round trips in what stands for TCP's smoothed one, whose gain is an eighth (RFC 6298)."""
Columns = tuple[Numbers, Numbers, Wholes]


@dataclass(frozen=True, slots=True)
class Load:
    """What sends during a measurement."""

    flows: tuple[Flow, ...]
    end: float
    """Seconds."""
    probe_interval: float | None = None
    """Seconds between two probes; none without."""
    probe_size: int = 84
    congestion: str = "cubic"
    ecn: bool = False
    """Whether it can be marked."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path, as a candidate or as found."""

    rate: float
    """Of the bottleneck, in bit/s."""
    rtt: float
    """Without queues, in s."""
    queue: Mapping[str, Any]
    """Its discipline, as a scenario writes it."""
    cross: float = 0.0
    """Mean rate of others' traffic, in bit/s."""
    loss: float = 0.0
    """Share of packets lost on the wire."""
    course: Course = ()
    """The bottleneck's rate over time if it changes; `rate` is the mean then."""


def document(path: Route, load: Load, seed: int = 1) -> dict[str, Any]:
    """The scenario of a load on a path, without captures."""
    half = _time(max(1e-9, path.rtt / 2))
    link: dict[str, Any] = {
        "name": UPLINK,
        "from": "sender",
        "to": "receiver",
        "rate": _rates(path),
        "delay": half,
        "queue": dict(path.queue),
        "reverse": {"rate": "10Gbit", "delay": half},
    }
    if path.loss > 0:
        link["loss"] = round(path.loss, 6)
    own = {"from": "sender", "to": "receiver", "from_host": "pc", "to_host": "server"}
    traffic: list[dict[str, Any]] = []
    for number, flows in enumerate(_alike(load)):
        entry: dict[str, Any] = own | {"name": f"load{number + 1}", "kind": "bulk"}
        starts = sorted({_time(flow.start): flow.start for flow in flows}, key=_seconds)
        entry["start"] = starts[0]
        if len(starts) > 1:
            entry |= {"flows": len(flows), "start": [starts[0], starts[-1]]}
        elif len(flows) > 1:
            entry["flows"] = len(flows)
        if flows[0].stop < load.end - 0.5:
            entry["stop"] = _time(flows[0].stop)
        if flows[0].dscp:
            entry["dscp"] = flows[0].dscp
        if flows[0].size != 1500:
            entry["tcp"] = {"mtu": f"{max(100, flows[0].size)}B"}
        traffic.append(entry)
    if load.probe_interval is not None:
        entry = own | {"name": "probes", "kind": "cbr", "size": f"{load.probe_size}B"}
        traffic.append(entry | {"rate": _rate(load.probe_size, load.probe_interval)})
    if path.cross > 0:
        entry = own | {"name": "others", "kind": "poisson", "size": "1200B"}
        entry |= {"from_host": "other-pc", "to_host": "other-server"}
        traffic.append(entry | {"rate": _speed(path.cross)})
    return {
        "duration": _time(load.end),
        "seed": seed,
        "tcp": {"preset": "linux-6.1", "congestion": load.congestion}
        | ({"ecn": True} if load.ecn else {}),
        "link": [link],
        "traffic": traffic,
    }


def _alike(load: Load) -> list[list[Flow]]:
    """The flows in groups that one entry of traffic describes."""
    groups: dict[tuple[int, ...], list[Flow]] = {}
    for flow in load.flows:
        key = (flow.dscp, flow.size, round(flow.start * 5), round(flow.stop * 2))
        groups.setdefault(key, []).append(flow)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class How:
    """How a link is measured."""

    vantage: str = "sender"
    """As of `Measurement`."""
    span: float = 1.0
    """Seconds between two lines of a report."""
    knows_rtt: bool = True
    """Whether a report has TCP's own round trips."""
    longest: float = 1.0
    """Longest time in s for which a probe may wait for its answer."""

    @classmethod
    def of(cls, seen: Measurement) -> How:
        """How a measurement was made."""
        longest = 2.5 * float(np.max(seen.trips.delay, initial=0.2))
        span = seen.arrivals.span or 1.0
        return cls(seen.vantage, span, bool((~seen.trips.probes).any()), longest)


def measured(
    document: Mapping[str, Any],
    name: str,
    how: How,
    cancel: Cancel | None = None,
    progress: Callable[[float], None] | None = None,
) -> Measurement:
    """Run a scenario as `document` makes it, and measure it as a user did.

    Raises:
        ScenarioError: it cannot run, or nothing got over the link.
    """
    record = recorded(document, how.vantage, how.longest, cancel, progress)
    found = measurement_of(record.packets, name, record.probes, 0)
    return _reported(found, how) if how.vantage == "summary" else found


def _reported(seen: Measurement, how: How) -> Measurement:
    """What a tool's report would have of a capture: sums over intervals, and smoothed times."""
    begin, _ = seen.load
    count = max(1, int((seen.end - begin) / how.span))
    edges = begin + how.span * np.arange(count + 1)
    sums: list[tuple[Any, ...]] = []
    lost: list[tuple[Any, ...]] = []
    smooth: list[tuple[Any, ...]] = []
    trips_, arrived = seen.trips, seen.arrivals
    for number in range(len(seen.flows)):
        mine = arrived.flow == number
        each = np.histogram(arrived.at[mine], edges, weights=arrived.size[mine])[0]
        sums.append((edges[1:], each, np.nan, number))
        gone = seen.losses.at[seen.losses.flow == number]
        lost.append((np.floor((gone - begin) / how.span) * how.span + begin + how.span / 2, number))
        own = trips_.flow == number
        if how.knows_rtt and np.count_nonzero(own) > _SMOOTH:
            came, delay = (trips_.at + trips_.delay)[own], trips_.delay[own]
            total = np.concatenate([[0.0], np.cumsum(delay)])
            last = np.searchsorted(came, edges[1:], side="right")
            first = np.maximum(0, last - _SMOOTH)
            known = last > first
            mean = (total[last] - total[first])[known] / (last - first)[known]
            smooth.append((edges[1:][known] - mean, mean, seen.flows[number].size, number))
    asked = trips_.probes
    smooth.append((trips_.at[asked], trips_.delay[asked], trips_.size[asked], -1))
    return replace(
        seen,
        vantage="summary",
        trips=trips(smooth),
        arrivals=arrivals(sums, how.span),
        losses=losses(lost),
        exact_losses=False,
    )


@dataclass(frozen=True, slots=True)
class Record:
    """What a user's tools would have of a run."""

    packets: Packets
    """TCP, as captured at one end."""
    probes: Columns
    """When each probe was sent, how long its answer took, and its size; lost ones left out."""
    summary: dict[str, Any]
    """Of the run."""


def recorded(
    document: Mapping[str, Any],
    vantage: str = "sender",
    longest: float = 1.0,
    cancel: Cancel | None = None,
    progress: Callable[[float], None] | None = None,
) -> Record:
    """Run a scenario as `document` makes it, with captures at the `vantage`.

    The way back from a bottleneck is free. So a receiver sends probes that are answered over the
    bottleneck, and a sender's wait on their way there: their round trips are the same.

    Args:
        document: the scenario.
        vantage: as of `Measurement`.
        longest: s for which a probe may wait for its answer.
        cancel: stops the run.
        progress: called with the share that is done.

    Raises:
        ScenarioError: it cannot run, or nothing got over the link.
    """
    at_receiver = vantage == "receiver"
    with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
        whole = _with_captures(document, at_receiver, longest)
        scenario = Scenario.of(whole, "fit", folder)
        output = _engine.run(scenario.text, scenario.base, cancel, progress)
        sent, back, far, came = (_packets(Path(folder) / name) for name in _FILES)
    data = came if at_receiver else sent
    if sent is None or back is None or data is None:
        raise ScenarioError("nothing was sent and answered")
    one_way = _seconds(whole["link"][1]["delay"])
    probes = _probes(sent, far, one_way)
    tcp = data.where(np.flatnonzero(data["protocol"] == _TCP))
    if at_receiver:
        probes = (probes[0] - one_way, probes[1], probes[2])
    tcp = merged([_between(tcp, *_ENDS), _between(back, *reversed(_ENDS))])
    return Record(tcp, probes, json.loads(output.summary))


def _time(value: float) -> str:
    """A time in s as a scenario has it, to the microsecond."""
    return _engine.format_quantity(max(round(value, 6), 1e-6) if value > 0 else 0.0, "time")


def _rates(path: Route) -> str | dict[str, list[list[str]]]:
    if not path.course:
        return _speed(path.rate)
    return {"steps": [[_time(at), _speed(rate)] for at, rate in path.course]}


def _speed(value: float) -> str:
    """A rate in bit/s as a scenario has it, to five digits."""
    return _engine.format_quantity(float(f"{value:.5g}"), "rate")


def _seconds(written: str) -> float:
    return float(json.loads(_engine.quantity(written, "time"))["value"])


def _packets(path: Path) -> Packets | None:
    """The packets of a capture that the engine wrote; none if there is none, or it holds none."""
    if not path.exists() or path.stat().st_size <= _EMPTY:
        return None
    return read_packets(str(path))


def _between(packets: Packets, source: str, destination: str) -> Packets:
    """The packets as between two hosts; the engine gives each flow hosts of its own."""
    count = len(packets)
    ends = {"source": np.zeros(count, int), "destination": np.ones(count, int)}
    return Packets(packets.columns | ends, [source, destination])


def _with_captures(
    document: Mapping[str, Any], at_receiver: bool, longest: float
) -> dict[str, Any]:
    """The scenario with captures."""
    whole: dict[str, Any] = json.loads(json.dumps(document))
    [uplink] = whole["link"]
    uplink["from"] = "modem"
    fast = {"rate": "40Gbit", "delay": "0ns"}
    near = fast | {"name": "near", "from": "sender", "to": "modem", "pcap": _FILES[0]}
    far = fast | {"name": "far", "from": "receiver", "to": "echo", "pcap": _FILES[2]}
    if at_receiver:
        lan = fast | {"name": "lan", "from": "receiver", "to": "host", "pcap": _FILES[3]}
        whole["link"] = [near, uplink, far, lan | {"reverse": {"pcap": _FILES[1]}}]
    else:
        whole["link"] = [near | {"reverse": {"pcap": _FILES[1]}}, uplink, far]
    traffic: list[dict[str, Any]] = []
    for entry in whole["traffic"]:
        if at_receiver:
            entry["to"] = "host"
        if entry["name"] == "probes":
            size = json.loads(_engine.quantity(entry["size"], "size"))["value"]
            rate = json.loads(_engine.quantity(entry["rate"], "rate"))["value"]
            interval = size * 8 / rate
            count = min(_MOST_PROBES, math.ceil(longest / interval) + 1)
            turn = {"to": "echo", "to_host": "echo", "random_phase": False}
            turn |= {"rate": f"{rate / count:.6f}bit"}
            for number in range(count):
                start = f"{round(number * interval * 1e9) + 1}ns"
                traffic.append(entry | turn | {"name": f"probe{number}", "start": start})
        elif entry["name"].startswith("others"):
            # They come by another way, and are not in the sender's capture.
            traffic.append(entry | {"from": "modem"})
        else:
            traffic.append(entry)
    whole["traffic"] = traffic
    return whole


def _probes(sent: Packets, far: Packets | None, one_way: float) -> Columns:
    """Probes as a user's ping would show them.

    A probe's flow has one datagram under way at a time, unless that waits longer than its turn.
    """
    if far is None:
        return np.empty(0), np.empty(0), np.empty(0, int)
    rows = []
    names = {name: number for number, name in enumerate(sent.addresses)}
    for number in np.unique(far["source"]).tolist():
        mine = sent["source"] == names[far.addresses[number]]
        asked = sent["at_ns"][mine] / 1e9
        came = far["at_ns"][far["source"] == number] / 1e9
        # The one that was sent last before it could have come.
        at = asked[np.searchsorted(asked, came - one_way, side="right") - 1]
        size = int(sent["len"][mine][0])
        rows.append((at, came - at + one_way, np.full(len(at), size)))
    columns = [np.concatenate(each) for each in zip(*rows, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return columns[0][order], columns[1][order], columns[2][order]


def _rate(size: int, interval: float) -> str:
    return _speed(size * 8 / interval)
