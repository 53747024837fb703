"""Queue disciplines of the kernel in the place of a gate's own, set up by tc (iproute2)."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forebay._engine import ScenarioError
from forebay.lab.errors import LabError
from forebay.lab.topology import KERNEL, Topology, kernel_queue

HANDLE = "1:"
"""What commands of a scenario call the discipline of a link."""
_OBJECTS = ("qdisc", "class", "filter")
_SBIN = "/usr/sbin:/sbin"
_NOWHERE = "forebay-none"
"""A device that no machine has: tc reads what it is told, and gets no further."""
_REACHED = f'Cannot find device "{_NOWHERE}"'


def check(topology: Topology) -> None:
    """Refuse what tc does not understand, before anything runs; the kernel may refuse more."""
    for gate in topology.gates:
        for link in (gate.forward, gate.reverse):
            queue = kernel_queue(link)
            for field, words in _commands(link, queue, _NOWHERE) if queue else ():
                said = _tc(words)
                if said is not None and _REACHED not in said:
                    raise ScenarioError(_refusal(link, field, said))


def set_up(link: Mapping[str, Any], device: str) -> None:
    """Give a device the discipline of a link."""
    for field, words in _commands(link, kernel_queue(link) or {}, device):
        said = _tc(words)
        if said is not None:
            raise LabError(_refusal(link, field, said))


def refuse(topology: Topology, why: str) -> None:
    """Raise a ScenarioError that says `why` if a link has a discipline of the kernel."""
    for gate in topology.gates:
        for link in (gate.forward, gate.reverse):
            if kernel_queue(link):
                raise ScenarioError(f'link "{link["name"]}": queue.kind: {why}')


def _commands(
    link: Mapping[str, Any], queue: Mapping[str, Any], device: str
) -> Iterator[tuple[str, list[str]]]:
    """The commands of tc, each with the field that it comes from."""
    words = _words(link, "options", queue["options"])
    root = ["qdisc", "replace", "dev", device, "root", "handle", HANDLE, queue["qdisc"]]
    yield "options" if words else "qdisc", [*root, *words]
    for number, command in enumerate(queue["commands"]):
        field = f"commands[{number}]"
        words = _words(link, field, command)
        if len(words) < 2 or words[0] not in _OBJECTS:
            raise ScenarioError(
                f'link "{link["name"]}": queue.{field}: must begin with qdisc, class or filter '
                f'and what to do, such as "class add parent {HANDLE} ...", got "{command}"'
            )
        yield field, [*words[:2], "dev", device, *words[2:]]


def _words(link: Mapping[str, Any], field: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ScenarioError(f'link "{link["name"]}": queue.{field}: {error}') from None


def _refusal(link: Mapping[str, Any], field: str, said: str) -> str:
    return f'link "{link["name"]}": queue.{field}: tc: {said}'


def _tc(words: Sequence[str]) -> str | None:
    """What tc says against a command; None if it has been carried out."""
    program = shutil.which("tc", path=f"{os.environ.get('PATH', '')}:{_SBIN}")
    if program is None:
        raise LabError("tc is missing; on Debian and Ubuntu: apt-get install iproute2")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    # How all of it is used follows what is wrong.
    said = []
    for line in (done.stderr or done.stdout).splitlines():
        if line.lstrip().startswith(("Usage:", "...")):
            break
        said.append(line.strip())
    return "; ".join(filter(None, said)) or f"it ended with {done.returncode}"


NOT_LIVE = (
    f'"{KERNEL}" needs --virtual: live, the gates are processes, for whose links a discipline of '
    "the machine's kernel does not wait"
)
NOT_SIMULATED = (
    f'"{KERNEL}" is a discipline of Linux and cannot be simulated; without --against-sim, '
    "--disciplines sets it beside one of forebay's in the lab"
)
