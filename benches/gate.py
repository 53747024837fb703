"""The gate measured on this machine: rates, delays, the most that it forwards, ASPQ, and a soak.

As root, with iproute2, ethtool and iperf3, and the gate and its traffic tool built:

    cargo build --release -p forebay-gate --bins --examples
    python benches/gate.py shaping delay forwarding aspq --out docs/validation/gate.json
    python benches/gate.py soak --seconds 3600

Everything happens in network namespaces of its own, which are removed at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import gate_aspq
from gate_net import (
    ADDRESS,
    BACKENDS,
    GATE,
    LEFT,
    MIDDLE,
    RIGHT,
    TRAFFIC,
    Gate,
    counters,
    gate,
    hosts,
    sh,
    traffic,
)

from forebay import _written


def shaping(seconds: float, runs: int) -> list[dict[str, Any]]:
    """How far the rate that arrives is from the one that was asked for, beside tbf."""
    rows = []
    for megabits in (1, 10, 100, 1000):
        for way in ("tbf", *BACKENDS):
            rate = megabits * 1e6
            # tbf counts the Ethernet header, the gate's `overhead` none.
            size = 1500
            charged = size + 14 if way == "tbf" else size
            flood = ("flood", "--rate", str(1.3 * megabits), "--seconds", str(seconds))
            link = f'rate = "{megabits}Mbit", queue = {{ kind = "fifo", limit = "100p" }}'
            errors, stalls = [], 0
            with hosts(way), contextlib.ExitStack() as stack:
                if way == "tbf":
                    burst = str(max(3000, int(rate / 8 / 1000)))
                    sh(
                        "ip",
                        "netns",
                        "exec",
                        LEFT,
                        "tc",
                        "qdisc",
                        "add",
                        "dev",
                        "host",
                        "root",
                        "tbf",
                        "rate",
                        f"{megabits}mbit",
                        "burst",
                        burst,
                        "limit",
                        "150000",
                    )
                else:
                    running = stack.enter_context(gate(way, link))
                for _ in range(runs):
                    found = traffic(*flood, "--size", str(size))
                    bits = found["packets_per_second_fitted"] * charged * 8
                    errors.append(100 * (bits / rate - 1))
                if way != "tbf":
                    stalls = running.status()["forward"]["stalls"]
            row = {"rate_mbps": megabits, "way": way, "error_percent": sorted(errors)}
            rows.append(row | {"stalls": stalls})
            print(rows[-1], flush=True)
    return rows


def delay(count: int) -> list[dict[str, Any]]:
    """One-way times of single packets, over a cable and through the gate."""
    rows = []
    shaped = 'rate = "100Mbit", queue = { kind = "fq-codel" }'
    for way in ("direct", *BACKENDS):
        for name, link in (("none", ""), ("fq-codel at 100 Mbit/s", shaped)):
            if way == "direct" and link:
                continue
            with hosts(way), contextlib.ExitStack() as stack:
                if way != "direct":
                    stack.enter_context(gate(way, link))
                traffic("delay", "--count", "50")
                found = traffic("delay", "--count", str(count))
            rows.append({"way": way, "discipline": name, **found})
            print(rows[-1], flush=True)
    return rows


def forwarding(seconds: float, runs: int, kinds: list[str]) -> list[dict[str, Any]]:
    """The most packets of 64 B, and bits of one TCP flow, a second."""
    rows = []
    for way in ("direct", *BACKENDS):
        for kind in ("none",) if way == "direct" else ("none", *kinds):
            # A rate that is never reached: each packet passes the queue.
            queue = f'rate = "40Gbit", queue = {{ kind = "{kind}" }}'
            link = "" if kind == "none" else queue
            row: dict[str, Any] = {"way": way, "discipline": kind}
            with hosts(way), contextlib.ExitStack() as stack:
                running = stack.enter_context(gate(way, link)) if way != "direct" else None
                found = [frames(way, seconds, running) for _ in range(runs)]
                row["mpps"] = sorted(rate for rate, _ in found)
                row["us_per_packet"] = sorted(cost for _, cost in found if cost)
                row["tcp_gbps"] = sorted(tcp(seconds) / 1e9 for _ in range(runs))
            row["us_per_packet_alone"] = []
            if way in ("packet", "xdp"):
                with hosts(way, swallow=True), gate(way, link, swallow=True) as running:
                    found = [frames(way, seconds, running, swallow=True) for _ in range(runs)]
                    row["us_per_packet_alone"] = sorted(cost for _, cost in found)
            rows.append(row)
            print(rows[-1], flush=True)
    return rows


def frames(
    way: str, seconds: float, running: Gate | None, swallow: bool = False
) -> tuple[float, float]:
    """Million packets of 64 B a second that arrive, and the gate's processor time for one in us."""
    leave = ["in", "--bare"] if way == "tun" else ["host"]
    # An ifb interface counts what it swallows as received.
    where = (MIDDLE, "out") if swallow else (RIGHT, "out" if way == "tun" else "host")
    spent = running.processor() if running else 0.0
    before = counters(*where)["rx"]["packets"]
    traffic("frames", *leave, "--seconds", str(seconds))
    arrived = counters(*where)["rx"]["packets"] - before
    spent = running.processor() - spent if running else 0.0
    return arrived / seconds / 1e6, 1e6 * spent / max(arrived, 1)


def tcp(seconds: float) -> float:
    """Bits a second that one CUBIC flow delivers."""
    execute = ["ip", "netns", "exec"]
    server = subprocess.Popen([*execute, RIGHT, "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    words = ["iperf3", "-c", ADDRESS, "-C", "cubic", "-t", str(round(seconds)), "-J"]
    report = json.loads(sh(*execute, LEFT, *words))
    server.wait(10)
    return float(report["end"]["sum_received"]["bits_per_second"])


def soak(seconds: float) -> dict[str, Any]:
    """Overload for a long time: flat memory, and every packet accounted for.

    Raises:
        SystemExit: memory that grows, or a packet that is missing.
    """
    link = 'rate = "10Mbit", queue = { kind = "fq-codel" }'
    with hosts("tun"), gate("tun", link) as running:
        command = [
            TRAFFIC,
            LEFT,
            RIGHT,
            ADDRESS,
            "flood",
            "--rate",
            "20",
            "--seconds",
            str(seconds),
        ]
        flood = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
        begin, memory = time.monotonic(), []
        while flood.poll() is None:
            time.sleep(min(10.0, seconds / 10))
            memory.append(running.memory())
            check_conserved(running.status())
        while (status := running.status())["forward"]["backlog_packets"]:
            time.sleep(0.1)
        check_conserved(status)
        # What the kernel handed over came in, and what left the queue reached the kernel.
        given = counters(LEFT, "in")["tx"]["packets"] - status["inside"]["no_buffer"]
        taken = counters(RIGHT, "out")["rx"]["packets"]
        forward = status["forward"]
        left = forward["sent"]["packets"] + forward["passed"]["packets"]
        if (given, taken) != (forward["received"]["packets"], left):
            raise SystemExit(f"the kernel counts {given} and {taken} packets: {forward}")
        # The first tenth is the beginning.
        steady = memory[len(memory) // 10 :]
        grown = steady[-1] - steady[0]
        if grown > 1024:
            raise SystemExit(f"memory has grown by {grown} kB: {steady}")
        return {
            "seconds": round(time.monotonic() - begin),
            "received_packets": forward["received"]["packets"],
            "sent_packets": forward["sent"]["packets"],
            "dropped_packets": sum(forward["dropped"].values()),
            "memory_kb": [min(steady), max(steady)],
            "stalls": forward["stalls"],
        }


def check_conserved(status: dict[str, Any]) -> None:
    """Every packet that came in was passed, sent or dropped, or waits."""
    way = status["forward"]
    known = sum(way[count]["packets"] for count in ("passed", "sent"))
    known += sum(way["dropped"].values()) + way["backlog_packets"]
    if known != way["received"]["packets"]:
        raise SystemExit(f"a packet is missing: {way}")


def keep(path: Path, what: str, found: Any) -> None:
    """Add what was found to the section of docs/validation.md at `path`."""
    whole = json.loads(path.read_text("utf-8")) if path.exists() else {}
    results = whole.get("results", {})
    load = round(os.getloadavg()[1], 1)
    results[what] = {"version": version(), "load": load, "rows": found}
    path.write_text(_written.dump(section(results)), "utf-8")


def version() -> str:
    """The gate's version."""
    return sh(GATE, "--version").split()[1]


def section(results: dict[str, Any]) -> dict[str, Any]:
    """The section of docs/validation.md about what was measured."""
    tables = []
    for what, heading, text, table in (
        ("shaping", "Shaping", SHAPING, shaping_table),
        ("delay", "Added delay", DELAY, delay_table),
        ("forwarding", "Forwarding", FORWARDING, forwarding_table),
        ("aspq", "ASPQ with Linux senders", ASPQ, gate_aspq.table),
        ("soak", "Soak", SOAK, soak_table),
    ):
        if what in results:
            columns, rows = table(results[what]["rows"])
            load = f" Load average of the machine while it was measured: {results[what]['load']}."
            tables.append(
                {"heading": heading, "text": text + load, "columns": columns, "rows": rows}
            )
    return {
        "section": "The gate",
        "order": 6,
        "version": version(),
        "command": f"python benches/gate.py {' '.join(PARTS)}",
        "text": [
            "Real packets were sent between network namespaces on one machine, which also ran "
            f"sender and receiver: {os.cpu_count()} cores, Linux {os.uname().release}."
        ],
        "tables": tables,
        "results": results,
    }


SHAPING = (
    "UDP packets of 1500 B are sent at 1.3 times the configured rate. The error is the rate at "
    "which they arrive, relative to the configured rate. For tbf, this includes the Ethernet "
    "header, which tbf counts."
)
DELAY = (
    "This is the one-way time of single packets, 500 a second, over a veth cable, and with a "
    "gate in between. It includes the time until the receiver wakes up and, under load, until it "
    "gets a core."
)
FORWARDING = (
    "This is the maximum throughput, best of the runs: UDP packets of 64 B in one direction, "
    "which the receiving host drops as soon as it reads their IP header, and one TCP flow "
    "(CUBIC, MTU 1500 B, senders without offloads). The processor time is that of the gate's "
    "loop for a packet of 64 B, including system calls. In these the kernel passes the packet to "
    "the receiving host, so a part of the time is the receiver's. *Alone* is with an outgoing "
    "interface that discards its packets at once, as quickly as the ring of a network card takes "
    "them. With a discipline, every packet passes its queue, at a rate that is never reached."
)
ASPQ = (
    "One low-priority TCP transfer runs over 10 Mbit/s and 40 ms there and back. For 5 s, "
    "high-priority datagrams take 5 %, 95 % or all of the link. `cwnd` is in segments, from the "
    "sender's TCP_INFO every 5 ms. The release is 50 ms (the controller's `idle_timeout`) after "
    "the last datagram, and with strict priority alone the last datagram itself. The share of "
    "the link is what is acknowledged within a second, of which a round trip of 40 ms passes "
    "first. *In order* is what the receiving program had by then. Values are medians."
)
SOAK = (
    "A 10 Mbit/s fq-codel gets twice its rate for a long time. Every packet must be accounted for."
)

Table = tuple[list[str], list[list[Any]]]


def shaping_table(rows: list[dict[str, Any]]) -> Table:
    """Columns and rows of the shaping error."""
    columns = ["rate in Mbit/s", "way", "error in %: median", "lowest", "highest", "runs"]
    table = []
    for row in rows:
        errors = row["error_percent"]
        ends = [statistics.median(errors), min(errors), max(errors)]
        table.append([row["rate_mbps"], row["way"], *ends, len(errors)])
    return columns, table


def delay_table(rows: list[dict[str, Any]]) -> Table:
    """Columns and rows of the delays."""
    columns = ["way", "discipline", "median in us", "90th percentile", "99th percentile", "packets"]
    keys = ("way", "discipline", "p50_us", "p90_us", "p99_us", "arrived")
    return columns, [[row[key] for key in keys] for row in rows]


def forwarding_table(rows: list[dict[str, Any]]) -> Table:
    """Columns and rows of what was forwarded at most."""
    columns = [
        "way",
        "discipline",
        "million packets/s",
        "processor time in us/packet",
        "alone",
        "TCP in Gbit/s",
        "runs",
    ]
    table = []
    for row in rows:
        cost = min(row["us_per_packet"], default=None)
        alone = min(row["us_per_packet_alone"], default=None)
        most = [max(row["mpps"]), cost, alone, max(row["tcp_gbps"]), len(row["mpps"])]
        table.append([row["way"], row["discipline"], *most])
    return columns, table


def soak_table(row: dict[str, Any]) -> Table:
    """Columns and row of a soak."""
    columns = ["seconds", "received", "sent", "dropped", "memory in kB: least", "most", "stalls"]
    keys = ("seconds", "received_packets", "sent_packets", "dropped_packets")
    return columns, [[*(row[key] for key in keys), *row["memory_kb"], row["stalls"]]]


PARTS = ("shaping", "delay", "forwarding", "aspq", "soak")


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="+", choices=PARTS)
    parser.add_argument("--seconds", type=float, help="of each run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="periods of aspq at a time")
    parser.add_argument("--kinds", default="fifo,fq-codel,cq-aqm,cp-aqm,ncq,wred,pie")
    parser.add_argument("--out", type=Path, help="JSON to add the results to")
    given = parser.parse_args()
    for what in given.what:
        if what == "shaping":
            found: Any = shaping(given.seconds or 5, given.runs)
        elif what == "delay":
            found = delay(1000)
        elif what == "forwarding":
            found = forwarding(given.seconds or 2, given.runs, given.kinds.split(","))
        elif what == "aspq":
            found = gate_aspq.aspq(given.runs, given.jobs)
        else:
            found = soak(given.seconds or 3600)
        print(json.dumps(found))
        if given.out:
            keep(given.out, what, found)


if __name__ == "__main__":
    main()
