"""How quick `forebay explore` is: the server alone, as a page that draws nothing sees it.

    .venv/bin/python benches/explore_speed.py [RUNS]

Prints medians and ranges over RUNS runs, 5 by default:
- from the command to the first frame that a page gets;
- from a change of the rate, while it plays, to the next frame;
- processor time of the server while it plays ten flows at 10 Mbit/s at real speed, as a share of
  one core, with one discipline and with two;
- a jump to the end of examples/tenants.toml, back to its middle, and a plain run of it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).parents[1]
TEN_FLOWS = """
duration = "600s"
dumbbell = { rate = "10Mbit", delay = "10ms", queue = { kind = "fifo", limit = "100p" } }
traffic = [{ kind = "bulk", flows = 10, tcp = { congestion = "cubic" } }]
"""
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A command that runs, and a page without a screen."""

    def __init__(self, process: subprocess.Popen[str], socket: ClientConnection) -> None:
        """The page of `process`, at the other end of `socket`."""
        self.process = process
        self._socket = socket
        self.frames = 0

    def send(self, type_: str, **more: Any) -> None:
        """Ask for something."""
        self._socket.send(json.dumps({"type": type_, **more}))

    def until(self, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next frame of which `true` holds; every frame is acknowledged at once."""
        while True:
            message: dict[str, Any] = json.loads(self._socket.recv(60))
            if message["type"] == "said" and message["level"] == "error":
                raise SystemExit(message["text"])
            if message["type"] != "frame":
                continue
            self.frames += 1
            self.send("ack", number=message["number"])
            if true(message):
                return message

    def cpu_s(self) -> float:
        """Processor time of the command so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def server(*arguments: str) -> Iterator[Server]:
    """`forebay explore`, until the end of the block."""
    command = [sys.executable, "-m", "forebay", "explore", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip().partition("#")[0]
            live = address.replace("http", "ws") + "live"
            with connect(live, max_size=1 << 26, compression=None, proxy=None) as socket:
                yield Server(process, socket)
        finally:
            process.terminate()


def first_frame(file: str) -> float:
    """Seconds from the command to the first frame."""
    begin = time.perf_counter()
    with server(file) as page:
        page.until(lambda _: True)
        return time.perf_counter() - begin


def slider(page: Server) -> float:
    """Seconds from a change to the first frame behind it."""
    page.send("play")
    page.until(lambda frame: bool(frame["playing"]))
    for _ in range(20):
        page.until(lambda _: True)
    begin = time.perf_counter()
    page.send("change", path="dumbbell.rate", value="8Mbit")
    seen = page.until(lambda _: True)["now_ns"]
    page.until(lambda frame: frame["now_ns"] > seen)
    return time.perf_counter() - begin


def share(file: str, disciplines: str) -> tuple[float, float]:
    """Share of a core that real speed takes, and frames a second."""
    with server(file, "--disciplines", disciplines) as page:
        page.send("play")
        start = page.until(lambda frame: frame["now_ns"] > 3e9)["now_ns"]
        cpu, begin, frames = page.cpu_s(), time.perf_counter(), page.frames
        page.until(lambda frame: frame["now_ns"] > start + 10e9)
        span = time.perf_counter() - begin
        return (page.cpu_s() - cpu) / span, (page.frames - frames) / span


def is_at(at: int, frame: dict[str, Any]) -> bool:
    """Whether a page has reached a time in ns."""
    return bool(frame["now_ns"] == at)


def jumps(file: Path) -> dict[str, float]:
    """Seconds of jumps in a scenario, and of a run of it."""
    import forebay

    scenario = forebay.load(file).bare()
    end = round(scenario.resolved()["duration_s"] * 1e9)
    begin = time.perf_counter()
    forebay.run(scenario)
    found = {"run": time.perf_counter() - begin}
    with server(str(file), "--disciplines", "fifo") as page:
        page.send("pause")
        page.until(lambda frame: not frame["playing"])
        for name, at in (("to the end", end), ("back to the middle", end // 2)):
            begin = time.perf_counter()
            page.send("seek", at_ns=at)
            page.until(partial(is_at, at))
            found[name] = time.perf_counter() - begin
    return found


def told(what: str, values: list[float], unit: str) -> None:
    """Print a median and a range."""
    low, high = min(values), max(values)
    print(f"{what:48} {statistics.median(values):8.3f} {unit}  ({low:.3f} to {high:.3f})")


def main() -> None:
    """Measure everything."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        ten = Path(folder) / "ten.toml"
        ten.write_text(TEN_FLOWS)
        branch = str(ROOT / "examples" / "branch-uplink.toml")
        told("command to first frame", [first_frame(branch) for _ in range(runs)], "s")
        changes = []
        for _ in range(runs):
            with server(str(ten), "--disciplines", "fifo,codel") as page:
                changes.append(slider(page))
        told("change to next frame", changes, "s")
        for disciplines in ("fifo", "fifo,codel"):
            shares, rates = zip(*(share(str(ten), disciplines) for _ in range(runs)), strict=True)
            told(f"ten flows, {disciplines}: share of a core", list(shares), "")
            told(f"ten flows, {disciplines}: frames a second", list(rates), "")
        found = [jumps(ROOT / "examples" / "tenants.toml") for _ in range(runs)]
        for name in found[0]:
            told(f"tenants.toml: {name}", [each[name] for each in found], "s")


if __name__ == "__main__":
    main()
