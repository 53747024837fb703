"""One dumbbell in forebay, ns-2, ns-3 and htsim, each given the same conventions."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import measure
from kept import Kept, digest

import forebay

HERE = Path(__file__).parent
KEPT = HERE.resolve().parents[1] / "target" / "validation"
"""Where finished runs and comparisons are kept, so that they can go on after a stop."""
NS3_LIBRARIES = [
    "applications",
    "internet",
    "bridge",
    "traffic-control",
    "point-to-point",
    "network",
    "stats",
    "core",
]
SIMULATORS = ("forebay", "ns-2", "ns-3")

# What no program may differ in unless a case says so. Times in s, rates in bit/s, the buffer in
# waiting packets; a delayed acknowledgment of 0 s means one acknowledgment a segment.
COMMON: dict[str, Any] = {
    "tcp": "sack",
    "queue": "fifo",
    "flows": 16,
    "rate": 10e6,
    "delay": 0.02,
    "buffer": 30,
    "duration": 80.0,
    "warmup": 20.0,
    "spread": 5.0,
    "initial_window": 10,
    "min_rto": 0.2,
    "initial_rto": 1.0,
    "delayed_ack": 0.0,
    "access": True,
}
OWN = ("background", "own_queue", "access")
"""Options of forebay alone, and `access`, which htsim has, too: whether flows have own links."""
HTSIM = ("flows", "rate", "delay", "buffer", "duration", "spread", "access")
"""Those of htsim."""
BACKGROUND = {"name": "background", "kind": "poisson", "size": "1500B"}
"""Traffic that a case may put beside forebay's flows, as `background` bit/s. `own_queue` has fields
of forebay's queue."""


@dataclass(frozen=True)
class Case:
    """A scenario; what is not said is as in `COMMON`."""

    group: str
    options: Mapping[str, Any]
    simulators: tuple[str, ...] = SIMULATORS
    only: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What one simulator does differently: for ns-2 and ns-3 options of their programs, for
    forebay fields of its `tcp` table."""

    @property
    def settings(self) -> dict[str, Any]:
        """Every option."""
        return COMMON | dict(self.options)


@dataclass(frozen=True)
class Measured:
    """One run of one simulator."""

    queue: float
    """Mean waiting packets, the one in transmission not counted."""
    utilization: float
    loss: float
    """Dropped over offered packets."""
    once: float
    """Segments the application received over packets that left the congested link."""
    segments: int
    """Segments the application received."""
    run_cpu: float
    """CPU seconds of the run phase."""
    cpu: float | None = None
    """CPU seconds of the whole process; known if the run had one of its own."""
    memory: int | None = None
    """Peak resident bytes of that process."""
    grown: int | None = None
    """Of these, what the engine took while it ran; known of forebay alone."""


class Toolbox:
    """The programs of the peers that are installed, built in `folder`."""

    def __init__(self, folder: Path, htsim: Path | None = None) -> None:
        """Builds the programs in C++; a peer that is not installed is left out of `commands`.

        Args:
            folder: where they are built.
            htsim: a checkout of github.com/Broadcom/csg-htsim.
        """
        self.commands: dict[str, list[str]] = {}
        self.versions: dict[str, str] = {"forebay": forebay.__version__}
        if ns := shutil.which("ns"):
            self.commands["ns-2"] = [ns, str(HERE / "dumbbell.tcl")]
            self.versions["ns-2"] = debian_version("ns2")
        if Path("/usr/include/ns3/core-module.h").exists() and shutil.which("g++"):
            program = folder / "dumbbell"
            libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
            source = str(HERE / "dumbbell.cc")
            build = ["g++", "-std=c++17", "-O2", source, "-o", str(program), *libraries]
            subprocess.run(build, check=True)
            self.commands["ns-3"] = [str(program)]
            self.versions["ns-3"] = debian_version("libns3-dev")
        if htsim is not None:
            sources, program = htsim / "sim", folder / "htsim"
            subprocess.run(
                ["make", "-C", str(sources), "libhtsim.a"], check=True, stdout=sys.stderr
            )
            # As its own Makefile compiles.
            build = ["g++", "-std=c++11", "-O3", "-I", str(sources), str(HERE / "htsim.cc")]
            build += ["-o", str(program), str(sources / "libhtsim.a")]
            subprocess.run(build, check=True)
            self.commands["htsim"] = [str(program)]
            words = ["git", "-C", str(htsim), "rev-parse", "--short=12", "HEAD"]
            commit = subprocess.run(words, capture_output=True, text=True).stdout.strip()
            self.versions["htsim"] = commit or "unknown"

    def run(
        self, simulator: str, case: Case, seed: int, *, alone: bool = False, **more: Any
    ) -> Measured:
        """One run; `more` are options over the case's.

        A peer runs in a process of its own, forebay only if it is to be `alone`, which measures
        processor time and memory. What else has run with the same inputs is known.

        Raises:
            RuntimeError: the program failed; the message has what it said.
        """
        own = case.only.get(simulator, {})
        if simulator == "forebay":
            document = json.dumps(scenario(case.settings | more, own, seed))
            if not alone:
                return Measured(**measure(document))
            command = [sys.executable, str(HERE / "engine.py"), document]
        else:
            options = program_options(simulator, case.settings | more) | dict(own)
            options["seed"] = seed
            command = self.commands[simulator] + spelled(simulator, options)
            if not alone:
                return Measured(**parse(self.output(command)))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process.stdout as pipe:
            output = pipe.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}\n{output}")
        # Not the kernel's ru_maxrss, which begins with what the parent had when it forked.
        return Measured(**parse(output), cpu=usage.ru_utime + usage.ru_stime)

    def output(self, command: list[str]) -> str:
        """What a peer's program prints.

        Raises:
            RuntimeError: the program failed; the message has what it said.
        """
        peers = {name: text for name, text in self.versions.items() if name != "forebay"}
        return printed(command, peers)


@functools.cache
def runs(folder: Path) -> Kept:
    """What the peers' programs have printed."""
    return Kept(folder / "runs.jsonl")


def printed(command: list[str], versions: Mapping[str, str]) -> str:
    """What a program prints; it is not run again with the same words, files and versions.

    Raises:
        RuntimeError: it failed; the message has what it said.
    """
    program = shutil.which(command[0]) or command[0]
    files = [Path(word) for word in (program, *command[1:]) if Path(word).is_file()]
    inputs = {
        "words": [Path(word).name if Path(word) in files else word for word in command[1:]],
        "files": digest(*files),
        "versions": dict(versions),
    }

    def run() -> str:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    return str(runs(KEPT).of(inputs, run))


def parse(output: str) -> dict[str, Any]:
    """The measurement in what a program printed: a JSON object, between what ns-2 says besides.

    Raises:
        ValueError: there is none, or it lacks something.
    """
    match = re.search(r"\{[^{}]*\}", output)
    if match is None:
        raise ValueError(f"no measurement in the output: {output[:200]!r}")
    found = json.loads(match.group())
    wanted = ("queue", "utilization", "loss", "once", "segments", "run_cpu", "memory")
    if missing := [name for name in wanted if name not in found]:
        raise ValueError(f"the measurement lacks {', '.join(missing)}: {found}")
    return {name: found[name] for name in wanted} | {"grown": found.get("grown")}


def scenario(settings: Mapping[str, Any], tcp: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The scenario of `settings` for forebay, with `tcp` over its conventions."""
    delayed = settings["delayed_ack"]
    conventions = {
        "preset": "ns-2",
        "stack": "standard",
        "congestion": "cubic" if settings["tcp"] == "cubic" else "new-reno",
        "recovery": "new-reno" if settings["tcp"] == "newreno" else "sack",
        "mtu": "1500B",
        "receive_window": "16MB",
        "initial_window": settings["initial_window"],
        "min_rto": seconds(settings["min_rto"]),
        "initial_rto": seconds(settings["initial_rto"]),
        "delayed_ack_count": 2 if delayed > 0 else 1,
        "delayed_ack_timeout": seconds(delayed or 0.04),
    }
    if delayed > 0:
        # Both peers grow by acknowledgments, forebay by bytes unless told.
        conventions["stack"] = {"kind": "standard", "growth_per_ack": 1}
    queue = {"kind": settings["queue"], "limit": f"{settings['buffer']}p"}
    if settings["queue"] == "red":
        queue |= {"min_th": "5p", "max_th": "15p", "max_p": 0.1, "weight": 0.002}
        queue |= {"gentle": True, "mean_packet": "1500B"}
    queue |= settings.get("own_queue", {})
    bulk = {"name": "bulk", "kind": "bulk", "flows": settings["flows"]}
    traffic = [bulk | {"start": ["0s", seconds(settings["spread"])]}]
    if rate := settings.get("background"):
        traffic.append(BACKGROUND | {"rate": f"{int(rate)}bit"})
    rate = {"rate": f"{int(settings['rate'])}bit", "delay": seconds(settings["delay"])}
    if settings["access"]:
        network: dict[str, Any] = {"dumbbell": rate | {"queue": queue}}
    else:
        ends = {"from": "left", "to": "right"}
        network = {"link": [rate | ends | {"name": "bottleneck", "queue": queue}]}
        traffic = [each | ends for each in traffic]
    return {
        "duration": seconds(settings["duration"]),
        "warmup": seconds(settings["warmup"]),
        "seed": seed,
        "tcp": conventions | dict(tcp),
        **network,
        "traffic": traffic,
    }


def seconds(value: float) -> str:
    """A time as forebay writes it."""
    return f"{round(value * 1e6)}us"


def program_options(simulator: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a peer's program is told."""
    if simulator == "htsim":
        return {name: float(settings[name]) for name in HTSIM}
    options = {name: value for name, value in settings.items() if name not in OWN}
    if simulator == "ns-3" and settings["tcp"] != "cubic":
        # TcpNewReno counts acknowledgments as ns-2 does.
        options["control"] = "new-reno"
    return options


def spelled(simulator: str, options: Mapping[str, Any]) -> list[str]:
    """Options as the program's command line."""
    if simulator == "ns-2":
        return [part for name, value in options.items() for part in (name, str(value))]
    return [f"--{name}={value}" for name, value in options.items()]


def debian_version(package: str) -> str:
    """The installed version of a Debian package, or "unknown"."""
    command = ["dpkg-query", "-W", "-f=${Version}", package]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> str:
    """The processor's name and the number of cores in use."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores"
