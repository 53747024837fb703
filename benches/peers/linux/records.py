"""What the guest recorded: exact measures of the congested link, and packet traces.

The layout of a record is that of `struct record` in forebay_link.c. README.md describes the traces.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SENDER_OUT, SENDER_IN, QUEUE_IN, QUEUE_OUT, RECEIVER_IN, RECEIVER_OUT = range(6)

RECORD = np.dtype(
    [
        ("time", "<i8"),
        ("area", "<i8"),
        ("id", "<u4"),
        ("seq", "<u4"),
        ("ack", "<u4"),
        ("window", "<u4"),
        ("sack", "<u4", (8,)),
        ("flow", "<u2"),
        ("size", "<u2"),
        ("payload", "<u2"),
        ("point", "u1"),
        ("flags", "u1"),
        ("tos", "u1"),
        ("blocks", "u1"),
        ("state", "u1"),
        ("unused", "u1"),
        ("length", "<u4"),
        ("remaining", "<u4"),
        ("cwnd", "<u4"),
        ("ssthresh", "<u4"),
        ("srtt", "<u4"),
        ("rto", "<u4"),
        ("out", "<u4"),
        ("sacked", "<u4"),
        ("lost", "<u4"),
        ("retrans", "<u4"),
        ("reordering", "<u4"),
    ]
)
assert RECORD.itemsize == 120

Records = npt.NDArray[Any]

COUNTERS = ("out", "sacked", "lost", "retrans", "reordering", "srtt", "rto")
STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
FLAGS = ((0x02, "S"), (0x01, "F"), (0x04, "R"), (0x08, "P"), (0x40, "E"), (0x80, "W"), (0x10, "."))
NO_SSTHRESH = 0x7FFFFFFF
CE = 3

COLUMNS = ["time_s", "flow", "dir", "seq", "ack", "len", "flags", "wnd", "sack"]
STATE_COLUMNS = ["cwnd", "ssthresh", "state", "out", "sacked", "lost", "retrans", "reordering"]
STATE_COLUMNS += ["srtt_us", "rto_us"]


@dataclass(frozen=True)
class Passage:
    """Every packet that arrived at the congested link, in order; -1 is a time that never came."""

    arrived: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]
    """When its transmission began, ns."""
    marked: npt.NDArray[np.bool_]
    arrivals: Records
    departures: Records

    @property
    def dropped(self) -> npt.NDArray[np.bool_]:
        """Packets that never left, less as many of the last as waited when the record ended."""
        gone = self.left < 0
        last = self.departures[-1:]
        waiting = int(last["remaining"].sum()) + int(
            (self.arrived > last["time"].max(initial=-1)).sum()
        )
        gone[np.flatnonzero(gone)[::-1][:waiting]] = False
        return gone


def read(path: Path) -> Records:
    """All records of a run, in order of time."""
    return np.fromfile(path, RECORD)


def passage(records: Records) -> Passage:
    """The congested link's packets."""
    arrivals = records[records["point"] == QUEUE_IN]
    departures = records[records["point"] == QUEUE_OUT]
    place = departures["id"].astype(np.int64) - 1
    left = np.full(len(arrivals), -1, np.int64)
    left[place] = departures["time"]
    marked = np.zeros(len(arrivals), bool)
    marked[place] = (departures["tos"] & 3 == CE) & (arrivals["tos"][place] & 3 != CE)
    return Passage(
        arrived=arrivals["time"].astype(np.int64),
        left=left,
        marked=marked,
        arrivals=arrivals,
        departures=departures,
    )


def mean_length(records: Records, start: int, end: int) -> float:
    """Mean waiting packets from `start` to `end`, ns, by the integral that the link kept."""
    events = records[np.isin(records["point"], (QUEUE_IN, QUEUE_OUT))]
    return (_area(events, end) - _area(events, start)) / (end - start)


def _area(events: Records, at: int) -> int:
    """The integral at an instant: each event has it, and the length since the one before."""
    index = int(np.searchsorted(events["time"], at, "left"))
    if index == len(events):
        raise ValueError("no packet was seen after the end of the measurement")
    following = events[index]
    return int(following["area"]) - int(following["length"]) * (int(following["time"]) - at)


def used(
    seen: Passage, start: int, end: int, steps: Sequence[tuple[int, int]], overhead: int
) -> float:
    """Share that the link sent of what it could send from `start` to `end`.

    Args:
        seen: the packets.
        start: ns.
        end: ns.
        steps: from when on (ns) which rate (bit/s) holds.
        overhead: bytes added to each packet.
    """
    begins = seen.departures["time"].astype(np.int64)
    bits = (seen.departures["size"].astype(np.int64) + overhead) * 8
    edges = np.array([*(at for at, _ in steps), end + 10**12], np.float64)
    rates = np.array([rate for _, rate in steps], np.float64) / 1e9
    sums = np.concatenate([[0.0], np.cumsum(np.diff(edges) * rates)])
    first, last = np.interp([start, end], edges, sums)
    before = np.interp(begins, edges, sums)
    spans = np.minimum(before + bits, last) - np.maximum(before, first)
    return float(np.maximum(spans, 0).sum() / (last - first))


def first_departures(seen: Passage) -> npt.NDArray[np.bool_]:
    """Which arrivals left as the first to carry their segment."""
    order = np.argsort(seen.departures["time"], kind="stable")
    data = seen.departures[order]
    data = data[data["payload"] > 0]
    keys = data["flow"].astype(np.uint64) << np.uint64(32) | data["seq"].astype(np.uint64)
    _, index = np.unique(keys, return_index=True)
    first = np.zeros(len(seen.arrived), bool)
    first[data["id"][index].astype(np.int64) - 1] = True
    return first


def relative(value: int, initial: int | None) -> int:
    """A sequence number relative to the connection's first."""
    return (value - (initial or 0)) & 0xFFFFFFFF


def flags(value: int) -> str:
    """Flags as tcpdump writes them."""
    return "".join(letter for bit, letter in FLAGS if value & bit)


class Sequences:
    """Initial sequence numbers of every flow, both ways, from its SYN and SYN-ACK."""

    def __init__(self, records: Records) -> None:
        """Learns them from all records."""
        syn = records[records["flags"] & 2 != 0]
        forward = syn[np.isin(syn["point"], (QUEUE_IN, SENDER_OUT))]
        back = syn[np.isin(syn["point"], (SENDER_IN, RECEIVER_OUT))]
        self.data = {int(each["flow"]): int(each["seq"]) for each in forward}
        self.acks = {int(each["flow"]): int(each["seq"]) for each in back}

    def columns(self, record: Any, to_receiver: bool) -> list[Any]:
        """The columns that both traces have."""
        flow = int(record["flow"])
        own, other = self.data.get(flow), self.acks.get(flow)
        if not to_receiver:
            own, other = other, own
        ack = relative(int(record["ack"]), other) if record["flags"] & 0x10 else 0
        edges = [relative(int(edge), other) for edge in record["sack"][: 2 * record["blocks"]]]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return [
            f"{record['time'] / 1e9:.9f}",
            flow,
            "data" if to_receiver else "ack",
            relative(int(record["seq"]), own),
            ack,
            int(record["payload"]),
            flags(int(record["flags"])),
            int(record["window"]),
            ";".join(f"{start}-{end}" for start, end in pairs),
        ]


def sender_rows(records: Records) -> Iterator[list[Any]]:
    """The lines of sender.csv."""
    sequences = Sequences(records)
    for record in records[np.isin(records["point"], (SENDER_OUT, SENDER_IN))]:
        threshold = int(record["ssthresh"])
        yield [
            *sequences.columns(record, record["point"] == SENDER_OUT),
            int(record["cwnd"]),
            "" if threshold >= NO_SSTHRESH else threshold,
            STATES[record["state"]],
            *(int(record[name]) for name in COUNTERS),
        ]


def bottleneck_rows(records: Records, until: int) -> Iterator[list[Any]]:
    """The lines of bottleneck.csv, of packets that arrived before `until` ns."""
    sequences = Sequences(records)
    seen = passage(records)
    dropped = seen.dropped
    for index, record in enumerate(seen.arrivals):
        if seen.arrived[index] >= until:
            return
        left = seen.left[index]
        verdict = "marked" if seen.marked[index] else "sent"
        if left < 0:
            verdict = "dropped" if dropped[index] else "waiting"
        yield [
            *sequences.columns(record, True),
            "" if left < 0 else f"{left / 1e9:.9f}",
            verdict,
        ]


def write_csv(path: Path, columns: list[str], rows: Iterable[list[Any]]) -> None:
    """One trace."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def write_traces(records: Records, folder: Path, until: int) -> None:
    """Both traces of a run, up to `until` ns."""
    write_csv(folder / "sender.csv", COLUMNS + STATE_COLUMNS, sender_rows(records))
    rows = bottleneck_rows(records, until)
    write_csv(folder / "bottleneck.csv", [*COLUMNS, "left_s", "verdict"], rows)
