#!/usr/bin/env python3
"""Links of today from public data: a course of a rate or of a delay, or a scenario.

    links.py rate TRACE [--every 0.1] [--seconds 120]     what a trace of mahimahi delivers
    links.py delay PING [--every 15] [--phase 12]         the least round trip of each interval
    links.py ibox PROFILE                                 a profile of internet-in-a-box
    links.py wifi STATION [--stations 4] [--seconds 60]   when a busy station of Wi-Fi may send

What is found is printed. `rate` and `delay` print lines that `rate = { trace = "FILE" }` and `delay
= { trace = "FILE" }` read: a time, and the value from then on; a delay is half of the round trip. A
trace of mahimahi can also be used as it is; in steps it is shorter, and loses what is quicker. PING
is the output of `ping -D`. Starlink gives each terminal a satellite anew every 15 s, at 12, 27, 42
and 57 s past the minute, which are the defaults.

`wifi` prints a trace in the format of mahimahi: one line for each time at which the aggregate
(A-MPDU) of a station, from 0 on, has got over a channel that all of them always want. Put what an
aggregate may hold beside it: `rate = { trace = "FILE", quantum = "65KB" }`. An aggregate takes as
long whether it is full or not.

The data are not part of forebay. Copies come from

    rate    github.com/Soheil-ab/c2tcp (MIT), traces; github.com/williamsentosa95/cellreplay (GPL)
    delay   github.com/clarkzjw/LENS (CC BY-SA 4.0); github.com/clarkzjw/LEONetEM, latency
    ibox    github.com/microsoft/internet-in-a-box (MIT), network-profiles
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

PACKET = 1504
"""Bytes that a line of mahimahi delivers."""
PONG = re.compile(r"^\[(\d+\.\d+)\] .*time=([\d.]+) ms", re.MULTILINE)

SLOT, SIFS, PREAMBLE, BLOCK_ACK = 9e-6, 16e-6, 40e-6, 32e-6
"""Times of Wi-Fi at 5 GHz, in s (IEEE 802.11): the preamble for two streams, and a block
acknowledgment at 24 Mbit/s."""
AIFS = SIFS + 3 * SLOT
LEAST, MOST = 15, 1023
"""Ends of the contention window; as AIFS, EDCA's defaults for best effort."""
AGGREGATE = 4e-3
"""The longest aggregate of Linux' ath9k, in s."""


def rates(text: str, every: float, seconds: float) -> Iterator[str]:
    """What was delivered in each interval, as a rate."""
    counts: dict[int, int] = {}
    for line in text.split():
        slot = int(int(line) / 1000 / every)
        counts[slot] = counts.get(slot, 0) + 1
    last = None
    for slot in range(min(max(counts) + 1, round(seconds / every))):
        rate = round(counts.get(slot, 0) * PACKET * 8 / every)
        if rate != last:
            yield f"{slot * every:g}s {rate}bit"
        last = rate


def delays(text: str, every: float, phase: float) -> Iterator[str]:
    """Half of the least round trip of each interval."""
    least: dict[int, float] = {}
    for at, delay in PONG.findall(text):
        slot = int((float(at) - phase) // every)
        least[slot] = min(float(delay), least.get(slot, 1e9))
    first = min(least)
    for slot in sorted(least):
        yield f"{(slot - first) * every:g}s {least[slot] / 2:g}ms"


def ibox(text: str) -> Iterator[str]:
    """A scenario: four transfers beside the traffic that iBox found there."""
    profile = json.loads(text)
    link, back = profile["config"]["uplink"], profile["config"]["downlink"]
    cross = link["cross_traffic_pattern"]
    yield f'title = "iBox: {profile["measurement_node"]}, {profile["link_type"]}"'
    yield f'duration = "{max(30, len(cross))}s"\nwarmup = "5s"\nseed = 1\n'
    # Who measured it names the directions; its network has one bottleneck.
    yield '[[link]]\nname = "uplink"\nfrom = "sender"\nto = "receiver"'
    yield f'rate = "{link["bottleneck_bandwidth"]}kbit"\ndelay = "{link["propagation_delay"]}ms"'
    yield f'queue = {{ kind = "fifo", limit = "{max(1, link["buffer_size_packets"])}p" }}'
    rate, delay = back["bottleneck_bandwidth"], back["propagation_delay"]
    yield f'reverse = {{ rate = "{rate}kbit", delay = "{delay}ms" }}\n'
    yield '[[traffic]]\nname = "load"\nkind = "bulk"\nflows = 4\nfrom = "sender"\nto = "receiver"\n'
    if cross:
        steps = ", ".join(f'["{at}s", "{rate}kbit"]' for at, rate in enumerate(cross))
        yield '[[traffic]]\nname = "others"\nkind = "poisson"\nfrom = "sender"\nto = "receiver"'
        yield f"rate = {{ steps = [{steps}] }}\n"
    yield '[compare]\nlink = "uplink"\ndisciplines = ["codel", "pie", "fq-codel", "cake"]'


def accesses(station: int, stations: int, seconds: float, seed: int) -> Iterator[str]:
    """When the aggregates of one of some busy stations have been sent, in ms.

    All hear each other. Each draws a number of free slots to wait for; whose run out at the same
    time collide, and draw from twice as many.
    """
    luck = Random(seed)
    window = [LEAST] * stations
    left = [luck.randint(0, LEAST) for _ in range(stations)]
    now = 0.0
    while True:
        free = min(left)
        now += AIFS + free * SLOT + PREAMBLE + AGGREGATE + SIFS + BLOCK_ACK
        if now > seconds:
            return
        left = [each - free for each in left]
        first = [at for at, each in enumerate(left) if each == 0]
        if first == [station]:
            yield f"{now * 1e3:.0f}"
        for at in first:
            window[at] = LEAST if len(first) == 1 else min(2 * window[at] + 1, MOST)
            left[at] = luck.randint(0, window[at])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("rate", "delay", "ibox", "wifi"))
    parser.add_argument("file", metavar="FILE|STATION")
    parser.add_argument("--every", type=float)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--stations", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--phase", type=float, default=12.0)
    asked = parser.parse_args()
    try:
        text = "" if asked.what == "wifi" else Path(asked.file).read_text(encoding="utf-8")
        if asked.what == "wifi":
            station = range(asked.stations)[int(asked.file)]
            found = list(accesses(station, asked.stations, asked.seconds or 60.0, asked.seed))
        elif asked.what == "rate":
            found = list(rates(text, asked.every or 0.1, asked.seconds or 120.0))
        elif asked.what == "delay":
            found = list(delays(text, asked.every or 15.0, asked.phase))
        else:
            found = list(ibox(text))
    except (OSError, ValueError, LookupError, TypeError) as error:
        sys.exit(f"error: {asked.file}: {type(error).__name__}: {error}; is it such a file?")
    print("\n".join(found))


if __name__ == "__main__":
    main()
