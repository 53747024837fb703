"""Reading measurements: a reader for each tool, chosen by what a file holds, not by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from forebay._engine import ScenarioError
from forebay.fit.measurement import Measurement, trimmed
from forebay.fit.readers import flent, iperf, irtt, lab, ping
from forebay.fit.readers.packets import measurement_of, read_packets
from forebay.fit.readers.part import Part, begin_of, congestion_of, content_of, document_of, joined

_BLANK = 4096
"""Bytes in which a report's first brace is looked for."""
_CAPTURES = (
    bytes.fromhex("a1b2c3d4"),
    bytes.fromhex("d4c3b2a1"),
    bytes.fromhex("a1b23c4d"),
    bytes.fromhex("4d3cb2a1"),
    bytes.fromhex("0a0d0d0a"),
)
_RECORDING = b"forebay"
"""How recordings of a gate begin."""
_UNDERSTOOD = (
    "those understood are captures (pcap, pcapng), Flent's data files, irtt's JSON, iperf3's "
    "--json, ping's output with -D, and the captures of forebay lab --virtual --pcap"
)
_DOCUMENTS: tuple[tuple[Callable[[dict[str, object]], bool], Callable[..., Part]], ...] = (
    (flent.is_one, flent.part_of),
    (irtt.is_one, irtt.part_of),
    (iperf.is_one, iperf.part_of),
)


def read(paths: Sequence[str | Path]) -> Measurement:
    """Read the files of one measurement.

    Args:
        paths: a capture, or Flent's file, or a folder of captures of `forebay lab`; or files that
            were made at the same time, such as ping's output and iperf3's report.

    Raises:
        ScenarioError: a file cannot be read or is of another kind, or they do not go together.

    Example:
        >>> fit.read(["examples/home.pcap.gz"]).vantage
        'sender'
    """
    if not paths:
        raise ScenarioError("no measurement is given; forebay fit --measure says how to make one")
    names = [Path(each) for each in paths]
    captures = [each for each in names if _is_capture(each)]
    if len(captures) > 1:
        raise ScenarioError(
            f"{captures[1]}: only one capture can be fitted at a time; merge those of one host "
            "with mergecap"
        )
    parts = [_part(each) for each in names if each not in captures]
    if not captures:
        return trimmed(joined(parts))
    [path] = captures
    packets, probes = lab.read_lab(path) if path.is_dir() else (read_packets(str(path)), None)
    found = measurement_of(packets, str(path), probes)
    if parts:
        notes = (*found.notes, "the capture alone was used; it says more than the other files")
        found = replace(found, notes=notes)
        if (named := congestion_of(parts)) is not None:
            found = replace(found, congestion=named, said_congestion=True)
    return trimmed(found)


def _is_capture(path: Path) -> bool:
    return path.is_dir() or begin_of(path).startswith(_CAPTURES)


def _part(path: Path) -> Part:
    raw = content_of(path)
    begin = raw[:_BLANK].lstrip()
    if not begin and not raw.strip():
        raise ScenarioError(f"{path}: is empty; measure again")
    if begin.startswith(b"{"):
        document = document_of(raw, path)
        for is_one, part_of in _DOCUMENTS:
            if is_one(document):
                return part_of(document, str(path))
        raise ScenarioError(f"{path}: is JSON of another program; {_UNDERSTOOD}")
    if raw.startswith(_RECORDING):
        raise ScenarioError(
            f"{path}: is a gate's recording, which holds its queue and its rate (forebay replay "
            "FILE); to find the link behind the gate, capture there"
        )
    found = ping.part_of(raw, str(path))
    if found is None:
        raise ScenarioError(f"{path}: is no measurement that is understood; {_UNDERSTOOD}")
    return found
