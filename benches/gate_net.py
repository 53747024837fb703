"""Namespaces with a gate between them, for the measurements beside this file."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GATE = ROOT / "target/release/forebay-gate"
TRAFFIC = ROOT / "target/release/examples/traffic"
BACKENDS = ("tun", "packet", "xdp")
LEFT, RIGHT, MIDDLE = (f"fbb{os.getpid()}{side}" for side in "lrg")
ADDRESS = "10.88.0.2"


def sh(*command: str | Path) -> str:
    """Run a command that must succeed; its output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def ip(*words: str) -> None:
    """Run `ip`."""
    sh("ip", *words)


@contextlib.contextmanager
def hosts(way: str, swallow: bool = False) -> Iterator[None]:
    """Two hosts joined for a back end, by a cable ("direct"), or by one that tbf shapes ("tbf").

    With `swallow`, the gate's outer interface leads nowhere and takes whatever it is given.
    """
    names = (LEFT, RIGHT, MIDDLE)
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "dev", "lo", "up")
        if way in ("direct", "tbf"):
            ip(
                "link",
                "add",
                "host",
                "netns",
                LEFT,
                "type",
                "veth",
                "peer",
                "name",
                "host",
                "netns",
                RIGHT,
            )
        for host, near, address in ((LEFT, "in", "10.88.0.1/24"), (RIGHT, "out", f"{ADDRESS}/24")):
            device = "host"
            if swallow and host == RIGHT:
                ip("-n", MIDDLE, "link", "add", near, "type", "ifb")
                ip("-n", MIDDLE, "link", "set", "dev", near, "up")
                continue
            if way == "tun":
                device = near
                ip("-n", host, "tuntap", "add", "dev", near, "mode", "tun")
            elif way in ("packet", "xdp"):
                ip(
                    "link",
                    "add",
                    "host",
                    "netns",
                    host,
                    "type",
                    "veth",
                    "peer",
                    "name",
                    near,
                    "netns",
                    MIDDLE,
                )
                ip("-n", MIDDLE, "link", "set", "dev", near, "up")
            if way != "tun":
                features = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"]
                sh("ip", "netns", "exec", host, "ethtool", "-K", device, *features)
            ip("-n", host, "addr", "add", address, "dev", device)
            ip("-n", host, "link", "set", "dev", device, "up")
        # A new link carries nothing until the kernel has noticed that it is there.
        time.sleep(1.5)
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@contextlib.contextmanager
def gate(way: str, link: str, more: str = "", swallow: bool = False) -> Iterator[Gate]:
    """A gate between the hosts, with this `link` table, and `more` tables.

    With `swallow`, the other host is not there.
    """
    with tempfile.TemporaryDirectory() as folder:
        config, socket = Path(folder) / "gate.toml", Path(folder) / "socket"
        inside, outside = (LEFT, RIGHT) if way == "tun" else (MIDDLE, MIDDLE)
        config.write_text(
            f'socket = "{socket}"\nlink = {{ {link} }}\n[io]\nbackend = "{way}"\n'
            f'inside = {{ name = "in", netns = "{inside}" }}\n'
            f'outside = {{ name = "out", netns = "{outside}" }}\n{more}',
            "utf-8",
        )
        process = subprocess.Popen([GATE, "run", config], stderr=subprocess.DEVNULL)
        try:
            running = Gate(process, socket)
            # It answers once its interfaces are open; before, an ARP request would be lost, and
            # the next one comes a second later.
            status = [str(GATE), "status", "--socket", str(socket)]
            for _ in range(200):
                if subprocess.run(status, capture_output=True).returncode == 0:
                    break
                time.sleep(0.02)
            if not swallow:
                traffic("delay", "--count", "20", "--every", "5")
            yield running
        finally:
            process.terminate()
            process.wait(10)


class Gate:
    """A gate that runs."""

    def __init__(self, process: subprocess.Popen[bytes], socket: Path) -> None:
        """Take what was started, and where it answers."""
        self.process, self.socket = process, socket

    def status(self) -> dict[str, Any]:
        """What it did so far."""
        state: dict[str, Any] = json.loads(sh(GATE, "status", "--json", "--socket", self.socket))
        return state

    def processor(self) -> float:
        """Processor time of its loop in seconds."""
        text = Path(f"/proc/{self.process.pid}/schedstat").read_text("utf-8")
        return int(text.split()[0]) / 1e9

    def memory(self) -> int:
        """Resident memory in kB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))


def traffic(*arguments: str) -> dict[str, Any]:
    """What the traffic tool measured."""
    found: dict[str, Any] = json.loads(sh(TRAFFIC, LEFT, RIGHT, ADDRESS, *arguments))
    return found


def counters(netns: str, device: str) -> Any:
    """What the kernel counts at an interface."""
    return json.loads(sh("ip", "-n", netns, "-s", "-j", "link", "show", device))[0]["stats64"]


@contextlib.contextmanager
def inside(netns: str) -> Iterator[None]:
    """Let this thread be in a namespace: sockets made there stay there."""
    libc = ctypes.CDLL(None, use_errno=True)
    home_path, there_path = Path("/proc/thread-self/ns/net"), Path("/run/netns") / netns
    with home_path.open() as home, there_path.open() as there:
        if libc.setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"entering {netns}")
        try:
            yield
        finally:
            libc.setns(home.fileno(), 0)
