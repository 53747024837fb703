"""Links that nobody tuned to, measured as a user would and fitted: how often is the fit right?

    .venv/bin/python benches/fit.py run [--set check] [--links 200] [--jobs 2] [--results FILE]
    .venv/bin/python benches/fit.py table [--set check] [--results FILE]

A link has a rate of 1 to 500 Mbit/s, a round trip of 5 to 600 ms and a buffer of 0.2 to 20 times
their product (all even in the logarithm), one of six disciplines, and in half of the cases others'
traffic. Its number and the set decide all of it. `train` is for whoever changes the fit; figures
come from `check`, which nobody looks at while changing it (an earlier form was changed after some
of `test`).

Every link is loaded for 25 s or 100 round trips by four transfers, after 5 s of pings alone, and at
most for 200 000 full packets. It is captured at the sender (6 of 10), at the receiver (2 of 10), or
reported by ping and iperf3 (2 of 10); files are written and read again. A line is added to the
results, docs/fit/links-SET.csv, as soon as a link is done; the same command goes on where it was
stopped, and `table` makes the tables of docs/fit.md of them. A CoDel or PIE whose capture is that
of a FIFO of the same room is rightly called a FIFO.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from forebay import _engine
from forebay.fit.candidates import KINDS, SHARED, limit, red
from forebay.fit.fitting import fit
from forebay.fit.found import Fitted
from forebay.fit.measurement import Flow
from forebay.fit.readers.packets import Packets
from forebay.fit.trial import Load, Record, Route, document, recorded

SETS = {"train": 1, "test": 2, "check": 3}
RESULTS = Path(__file__).parents[1] / "docs" / "fit"
PACKETS = 200_000
PAYLOAD = 1448
SEGMENTS = 44
"""Full segments in the largest packet that Linux hands to a network card."""
_SHORT = ("codel", "pie")
"""Disciplines that do nothing that a FIFO does not in a short buffer."""


@dataclass(frozen=True)
class Link:
    """What is to be found."""

    number: int
    rate: float
    rtt: float
    room: float
    """Bytes."""
    kind: str
    cross: str
    vantage: str
    seconds: float
    every: float
    """Interval of pings in s."""
    stack: str


def link(of: str, number: int) -> Link:
    """A link by its number."""
    luck = np.random.default_rng([SETS[of], number])

    def between(low: float, high: float) -> float:
        return float(np.exp(luck.uniform(np.log(low), np.log(high))))

    rate, rtt = between(1e6, 500e6), between(0.005, 0.6)
    room = max(2 * 1500.0, 1500 * round(between(0.2, 20) * rate * rtt / 8 / 1500))
    kind = KINDS[int(luck.integers(len(KINDS)))]
    cross = "none"
    if luck.random() < 0.5:
        cross = ("poisson", "bulk", "web")[int(luck.integers(3))]
    vantage = ("sender", "receiver", "summary")[int(np.searchsorted([0.6, 0.8], luck.random()))]
    seconds = min(max(25.0, 100 * rtt), max(5.0, PACKETS * 1500 * 8 / rate))
    stacks = ("linux-6.1", "linux-6.12", "linux-6.1 without offload")
    stack = stacks[int(luck.integers(len(stacks)))]
    return Link(
        number,
        rate,
        rtt,
        room,
        kind,
        cross,
        vantage,
        seconds,
        float(luck.uniform(0.02, 0.1)),
        stack,
    )


def queue(of: Link) -> dict[str, Any]:
    """Its discipline."""
    if of.kind == "cake":
        return {"kind": "cake", "bandwidth": f"{of.rate:.0f}bit", "memory_limit": f"{of.room:.0f}B"}
    if of.kind == "red":
        return red(max(1, round(of.room / 1500 / 12))) | {"limit": limit(max(of.room, 12 * 1500))}
    return {"kind": of.kind, "limit": limit(of.room)}


def scenario(of: Link, of_set: str) -> dict[str, Any]:
    """The link with its load, and with others'."""
    luck = np.random.default_rng([SETS[of_set], of.number, 7])
    begin, end = 5.0, 5.0 + of.seconds
    flows = tuple(Flow(begin + float(luck.uniform(0, 0.02)), end) for _ in range(4))
    load = Load(flows, end + 0.5, of.every)
    whole = document(Route(of.rate, of.rtt, queue(of)), load, 1000 + of.number)
    if of.stack.endswith("offload"):
        whole["tcp"]["stack"] = {"kind": "linux-6.1", "tick": "4ms", "gso_max_segs": 1}
    else:
        whole["tcp"]["preset"] = of.stack
    entry: dict[str, Any]
    own = {"from": "sender", "to": "receiver", "from_host": "other", "to_host": "elsewhere"}
    share = _share_of_others(luck)
    if of.cross == "poisson":
        entry = {"kind": "poisson", "size": "1500B", "rate": f"{share * of.rate:.0f}bit"}
    elif of.cross == "bulk":
        # One download of somebody else, for a third of the time.
        first = begin + float(luck.uniform(0.1, 0.6)) * of.seconds
        times = {"start": f"{first:.3f}s", "stop": f"{first + of.seconds / 3:.3f}s"}
        entry = {"kind": "bulk"} | times
    elif of.cross == "web":
        entry = {"kind": "web", "flows": max(1, round(share * of.rate / 3e5)), "reading": "2s"}
        entry["flows"] = min(60, entry["flows"])
    else:
        return whole
    whole["traffic"].append(own | {"name": "others"} | entry)
    return whole


def _share_of_others(luck: np.random.Generator) -> float:
    return float(luck.uniform(0.05, 0.3))


def others(of: Link, of_set: str) -> float | None:
    """What others send in bit/s; None if that depends on the queue."""
    if of.kind not in SHARED:
        return 0.0 if of.cross == "none" else None
    luck = np.random.default_rng([SETS[of_set], of.number, 7])
    luck.uniform(size=4)
    return {"none": 0.0, "poisson": _share_of_others(luck) * of.rate}.get(of.cross)


def offloaded(packets: Packets) -> Packets:
    """What tcpdump sees of a sender whose network card cuts segments: up to 44 of them at once."""
    data = np.flatnonzero(packets["payload"] > 0)
    keep = np.ones(len(packets), bool)
    payload, size = packets["payload"].copy(), packets["len"].copy()
    for port in np.unique(packets["source_port"][data]):
        mine = data[packets["source_port"][data] == port]
        at, end = packets["at_ns"][mine], packets["seq"][mine] + packets["payload"][mine]
        follows = (np.diff(at) < 3000) & (packets["seq"][mine][1:] == end[:-1])
        begin = np.flatnonzero(np.concatenate([[True], ~follows]))
        place = np.arange(len(mine)) - np.repeat(begin, np.diff([*begin, len(mine)]))
        head = place % SEGMENTS == 0
        sums = np.add.reduceat(payload[mine], np.flatnonzero(head))
        size[mine[head]] += sums - payload[mine[head]]
        payload[mine[head]] = sums
        keep[mine[~head]] = False
    whole = packets.columns | {"payload": payload, "len": size}
    return Packets({name: each[keep] for name, each in whole.items()}, packets.addresses)


def capture(record: Record, vantage: str) -> bytes:
    """A capture as tcpdump writes it, with the pings."""
    packets = record.packets
    tcp = np.zeros(len(packets), _TCP)
    tcp["head"]["lens"] = 64
    _ip(tcp, packets["at_ns"], packets["len"], packets["source"], 6, packets["dscp"])
    tcp["tos"] |= packets["ecn"].astype("u1")
    for name in ("source_port", "destination_port", "seq", "ack"):
        tcp[name] = packets[name]
    has = packets["has_sack"] > 0
    # Timestamps, and with SACK a block; otherwise what follows is payload.
    tcp["offset"], tcp["flags"] = np.where(has, 0xB0, 0x80), packets["flags"] & 0xFF
    tcp["len"] = packets["payload"] + 20 + np.where(has, 44, 32)
    tcp["nop1"], tcp["stamp"] = 0x0101080A, packets["timestamp"]
    tcp["echo"] = packets["echo"]
    tcp["nop2"] = np.where(has, 0x0101050A, 0x01010101)
    tcp["left"] = np.where(has, packets["sack_left"], 0x01010101)
    tcp["right"] = np.where(has, packets["sack_right"], 0x01010101)
    tcp["head"]["length"] = tcp["len"]
    at, delay, size = record.probes
    echoes = np.zeros(2 * len(at), _ICMP)
    asked = np.arange(0, 2 * len(at), 2)
    first = 0 if vantage == "sender" else 1
    times = np.empty(2 * len(at), np.int64)
    times[asked], times[asked + 1] = np.round(at * 1e9), np.round((at + delay) * 1e9)
    ends = np.empty(2 * len(at), np.int64)
    ends[asked], ends[asked + 1] = first, 1 - first
    _ip(echoes, times, np.repeat(size, 2), ends, 1, np.zeros(2 * len(at), int))
    echoes["head"]["lens"] = 64
    echoes["head"]["length"] = np.repeat(size, 2)
    echoes["kind"][asked] = 8
    echoes["number"] = np.repeat(np.arange(len(at)) & 0xFFFF, 2)
    echoes["identifier"] = 77 + np.repeat(np.arange(len(at)) >> 16, 2)
    rows = np.concatenate([tcp.view(_ROW), echoes.view(_ROW)])
    order = np.argsort(np.concatenate([packets["at_ns"], times]), kind="stable")
    head = b"".join(int(each).to_bytes(4, "little") for each in _HEAD)
    return head + rows[order].tobytes()


_HEAD = (0xA1B23C4D, 0x00040002, 0, 0, 120, 101)
_BEGIN = [("secs", "<u4"), ("nanos", "<u4"), ("lens", "<u4"), ("length", "<u4")]
_OF_IP = [
    ("head", _BEGIN), ("version", "u1"), ("tos", "u1"), ("len", ">u2"), ("id", ">u4"),
    ("ttl", "u1"), ("protocol", "u1"), ("sum", ">u2"), ("from", ">u4"), ("to", ">u4"),
]  # fmt: skip
_TCP = np.dtype([
    *_OF_IP, ("source_port", ">u2"), ("destination_port", ">u2"), ("seq", ">u4"), ("ack", ">u4"),
    ("offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("sums", ">u4"), ("nop1", ">u4"),
    ("stamp", ">u4"), ("echo", ">u4"), ("nop2", ">u4"), ("left", ">u4"), ("right", ">u4"),
])  # fmt: skip
_ICMP = np.dtype([
    *_OF_IP, ("kind", "u1"), ("code", "u1"), ("sums", ">u2"), ("identifier", ">u2"),
    ("number", ">u2"), ("rest", "u1", (36,)),
])  # fmt: skip
_ROW = np.dtype((np.void, _TCP.itemsize))
_START_NS = 1_700_000_000 * 10**9


def _ip(rows: Any, at_ns: Any, size: Any, source: Any, protocol: int, dscp: Any) -> None:
    rows["head"]["secs"] = (at_ns + _START_NS) // 10**9
    rows["head"]["nanos"] = (at_ns + _START_NS) % 10**9
    rows["version"], rows["ttl"], rows["protocol"] = 0x45, 64, protocol
    rows["len"], rows["tos"] = size, dscp << 2
    ends = np.array([0x0A000001, 0x0A000002])
    rows["from"], rows["to"] = ends[source], ends[1 - source]


def reports(record: Record, of: Link) -> tuple[str, dict[str, Any]]:
    """What ping -D prints and iperf3 --json reports."""
    at, delay, size = record.probes
    zero = _START_NS / 1e9
    lines = [f"PING 10.0.0.2 (10.0.0.2) {int(size[0]) - 28}(84) bytes of data."]
    rows = sorted(zip(at + delay, delay, range(len(at)), strict=True))
    lines += [
        f"[{zero + came:.6f}] {int(size[0]) - 20} bytes from 10.0.0.2: icmp_seq={number + 1} "
        f"ttl=64 time={took * 1e3:.{2 if took < 0.1 else 0}f} ms"
        for came, took, number in rows
    ]
    packets = record.packets
    begin = 5.0
    ends = np.arange(begin + 1, begin + of.seconds + 0.5)
    intervals: list[dict[str, Any]] = [{"streams": []} for _ in ends]
    time_ = packets["at_ns"] / 1e9
    data = packets["payload"] > 0
    total = 0
    for number, port in enumerate(np.unique(packets["source_port"][data]).tolist()):
        mine = np.flatnonzero(data & (packets["source_port"] == port))
        first = int(packets["seq"][mine[0]])
        stops = packets["seq"][mine].astype(np.int64) + packets["payload"][mine]
        stops = stops[0] + np.concatenate(
            [[0], np.cumsum((np.diff(stops) + 2**31) % 2**32 - 2**31)]
        )
        high = np.maximum.accumulate(stops)
        fresh = np.concatenate([[True], high[1:] > high[:-1]])
        back = np.flatnonzero(~data & (packets["destination_port"] == port))
        acks = packets["ack"][back].astype(np.int64)
        # The socket takes what is sent, and some more than is acknowledged.
        for at_, end in enumerate(ends.tolist()):
            inside = (time_[mine] > end - 1) & (time_[mine] <= end)
            sent = int(packets["payload"][mine][inside & fresh].sum())
            last = np.searchsorted(time_[back], end) - 1
            srtt = _srtt(packets, mine, back, acks, time_, last)
            intervals[at_]["streams"].append({
                "socket": 5 + number, "start": end - 1 - begin, "end": end - begin, "seconds": 1.0,
                "bytes": sent, "retransmits": int(np.count_nonzero(inside & ~fresh)),
                "rtt": srtt, "sender": True,
            })  # fmt: skip
        arrived = int(acks[np.searchsorted(time_[back], ends[-1]) - 1])
        total += (arrived - first) % 2**32
    start = {
        "timestamp": {"timesecs": int(zero + begin)},
        "connecting_to": {"host": "10.0.0.2", "port": 5201},
        "tcp_mss_default": PAYLOAD,
        "test_start": {"protocol": "TCP", "num_streams": 4, "reverse": 0, "tos": 0},
    }
    end_ = {"sum_received": {"bytes": total}, "sender_tcp_congestion": "cubic"}
    return "\n".join(lines) + "\n", {"start": start, "intervals": intervals, "end": end_}


def _srtt(packets: Packets, mine: Any, back: Any, acks: Any, time_: Any, last: int) -> int:
    """TCP's smoothed round trip in us, about: the mean of the last few samples."""
    stops = (packets["seq"][mine] + packets["payload"][mine]) & 0xFFFFFFFF
    while last >= 0:
        samples = []
        for at in range(max(0, last - 16), last + 1, 2):
            hit = np.flatnonzero(stops == acks[at])
            if len(hit):
                samples.append(time_[back[at]] - time_[mine[hit[0]]])
        if samples:
            return round(float(np.mean(samples)) * 1e6)
        # Repeated packets tell nothing; what TCP knew before stays.
        last -= 16
    return 0


def one(of_set: str, number: int) -> dict[str, Any]:
    """Make, measure and fit a link."""
    of = link(of_set, number)
    row: dict[str, Any] = asdict(of) | {"others": others(of, of_set), "forebay": _engine.version}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forebay-bench-") as folder:
        there = Path(folder)
        vantage = "receiver" if of.vantage == "receiver" else "sender"
        longest = of.rtt + 2 * of.room * 8 / of.rate + 0.5
        record = recorded(scenario(of, of_set), vantage, longest)
        row["dropped"] = record.summary["queues"]["uplink"]["dropped"]
        if of.vantage == "summary":
            ping, iperf = reports(record, of)
            (there / "ping.txt").write_text(ping)
            (there / "iperf3.json").write_text(json.dumps(iperf))
            files = [there / "ping.txt", there / "iperf3.json"]
        else:
            cut = of.vantage == "sender" and not of.stack.endswith("offload")
            kept = replace(record, packets=offloaded(record.packets)) if cut else record
            (there / "link.pcap").write_bytes(capture(kept, of.vantage))
            files = [there / "link.pcap"]
        row["made_s"] = round(time.monotonic() - begin, 2)
        begin = time.monotonic()
        found = fit(files, there / "fit", jobs=1)
    row["fit_s"] = round(time.monotonic() - begin, 2)

    def packets(kind: str) -> Packets:
        return recorded(scenario(replace(of, kind=kind), of_set), vantage, longest).packets

    return row | told(found) | {"acts": acts(of.kind, found, packets)}


def acts(kind: str, found: Fitted, packets: Callable[[str], Packets]) -> str:
    """What a discipline is rightly called: a FIFO, if it is found to be one and its capture is."""
    if kind not in _SHORT or found.discipline.kind != "fifo":
        return kind
    one, other = packets(kind), packets("fifo")
    alike = len(one) == len(other) and all(
        np.array_equal(column, other[name]) for name, column in one.columns.items()
    )
    return "fifo" if alike else kind


def told(found: Fitted) -> dict[str, Any]:
    """What was found, as columns."""
    row: dict[str, Any] = {"named": found.discipline.kind, "misfit": found.discipline.misfit}
    row["alike"] = " ".join(found.discipline.alike)
    row |= {f"p.{kind}": found.discipline.weights.get(kind, 0.0) for kind in KINDS}
    for name, each in found.estimates.items():
        row |= {f"{name}.found": each.value, f"{name}.low": each.low, f"{name}.high": each.high}
    return row


def _tried(of_set: str, number: int) -> dict[str, Any]:
    try:
        return one(of_set, number)
    except Exception as error:
        return {"number": number, "error": f"{type(error).__name__}: {error}"}


def run(of_set: str, links: int, jobs: int, path: Path) -> None:
    """Fit the links that have not been."""
    known = {row["number"] for row in rows(path)}
    todo = [number for number in range(links) if number not in known]
    with ProcessPoolExecutor(jobs) as pool:
        running = [pool.submit(_tried, of_set, number) for number in todo]
        for count, done in enumerate(as_completed(running), 1):
            add(path, done.result())
            print(f"{count} of {len(todo)}", end="\r", file=sys.stderr)


def add(path: Path, row: dict[str, Any]) -> None:
    """Add a line to results, which begin with the names of all columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        if "error" in row:
            print(row, file=sys.stderr)
            return
        path.write_text(",".join([*row, "error"]) + "\n")
    names = path.read_text().splitlines()[0].split(",")
    with path.open("a", newline="") as file:
        csv.DictWriter(file, names, lineterminator="\n").writerow(
            {name: f"{each:.6g}" if isinstance(each, float) else each for name, each in row.items()}
        )


def rows(path: Path) -> list[dict[str, Any]]:
    """Results that are whole."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            {name: _value(text) for name, text in row.items()}
            for row in csv.DictReader(file)
            if None not in row.values()
        ]


def _value(text: str) -> Any:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if text.isdigit() else value


TOLERANCES = {"rate": (0.02, 0.0), "rtt": (0.02, 0.001), "buffer": (0.1, 0.0)}
"""Relative and absolute; the larger counts."""


def truth(row: dict[str, Any], name: str) -> float:
    """What a row should have."""
    value = float(row[{"buffer": "room"}.get(name, name)])
    return max(value, 12 * 1500.0) if name == "buffer" and row["kind"] == "red" else value


def table(path: Path) -> None:
    """Print the tables and figures of docs/fit.md."""
    found = rows(path)
    good = [row for row in found if row["error"] is None]
    print(f"{len(found)} links, {len(found) - len(good)} failed")
    captures = [row for row in good if row["vantage"] != "summary"]
    reports = [row for row in good if row["vantage"] == "summary"]
    parts = {"captures": captures, "reports": reports}
    parts |= {
        f"at the {end}": [row for row in captures if row["vantage"] == end]
        for end in ("sender", "receiver")
    }
    for title, part in parts.items():
        if part:
            print(f"\n## {title}: {len(part)} links\n")
            _table_of(part)
    confusion(captures)
    _sentences(captures)


def _table_of(part: list[dict[str, Any]]) -> None:
    print("| | decided | right, of those | interval holds the truth |\n|---|---|---|---|")
    for name in TOLERANCES:
        all_, good, inside = judged(part, name)
        print(f"| {name} | {len(good)} of {all_} | {share(good)} | {share(inside)} |")
    known = [row for row in part if row["others"] is not None]
    said = [row for row in known if row["cross.found"] is not None]
    holds = [row["cross.low"] <= row["others"] <= row["cross.high"] for row in said]
    print(f"| others' traffic | {len(said)} of {len(known)} | – | {share(holds)} |")
    named = [row for row in part if row["named"] is not None]
    decided = f"{len(named)} of {len(part)} ({100 * len(named) / len(part):.1f} %)"
    print(f"| discipline | {decided} | {share([_named_right(row) for row in named])} | – |")
    sets = [
        row for row in part if row["named"] is None and len((row["alike"] or "").split()) in (2, 3)
    ]
    holds = [row["kind"] in row["alike"].split() for row in sets]
    print(f"| one of two or three | {len(sets)} of {len(part)} | {share(holds)} | – |")
    least = [
        row["rate.low"] <= 1.02 * row["rate"]
        for row in part
        if row["rate.found"] is None and row["rate.low"] is not None
    ]
    print(f"\nLeast buffers that are true: {share(bounds(part))}; least rates: {share(least)}.")
    took = [row["fit_s"] for row in part]
    print(f"A fit took {np.median(took):.0f} s (median; 90 %: {np.quantile(took, 0.9):.0f} s).")


def _named_right(row: dict[str, Any]) -> bool:
    return row["named"] in (row["kind"], row["acts"])


def _sentences(captures: list[dict[str, Any]]) -> None:
    named = [row for row in captures if row["named"] is not None]
    wrong = [row for row in named if not _named_right(row)]
    open_ = [row for row in captures if row["named"] is None]
    short = [row for row in open_ if row["room"] < 12 * 1500]
    print(f"\n{len(short)} of {len(open_)} without a name have less than 12 packets of room.")
    few = [row for row in wrong if row["dropped"] < 120]
    print(f"{len(few)} of {len(wrong)} wrong names are of links that lost less than 120 packets.")
    fifos = [row for row in captures if row["named"] == "fifo"]
    _, right, _ = judged(fifos, "buffer")
    print(f"{len(right)} of {len(fifos)} called FIFO have a buffer; right: {share(right)}.")


def judged(part: list[dict[str, Any]], name: str) -> tuple[int, list[bool], list[bool]]:
    """How many there are, and of those that are told, which are right and have it between."""
    relative, absolute = TOLERANCES[name]
    told = [row for row in part if row[f"{name}.found"] is not None]
    right = [
        abs(row[f"{name}.found"] - truth(row, name)) <= max(relative * truth(row, name), absolute)
        for row in told
    ]
    between = [row[f"{name}.low"] <= truth(row, name) <= row[f"{name}.high"] for row in told]
    return len(part), right, between


def bounds(part: list[dict[str, Any]]) -> list[bool]:
    """Which of the least buffers are true, where the buffer itself is not told."""
    told = [row for row in part if row["buffer.found"] is None and row["buffer.low"] is not None]
    return [row["buffer.low"] <= truth(row, "buffer") for row in told]


def share(right: list[bool]) -> str:
    """A share with its interval (Wilson)."""
    from scipy.stats import binomtest

    if not right:
        return "-"
    ends = binomtest(sum(right), len(right)).proportion_ci(method="wilson")
    return f"{100 * np.mean(right):.1f} % ({100 * ends.low:.0f} to {100 * ends.high:.0f})"


def confusion(found: list[dict[str, Any]]) -> None:
    """Print what was named for what."""
    print(f"\n| acts as | {' | '.join(KINDS)} | cannot tell |\n|---|{'---|' * (len(KINDS) + 1)}")
    for kind in KINDS:
        part = [row["named"] for row in found if row["acts"] == kind]
        print(f"| {kind} | {' | '.join(str(part.count(each)) for each in (*KINDS, None))} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", choices=("run", "table"))
    parser.add_argument("--set", default="check", choices=SETS, dest="of_set")
    parser.add_argument("--links", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    path = asked.results or RESULTS / f"links-{asked.of_set}.csv"
    if asked.act == "run":
        run(asked.of_set, asked.links, asked.jobs, path)
    table(path)


if __name__ == "__main__":
    main()
