"""A run in the lab, from an empty machine to a result."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from forebay import _engine
from forebay._engine import Live
from forebay._runs import Result
from forebay._scenario import Scenario
from forebay.lab import network, qdiscs, topology
from forebay.lab.errors import LabError
from forebay.lab.gates import Gates, program
from forebay.lab.hosts import Clock, Hosts
from forebay.lab.topology import Topology

__all__ = ["LabError", "run"]

LEAD_NS = 500_000_000
"""From the last preparation to the scenario's beginning."""


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    congestion: str | None = None,
    gate: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a scenario on real packets, in real time.

    Needs Linux and root.

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

    Example:
        >>> result = lab.run(scenario)  # doctest: +SKIP
        >>> lab.run(scenario.with_("dumbbell.loss", 0.1))
        Traceback (most recent call last):
            ...
        ScenarioError: lab.toml: link "bottleneck": the links of a live lab keep their rate and ...
    """
    prepared = scenario.bare()
    if seed is not None:
        prepared = prepared.with_("seed", seed)
    plan = topology.read(prepared, congestion)
    qdiscs.refuse(plan, qdiscs.NOT_LIVE)
    topology.check_steady(plan)
    _check_machine(plan)
    binary = program(gate)
    live = _engine.live(prepared.text, prepared.base)
    names = network.build(plan)
    folder = Path(tempfile.mkdtemp(prefix="forebay-lab-"))
    try:
        clock = Clock(0)
        with Gates(plan, names, folder, binary) as gates:
            hosts = Hosts(plan, names, live, live, clock)
            try:
                hosts.listen()
                clock.begin_ns = time.monotonic_ns() + LEAD_NS
                hosts.carry_out(gates.check, progress)
            finally:
                hosts.close()
            began = {gate: gates.began(gate) - clock.begin_ns for gate in plan.gates}
        measure(plan, live, folder, hosts.flows(), began)
        output = live.finish()
    finally:
        network.remove(names)
        shutil.rmtree(folder, ignore_errors=True)
    return Result.of(output)


def measure(
    plan: Topology,
    live: Live,
    folder: Path,
    flows: Mapping[str, Mapping[int, tuple[int, bool]]],
    began: Mapping[topology.Gate, int],
) -> None:
    """Give the gates' recordings in `folder` to the engine."""
    for gate in plan.gates:
        for link, file in gate.recordings(folder):
            live.recording(link, str(file), began[gate], dict(flows.get(link, {})))


def _check_machine(plan: Topology) -> None:
    if sys.platform != "linux":
        raise LabError("the lab needs Linux: network namespaces and TUN interfaces")
    if os.geteuid() != 0:
        raise LabError(
            "the lab needs root, to make network namespaces; run it with sudo, or with --virtual"
        )
    if not Path("/dev/net/tun").exists():
        raise LabError("/dev/net/tun is missing; load the kernel's module tun")
    network.check_controls(plan)
