"""The links of a virtual lab, inside the guest: gates that its kernel calls for its devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forebay._scenario import to_toml
from forebay.lab import network, qdiscs
from forebay.lab.errors import LabError
from forebay.lab.topology import Gate, Topology
from forebay.lab.virtual.machine import EPOCH

_CONTROL = Path("/proc/forebay/gates")


class Links:
    """The gates of a lab in the kernel; a context manager that ends them."""

    def __init__(self, topology: Topology, folder: Path, captures: bool) -> None:
        """Gates of `topology`, with their files in the folder of the run."""
        self._topology = topology
        self._captures = captures
        self._folder = folder
        self._open: set[Gate] = set()

    def __enter__(self) -> Links:
        """Start them: their devices are in this network namespace."""
        for gate in self._topology.gates:
            self._prepare(gate)
            self.start(gate)
        return self

    def __exit__(self, *_: object) -> None:
        """End them, with whole recordings."""
        for gate in list(self._open):
            self.kill(gate)

    def start(self, gate: Gate) -> None:
        """Start a gate, which has nothing from one that was killed."""
        try:
            _CONTROL.write_text(f"open {gate.device}")
        except OSError as error:
            log = self._folder / f"{gate.device}.log"
            said = log.read_text("utf-8").strip() if log.exists() else str(error)
            raise LabError(f'the gate of link "{gate.forward["name"]}": {said}') from None
        self._open.add(gate)

    def kill(self, gate: Gate) -> None:
        """End a gate, with all that it holds, if it runs; what comes is lost."""
        if gate in self._open:
            self._open.discard(gate)
            _CONTROL.write_text(f"close {gate.device}")

    def plug(self, gate: Gate, node: str, name: str) -> list[str]:
        """Move the device of a gate into a node's namespace; what to do there (`network.Plug`)."""
        device = f"{gate.device}.{int(node != gate.forward['from'])}"
        network.ip([f"link set dev {device} netns {name}"])
        return [f"link set dev {device} name {gate.device}"]

    def _prepare(self, gate: Gate) -> None:
        # The kernel hands packets over itself; interfaces are named for the reader.
        names = {node: file_name(node) for node in self._topology.nodes}
        for end, queue, link in gate.kernel_queues:
            _CONTROL.write_text(f"queue {gate.device} {end}")
            qdiscs.set_up(link, queue)
            network.ip([f"link set dev {queue} mtu {link['mtu_bytes']} up"])
        config = self._topology.config(gate, str(self._folder), names)
        (self._folder / f"{gate.device}.toml").write_text(to_toml(config), "utf-8")
        if any(links := self._topology.variations(gate)):
            told = {"epoch": EPOCH, "links": links}
            (self._folder / f"{gate.device}.variations").write_text(json.dumps(told), "utf-8")
        if self._captures:
            asked = captures(gate)
            (self._folder / f"{gate.device}.captures").write_text(json.dumps(asked), "utf-8")


def captures(gate: Gate) -> dict[str, Any]:
    """The captures at a gate, as it wants to be told (crates/gate/src/io/capture.rs)."""
    ends = (gate.forward["from"], gate.forward["to"])
    # What comes out at the inside has gone backward.
    links = (gate.reverse["name"], gate.forward["name"])
    return {
        "epoch": EPOCH,
        "hosts": [host_capture(name) for name in ends],
        "link": [link_capture(name) for name in links],
    }


def host_capture(node: str) -> str:
    """File of what a host sends and receives."""
    return f"host-{file_name(node)}.pcap"


def link_capture(link: str) -> str:
    """File of what comes out at the end of a link."""
    return f"link-{file_name(link)}.pcap"


def file_name(name: str) -> str:
    """A name of a scenario as part of a file's name."""
    return name.replace("%", "%25").replace("/", "%2F")
