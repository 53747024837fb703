"""Network namespaces: made, wired with TUN interfaces, and taken away again.

Every command imports this module, few need pyroute2, and it takes a tenth of a second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forebay.lab.topology import Topology, uses_tcp

PREFIX = "forebay-lab"


def build(topology: Topology) -> dict[str, str]:
    """Make a namespace for every node, with its interfaces and routes.

    Returns:
        The namespace of each node.

    Raises:
        OSError: the kernel refuses; what had been made is taken away.
    """
    from pyroute2 import netns

    remove_stale()
    names = {node: f"{PREFIX}-{os.getpid()}-{number}" for number, node in enumerate(topology.nodes)}
    try:
        for node, name in names.items():
            netns.create(name)
            _settle(topology, node, name)
    except BaseException:
        remove(names)
        raise
    return names


def remove(names: Mapping[str, str]) -> None:
    """Take namespaces away, with all that is in them."""
    from pyroute2 import netns

    existing = set(netns.listnetns())
    for name in names.values():
        if name in existing:
            netns.remove(name)


def remove_stale() -> None:
    """Take away what a lab left that was killed."""
    from pyroute2 import netns

    for name in netns.listnetns():
        found = re.fullmatch(rf"{PREFIX}-(\d+)-\d+", name)
        if found and not Path(f"/proc/{found[1]}").exists():
            netns.remove(name)


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Let this thread be in a namespace: sockets made there stay there."""
    from pyroute2 import netns

    netns.pushns(name)
    try:
        yield
    finally:
        netns.popns()


def _settle(topology: Topology, node: str, name: str) -> None:
    from pyroute2 import NetNS

    address = topology.address(node)
    with NetNS(name) as ns:
        loopback = ns.link_lookup(ifname="lo")[0]
        ns.link("set", index=loopback, state="up")
        ns.addr("add", index=loopback, address=address, prefixlen=32)
        for gate in topology.gates:
            if node not in (gate.forward["from"], gate.forward["to"]):
                continue
            ns.link("add", ifname=gate.device, kind="tuntap", mode="tun")
            index = ns.link_lookup(ifname=gate.device)[0]
            mtu = gate.forward["mtu_bytes"]
            # Each segment leaves by itself, as in the simulator.
            ns.link("set", index=index, state="up", mtu=mtu, txqlen=10_000, gso_max_segs=1)
        for at, goal, device in topology.routes():
            if at == node:
                metrics = _metrics(topology, node, goal)
                ns.route(
                    "add",
                    dst=f"{topology.address(goal)}/32",
                    oif=ns.link_lookup(ifname=device)[0],
                    prefsrc=address,
                    **({"metrics": metrics} if metrics else {}),
                )
    with inside(name):
        for key, value in _settings(topology, node).items():
            (Path("/proc/sys/net") / key).write_text(value)


def _metrics(topology: Topology, node: str, goal: str) -> dict[str, int]:
    """What the sender's route says of TCP."""
    for entry in topology.traffic:
        if uses_tcp(entry) and (entry["from"], entry["to"]) == (node, goal):
            return {
                "initcwnd": entry["tcp"]["initial_window"],
                "rto_min": entry["tcp"]["min_rto_ms"],
            }
    return {}


def _settings(topology: Topology, node: str) -> dict[str, str]:
    """Settings of a host's kernel, by path below /proc/sys/net."""
    settings = {
        "ipv4/ip_forward": "1",
        "ipv4/tcp_no_metrics_save": "1",
        # A connection begins with the default and would keep the pacing that BBR turns on.
        "ipv4/tcp_congestion_control": "reno",
        "ipv4/conf/all/rp_filter": "0",
    }
    for entry in topology.traffic:
        if uses_tcp(entry) and node in (entry["from"], entry["to"]):
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
            break
    return settings
