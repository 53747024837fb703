"""Flent's data files (`.flent.gz`): pings and transfers of one of its tests, such as RRUL.

A test may load both directions. The one with more data is fitted, unless the other has none; pings
then wait in both queues, which a note says.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

from forebay._engine import ScenarioError
from forebay.fit.readers.part import Part, Stream, number, rows, table, text

_MARKS = {"BK": 8, "CS5": 40, "EF": 46, "AF42": 36}
"""DSCPs by what RRUL calls its streams."""
_VERSIONS = (1, 2, 3, 4)
"""Of its format (`FILEFORMAT_VERSION` in `resultset.py`); the first one had no number."""
_PING = 84
"""Bytes of ping's packet; those of UDP are about as long."""
_SAID = {"TITLE": "title", "NAME": "test", "DATA_FILENAME": "file"}


def is_one(document: dict[str, Any]) -> bool:
    """Whether a document is Flent's."""
    return all(key in document for key in ("metadata", "results", "x_values"))


def part_of(document: dict[str, Any], name: str) -> Part:
    """The pings and transfers.

    Raises:
        ScenarioError: there is neither, or the file is of another version.
    """
    version = number(document.get("version"), 0, 1e6)
    if version is not None and version not in _VERSIONS:
        raise ScenarioError(
            f"{name}: is of version {version:g} of Flent's format; those understood are "
            f"{_VERSIONS[0]} to {_VERSIONS[-1]} (Flent up to 2.x)"
        )
    metadata = table(document["metadata"])
    found = Part(name, source=f"host {text(metadata.get('HOST'))}")
    found.said = {say: each for key, say in _SAID.items() if (each := text(metadata.get(key)))}
    title = found.said.get("title", "")
    found.congestion = "bbr" if "cc:bbr" in title else None
    loads: dict[str, list[Stream]] = {"upload": [], "download": []}
    for key, points in _series(document, metadata):
        if key.startswith("Ping (ms)") and not key.endswith((" avg", "::")):
            for at, value in points:
                if 0 < value < 60_000:
                    # Flent has the time of the answer.
                    found.probes.append((at - value / 1e3, value / 1e3, _PING))
        for way, streams in loads.items():
            if key.startswith(f"TCP {way}") and "::tcp_" not in key and _own(key):
                stream = _stream(points, key)
                if stream is not None:
                    streams.append(stream)
    sums = {way: sum(sum(each.sums) for each in streams) for way, streams in loads.items()}
    way = max(sums, key=lambda each: sums[each])
    found.streams = loads[way]
    if min(sums.values()) > 0:
        found.two_way = True
        found.notes.append(
            f"both directions were loaded, and pings waited in both; the {way} is fitted"
        )
    if sums[way] > 0:
        found.source = f"{way}, {found.source}"
    if not found.probes and not found.streams:
        raise ScenarioError(f"{name}: holds neither pings nor TCP transfers; run another test")
    return found


def _own(key: str) -> bool:
    """Whether a series is a transfer's own, not made of others."""
    return not key.endswith((" avg", " sum", " fairness", "totals"))


def _series(
    document: dict[str, Any], metadata: dict[str, Any]
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Each series as it was recorded, or else as it was brought to even times."""
    raw = table(document.get("raw_values"))
    begin = _time(text(metadata.get("T0")))
    steps = document["x_values"] if isinstance(document["x_values"], list) else []
    for key, values in table(document["results"]).items():
        recorded = rows(raw.get(key))
        if key.startswith("Ping") and any("dur" in each for each in recorded):
            # netperf's count of transactions in a while: a mean that hides what it is made of.
            continue
        points = [
            (at, value)
            for each in recorded
            if (at := number(each.get("t"), 0, 1e11)) is not None
            and (value := number(each.get("val"), 0, 1e9)) is not None
        ]
        if not points and isinstance(values, list):
            pairs = zip(steps, values, strict=False)
            points = [
                (begin + at, value)
                for first, second in pairs
                if (at := number(first, 0, 1e7)) is not None
                and (value := number(second, 0, 1e9)) is not None
            ]
        yield key, sorted(points)


def _stream(points: list[tuple[float, float]], key: str) -> Stream | None:
    """A transfer from rates in Mbit/s, each of the time since the one before."""
    stream = Stream(dscp=next((mark for word, mark in _MARKS.items() if f" {word}" in key), 0))
    for (before, _), (at, rate) in pairwise(points):
        if 0 < at - before < 10:
            stream.begins.append(before)
            stream.ends.append(at)
            stream.sums.append(rate * 1e6 / 8 * (at - before))
    return stream if sum(stream.sums) > 0 else None


def _time(written: str) -> float:
    try:
        moment = datetime.fromisoformat(written.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment.timestamp()
