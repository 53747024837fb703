"""A candidate: what an attack does to a scenario's path, its traffic and its parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._runs import Change
from forebay._scenario import Scenario, lookup, quantity, resolved_link
from forebay.attack.bounds import PATH, Bounds, Gene, largest, ranges

DATAGRAMS = ("cbr", "poisson", "on-off")
"""Kinds of traffic that do not react to congestion."""
_ROOM = 20
"""How much faster than the link the way to it is, so that it does not queue."""
_NEAR_S = 1e-4
"""Delay of the way of a host that is only apart, as of a dumbbell's own hosts."""


@dataclass(frozen=True, slots=True)
class Joining:
    """An entry of traffic that joins. Times are in seconds, sizes in bytes."""

    kind: str
    flows: int = 1
    start: float = 0.0
    stop: float | None = None
    """None: it stays to the end."""
    way: float | None = None
    """Propagation delay of its way to the link; None: no more than the scenario's own."""
    rate: float = 0.0
    """Of its datagrams while they are sent, as a share of the link's rate."""
    size: int = 1000
    on: float = 0.5
    off: float = 0.5
    file: float = 1e5
    pause: float = 0.1
    control: str = "new-reno"
    ecn: str = "not-ect"
    like: int = 0
    """Entry of the scenario whose marks (class, precedence, DSCP) it has; 0: none."""

    @property
    def load(self) -> float:
        """Mean rate of its datagrams while it lasts, as a share of the link's."""
        if self.kind not in DATAGRAMS:
            return 0.0
        return self.rate * (self.on / (self.on + self.off) if self.kind == "on-off" else 1.0)


@dataclass(frozen=True, slots=True)
class Plan:
    """A candidate. Times are in seconds; None leaves a part as the scenario has it."""

    delay: float | None = None
    slow: tuple[float, float, float] | None = None
    """Share of the rate, time from one slow time to the next, and the slow share of it."""
    loss: float | None = None
    reorder: tuple[float, float] | None = None
    """Share of the packets, and how long they are held back."""
    cut: tuple[float, float] | None = None
    """How long the wire loses everything, and the time from one such time to the next."""
    joining: tuple[Joining, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    duration: float | None = None
    """In place of the scenario's."""

    @property
    def load(self) -> float:
        """Mean rate of all datagrams that join, as a share of the link's."""
        return sum(each.load for each in self.joining)


class Space:
    """Candidates as points of a unit cube."""

    def __init__(self, bounds: Bounds, entries: int, duration_s: float) -> None:
        """Between `bounds`, for a scenario of some entries of traffic and a duration."""
        self._bounds = bounds
        self._entries = entries
        self._duration_s = duration_s
        self._most = largest(bounds)
        found = {name: Gene(name, each) for name, each in ranges(bounds)}
        self._parts = [name for name in PATH if name in found]
        path = [name for name in found if name.partition("_")[0] in PATH]
        own = list(bounds.parameters)
        each = [name for name in found if name not in path and name not in own]
        self._genes = found
        self.names: list[str] = [
            *(f"has {name}" for name in self._parts),
            *path,
            *own,
            *(f"{at}.{name}" for at in range(bounds.joining) for name in (*_CHOSEN, *each)),
        ]
        """Of each coordinate."""

    def plan(self, point: Sequence[float]) -> Plan:
        """The candidate at a point."""
        at = dict(zip(self.names, point, strict=True))
        has = {name: at.get(f"has {name}", 0.0) > 1 - _HAS for name in PATH}

        def of(name: str, prefix: str = "", otherwise: float = 0.0) -> Any:
            if name not in self._genes:
                return otherwise
            return self._genes[name].value(at[f"{prefix}{name}"])

        joining = [
            each
            for number in range(self._bounds.joining)
            if (each := self._joining(at, of, number)) is not None
        ]
        load = sum(each.load for each in joining)
        if load > self._most > 0:
            scale = self._most / load
            joining = [replace(each, rate=each.rate * scale) for each in joining]
        elif load > self._most:
            joining = [each for each in joining if not each.load]
        slow = (of("slow"), of("slow_every", otherwise=1.0), of("slow_part", otherwise=0.5))
        every = of("cut_every", otherwise=1.0)
        return Plan(
            delay=of("delay") if has["delay"] else None,
            slow=slow if has["slow"] else None,
            loss=of("loss") if has["loss"] else None,
            reorder=(of("reorder"), of("reorder_delay", otherwise=0.01))
            if has["reorder"]
            else None,
            cut=(min(of("cut"), every / 2), every) if has["cut"] else None,
            joining=tuple(joining),
            parameters={path: self._own(path, at[path]) for path in self._bounds.parameters},
        )

    def live(self, point: Sequence[float]) -> list[bool]:
        """Which coordinates of a point its candidate depends on."""
        at = dict(zip(self.names, point, strict=True))
        return [self._is_live(name, at) for name in self.names]

    def _is_live(self, name: str, at: Mapping[str, float]) -> bool:
        head, _, rest = name.partition(".")
        if not head.isdecimal():
            return name not in self._genes or at.get(f"has {name.partition('_')[0]}", 1) > 1 - _HAS
        prefix = f"{head}."
        share = (at[f"{prefix}kind"] - _LEFT_OUT) / (1 - _LEFT_OUT)
        if rest == "kind" or share < 0 or not self._bounds.kinds:
            return rest == "kind"
        if rest in ("start", "length") and at[f"{prefix}whole"] > 0.5:
            return False
        if rest == "way" and at[f"{prefix}far"] <= 0.5:
            return False
        return rest in (*_OF_ALL, *_OF_KIND[_pick(self._bounds.kinds, share)])

    def _own(self, path: str, share: float) -> Any:
        gene = self._genes[path]
        found = gene.value(share)
        return found if gene.parameter.choices else gene.parameter.value(found)

    def _end(self, name: str, share: float) -> float:
        """The first or last value of a range, or its share if attacks do without it."""
        return float(self._genes[name].value(share) if name in self._genes else share)

    def _joining(self, at: Mapping[str, float], of: Any, number: int) -> Joining | None:
        bounds, prefix = self._bounds, f"{number}."
        share = (at[f"{prefix}kind"] - _LEFT_OUT) / (1 - _LEFT_OUT)
        if share < 0 or not bounds.kinds:
            return None
        kind = _pick(bounds.kinds, share)
        whole = at[f"{prefix}whole"] > 0.5
        start = (self._end("start", 0) if whole else of("start", prefix)) * self._duration_s
        length = self._end("length", 1) if whole else of("length", prefix, 1.0)
        stop = None if length > 0.95 else start + length * (self._duration_s - start)
        way = of("way", prefix) if "way" in self._genes and at[f"{prefix}far"] > 0.5 else None
        return Joining(
            kind,
            flows=int(of("flows", prefix, 1)),
            start=start,
            stop=stop,
            way=way,
            rate=of("rate", prefix, 0.1),
            size=int(of("size", prefix, 1000)),
            on=of("on", prefix, 0.5),
            off=of("off", prefix, 0.5),
            file=of("file", prefix, 1e5),
            pause=of("pause", prefix, 0.1),
            control=_pick(bounds.controls, at[f"{prefix}control"]),
            ecn=_pick(bounds.ecn, at[f"{prefix}ecn"]),
            like=int(_pick(range(self._entries + 1), at[f"{prefix}like"])),
        )


_HAS = 0.2
"""Share of random candidates that change a part of the path, so that a third change none."""
_LEFT_OUT = 0.4
"""Share of entries that are left out of a random candidate."""
_CHOSEN = ("kind", "whole", "far", "control", "ecn", "like")
_OF_ALL = ("whole", "far", "way", "ecn", "like", "flows", "start", "length")
_OF_KIND = {
    "bulk": ("control",),
    "files": ("control", "file", "pause"),
    "cbr": ("rate", "size"),
    "poisson": ("rate", "size"),
    "on-off": ("rate", "size", "on", "off"),
}
"""Coordinates on which an entry depends, by its kind."""


def _pick(many: Sequence[Any], share: float) -> Any:
    return many[min(int(share * len(many)), len(many) - 1)]


class Target:
    """The scenario that is attacked."""

    def __init__(self, scenario: Scenario, link: str | None, control: str | None = None) -> None:
        """At a link, the compared one unless given, with a congestion control for its transfers.

        Raises:
            ScenarioError: it cannot run, or has no such link.
        """
        self.link = scenario.compared_link(link)
        bare = scenario.bare()
        if control is not None:
            bare = bare.with_("tcp.congestion", control)
            for number, entry in enumerate(bare.document["traffic"]):
                if "congestion" in entry.get("tcp", {}):
                    bare = bare.with_(f"traffic[{number}].tcp.congestion", control)
        self.base = bare
        self.document = bare.document
        effective = bare.effective()
        resolved = bare.resolved()
        self.traffic: list[dict[str, Any]] = resolved["traffic"]
        self.entries: list[dict[str, Any]] = effective["traffic"]
        self.duration_s = float(resolved["duration_s"])
        self.warmup_s = float(resolved["warmup_s"])
        self.place = resolved_link(bare, self.link)
        if self.place["rate_bps"] is None:
            raise ScenarioError(
                f"{scenario.name}: {self.place['path']}.rate: an attack needs a link of constant "
                "rate, whose course it can change"
            )
        if effective.get("wireless"):
            raise ScenarioError(f"{scenario.name}: wireless: wireless networks cannot be attacked")
        self.rate_bps = float(self.place["rate_bps"])
        own = lookup(effective, f"{self.place['path']}.loss")
        self.loss = float(own) if isinstance(own, int | float) else 0.0
        """Share of packets that the wire loses at random, if it is constant."""
        self._salts: dict[str, tuple[str, ...]] = {}
        names = {each["name"] for each in self.traffic}
        self.prefix = next(
            each
            for each in ("joins", "attack", "joining-entry")
            if not any(name.startswith(each) for name in names)
        )

    @property
    def queue(self) -> dict[str, Any]:
        """The link's own queue, as it is written."""
        return dict(self.place["queue"] or {"kind": "fifo"})

    def change(
        self, plan: Plan, queue: Any, apart: bool = False, seed: int | None = None
    ) -> Change:
        """What a candidate changes, under a discipline (None: the scenario's own).

        With `seed`, the hashes of fair queues are those that it draws (see `salts`). `apart` gives
        transfers that join hosts of their own at both ends, 100 us away unless they are farther: a
        host of Linux has the same settings of TCP for all its flows.
        """
        path, values = self.place["path"], dict[str, Any]()
        queue, box = parted(queue)
        if box is not None:
            values[f"{path}.box"] = box
        if seed is not None:
            values |= dict.fromkeys(self._salts_of(queue), seed)
        if plan.duration is not None:
            values["duration"] = time(plan.duration)
            if self.warmup_s >= plan.duration:
                values["warmup"] = time(plan.duration / 4)
        if plan.delay is not None:
            values[f"{path}.delay"] = time(plan.delay)
        if plan.slow is not None:
            share, every, part = plan.slow
            values[f"{path}.rate"] = {
                "steps": [
                    ["0s", rate(self.rate_bps)],
                    [time(every * (1 - part)), rate(self.rate_bps * share)],
                ],
                "period": time(every),
            }
        if plan.loss is not None:
            values[f"{path}.loss"] = plan.loss
        if plan.cut is not None:
            cut, every = plan.cut
            usual = values.get(f"{path}.loss", self.loss)
            values[f"{path}.loss"] = {
                "steps": [["0s", usual], [time(every - cut), 1.0]],
                "period": time(every),
            }
        if plan.reorder is not None:
            share, delay = plan.reorder
            values[f"{path}.reorder"] = {"share": share, "delay": time(delay)}
        if plan.joining:
            entries = [self._entry(at, each, apart) for at, each in enumerate(plan.joining, 1)]
            values["traffic"] = [*self.document["traffic"], *entries]
            ways = [
                way
                for at, each in enumerate(plan.joining, 1)
                for way in self._ways(at, each, apart)
            ]
            if ways:
                values["link"] = [*self.document.get("link", []), *ways]
        values |= plan.parameters
        return Change(queue, (self.link,), tuple(values.items()))

    def _salts_of(self, queue: Any) -> tuple[str, ...]:
        key = json.dumps(queue, sort_keys=True)
        if key not in self._salts:
            under = self.base if queue is None else self.base.with_queue(queue, self.link)
            self._salts[key] = salts(under, self.link)
        return self._salts[key]

    def name_of(self, number: int) -> str:
        """What the joining entry of a number, from 1, is called."""
        return f"{self.prefix}-{number}"

    def _ways(self, number: int, joining: Joining, apart: bool) -> Iterator[dict[str, Any]]:
        name = self.name_of(number)
        own = apart and joining.kind not in DATAGRAMS
        fast = {"rate": rate(self.rate_bps * _ROOM)}
        if joining.way or own:
            delay = time(joining.way or _NEAR_S)
            yield {"name": f"{name}-way", "from": name, "to": self.place["from"], **fast,
                   "delay": delay}  # fmt: skip
        if own:
            yield {"name": f"{name}-end", "from": self.place["to"], "to": f"{name}-to", **fast,
                   "delay": time(_NEAR_S)}  # fmt: skip

    def _entry(self, number: int, joining: Joining, apart: bool) -> dict[str, Any]:
        name = self.name_of(number)
        own = apart and joining.kind not in DATAGRAMS
        entry: dict[str, Any] = {
            "name": name,
            "kind": joining.kind,
            "from": name if joining.way or own else self.place["from"],
            "to": f"{name}-to" if own else self.place["to"],
            "flows": joining.flows,
            "start": time(joining.start),
        }
        if joining.stop is not None:
            entry["stop"] = time(joining.stop)
        if joining.like:
            model = self.entries[joining.like - 1]
            for mark in ("q", "precedence", "drop_precedence", "dscp"):
                if model.get(mark) not in (None, 0, "DF"):
                    entry[mark] = model[mark]
        if joining.kind in DATAGRAMS:
            entry["rate"] = rate(self.rate_bps * joining.rate / joining.flows)
            entry["size"] = f"{joining.size}B"
            if joining.ecn != "not-ect":
                entry["ecn"] = joining.ecn
            if joining.kind == "on-off":
                entry |= {"on": time(joining.on), "off": time(joining.off), "times": "fixed"}
        else:
            entry["tcp"] = {"congestion": joining.control} | (
                {"ecn": True} if joining.ecn != "not-ect" else {}
            )
            if joining.kind == "files":
                entry |= {"size": size(joining.file), "interval": time(joining.pause)}
        return entry


def salts(scenario: Scenario, link: str) -> tuple[str, ...]:
    """Paths of the salts of hashes that the queue of a link leaves at their defaults.

    A fair queue spreads flows by a hash, and flows that share a queue share its delay. Linux draws
    the hash when a queue starts; here its salt is a parameter, and the same in every run. A search
    would find the numbers of flows that happen to share a queue, which other seeds would repeat and
    Linux would not. So each seed of an attack draws a salt, unless the scenario sets one.

    Raises:
        ScenarioError: the scenario cannot run.
    """
    path = resolved_link(scenario, link)["queue_path"]
    return tuple(_salts(path, lookup(scenario.document, path), lookup(scenario.effective(), path)))


def _salts(path: str, written: Any, whole: Any) -> Iterator[str]:
    if isinstance(written, Mapping) and isinstance(whole, Mapping):
        if "salt" in whole and "salt" not in written:
            yield f"{path}.salt"
        for name in written:
            yield from _salts(f"{path}.{name}", written[name], whole.get(name))
    elif isinstance(written, list) and isinstance(whole, list):
        for at, (own, full) in enumerate(zip(written, whole, strict=False)):
            yield from _salts(f"{path}[{at}]", own, full)


def parted(queue: Any) -> tuple[Any, Any]:
    """A queue's table, and the box in front of it if it has one."""
    if not isinstance(queue, Mapping) or "box" not in queue:
        return queue, None
    return {name: each for name, each in queue.items() if name != "box"}, queue["box"]


def time(seconds: float) -> str:
    """A time as a scenario writes it, to the microsecond."""
    micro = round(seconds, 6)
    return _engine.format_quantity(micro, "time") if micro else "0s"


def size(count: float) -> str:
    """A size as a scenario writes it, to the byte."""
    return _engine.format_quantity(float(round(count)), "size")


def rate(bps: float) -> str:
    """A rate as a scenario writes it, to the bit."""
    return _engine.format_quantity(max(1.0, float(round(bps))), "rate")


def number_of(text: Any) -> float:
    """A quantity of a scenario in base units; 0 if it is none."""
    found = quantity(text)
    return 0.0 if found is None else found.value
