"""The gate measured on this machine: rates, delays, the most that it forwards, and a soak.

As root, with iproute2, ethtool and iperf3, and the gate and its traffic tool built:

    cargo build --release -p forebay-gate --bins --examples
    python benches/gate.py shaping delay forwarding --out docs/validation/gate.json
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
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GATE = ROOT / "target/release/forebay-gate"
TRAFFIC = ROOT / "target/release/examples/traffic"
BACKENDS = ("tun", "packet", "xdp")
LEFT, RIGHT, MIDDLE = (f"fbb{os.getpid()}{side}" for side in "lrg")
ADDRESS = "10.88.0.2"


def sh(*command: str | Path) -> str:
    """Run a command that must succeed; its output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def ip(*words: str) -> None:
    """Run `ip`."""
    sh("ip", *words)


@contextlib.contextmanager
def hosts(way: str) -> Iterator[None]:
    """Two hosts joined for a back end, by a cable ("direct"), or by one that tbf shapes ("tbf")."""
    names = (LEFT, RIGHT, MIDDLE)
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "dev", "lo", "up")
        if way in ("direct", "tbf"):
            ip(
                "link",
                "add",
                "host",
                "netns",
                LEFT,
                "type",
                "veth",
                "peer",
                "name",
                "host",
                "netns",
                RIGHT,
            )
        for host, near, address in ((LEFT, "in", "10.88.0.1/24"), (RIGHT, "out", f"{ADDRESS}/24")):
            device = "host"
            if way == "tun":
                device = near
                ip("-n", host, "tuntap", "add", "dev", near, "mode", "tun")
            elif way in ("packet", "xdp"):
                ip(
                    "link",
                    "add",
                    "host",
                    "netns",
                    host,
                    "type",
                    "veth",
                    "peer",
                    "name",
                    near,
                    "netns",
                    MIDDLE,
                )
                ip("-n", MIDDLE, "link", "set", "dev", near, "up")
            if way != "tun":
                features = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"]
                sh("ip", "netns", "exec", host, "ethtool", "-K", device, *features)
            ip("-n", host, "addr", "add", address, "dev", device)
            ip("-n", host, "link", "set", "dev", device, "up")
        # A new link carries nothing until the kernel has noticed that it is there.
        time.sleep(1.5)
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@contextlib.contextmanager
def gate(way: str, link: str) -> Iterator[Gate]:
    """A gate between the hosts, with this `link` table."""
    with tempfile.TemporaryDirectory() as folder:
        config, socket = Path(folder) / "gate.toml", Path(folder) / "socket"
        inside, outside = (LEFT, RIGHT) if way == "tun" else (MIDDLE, MIDDLE)
        config.write_text(
            f'socket = "{socket}"\nlink = {{ {link} }}\n[io]\nbackend = "{way}"\n'
            f'inside = {{ name = "in", netns = "{inside}" }}\n'
            f'outside = {{ name = "out", netns = "{outside}" }}\n',
            "utf-8",
        )
        process = subprocess.Popen([GATE, "run", config], stderr=subprocess.DEVNULL)
        try:
            running = Gate(process, socket)
            # It answers once its interfaces are open; before, an ARP request would be lost, and
            # the next one comes a second later.
            status = [str(GATE), "status", "--socket", str(socket)]
            for _ in range(200):
                if subprocess.run(status, capture_output=True).returncode == 0:
                    break
                time.sleep(0.02)
            traffic("delay", "--count", "20", "--every", "5")
            yield running
        finally:
            process.terminate()
            process.wait(10)


class Gate:
    """A gate that runs."""

    def __init__(self, process: subprocess.Popen[bytes], socket: Path) -> None:
        """Take what was started, and where it answers."""
        self.process, self.socket = process, socket

    def status(self) -> dict[str, Any]:
        """What it did so far."""
        state: dict[str, Any] = json.loads(sh(GATE, "status", "--json", "--socket", self.socket))
        return state

    def processor(self) -> float:
        """Processor time of its loop in seconds."""
        text = Path(f"/proc/{self.process.pid}/schedstat").read_text("utf-8")
        return int(text.split()[0]) / 1e9

    def memory(self) -> int:
        """Resident memory in kB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))


def traffic(*arguments: str) -> dict[str, Any]:
    """What the traffic tool measured."""
    found: dict[str, Any] = json.loads(sh(TRAFFIC, LEFT, RIGHT, ADDRESS, *arguments))
    return found


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
            rates, bits, costs = [], [], []
            with hosts(way), contextlib.ExitStack() as stack:
                running: Gate | None = None
                if way != "direct":
                    running = stack.enter_context(gate(way, "" if kind == "none" else queue))
                for _ in range(runs):
                    spent = running.processor() if running else 0.0
                    device = "out" if way == "tun" else "host"
                    before = counters(RIGHT, device)["rx"]["packets"]
                    flood = ("flood", "--unread", "--size", "64", "--seconds", str(seconds))
                    traffic(*flood)
                    arrived = counters(RIGHT, device)["rx"]["packets"] - before
                    rates.append(arrived / seconds / 1e6)
                    if running:
                        spent = running.processor() - spent
                        costs.append(1e6 * spent / max(arrived, 1))
                    bits.append(tcp(seconds) / 1e9)
            row = {"way": way, "discipline": kind, "mpps": sorted(rates), "tcp_gbps": sorted(bits)}
            rows.append(row | {"us_per_packet": sorted(costs)})
            print(rows[-1], flush=True)
    return rows


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


def counters(netns: str, device: str) -> Any:
    """What the kernel counts at an interface."""
    return json.loads(sh("ip", "-n", netns, "-s", "-j", "link", "show", device))[0]["stats64"]


def keep(path: Path, what: str, found: Any) -> None:
    """Add what was found to the section of docs/validation.md at `path`."""
    whole = json.loads(path.read_text("utf-8")) if path.exists() else {}
    results = whole.get("results", {})
    results[what] = {"load": round(os.getloadavg()[1], 1), "rows": found}
    path.write_text(json.dumps(section(results), indent=1, ensure_ascii=False) + "\n", "utf-8")


def section(results: dict[str, Any]) -> dict[str, Any]:
    """The section of docs/validation.md about what was measured."""
    tables = []
    for what, heading, text, table in (
        ("shaping", "Shaping", SHAPING, shaping_table),
        ("delay", "Added delay", DELAY, delay_table),
        ("forwarding", "Forwarding", FORWARDING, forwarding_table),
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
        "version": sh(GATE, "--version").split()[1],
        "command": "python benches/gate.py shaping delay forwarding soak",
        "text": [
            "Real packets between network namespaces on one machine, which also runs sender and "
            f"receiver: {os.cpu_count()} cores, Linux {os.uname().release}."
        ],
        "tables": tables,
        "results": results,
    }


SHAPING = (
    "Rate at which UDP packets of 1500 B arrive when 30 % more than the rate is sent, relative to "
    "the rate asked for; for tbf with the Ethernet header, which it counts."
)
DELAY = (
    "One-way time of single packets, 500 a second: over a veth cable, and with a gate in between. "
    "It includes waking the receiver and, under load, waiting for a core."
)
FORWARDING = (
    "The most that goes through, best of the runs: UDP packets of 64 B in one direction, and one "
    "TCP flow (CUBIC, MTU 1500 B, no offloads). The processor time is that of the gate's loop, "
    "system calls included, for a packet of 64 B. With a discipline, every packet passes its "
    "queue, at a rate that is never reached."
)
SOAK = "Twice the rate of a 10 Mbit/s fq-codel for a long time; every packet is accounted for."

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
        "TCP in Gbit/s",
        "runs",
    ]
    table = []
    for row in rows:
        cost = min(row["us_per_packet"], default=None)
        most = [max(row["mpps"]), cost, max(row["tcp_gbps"]), len(row["mpps"])]
        table.append([row["way"], row["discipline"], *most])
    return columns, table


def soak_table(row: dict[str, Any]) -> Table:
    """Columns and row of a soak."""
    columns = ["seconds", "received", "sent", "dropped", "memory in kB: least", "most", "stalls"]
    keys = ("seconds", "received_packets", "sent_packets", "dropped_packets")
    return columns, [[*(row[key] for key in keys), *row["memory_kb"], row["stalls"]]]


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="+", choices=("shaping", "delay", "forwarding", "soak"))
    parser.add_argument("--seconds", type=float, help="of each run")
    parser.add_argument("--runs", type=int, default=3)
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
        else:
            found = soak(given.seconds or 3600)
        print(json.dumps(found))
        if given.out:
            keep(given.out, what, found)


if __name__ == "__main__":
    main()
