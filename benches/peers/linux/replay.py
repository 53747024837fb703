"""The same arrivals through a queue discipline of forebay and through the kernel's own.

The arrivals are a list of packets with times; nothing answers to a drop, so that both disciplines
see the same to the end. What became of each packet is compared one by one.
"""

from __future__ import annotations

import functools
import json
import shutil
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import qdisc
import records
from referee import SECOND, boot, network, versions

from forebay.lab.virtual import machine
from forebay.lab.virtual.machine import EPOCH, RESULTS

ROOT = Path(__file__).resolve().parents[3]
ARRIVAL = np.dtype(
    [
        *(("time", "<i8"), ("flow", "<u2"), ("size", "<u2"), ("tos", "u1"), ("class", "u1")),
        *(("unused", "u1"), ("header", "u1"), ("tcp", "u1", (64,))),
    ]
)
CLASSES = 4
MTU = 1500
ECT = 2
FIN, SYN, RST = 1, 2, 4
NOP = 1
Arrivals = npt.NDArray[Any]

OUTCOMES = ("sent", "marked", "dropped")
"""What may become of a packet."""


@dataclass(frozen=True)
class Verdicts:
    """What became of every packet."""

    left: npt.NDArray[np.int64]
    """When its transmission began, ns; -1 if it was dropped."""
    marked: npt.NDArray[np.bool_]

    @property
    def outcome(self) -> npt.NDArray[np.int8]:
        """By their place in `OUTCOMES`."""
        return np.where(self.left < 0, 2, self.marked.astype(np.int8)).astype(np.int8)


def recorded(seen: records.Records) -> Arrivals:
    """The packets with data that arrived at the congested link of a run."""
    passed = records.passage(seen).arrivals
    passed = passed[passed["payload"] > 0]
    return arrivals(passed["time"], passed["flow"], passed["size"], passed["tos"])


def acknowledgments(seen: records.Records) -> Arrivals:
    """The pure acknowledgments that the receivers of a run sent, with their headers.

    Timestamps are not recorded: both count milliseconds.
    """
    sent = seen[(seen["point"] == records.RECEIVER_OUT) & (seen["payload"] == 0)]
    sent = sent[(sent["flags"] & (SYN | FIN | RST)) == 0]
    found = arrivals(sent["time"], sent["flow"], sent["size"], sent["tos"])
    for arrival, record in zip(found, sent, strict=True):
        header = tcp_header(record)
        arrival["header"] = len(header)
        arrival["tcp"][: len(header)] = np.frombuffer(header, np.uint8)
    return found


def tcp_header(record: Any) -> bytes:
    """A recorded segment's header, options in Linux's order; ports are left out."""
    now = int(record["time"] // 1_000_000) & 0xFFFFFFFF
    options = struct.pack(">BBBBII", NOP, NOP, 8, 10, now, now)
    if record["blocks"]:
        edges = [int(edge) for edge in record["sack"][: 2 * record["blocks"]]]
        options += struct.pack(f">BBBB{len(edges)}I", NOP, NOP, 5, 2 + 4 * len(edges), *edges)
    length = 20 + len(options)
    if length + 20 != record["size"]:
        raise RuntimeError(f"an acknowledgment of {record['size']} bytes is not as expected")
    numbers = (int(record["seq"]), int(record["ack"]), length << 2, int(record["flags"]))
    return struct.pack(">4xIIBBHHH", *numbers, min(int(record["window"]), 0xFFFF), 0, 0) + options


def arrivals(time: Any, flow: Any, size: Any, tos: Any) -> Arrivals:
    """Arrivals from columns; the flows are of four classes in turn."""
    found = np.zeros(len(time), ARRIVAL)
    found["class"] = np.asarray(flow) % CLASSES
    found["time"], found["flow"], found["size"], found["tos"] = time, flow, size, tos
    return found


def poisson(seed: int, rate: float, seconds: float, flows: int, precedences: int = 1) -> Arrivals:
    """Packets of 64 to 1500 bytes at random times, `rate` bit/s of them; half can be marked."""
    draw = np.random.default_rng(seed)
    sizes = (64, 576, 1500)
    count = int(rate * seconds / 8 / (sum(sizes) / len(sizes)))
    time = np.sort(draw.integers(0, int(seconds * 1e9), count))
    tos = draw.integers(0, 2, count) * ECT + draw.integers(0, precedences, count) * 4
    return arrivals(time, draw.integers(0, flows, count), draw.choice(sizes, count), tos)


def kernel(given: Arrivals, queue: Mapping[str, Any], rate: int, seed: int) -> Verdicts:
    """The kernel's verdicts; `queue` has all its fields.

    Raises:
        qdisc.Refused: the kernel has no such discipline.
    """
    versions()
    flows = [
        qdisc.Flow(int(number), int(q), int(level))
        for number, q, level in sorted(
            {(each["flow"], each["class"], each["tos"] >> 2) for each in given}
        )
    ]
    commands = qdisc.commands(queue, qdisc.Link(rate, MTU, flows))
    with machine.folder() as folder:
        given.tofile(folder / "arrivals")
        until = EPOCH + int(given["time"][-1]) + 60 * SECOND
        plan = [
            *network(MTU, commands),
            f"replay {RESULTS}/arrivals",
            f"record {RESULTS}/records {until}",
        ]
        parameters = [f"forebay_link.rate={rate}", "forebay_link.access_rate=1000000000"]
        seen, _ = boot(folder, plan, [*parameters, "forebay_link.reverse_rate=1"], seed)
    passed = records.passage(seen)
    if len(passed.arrived) != len(given) or (passed.arrived != given["time"]).any():
        raise RuntimeError("the guest did not replay what it was given")
    return Verdicts(passed.left, passed.marked)


@functools.cache
def engine() -> str:
    """The program that asks our disciplines, built."""
    cargo = shutil.which("cargo") or "cargo"
    # With the features that `cargo test` chooses for the workspace, so that it is built already.
    words = ["build", "--quiet", "--locked", "--workspace", "--example", "arrivals"]
    subprocess.run([cargo, *words], cwd=ROOT, check=True)
    return str(ROOT / "target" / "debug" / "examples" / "arrivals")


def ours(given: Arrivals, queue: Mapping[str, Any], rate: int, seed: int) -> Verdicts:
    """The verdicts of forebay's discipline."""
    plan = {"rate": f"{rate}bit", "overhead": 0, "mtu": MTU, "queue": queue}
    done = subprocess.run(
        [engine(), json.dumps(plan), str(seed)],
        input=given.tobytes(),
        capture_output=True,
        check=True,
    )
    found = np.array(done.stdout.split(), np.int64).reshape(-1, 2)
    return Verdicts(found[:, 0], found[:, 1] == 1)
