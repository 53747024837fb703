"""What runs inside the guest: the scenario's hosts. What they see is measured outside."""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from forebay import _engine
from forebay._scenario import Scenario
from forebay.lab import network, topology
from forebay.lab.errors import LabError
from forebay.lab.hosts import Clock, Hosts, Journal
from forebay.lab.virtual.links import Links
from forebay.lab.virtual.machine import EPOCH, RESULTS, TCP_MEMORY
from forebay.lab.virtual.programs import Programs

SCENARIO = "scenario.json"
"""File of a run: the scenario, its folder, the congestion control for all TCP, whether there
are captures, gates that are killed, and programs."""
SEEN = "seen.json"
"""File of a run: what the meters were told, the flows on each link, and what became of programs."""
PROGRESS = "forebay: "
"""Before the fraction of the time that has passed, on the console."""


def main() -> int:
    """Run the scenario in the folder of the run."""
    folder = Path(RESULTS)
    given = json.loads((folder / SCENARIO).read_text("utf-8"))
    scenario = Scenario(given["text"], given["name"], given["base"])
    hosts_of_programs = [each["host"] for each in given["order"]["programs"]]
    plan = topology.read(scenario, given["congestion"], hosts_of_programs)
    live = _engine.live(scenario.text, scenario.base)
    journal = Journal()
    Path("/proc/sys/net/ipv4/tcp_mem").write_text(TCP_MEMORY)
    try:
        network.check_controls(plan)
        with Links(plan, folder, given["captures"]) as links:
            names = network.build(plan, links.plug)
            clock = Clock(EPOCH)
            hosts = Hosts(plan, names, live, journal, clock)
            addresses = {node: plan.address(node) for node in plan.nodes}
            programs = Programs(given["order"], names, addresses, folder, clock)
            programs.prepare()
            hosts.listen()
            for outage in given["outages"]:
                told = (clock, links, plan, *outage)
                threading.Thread(target=_outage, args=told, daemon=True).start()
            with ThreadPoolExecutor(1) as pool:
                ran = pool.submit(programs.run, live.measured()[1])
                hosts.carry_out(lambda: None, _tell)
                became = ran.result()
    except LabError as error:
        print(f"error: {error}", flush=True)
        return 1
    seen = {"told": journal.told, "flows": hosts.flows(), "programs": became}
    (folder / SEEN).write_text(json.dumps(seen), "utf-8")
    return 0


def _outage(
    clock: Clock, links: Links, plan: topology.Topology, link: str, start: int, end: int
) -> None:
    """Kill the gate of a link, and start another."""
    gate, never = plan.gate_of(link), threading.Event()
    clock.sleep_until(start, never)
    links.kill(gate)
    clock.sleep_until(end, never)
    links.start(gate)


def _tell(fraction: float) -> None:
    print(f"{PROGRESS}{fraction:.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
