"""What a scenario comes to in namespaces: nodes, links as gates, addresses, rules."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, named

SEED = 1
"""Of the gates; what a recording calls a flow depends on it."""
BULK_PORT = 10_000
"""The first port from which bulk transfers are sent, below those that the kernel hands out."""
BASE_PORT = 20_000
"""The first port at which traffic arrives."""
MOST_FLOWS = 10_000

UNLIMITED = {"kind": "fifo", "limit": "10000p"}
"""What stands for the queue without limit of a link that names none; gates have 16384 buffers."""
KERNEL = "kernel"
"""The kind of queues that are the kernel's own."""


@dataclass(frozen=True, eq=False)
class Gate:
    """Both directions of a link: a gate between two namespaces."""

    number: int
    forward: Mapping[str, Any]
    """The link's table, every default filled in."""
    reverse: Mapping[str, Any]

    @property
    def device(self) -> str:
        """Name of the interface at both of its ends."""
        return f"link{self.number}"

    @property
    def kernel_queues(self) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        """Of each queue of the kernel the end where packets come in, the device, and the link."""
        for end, link in enumerate((self.forward, self.reverse)):
            if kernel_queue(link):
                yield end, self._queue_device(end), link

    def _queue_device(self, end: int) -> str:
        return f"{self.device}.q{end}"

    def queue(self, end: int) -> Mapping[str, Any]:
        """The queue of what comes in at an end, as the gate reads it."""
        link = (self.forward, self.reverse)[end]
        if queue := kernel_queue(link):
            device = self._queue_device(end)
            return {"kind": KERNEL, "device": device, "qdisc": queue["qdisc"]}
        return link.get("queue") or UNLIMITED

    def recordings(self, folder: Path) -> list[tuple[str, Path]]:
        """Of each direction the link's name, and what was recorded of its queue."""
        at = folder / self.device
        return [
            (self.forward["name"], at / "forward.rec"),
            (self.reverse["name"], at / "reverse.rec"),
        ]


@dataclass(frozen=True)
class Topology:
    """A scenario as a lab builds it."""

    scenario: Scenario
    gates: tuple[Gate, ...]
    seed: int
    traffic: tuple[Mapping[str, Any], ...]
    """The traffic entries: all defaults filled in, with their ways."""
    programs: tuple[Mapping[str, Any], ...] = ()
    """The same for what programs may send: an entry for each of their hosts and each other node."""

    @property
    def entries(self) -> tuple[Mapping[str, Any], ...]:
        """Those of the traffic, and then of programs."""
        return (*self.traffic, *self.programs)

    def entry_at(self, node: str) -> Mapping[str, Any] | None:
        """The entry whose TCP a node's kernel is set to, if there is TCP."""
        ends = (each for each in self.entries if node in (each["from"], each["to"]))
        return next(filter(uses_tcp, ends), None)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Every node, in order of appearance."""
        ends = ((gate.forward["from"], gate.forward["to"]) for gate in self.gates)
        return tuple(dict.fromkeys(node for pair in ends for node in pair))

    @property
    def simulated(self) -> Scenario:
        """The scenario with the lab's hosts: flows of a node share its address."""
        return self.scenario.with_all(
            {
                f"traffic[{number}].{end}_host": entry[end]
                for number, entry in enumerate(self.traffic)
                for end in ("from", "to")
            }
        )

    def port(self, entry: int) -> int:
        """Port at which the traffic of an entry arrives, by its number."""
        return BASE_PORT + entry

    def address(self, node: str) -> str:
        """IPv4 address of a node."""
        number = self.nodes.index(node) + 1
        return f"10.211.{number // 250}.{number % 250 + 1}"

    def gate_of(self, link: str) -> Gate:
        """The gate that a directed link is part of."""
        return next(g for g in self.gates if link in (g.forward["name"], g.reverse["name"]))

    def routes(self) -> Iterator[tuple[str, str, str]]:
        """(node, destination, interface) of every hop that some traffic takes."""
        found: dict[tuple[str, str], str] = {}
        for entry in self.entries:
            for way, goal in (("forward", entry["to"]), ("backward", entry["from"])):
                for link in entry[way]:
                    gate = self.gate_of(link)
                    at = gate.forward if link == gate.forward["name"] else gate.reverse
                    found[at["from"], goal] = gate.device
        yield from ((at, goal, device) for (at, goal), device in found.items())

    def access_delay_ns(self, link: str) -> int:
        """What the access links add to the way over `link`, both ends together."""
        delays = {
            entry["access_ns"]
            for entry in self.entries
            if link in (*entry["forward"], *entry["backward"])
        }
        return max(delays, default=0)

    def variations(self, gate: Gate) -> list[tuple[str, dict[str, Any]] | None]:
        """Of each direction the link's name and how it varies (crates/shaper/src/variation.rs).

        None for one that is steady.
        """
        found: list[tuple[str, dict[str, Any]] | None] = []
        for link in (gate.forward, gate.reverse):
            if "variation" not in link:
                found.append(None)
                continue
            delay = link["variation"]["delay"]
            more = self.access_delay_ns(link["name"])
            steps = [(at, value + more) for at, value in delay["steps"]]
            varied = link["variation"] | {"delay": delay | {"steps": steps}}
            found.append((link["name"], varied))
        return found

    def config(self, gate: Gate, folder: str, names: Mapping[str, str]) -> dict[str, Any]:
        """The gate's configuration; `names` are the nodes' namespaces."""
        ends = {
            side: {"name": gate.device, "netns": names[gate.forward[end]]}
            for side, end in (("inside", "from"), ("outside", "to"))
        }
        link = self._direction(gate.forward, gate.queue(0))
        link["reverse"] = self._direction(gate.reverse, gate.queue(1))
        rules = [
            {
                "name": entry["name"],
                "port": [self.port(number)],
                "q": entry["q"],
                "precedence": entry["precedence"],
                "drop_precedence": entry["drop_precedence"],
            }
            for number, entry in enumerate(self.traffic)
        ]
        # A gate loads a plug-in only by an absolute path.
        return {
            "plugins": self.scenario.libraries(),
            "link": link,
            "io": {"backend": "tun", **ends},
            "rule": rules,
            "socket": f"{folder}/{gate.device}.sock",
            "seed": SEED,
        }

    def _direction(self, link: Mapping[str, Any], queue: Mapping[str, Any]) -> dict[str, Any]:
        delay = link["delay_ns"] + self.access_delay_ns(link["name"])
        box = {"box": link["box"]} if link.get("box") else {}
        return {
            "rate": link["rate"],
            "overhead": link["overhead"],
            "mtu": link["mtu"],
            "delay": f"{delay}ns",
            "queue": queue,
            **box,
        }


def read(
    scenario: Scenario, congestion: str | None = None, hosts: Collection[str] = ()
) -> Topology:
    """What `scenario` comes to.

    Args:
        scenario: what to build.
        congestion: Linux' name of the congestion control for all TCP, if given.
        hosts: nodes that run programs, which may talk to every other one.
    """
    # A gate takes none in Python.
    scenario.libraries()
    with named(scenario):
        plan = json.loads(_engine.plan(scenario.text, scenario.base))
        links = plan["links"]
        for link in links:
            _check_link(link)
            link["rate"] = link.pop("queue_rate", link["rate"])
        for number, entry in enumerate(plan["traffic"]):
            _check_traffic(f"traffic[{number}]", entry, links)
            _choose_control(f"traffic[{number}]: tcp", entry, congestion)
        _check_hosts(plan["traffic"])
        programs = _programs(scenario, links, hosts)
        for entry in programs:
            _choose_control("tcp", entry, congestion)
    pairs = zip(links[::2], links[1::2], strict=True)
    gates = tuple(Gate(number, *pair) for number, pair in enumerate(pairs))
    if sum(entry["flows"] for entry in plan["traffic"]) > MOST_FLOWS:
        raise ScenarioError(f"{scenario.name}: traffic: the lab runs at most {MOST_FLOWS} flows")
    return Topology(scenario, gates, plan["seed"], tuple(plan["traffic"]), tuple(programs))


def check_steady(topology: Topology) -> None:
    """Refuse links that vary or lose packets: a live lab has none.

    Raises:
        ScenarioError: there is one.
    """
    for gate in topology.gates:
        for link in (gate.forward, gate.reverse):
            if "variation" in link:
                raise ScenarioError(
                    f'{topology.scenario.name}: link "{link["name"]}": the links of a live lab '
                    "keep their rate and delay and lose nothing on the wire; run it with --virtual"
                )


def _choose_control(place: str, entry: dict[str, Any], congestion: str | None) -> None:
    if not uses_tcp(entry):
        return
    entry["tcp"]["linux"] = congestion or entry["tcp"]["linux"]
    if entry["tcp"]["linux"] is None:
        raise ScenarioError(
            f'{place}.congestion: Linux has no "{entry["tcp"]["congestion"]}"; choose another, '
            "or give one with --congestion"
        )


def _programs(
    scenario: Scenario, links: list[Mapping[str, Any]], hosts: Collection[str]
) -> list[dict[str, Any]]:
    """Entries for what goes between hosts of programs and all nodes that they can reach."""
    if not hosts:
        return []
    # Between the ends of a row access links count, which belong to entries without ends.
    row = "dumbbell" in scenario.document or "parking_lot" in scenario.document
    pairs: list[dict[str, str]] = [{}] if row else []
    asked = {
        frozenset((host, node)): (host, node) for host in hosts for node in _beyond(host, links)
    }
    pairs += [{"from": host, "to": node} for host, node in asked.values()]
    written = list(scenario.document.get("traffic", []))
    more = [
        {"kind": "bulk", "name": f"programs {number}", **pair} for number, pair in enumerate(pairs)
    ]
    whole = scenario.with_("traffic", written + more)
    planned: list[dict[str, Any]] = json.loads(_engine.plan(whole.text, whole.base))["traffic"]
    return planned[len(written) :]


def _beyond(host: str, links: list[Mapping[str, Any]]) -> list[str]:
    """The nodes that a host can reach, in the order in which they are met."""
    found = {host: None}
    while more := {
        link["to"]: None for link in links if link["from"] in found and link["to"] not in found
    }:
        found |= more
    return [node for node in found if node != host]


def uses_tcp(entry: Mapping[str, Any]) -> bool:
    """Whether a traffic entry transfers over TCP; otherwise it sends datagrams."""
    return bool(entry["transport"] == "tcp")


def kernel_queue(link: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The queue of a link if it is the kernel's."""
    queue: Mapping[str, Any] | None = link.get("queue")
    return queue if queue and queue.get("kind") == KERNEL else None


def flow_number(source: str, goal: str, protocol: int, ports: tuple[int, int]) -> int:
    """What the gates' recordings call a flow."""
    return _engine.flow_hash(SEED, source, goal, protocol, ports)


def _check_link(link: Mapping[str, Any]) -> None:
    place = f'link "{link["name"]}"'
    queue = link.get("queue")
    if queue and not kernel_queue(link) and KERNEL in _kinds(queue):
        raise ScenarioError(
            f'{place}: queue.kind: "{KERNEL}" must be all of a link\'s queue; what is below a '
            "discipline of the kernel is set up by its `commands`"
        )
    for field in ("police", "reorder", "remark"):
        if link.get(field):
            raise ScenarioError(
                f"{place}: {field}: the lab's links change nothing on the wire and keep the order; "
                "take it out"
            )


def _kinds(value: object) -> Iterator[str]:
    """Every `kind` in a table, however deep."""
    if isinstance(value, Mapping):
        if isinstance(value.get("kind"), str):
            yield value["kind"]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _kinds(each)


def _check_traffic(place: str, entry: Mapping[str, Any], links: list[Mapping[str, Any]]) -> None:
    if entry["kind"] == "pcap":
        raise ScenarioError(f"{place}: kind: the lab cannot replay captures; use another source")
    if entry["kind"] == "writes":
        raise ScenarioError(
            f"{place}: kind: the lab's connections send all they have; use another source"
        )
    if entry.get("profile") is not None:
        raise ScenarioError(f"{place}: profile: the lab has no markers; take it out")
    mtus = {
        link["mtu"] for link in links if link["name"] in (*entry["forward"], *entry["backward"])
    }
    if uses_tcp(entry) and entry["tcp"]["mtu"] not in mtus:
        raise ScenarioError(
            f"{place}: tcp.mtu: must be the links' mtu of {', '.join(sorted(mtus))}, got "
            f"{entry['tcp']['mtu']}: Linux goes by the links"
        )


def _check_hosts(traffic: list[Mapping[str, Any]]) -> None:
    """All TCP flows from a node share its kernel's settings."""
    first: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, entry in enumerate(traffic):
        if not uses_tcp(entry):
            continue
        for node in (entry["from"], entry["to"]):
            other, tcp = first.setdefault(node, (number, entry["tcp"]))
            for field in HOST_FIELDS:
                if tcp[field] != entry["tcp"][field]:
                    raise ScenarioError(
                        f"traffic[{number}]: tcp.{field}: must be that of traffic[{other}], which "
                        f'uses the host "{node}" too: both share its kernel\'s settings'
                    )


HOST_FIELDS = ("recovery", "timestamps", "ecn", "slow_start_after_idle", "receive_window")
"""Fields of `tcp` that become settings of a host's kernel."""
