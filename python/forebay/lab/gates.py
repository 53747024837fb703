"""Gates as child processes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from forebay._scenario import to_toml
from forebay.lab.errors import LabError
from forebay.lab.topology import Gate, Topology

START_S = 10.0
"""Longest that a gate may take to answer."""


def program(path: str | Path | None = None) -> Path:
    """The program `forebay-gate`: `path`, or the one of the source tree, or that on the PATH."""
    found = _built(path, "forebay-gate") or shutil.which("forebay-gate")
    if found is None:
        raise LabError(
            "forebay-gate is missing; build it with `make gate`, or install it on the PATH"
        )
    return Path(found)


def library(path: str | Path | None = None) -> Path:
    """The gate as a library: `path`, or that of the source tree, or that beside the program."""
    found = _built(path, "libforebay_gate.so")
    if path is not None and ".so" not in Path(path).suffixes:
        raise LabError(f"{path}: a virtual lab needs the gate as a library, libforebay_gate.so")
    beside = shutil.which("forebay-gate")
    if found is None and beside is not None:
        found = Path(beside).with_name("libforebay_gate.so")
    if found is None or not found.is_file():
        raise LabError(
            "libforebay_gate.so is missing; build it with `make gate`, or install it beside "
            "forebay-gate"
        )
    return found


def _built(path: str | Path | None, name: str) -> Path | None:
    """The file at `path`, which must be there, or what the source tree has built."""
    if path is not None and not Path(path).is_file():
        raise LabError(f"{path}: there is no such file")
    built = Path(__file__).parents[3] / "target" / "release" / name
    return Path(path) if path is not None else built if built.is_file() else None


class Gates:
    """The running gates of a lab; a context manager that ends them."""

    def __init__(
        self, topology: Topology, names: Mapping[str, str], folder: Path, binary: Path
    ) -> None:
        """Gates of `topology` between the namespaces `names`, recording into `folder`."""
        self._topology = topology
        self._names = names
        self._folder = folder
        self._binary = binary
        self._running: dict[Gate, subprocess.Popen[bytes]] = {}
        self._began: dict[Gate, int] = {}

    def __enter__(self) -> Gates:
        """Start them, and wait until all answer."""
        with ExitStack() as undo:
            undo.callback(self.stop)
            for gate in self._topology.gates:
                self._start(gate)
            for gate in self._topology.gates:
                self._began[gate] = self._wait_for(gate)
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        self.stop()

    def began(self, gate: Gate) -> int:
        """When the gate's clock stood at zero, in ns of the monotonic clock, to about 1 ms."""
        return self._began[gate]

    def check(self) -> None:
        """Raises LabError if a gate has ended."""
        for gate, process in self._running.items():
            if process.poll() is not None:
                raise LabError(f"{self._of(gate)} ended: {self._said(gate)}")

    def stop(self) -> None:
        """End them in an orderly manner."""
        for process in self._running.values():
            process.send_signal(signal.SIGTERM)
        for process in self._running.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()

    def _start(self, gate: Gate) -> None:
        folder = self._folder / gate.device
        folder.mkdir()
        config = self._topology.config(gate, str(self._folder), self._names)
        file = self._folder / f"{gate.device}.toml"
        file.write_text(to_toml(config), "utf-8")
        with (self._folder / f"{gate.device}.log").open("wb") as log:
            self._running[gate] = subprocess.Popen(
                [self._binary, "run", file, "--record", folder], stdout=log, stderr=log
            )

    def _wait_for(self, gate: Gate) -> int:
        deadline = time.monotonic() + START_S
        socket = self._folder / f"{gate.device}.sock"
        while time.monotonic() < deadline:
            self.check()
            before = time.monotonic_ns()
            asked = subprocess.run(
                [self._binary, "status", "--json", "--socket", socket],
                capture_output=True,
                check=False,
            )
            if asked.returncode == 0:
                # It answers just before the command ends.
                uptime = float(json.loads(asked.stdout)["uptime_s"])
                return (before + time.monotonic_ns()) // 2 - round(uptime * 1e9)
            time.sleep(0.05)
        raise LabError(f"{self._of(gate)} does not answer: {self._said(gate)}")

    def _of(self, gate: Gate) -> str:
        return f'the gate of link "{gate.forward["name"]}"'

    def _said(self, gate: Gate) -> str:
        text = (self._folder / f"{gate.device}.log").read_text("utf-8", "replace").strip()
        return text.splitlines()[-1] if text else "it said nothing"
