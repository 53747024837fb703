"""What one tool's report adds to a measurement, with absolute times, and how several become one."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from forebay import _disk
from forebay._engine import ScenarioError
from forebay.fit.measurement import Flow, Measurement, arrivals, losses, trips

LONGEST_S = 7 * 86_400.0
"""Longest measurement that is read."""
_GZIP = bytes.fromhex("1f8b")
_HEAD, _BEGIN = 4096, 64
"""Bytes that are read, and unpacked, to tell what a file is."""
_MOST = 256 << 20
"""Most bytes of a packed file's content."""


@dataclass(slots=True)
class Stream:
    """A transfer as a tool reports it: sums over intervals."""

    begins: list[float] = field(default_factory=list)
    """When each interval began, in s since 1970."""
    ends: list[float] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)
    """Bytes of payload."""
    repeats: list[float] = field(default_factory=list)
    """Segments sent again."""
    rtts: list[tuple[float, float]] = field(default_factory=list)
    """TCP's smoothed round trip: when, and how long, in s."""
    dscp: int = 0


@dataclass(slots=True)
class Part:
    """What a file says."""

    name: str
    probes: list[tuple[float, float, int]] = field(default_factory=list)
    """When each was sent in s since 1970, how long its answer took in s, bytes of IP."""
    lost: list[float] = field(default_factory=list)
    """When a probe was sent that was never answered."""
    streams: list[Stream] = field(default_factory=list)
    segment: int = 1448
    """Bytes of payload of a full segment."""
    congestion: str | None = None
    """As the tool names it."""
    received: bool = False
    """Whether the receiver says how much arrived in all."""
    two_way: bool = False
    source: str = ""
    said: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def joined(parts: Sequence[Part]) -> Measurement:
    """One measurement of files that were made at the same time.

    Raises:
        ScenarioError: they have no time in common, or hold nothing.
    """
    name = " and ".join(each.name for each in parts)
    times = [each[0] for part in parts for each in part.probes]
    times += [each for part in parts for stream in part.streams for each in stream.begins]
    if not times:
        raise ScenarioError(f"{name}: holds no round trip and no transfer; measure again")
    begin = min(times)
    if max(times) - begin > LONGEST_S:
        raise ScenarioError(
            f"{name}: spans more than a week; give files that were made at the same time"
        )
    streams = [(part, stream) for part in parts for stream in part.streams if stream.begins]
    flows: list[Flow] = []
    all_trips: list[tuple[Any, ...]] = []
    all_arrivals: list[tuple[Any, ...]] = []
    all_losses: list[tuple[Any, ...]] = []
    spans: list[float] = []
    for number, (part, stream) in enumerate(streams):
        ends, begins = np.asarray(stream.ends) - begin, np.asarray(stream.begins) - begin
        whole = np.asarray(stream.sums) * (part.segment + 52) / part.segment
        all_arrivals.append((ends, whole, np.nan, number))
        spans += (ends - begins).tolist()
        flows.append(Flow(float(begins[0]), float(ends[-1]), stream.dscp, part.segment + 52))
        if stream.rtts:
            at, delay = (np.asarray(each) for each in zip(*stream.rtts, strict=True))
            all_trips.append((at - begin - delay, delay, part.segment + 52, number))
        for middle, count in zip((begins + ends) / 2, stream.repeats, strict=False):
            all_losses.append((np.full(min(int(count), 100_000), middle), number))
    for part in parts:
        if part.probes:
            at, delay, size = (np.asarray(each) for each in zip(*part.probes, strict=True))
            all_trips.append((at - begin, delay, size, -1))
    found = arrivals(all_arrivals, float(np.median(spans)) if spans else 1.0)
    last = [float(found.at[-1])] if len(found.at) else []
    last += [float(np.max(each[0] + each[1])) for each in all_trips]
    congestion = congestion_of(parts)
    return Measurement(
        name,
        "summary",
        max(last),
        tuple(flows),
        trips(all_trips),
        found,
        losses(all_losses),
        exact_losses=False,
        received=all(part.received for part, _ in streams),
        congestion=congestion or "cubic",
        said_congestion=congestion is not None,
        two_way=any(part.two_way for part in parts),
        source=next((part.source for part in parts if part.source), ""),
        said={key: value for part in parts for key, value in part.said.items()},
        notes=tuple(note for part in parts for note in part.notes),
    )


def congestion_of(parts: Sequence[Part]) -> str | None:
    """What controlled the transfers, if a tool says it."""
    return next((part.congestion for part in parts if part.streams and part.congestion), None)


def begin_of(path: Path) -> bytes:
    """The first bytes of a file, unpacked if gzip packed it; fewer if there are no more."""
    try:
        _disk.check_regular(path)
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        # In the words of all other files.
        head = _disk.read(path)
    if not head.startswith(_GZIP):
        return head
    try:
        return zlib.decompressobj(31).decompress(head, _BEGIN)
    except zlib.error:
        return b""


def content_of(path: Path) -> bytes:
    """The bytes of a file, unpacked if gzip packed it.

    Raises:
        ScenarioError: it is cut off, damaged or too large.
    """
    raw = _disk.read(path)
    return _unpacked(raw, path) if raw.startswith(_GZIP) else raw


def document_of(raw: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in a file's content.

    Raises:
        ScenarioError: it is no whole JSON object.
    """
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        place = (
            f" (from character {error.pos} on)" if isinstance(error, json.JSONDecodeError) else ""
        )
        if raw.lstrip().startswith(b'{"event"'):
            raise ScenarioError(
                f"{path}: is a stream of events (iperf3 --json-stream); run iperf3 with --json"
            ) from None
        raise ScenarioError(f"{path}: is no whole JSON{place}; measure or copy it again") from None
    if not isinstance(document, dict):
        raise ScenarioError(f"{path}: is JSON, but no report of a measurement")
    return document


def _unpacked(raw: bytes, path: Path) -> bytes:
    found = bytearray()
    rest = raw
    try:
        while rest.startswith(_GZIP):
            member = zlib.decompressobj(31)
            found += member.decompress(rest, _MOST + 1 - len(found))
            if len(found) > _MOST or member.unconsumed_tail:
                raise ScenarioError(
                    f"{path}: is larger than {_MOST >> 20} MiB unpacked, the most that is read"
                )
            if not member.eof:
                raise zlib.error
            rest = member.unused_data
    except zlib.error:
        raise ScenarioError(
            f"{path}: is a gzip file that is cut off or damaged; copy it again"
        ) from None
    return bytes(found)


def number(value: Any, low: float = -1e15, high: float = 1e15) -> float | None:
    """A number of a report, or None if it is none or out of range."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and low <= found <= high else None


def table(value: Any) -> dict[str, Any]:
    """A table of a report; empty if it is none."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    """Tables in a list of a report; others are left out."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """A short text of a report; empty if it is none."""
    return value[:200] if isinstance(value, str) else ""
