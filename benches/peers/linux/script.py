"""A send/expect script (crates/tcp/tests/scripts.rs) from the trace of one sender.

Usage: python benches/peers/linux/script.py SENDER.csv --flow 0 --seconds 1.5 \
           --header 'sender preset="linux"' > crates/tcp/tests/scripts/linux-6.1/NAME.tcp

The trace is one that `referee.py --traces` wrote, of flows that start at 0, so that the script's
ticks are the kernel's. Timestamps are not in a trace: an acknowledgment echoes that of the segment
which filled the receiver's left edge (RFC 7323, section 4.3). --start moves all times: with another
start BBR draws another first phase here, and one may be the kernel's. A multiple of 2048 ms leaves
the kernel's timers in their slots.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Line = Mapping[str, str]


def nanoseconds(line: Line) -> int:
    """The time of a line."""
    whole, _, part = line["time_s"].partition(".")
    return int(whole) * 1_000_000_000 + int(part.ljust(9, "0"))


def words(line: Line) -> str:
    """What else is expected of a segment."""
    names = {"P": " psh", "E": " ece", "W": " cwr", "F": " fin"}
    return "".join(word for flag, word in names.items() if flag in line["flags"])


class Echo:
    """Which of the sender's timestamps an acknowledgment echoes."""

    def __init__(self) -> None:
        """Of a new connection."""
        self.sent: dict[int, list[int]] = {}
        self.edge = 1
        self.stamp = 0
        self.least = 0

    def on_handshake(self, sent: int, at: int) -> None:
        """The SYN was sent, and is answered now."""
        self.least = at - sent
        self.stamp = at // 1_000_000

    def on_sent(self, at: int, seq: int) -> None:
        """A segment is sent."""
        self.sent.setdefault(seq, []).append(at)

    def of(self, at: int, ack: int) -> int:
        """The timestamp, ms."""
        if ack > self.edge:
            times = self.sent[self.edge]
            arrived = [time for time in times if at - time >= self.least] or times[:1]
            self.stamp = arrived[-1] // 1_000_000
            self.edge = ack
        return self.stamp


def script(lines: Iterable[Line], start: int) -> Iterator[str]:
    """The lines of a script whose times count from ``start``, ns; the first is a SYN."""
    echo = Echo()
    last = syn = -1
    for line in lines:
        at, seq, ack = start + nanoseconds(line), int(line["seq"]), int(line["ack"])
        when = "" if at == last else f"{at}ns "
        if line["dir"] == "data":
            if "S" in line["flags"]:
                yield f"{when}expect syn"
                if syn < 0:
                    yield "write forever"
                syn = at
                continue
            length = int(line["len"])
            # What a driver sends in one go leaves nanoseconds apart.
            when = "" if at - last < 1000 else when
            if length == 0:
                yield f"{when}expect ack {ack}"
                continue
            echo.on_sent(at, seq)
            yield f"{when}expect seg {seq} {length}{words(line)}"
            last = at if when else last
            continue
        last = at
        if "S" in line["flags"]:
            echo.on_handshake(syn, at)
            yield f"{when}syn-ack win={line['wnd']} ts=1/{syn // 1_000_000}"
            continue
        blocks = line["sack"].replace(";", ",")
        sack = f" sack={blocks}" if blocks else ""
        stamp = echo.of(at, ack)
        yield f"{when}ack {ack} win={line['wnd']}{sack} ts=1/{stamp}{words(line)}"


def main() -> int:
    """Print the script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--flow", default="0")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--header", default='sender preset="linux"')
    parser.add_argument("--start", type=int, default=0, help="ms")
    options = parser.parse_args()
    with options.trace.open(newline="") as file:
        lines = [
            line
            for line in csv.DictReader(file)
            if line["flow"] == options.flow and float(line["time_s"]) < options.seconds
        ]
    if not lines or "S" not in lines[0]["flags"]:
        print(f"error: {options.trace}: no flow {options.flow} from its SYN on", file=sys.stderr)
        return 2
    print(options.header, *script(lines, options.start * 1_000_000), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
