"""Two packet traces, flow by flow, side by side up to the first decision that differs.

    python benches/peers/trace_diff.py REFEREE.csv OURS.csv [--flow 3] [--json]

forebay writes a trace if a scenario has `tcp_trace`, Linux in virtual time with `--traces`
(linux/README.md), NSC with `trace=` (nsc/README.md). Traces are CSV with the columns
`time_s, flow, dir, seq, ack, len, flags, wnd, sack`, as seen at the sender, data when they leave it
and acknowledgments when they reach it; further columns tell of the sender's state and are shown.
Segments without payload or FIN (handshake, window probes' answers) are left out of the data.
With --json the difference is printed as the field `difference` of a row on the validation page.
Exit code 0: no difference, 1: one was found, 2: bad input.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

COLUMNS = ("time_s", "flow", "dir", "seq", "ack", "len", "flags", "wnd", "sack")


class BadTrace(Exception):
    """A file that is not such a trace."""


@dataclass(frozen=True)
class Packet:
    """A line of a trace."""

    line: int
    time: float
    is_data: bool
    seq: int
    ack: int
    length: int
    flags: str
    sack: tuple[str, ...]
    state: tuple[tuple[str, str], ...]

    def decision(self) -> tuple[object, ...]:
        """What has to be equal in both traces."""
        if self.is_data:
            return ("data", self.seq, self.length, "F" in self.flags)
        return ("ack", self.ack, self.sack, "E" in self.flags)

    @property
    def what(self) -> str:
        """The segment and the sender's state, for people."""
        state = " ".join(f"{name} {value}" for name, value in self.state if value)
        if self.is_data:
            return f"data {self.seq}:{self.seq + self.length}  {state}"
        blocks = f" sack {' '.join(self.sack)}" if self.sack else ""
        return f"ack {self.ack}{blocks}  {state}"


def read(path: Path) -> dict[int, list[Packet]]:
    """The packets of every flow, from its first data on."""
    flows: dict[int, list[Packet]] = {}
    try:
        with path.open(newline="") as file:
            rows = csv.DictReader(file)
            missing = set(COLUMNS) - set(rows.fieldnames or ())
            if missing:
                raise BadTrace(f"{path}: no column {sorted(missing)[0]!r}")
            for line, row in enumerate(rows, 2):
                try:
                    flows.setdefault(int(row["flow"]), []).append(_packet(line, row))
                except (TypeError, ValueError) as error:
                    raise BadTrace(f"{path}: line {line}: {error}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadTrace(f"{path}: {error}") from error
    found = {flow: data for flow, packets in flows.items() if (data := _from_data(packets))}
    if not found:
        raise BadTrace(f"{path}: no segment with data")
    return found


def _from_data(packets: Sequence[Packet]) -> list[Packet]:
    carries = [packet.is_data and bool(packet.length or "F" in packet.flags) for packet in packets]
    if True not in carries:
        return []
    first = carries.index(True)
    pairs = zip(packets[first:], carries[first:], strict=True)
    return [packet for packet, carried in pairs if carried or not packet.is_data]


def _packet(line: int, row: dict[str, str]) -> Packet:
    if row["dir"] not in ("data", "ack"):
        raise ValueError(f"dir is {row['dir']!r}, not data or ack")
    return Packet(
        line=line,
        time=float(row["time_s"]),
        is_data=row["dir"] == "data",
        seq=int(row["seq"]),
        ack=int(row["ack"]),
        length=int(row["len"]),
        flags=row["flags"],
        sack=tuple(row["sack"].split(";")) if row["sack"] else (),
        state=tuple((name, value) for name, value in row.items() if name not in COLUMNS),
    )


@dataclass(frozen=True)
class Difference:
    """The first packet in which two traces differ."""

    index: int
    flow: int
    why: str
    pair: tuple[Packet | None, Packet | None]

    def when(self) -> float:
        """The time of the earlier of the two, in its own trace."""
        return min(packet.time for packet in self.pair if packet)


def first_difference(
    flow: int, theirs: Sequence[Packet], ours: Sequence[Packet], tolerance: float
) -> Difference | None:
    """Compares packet by packet; times relative to the first data, within `tolerance` seconds."""
    shift = ours[0].time - theirs[0].time if ours and theirs else 0.0
    for index, (a, b) in enumerate(zip_longest(theirs, ours)):
        why = _why(a, b, shift, tolerance)
        if why:
            return Difference(index, flow, why, (a, b))
    return None


def _why(a: Packet | None, b: Packet | None, shift: float, tolerance: float) -> str:
    if a is None or b is None:
        return "the first trace ends" if a is None else "the second trace ends"
    apart = b.time - a.time - shift
    if a.decision() == b.decision():
        late = f"the second is {abs(apart) * 1e3:.3f} ms {'later' if apart > 0 else 'earlier'}"
        return late if abs(apart) > tolerance else ""
    if a.is_data and b.is_data:
        return "another segment is sent"
    if a.is_data != b.is_data:
        return f"only the {'first' if a.is_data else 'second'} sends a segment now"
    return "the receiver acknowledges otherwise"


def earliest(
    theirs: Mapping[int, Sequence[Packet]],
    ours: Mapping[int, Sequence[Packet]],
    flows: Sequence[int],
    tolerance: float,
) -> Difference | None:
    """Of all flows' first differences the earliest; times may be `tolerance` seconds apart."""
    found = [
        first_difference(flow, theirs.get(flow, ()), ours.get(flow, ()), tolerance)
        for flow in flows
    ]
    return min((each for each in found if each), key=Difference.when, default=None)


def field(found: Difference, names: tuple[str, str], start: float) -> dict[str, object]:
    """The difference as a row of the validation page has it; `start` is the flow's first data."""
    at = found.pair[0] or found.pair[1]
    assert at is not None
    decision = found.why.replace("the first", names[0]).replace("the second", names[1])
    sides = ("nothing more" if packet is None else packet.what for packet in found.pair)
    return {
        "decision": decision,
        "time_s": round(at.time - start, 6),
        "flow": found.flow,
        **{name: " ".join(side.split()) for name, side in zip(names, sides, strict=True)},
    }


def report(
    names: tuple[str, str],
    traces: tuple[Sequence[Packet], Sequence[Packet]],
    found: Difference,
    context: int,
) -> str:
    """The difference with what came before and after it in both traces."""
    at = found.pair[0] or found.pair[1]
    assert at is not None
    when = at.time - traces[0][0].time
    lines = [f"Flow {found.flow}, packet {found.index}, {when:.6f} s: {found.why}."]
    for name, packets, packet in zip(names, traces, found.pair, strict=True):
        where = f"line {packet.line}" if packet else "its end"
        lines.append(f"{name} ({where}):")
        start = max(found.index - context, 0)
        for index, each in enumerate(packets[start : found.index + context + 1], start):
            mark = ">" if index == found.index else " "
            lines.append(f"  {mark} {each.time - packets[0].time:11.6f}  {each.what}")
    return "\n".join(lines)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("traces", nargs=2, type=Path, metavar="TRACE")
    parser.add_argument(
        "--flow", type=int, help="number of the flow; the first to differ if absent"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.1, help="ms by which times may differ (default 0.1)"
    )
    parser.add_argument("--json", action="store_true", help="print the difference as JSON")
    parser.add_argument("--context", type=int, default=8, help="packets shown to either side")
    given = parser.parse_args()
    try:
        theirs, ours = (read(path) for path in given.traces)
        flows = sorted(theirs.keys() | ours.keys()) if given.flow is None else [given.flow]
        for path, trace in zip(given.traces, (theirs, ours), strict=True):
            for flow in flows:
                if flow not in trace:
                    raise BadTrace(f"{path}: no data of flow {flow}")
    except BadTrace as error:
        print(f"trace_diff: {error}", file=sys.stderr)
        return 2
    found = earliest(theirs, ours, flows, given.tolerance / 1e3)
    if found is None:
        count = sum(len(theirs[flow]) for flow in flows)
        print("null" if given.json else f"No difference in {count} packets.")
        return 0
    names = (str(given.traces[0]), str(given.traces[1]))
    if given.json:
        print(json.dumps(field(found, ("referee", "forebay"), theirs[found.flow][0].time)))
        return 1
    print(report(names, (theirs[found.flow], ours[found.flow]), found, given.context))
    return 1


if __name__ == "__main__":
    sys.exit(main())
