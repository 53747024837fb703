"""What ping of Linux prints with -D, and fping: lines such as `[1700000000.1] ... time=12.3 ms`."""

from __future__ import annotations

import re

from forebay._engine import ScenarioError
from forebay.fit.readers.part import Part

_LINE = re.compile(
    rb"^\[(?P<at>\d{9,11}\.\d+)\] (?:(?P<size>\d{1,5}) bytes from [^\n]*?(?:icmp_)?seq=\d+"
    rb"[^\n]*?time=(?P<ms>\d{1,7}(?:\.\d+)?) ?ms"
    rb"|[^\n]*?\[\d+\], (?P<fsize>\d{1,5}) bytes, (?P<fms>\d{1,7}(?:\.\d+)?) ms)",
    re.MULTILINE,
)
_TIMELESS = re.compile(
    rb"^\d{1,5} bytes from [^\n]*?(?:icmp_)?seq=\d+[^\n]*?time[=<]\d", re.MULTILINE
)
_ABROAD = re.compile(rb"^PING \S+ .*\n(?:.*\n)*?.*[=:]\d+(?:[.,]\d+)? ?ms", re.MULTILINE)
"""Round trips in the words of another language."""
_HEAD = re.compile(rb"^PING (?P<host>\S{1,200}) ", re.MULTILINE)
_BEGIN = 4096
"""Bytes in which a language is looked for."""
_IP = 20
_BACK_S = 1.0
"""By how much lines may be out of order: answers may overtake each other."""


def part_of(raw: bytes, name: str) -> Part | None:
    """The round trips, or None if no line has one with its time.

    The time of a line is that of the answer.

    Raises:
        ScenarioError: it is ping's output without -D, or in another language, or its clock was set
            back.
    """
    found = Part(name)
    latest = 0.0
    for line in _LINE.finditer(raw):
        delay = float(line["ms"] or line["fms"]) / 1e3
        at = float(line["at"])
        if at < latest - _BACK_S:
            raise ScenarioError(
                f"{name}: goes back in time by {latest - at:.0f} s at [{line['at'].decode()}], as "
                "if the clock was set; measure again, or keep the lines of one side"
            )
        latest = max(latest, at)
        size = int(line["size"] or line["fsize"]) + _IP
        if delay <= 60 and size <= 65_535:
            found.probes.append((at - delay, delay, max(28, size)))
    if (head := _HEAD.search(raw)) is not None:
        found.source = f"to {head['host'].decode('utf-8', 'replace')}"
    if not found.probes and _TIMELESS.search(raw):
        raise ScenarioError(f"{name}: is ping's output without times of day; run ping with -D")
    if not found.probes and _ABROAD.match(raw[:_BEGIN]):
        raise ScenarioError(
            f"{name}: is ping's output in another language; run it as LC_ALL=C ping -D"
        )
    return found if found.probes else None
