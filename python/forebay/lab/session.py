"""A run in the lab, from an empty machine to a result."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from forebay import _engine
from forebay._engine import Live
from forebay._runs import Result
from forebay.lab import network, topology
from forebay.lab.gates import Gates, LabError, program
from forebay.lab.hosts import Clock, Hosts
from forebay.lab.topology import Topology, uses_tcp
from forebay.scenario import Scenario

__all__ = ["LabError", "run"]

LEAD_NS = 500_000_000
"""From the last preparation to the scenario's beginning."""
DRAIN_S = 1.0
"""How long packets under way at the end may still arrive."""
TCP = 6


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    congestion: str | None = None,
    gate: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a scenario on real packets, in real time.

    Needs Linux, root, `ip` (iproute2) and, for bulk transfers, `iperf3`.

    Args:
        scenario: what to run.
        seed: of the sources' random numbers, instead of the scenario's own.
        congestion: Linux' name of a congestion control, such as "bbr", for all TCP flows.
        gate: the program `forebay-gate`.
        progress: called a few times a second with the fraction of the time that has passed.

    Raises:
        ScenarioError: the scenario cannot run, or asks for what a lab does not have.
        LabError: the lab cannot be built, or something in it failed.
        KeyboardInterrupt: interrupted; everything has been taken away.
    """
    prepared = scenario.bare()
    if seed is not None:
        prepared = prepared.with_("seed", seed)
    plan = topology.read(prepared, congestion)
    _check_machine(plan)
    binary = program(gate)
    live = _engine.live(prepared.text, prepared.base)
    names = network.build(plan)
    folder = Path(tempfile.mkdtemp(prefix="forebay-lab-"))
    try:
        clock = Clock(0)
        with Gates(plan, names, folder, binary) as gates:
            hosts = Hosts(plan, names, live, clock, live.measured())
            try:
                clock.begin_ns = time.monotonic_ns() + LEAD_NS
                hosts.start()
                _wait(clock, live.measured()[1], gates, hosts, progress)
                time.sleep(DRAIN_S)
                hosts.finish()
            finally:
                hosts.close()
            began = {gate: gates.began(gate) for gate in plan.gates}
            gates.stop()
        _measure(plan, gates, live, hosts, {g: b - clock.begin_ns for g, b in began.items()})
        output = live.finish()
    finally:
        network.remove(names)
        shutil.rmtree(folder, ignore_errors=True)
    return Result.of(output)


def _wait(
    clock: Clock,
    duration: int,
    gates: Gates,
    hosts: Hosts,
    progress: Callable[[float], None] | None,
) -> None:
    while (now := clock.now()) < duration:
        gates.check()
        hosts.check()
        if progress is not None:
            progress(max(now, 0) / duration)
        time.sleep(min(0.2, (duration - now) / 1e9))


def _measure(
    plan: Topology, gates: Gates, live: Live, hosts: Hosts, began: dict[topology.Gate, int]
) -> None:
    """Give the gates' recordings to the engine."""
    for gate in plan.gates:
        for link, file in zip((gate.forward, gate.reverse), gates.recordings(gate), strict=True):
            flows = {}
            for (source, goal, own, port), index in hosts.data_flows.items():
                way = plan.traffic[hosts.entry_of(index)]["forward"]
                if link["name"] in way:
                    number = topology.flow_number(source, goal, TCP, (own, port))
                    flows[number] = (index, link["name"] == way[-1])
            live.recording(link["name"], str(file), began[gate], flows)


def _check_machine(plan: Topology) -> None:
    if sys.platform != "linux":
        raise LabError("the lab needs Linux: network namespaces and TUN interfaces")
    if os.geteuid() != 0:
        raise LabError("the lab needs root, to make network namespaces; run it with sudo")
    if not Path("/dev/net/tun").exists():
        raise LabError("/dev/net/tun is missing; load the kernel's module tun")
    needed = {"ip": "iproute2"}
    if any(entry["kind"] == "bulk" for entry in plan.traffic):
        needed["iperf3"] = "iperf3"
    for name, package in needed.items():
        if shutil.which(name) is None:
            raise LabError(f"{name} is missing; on Debian and Ubuntu: apt-get install {package}")
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for entry in plan.traffic:
        if uses_tcp(entry) and entry["tcp"]["linux"] not in known:
            raise LabError(
                f'this kernel has no congestion control "{entry["tcp"]["linux"]}"; it has '
                f"{', '.join(known)} (load a module such as tcp_bbr)"
            )
