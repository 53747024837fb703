"""A scenario as the referee runs it; what it has not is refused.

It has one dumbbell, and Linux's TCP with endless flows or files at given times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qdisc import Flow, Refused, size

from forebay import _engine
from forebay.lab.virtual.kernel import VERSIONS

KERNEL_CONTROLS = ("reno", "cubic", "dctcp", "bbr")
RATES = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
OVERHEADS = {"none": 0, "ppp": 7, "ethernet": 38}
FREE = ("congestion", "ecn", "mtu", "hystart", "receive_window", "linux")
"""Fields of a TCP table that may differ from the preset: chosen, or of no account."""
STACKS = {f"linux-{version}": version for version in VERSIONS}
"""Stacks, and the kernel that each is compared with."""
HOST = ("gso_max_segs", "tcp_wmem_max", "tcp_rmem_max", "so_sndbuf")
"""Parameters of its stack that may differ."""


@dataclass(frozen=True)
class Hop:
    """One direction of a link: bit/s, ns, and bytes added to every packet."""

    rate: int
    delay: int
    overhead: int


@dataclass(frozen=True)
class Host:
    """How hosts are set up: segments of a buffer, and the memory of sockets in bytes."""

    gso_max_segs: int
    wmem_max: int
    rmem_max: int


@dataclass(frozen=True)
class Link:
    """What may happen at the congested link beside its queue."""

    steps: tuple[tuple[int, int], ...]
    """From when on (ns) which rate holds (bit/s), the first at 0."""
    loss: float
    police: tuple[int, int] | None
    """Rate (bit/s) and burst (bytes) of a policer."""


@dataclass(frozen=True)
class Sender:
    """A flow: what the queue discipline may ask, when it starts (ns), and its TCP."""

    flow: Flow
    start: int
    size: int
    """Bytes that it sends; 0 if it does not end."""
    control: str
    dscp: int
    class_name: str


@dataclass(frozen=True)
class Dumbbell:
    """All that a run of the guest needs."""

    kernel: str
    duration: int
    warmup: int
    seed: int
    access: Hop
    bottleneck: Hop
    reverse: Hop
    link: Link
    mtu: int
    ecn: bool
    host: Host
    queue: Mapping[str, Any]
    senders: tuple[Sender, ...]


def load(path: Path) -> dict[str, Any]:
    """The scenario in a TOML file, as a tree."""
    return dict(json.loads(_engine.load(str(path))))


def dumbbell(tree: Mapping[str, Any], control: str | None = None) -> Dumbbell:
    """The scenario of `tree`, with Linux's congestion control of that name in every flow if given.

    Flows start when the simulator's do.

    Raises:
        Refused: it has something that the guest has not.
    """
    document = json.dumps(tree)
    known = json.loads(_engine.effective(document, "."))
    plan = json.loads(_engine.plan(document, "."))
    if not known.get("dumbbell"):
        raise Refused("the referee runs a [dumbbell]; give one")
    forward, back = plan["links"]
    _refuse(forward, "dumbbell", box=None, pcap=None)
    _refuse(back, "dumbbell.reverse", loss=0, box=None, queue=None, police=None)
    if any(isinstance(each, Mapping) for each in (back["rate"], back["delay"], forward["delay"])):
        raise Refused("dumbbell: the referee's delays are constant, and its rate forwards alone")
    if forward.get("queue") is None:
        raise Refused("dumbbell.queue: is missing")
    live = _engine.live(document, ".")
    warmup, duration = live.measured()
    access = known["dumbbell"]["access"]
    senders: list[Sender] = []
    for index, start, stop in live.participants():
        entry = plan["traffic"][index]
        _check_entry(entry, f"traffic[{index}]", stop < duration)
        senders += [
            Sender(
                flow=Flow(len(senders) + number, entry["q"], entry["drop_precedence"]),
                start=at,
                size=sent,
                control=control or _control(entry["tcp"], f"traffic[{index}].tcp"),
                dscp=entry["tos"] >> 2,
                class_name=entry.get("class") or entry["name"],
            )
            for number, (at, sent) in enumerate(_transfers(entry, start, duration))
        ]
    tcp = [entry["tcp"] for entry in plan["traffic"]]
    for field in ("ecn", "mtu", "stack"):
        if any(each[field] != tcp[0][field] for each in tcp):
            raise Refused(f"tcp.{field}: one for all flows is wanted")
    return Dumbbell(
        kernel=_kernel(tcp[0]["stack"]),
        duration=duration,
        warmup=warmup,
        seed=known["seed"],
        access=Hop(rate(access["rate"]), _ns(access["delay"]), overhead(access["overhead"])),
        bottleneck=_hop(forward),
        reverse=_hop(back),
        link=_link(forward),
        mtu=size(tcp[0]["mtu"]),
        ecn=tcp[0]["ecn"],
        host=_host(tcp[0]["stack"]),
        queue=forward["queue"],
        senders=tuple(senders),
    )


def _refuse(table: Mapping[str, Any], path: str, **wanted: Any) -> None:
    for field, value in wanted.items():
        got = table.get(field)
        if got is not None and got != value:
            raise Refused(f"{path}.{field}: the referee has none, got {got!r}; take it out")


def _check_entry(entry: Mapping[str, Any], path: str, stops: bool) -> None:
    _refuse(entry, path, direction="forward", profile=None)
    if entry["kind"] == "files":
        _refuse(entry, path, sizes="fixed", arrivals="fixed")
        if isinstance(entry["interval"], Mapping):
            raise Refused(f"{path}.interval: the referee's is constant")
    else:
        _refuse(entry, path, kind="bulk")
    if stops:
        raise Refused(f"{path}.stop: the referee's flows do not end; take it out")


def _transfers(entry: Mapping[str, Any], start: int, end: int) -> list[tuple[int, int]]:
    """When an entry's user that starts then sends how many bytes; endless ones are 0."""
    if entry["kind"] == "bulk":
        return [(start, 0)]
    interval, count = _ns(entry["interval"]), entry.get("count")
    times = range(start, end, interval)
    return [(at, size(entry["size"])) for at in times[:count]]


def _kernel(stack: Mapping[str, Any]) -> str:
    """The version of Linux that a stack is compared with."""
    if stack["kind"] not in STACKS:
        raise Refused(f"tcp.stack: the referee has {', '.join(STACKS)}, got {stack['kind']!r}")
    return STACKS[stack["kind"]]


def _control(tcp: Mapping[str, Any], path: str) -> str:
    """Linux's name of a table's congestion control, if the table is otherwise Linux's."""
    if tcp["linux"] not in KERNEL_CONTROLS:
        raise Refused(f"{path}.congestion: Linux has no {tcp['congestion']!r}")
    kind = f"linux-{_kernel(tcp['stack'])}"
    preset = _preset(kind)
    for field, value in tcp.items():
        if field == "stack":
            own = {key: part for key, part in value.items() if key not in HOST}
            value = {**preset[field], **own}
        if field in preset and field not in FREE and value != preset[field]:
            raise Refused(f'{path}.{field}: preset "{kind}" has {preset[field]!r}, got {value!r}')
    return str(tcp["linux"])


def _host(stack: Mapping[str, Any]) -> Host:
    """What the parameters of the preset's stack are there."""
    if "so_sndbuf" in stack:
        raise Refused("tcp.stack.so_sndbuf: the referee's applications ask for none; take it out")
    wmem, rmem = (size(stack[f"tcp_{name}_max"]) for name in ("wmem", "rmem"))
    return Host(stack["gso_max_segs"], wmem, rmem)


def _preset(name: str) -> dict[str, Any]:
    """Every field of a preset."""
    bulk = {"name": "bulk", "kind": "bulk"}
    link = {"rate": "1Mbit", "queue": {"kind": "fifo"}}
    tree = {"duration": "1s", "tcp": {"preset": name}, "dumbbell": link, "traffic": [bulk]}
    plan = json.loads(_engine.plan(json.dumps(tree), "."))
    return dict(plan["traffic"][0]["tcp"])


def _hop(link: Mapping[str, Any]) -> Hop:
    return Hop(_steps(link)[0][1], link["delay_ns"], overhead(link["overhead"]))


def _steps(link: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    given = link["rate"]
    if not isinstance(given, Mapping):
        return ((0, rate(given)),)
    if set(given) != {"steps"}:
        raise Refused("dumbbell.rate: the referee has steps that do not repeat")
    return tuple((_ns(at), rate(value)) for at, value in given["steps"])


def _link(table: Mapping[str, Any]) -> Link:
    loss, police = table.get("loss") or 0.0, table.get("police")
    if isinstance(loss, Mapping):
        raise Refused("dumbbell.loss: the referee's is constant and independent")
    bucket = None if police is None else (rate(police["rate"]), size(police["burst"]))
    return Link(_steps(table), loss, bucket)


def rate(text: str) -> int:
    """A rate as the engine writes it, in bit/s."""
    match = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", text)
    if match is None or match[2] not in RATES:
        raise ValueError(f"not understood: {text!r}")
    return round(float(match[1]) * RATES[match[2]])


def overhead(text: str) -> int:
    """Bytes that a link adds to a packet."""
    return OVERHEADS[text] if text in OVERHEADS else size(text)


def _ns(text: str) -> int:
    match = re.fullmatch(r"([0-9.]+)([a-z]+)", text)
    if match is None:
        raise ValueError(f"not understood: {text!r}")
    units = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
    return round(float(match[1]) * units[match[2]])
