"""The links of a virtual lab, inside the guest: gates that its kernel calls for its devices."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from forebay.lab import network
from forebay.lab.errors import LabError
from forebay.lab.topology import Gate, Topology
from forebay.scenario import to_toml

_CONTROL = Path("/proc/forebay/gates")


class Links:
    """The gates of a lab in the kernel; a context manager that ends them."""

    def __init__(self, topology: Topology, folder: Path) -> None:
        """Gates of `topology`, with their files in the folder of the run."""
        self._topology = topology
        self._folder = folder
        self._open: list[Gate] = []

    def __enter__(self) -> Links:
        """Start them: their devices are in this network namespace.

        Raises:
            LabError: one cannot be opened.
        """
        for gate in self._topology.gates:
            self._start(gate)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End them, with whole recordings."""
        while self._open:
            _CONTROL.write_text(f"close {self._open.pop().device}")

    def plug(self, gate: Gate, node: str, name: str) -> list[str]:
        """Move the device of a gate into a node's namespace; what to do there (`network.Plug`)."""
        device = f"{gate.device}.{int(node != gate.forward['from'])}"
        network.ip([f"link set dev {device} netns {name}"])
        return [f"link set dev {device} name {gate.device}"]

    def _start(self, gate: Gate) -> None:
        # The kernel hands packets over itself; interfaces are named for the reader.
        names = {node: node for node in self._topology.nodes}
        config = self._topology.config(gate, str(self._folder), names)
        (self._folder / f"{gate.device}.toml").write_text(to_toml(config), "utf-8")
        try:
            _CONTROL.write_text(f"open {gate.device}")
        except OSError as error:
            log = self._folder / f"{gate.device}.log"
            said = log.read_text("utf-8").strip() if log.exists() else str(error)
            raise LabError(f'the gate of link "{gate.forward["name"]}": {said}') from None
        self._open.append(gate)
