"""Network namespaces: made, wired, and taken away again, by `ip` (iproute2)."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from forebay.lab.errors import LabError
from forebay.lab.topology import Gate, Topology, uses_tcp

PREFIX = "forebay-lab"
FOLDER = Path("/run/netns")
"""Where `ip` keeps the names of namespaces."""
_CLONE_NEWNET = 0x40000000

Plug = Callable[[Gate, str, str], list[str]]
"""Commands of `ip` in a namespace that put the device of a gate there; node and namespace given."""


def add_tun(gate: Gate, _node: str, _name: str) -> list[str]:
    """A TUN interface, which a gate will open."""
    return [f"tuntap add dev {gate.device} mode tun"]


def build(topology: Topology, plug: Plug = add_tun) -> dict[str, str]:
    """Make a namespace for every node, with its interfaces and routes."""
    remove_stale()
    names = {node: f"{PREFIX}-{os.getpid()}-{number}" for number, node in enumerate(topology.nodes)}
    try:
        ip([f"netns add {name}" for name in names.values()])
        for node, name in names.items():
            ip(_commands(topology, node, name, plug), name)
            with inside(name):
                for key, value in _settings(topology, node).items():
                    (Path("/proc/sys/net") / key).write_text(value)
    except BaseException:
        remove(names)
        raise
    return names


def remove(names: Mapping[str, str]) -> None:
    """Take namespaces away, with all that is in them."""
    ip([f"netns delete {name}" for name in names.values() if (FOLDER / name).exists()])


def remove_stale() -> None:
    """Take away what a lab left that was killed."""
    for path in FOLDER.glob(f"{PREFIX}-*"):
        found = re.fullmatch(rf"{PREFIX}-(\d+)-\d+", path.name)
        if found and not Path(f"/proc/{found[1]}").exists():
            # Another lab may do the same.
            with suppress(LabError):
                ip([f"netns delete {path.name}"])


def ip(commands: Sequence[str], name: str | None = None) -> None:
    """Carry out commands of `ip`, in a namespace if one is named."""
    if not commands:
        return
    words = ["ip", *(["-netns", name] if name else []), "-batch", "-"]
    text = "".join(f"{each}\n" for each in commands)
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LabError("ip is missing; on Debian and Ubuntu: apt-get install iproute2") from None
    if done.returncode != 0:
        raise LabError(f"ip: {done.stderr.strip()}")


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Let this thread be in a namespace: sockets made there stay there."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(FOLDER / name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _enter(before)
    finally:
        os.close(before)


def _enter(namespace: int) -> None:
    # Python has it from 3.12 on.
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise LabError(error, f"cannot enter a network namespace: {os.strerror(error)}")


def check_controls(topology: Topology) -> None:
    """Raise LabError if this kernel lacks a congestion control."""
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for entry in topology.entries:
        if uses_tcp(entry) and entry["tcp"]["linux"] not in known:
            raise LabError(
                f'this kernel has no congestion control "{entry["tcp"]["linux"]}"; it has '
                f"{', '.join(known)} (load a module such as tcp_bbr)"
            )


def _commands(topology: Topology, node: str, name: str, plug: Plug) -> list[str]:
    """What makes a namespace a node."""
    address = topology.address(node)
    commands = ["link set dev lo up", f"address add {address}/32 dev lo"]
    for gate in topology.gates:
        if node in (gate.forward["from"], gate.forward["to"]):
            commands += plug(gate, node, name)
            mtu = gate.forward["mtu_bytes"]
            # Each segment leaves by itself: gates carry packets.
            words = f"mtu {mtu} txqueuelen 10000 gso_max_segs 1 up"
            commands.append(f"link set dev {gate.device} {words}")
    for at, goal, device in topology.routes():
        if at == node:
            words = f"dev {device} src {address} {_metrics(topology, node, goal)}"
            commands.append(f"route add {topology.address(goal)}/32 {words}")
    return commands


def _metrics(topology: Topology, node: str, goal: str) -> str:
    """What the sender's route says of TCP."""
    senders = [each for each in topology.traffic if (each["from"], each["to"]) == (node, goal)]
    # Programs send both ways.
    senders += [each for each in topology.programs if {each["from"], each["to"]} == {node, goal}]
    for entry in filter(uses_tcp, senders):
        tcp = entry["tcp"]
        return f"initcwnd {tcp['initial_window']} rto_min {tcp['min_rto_ms']}ms"
    return ""


def _settings(topology: Topology, node: str) -> dict[str, str]:
    """Settings of a host's kernel, by path below /proc/sys/net."""
    settings = {
        "ipv4/ip_forward": "1",
        "ipv4/tcp_no_metrics_save": "1",
        # A connection begins with the default and would keep the pacing that BBR turns on.
        "ipv4/tcp_congestion_control": "reno",
        "ipv4/conf/all/rp_filter": "0",
    }
    if entry := topology.entry_at(node):
        tcp: Mapping[str, Any] = entry["tcp"]
        window = tcp["receive_window_bytes"]
        settings |= {
            "ipv4/tcp_sack": str(int(tcp["recovery"] == "sack")),
            "ipv4/tcp_timestamps": str(int(tcp["timestamps"])),
            "ipv4/tcp_ecn": str(int(tcp["ecn"])),
            "ipv4/tcp_slow_start_after_idle": str(int(tcp["slow_start_after_idle"])),
            # Linux offers half of the memory as window.
            "ipv4/tcp_rmem": f"4096 131072 {2 * window}",
            "ipv4/tcp_wmem": f"4096 65536 {2 * window}",
        }
    if topology.programs:
        # Programs do not choose.
        settings["ipv4/tcp_congestion_control"] = topology.programs[0]["tcp"]["linux"]
    return settings
