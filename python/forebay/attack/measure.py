"""The harm that a run does to the scenario's own traffic, by a named measure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forebay._engine import Cancel, ScenarioError
from forebay._runs.result import run_engine
from forebay._runs.task import Record, Task
from forebay._scenario import Scenario
from forebay.attack.plan import DATAGRAMS, Plan, Target, number_of


@dataclass(frozen=True, slots=True)
class Measure:
    """A kind of harm; more is worse."""

    name: str
    title: str
    unit: str
    scale: float
    """Shown value for a value of 1."""
    decimals: int
    about: str


MEASURES: Mapping[str, Measure] = {
    each.name: each
    for each in (
        Measure(
            "starvation",
            "missing of the fair share",
            "%",
            100.0,
            0,
            "Share of its max-min fair rate that the worst flow of the scenario misses; of endless "
            "transfers and datagrams at a steady rate.",
        ),
        Measure(
            "p99",
            "99th percentile queueing delay",
            "ms",
            1.0,
            1,
            "Delay beyond the shortest one that 1 of 100 packets of the scenario exceeds: of the "
            "worst class of datagrams, or without any, of transfers.",
        ),
        Measure(
            "loss",
            "loss",
            "%",
            100.0,
            2,
            "Loss of the scenario's worst class; attacks add none on the wire.",
        ),
        Measure("utilization", "idle", "%", 100.0, 0, "Share of the link's capacity not used."),
        Measure(
            "unfairness",
            "unfairness",
            "",
            1.0,
            2,
            "1 less Jain's index of the scenario's endless transfers, two or more of one class.",
        ),
        Measure(
            "stall",
            "longest stall",
            "s",
            1.0,
            1,
            "Longest time in which a class of endless transfers receives nothing.",
        ),
        Measure(
            "regret",
            "power lost to the rival",
            "octaves",
            1.0,
            1,
            "Power (goodput over mean delay, in octaves: powers of 2) that the scenario's flows "
            "have more with the rival; needs --against.",
        ),
    )
}
"""The harms by their names, in the order of the help.

Example:
    >>> attack.MEASURES["p99"].unit
    'ms'
"""
_LEAST_BPS = 100.0
"""Goodput that counts as none."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run, as a meter needs it."""

    others: Sequence[tuple[float, int]]
    """Of each entry that has joined, what a flow asks for in bit/s, and its flows."""
    duration_s: float
    summary: Mapping[str, Any]
    series: Mapping[str, Sequence[float]]
    """Throughput of each class over time."""


class Meter:
    """Measures the harm to a scenario's own traffic; can be used in several threads."""

    def __init__(self, scenario: Scenario, link: str, joined: Collection[str] = ()) -> None:
        """For a scenario.

        Args:
            scenario: with the traffic whose harm counts.
            link: the name of the link that is attacked.
            joined: names of entries that have joined, whose harm does not count.
        """
        effective, resolved = scenario.effective(), scenario.resolved()
        self.link = link
        self.others: list[tuple[float, int]] = []
        """Of each entry that has joined, what a flow asks for in bit/s, and its flows."""
        self._warmup_s, self._duration_s = resolved["warmup_s"], resolved["duration_s"]
        self._traffic: list[dict[str, Any]] = []
        self._demands: dict[str, tuple[float, int, float]] = {}
        self._judged = set()
        self._endless: dict[str, int] = {}
        for named, entry in zip(resolved["traffic"], effective["traffic"], strict=True):
            rate, payload = demand(entry)
            flows = int(named["flows"])
            if named["name"] in joined:
                self.others.append((rate, flows))
                continue
            self._traffic.append(named)
            self._demands[named["name"]] = (rate, flows, payload)
            known = named["kind"] == "bulk" or math.isfinite(rate)
            if known and self._lasts(entry) and link in named["links"]:
                self._judged.add(named["name"])
            if named["kind"] == "bulk":
                self._endless[named["class"]] = self._endless.get(named["class"], 0) + flows

    def check(self, name: str) -> Measure:
        """The measure of a name.

        Raises:
            ScenarioError: there is none, or the scenario has no traffic that it is about.
        """
        if name not in MEASURES:
            raise ScenarioError(f'--measure: there is no "{name}"; one of {", ".join(MEASURES)}')
        of, most = MEASURES[name], max(self._endless.values(), default=0)
        fits = {"starvation": bool(self._judged), "stall": most > 0, "unfairness": most > 1}
        if not fits.get(name, True):
            raise ScenarioError(
                f"--measure {name}: the scenario has no traffic that it is about: {of.about}"
            )
        return of

    def measures(self, run: Run) -> dict[str, float]:
        """Every harm that can be told of a run, by the name of its measure."""
        every: Mapping[str, Callable[[Run], float]] = {
            "starvation": self._starvation,
            "p99": self._p99,
            "loss": self._loss,
            "utilization": self._utilization,
            "unfairness": self._unfairness,
            "stall": self._stall,
            "regret": self._regret,
        }
        found = {name: of(run) for name, of in every.items()}
        return {name: value for name, value in found.items() if not math.isnan(value)}

    def _lasts(self, entry: Mapping[str, Any]) -> bool:
        """Whether an effective entry is there all the time that is measured."""
        start = entry.get("start") or "0s"
        last = max(map(number_of, start if isinstance(start, list) else [start]))
        early = max(self._warmup_s, self._duration_s / 10)
        return entry.get("stop") is None and last <= early

    def _own(self, summary: Mapping[str, Any]) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        """Entries of the scenario, and the classes in which they are."""
        for entry in self._traffic:
            if self.link in entry["links"]:
                yield entry, summary["classes"][entry["class"]]

    def _starvation(self, run: Run) -> float:
        capacity = float(run.summary["links"][self.link]["capacity_bps"])
        own = self._demands
        asked = [(rate, flows) for rate, flows, _ in own.values()]
        share = fair_share(capacity, [*asked, *run.others])
        found = []
        for flow in run.summary["flows"]:
            rate, _, payload = own.get(flow["traffic"], (0.0, 0, 1.0))
            steady = flow["traffic"] in self._judged
            if steady and (fair := min(share, rate) * payload) > 0:
                found.append(max(0.0, 1 - (flow["goodput_bps"] or 0.0) / fair))
        return max(found, default=math.nan)

    def _p99(self, run: Run) -> float:
        found: dict[str, list[float]] = {"datagrams": [], "own": [], "tcp": []}
        for entry, of in self._own(run.summary):
            if (value := of.get("p99_delay_variation_ms")) is not None:
                found[entry["transport"]].append(float(value))
        for some in found.values():
            if some:
                return max(some)
        return _float(run.summary["queues"][self.link].get("p99_delay_ms"))

    def _loss(self, run: Run) -> float:
        found = [_float(of["loss"]) for _, of in self._own(run.summary) if of["offered"]]
        return max((each for each in found if not math.isnan(each)), default=math.nan)

    def _utilization(self, run: Run) -> float:
        return 1 - _float(run.summary["links"][self.link]["utilization"])

    def _unfairness(self, run: Run) -> float:
        groups: dict[str, list[float]] = {}
        for flow in run.summary["flows"]:
            entry = next((e for e in self._traffic if e["name"] == flow["traffic"]), None)
            if entry is not None and entry["kind"] == "bulk":
                groups.setdefault(entry["class"], []).append(float(flow["goodput_bps"] or 0.0))
        found = [
            1 - sum(each) ** 2 / (len(each) * sum(rate * rate for rate in each))
            for each in groups.values()
            if len(each) > 1 and sum(each) > _LEAST_BPS
        ]
        return max(found, default=math.nan)

    def _stall(self, run: Run) -> float:
        longest = math.nan
        for name in self._endless:
            rates = run.series.get(name)
            if rates is None or len(rates) < 2:
                continue
            step = run.duration_s / len(rates)
            first = next((at for at, each in enumerate(rates) if each > 0), 0)
            silent = most = 0
            for each in rates[first:]:
                silent = silent + 1 if each <= 0 else 0
                most = max(most, silent)
            longest = max(0.0 if math.isnan(longest) else longest, most * step)
        return longest

    def _regret(self, run: Run) -> float:
        """Power of the scenario's flows with its sign changed: the rival's is taken off."""
        found = []
        for _, of in self._own(run.summary):
            delay = _float(of.get("mean_delay_ms"))
            if math.isnan(delay):
                delay = _float(run.summary["queues"][self.link].get("mean_delay_ms")) + 1.0
            rate = max(_float(of["goodput_bps"]), _LEAST_BPS)
            found.append(math.log2(rate / max(delay, 0.01)))
        return -sum(found) / len(found) if found else math.nan


_UDP = 28
"""Bytes of the headers of a datagram."""
_TCP = 0.96
"""Share of a TCP segment that is payload, with timestamps."""


def fair_share(capacity: float, demands: Iterable[tuple[float, int]]) -> float:
    """The rate at which max-min fairness caps flows, from what each asks for and how many do."""
    left, flows = capacity, sum(count for _, count in demands)
    share = math.inf
    for rate, count in sorted(demands):
        if not flows:
            break
        share = left / flows
        if rate >= share:
            return share
        left -= rate * count
        flows -= count
    return max(share, left)


def others(target: Target, plan: Plan) -> list[tuple[float, int]]:
    """What the flows of the entries that join ask for, for `Run`."""
    rate_bps = target.rate_bps
    return [
        (each.load * rate_bps / each.flows if each.kind in DATAGRAMS else math.inf, each.flows)
        for each in plan.joining
    ]


def demand(entry: Mapping[str, Any]) -> tuple[float, float]:
    """What a flow of an effective entry asks for, in bit/s of IP, and the share that is payload.

    Transfers ask for all, and so does what is not known: the fair share of others is the smaller.
    """
    if entry["kind"] == "voice":
        frame = number_of(entry["frame"])
        speech = {"g711": 64e3, "g729a": 8e3}[entry["codec"]] * frame / 8
        size = number_of(entry["size"]) if entry.get("size") else speech + 40
        return 8 * size / frame, (size - _UDP) / size
    if entry["kind"] in DATAGRAMS and isinstance(entry["rate"], str):
        size, part = number_of(entry["size"]), 1.0
        if entry["kind"] == "on-off":
            on, off = number_of(entry["on"]), number_of(entry["off"])
            part = on / (on + off)
        return part * number_of(entry["rate"]), (size - _UDP) / size
    return math.inf, _TCP


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def state(summary: Mapping[str, Any], link: str) -> str:
    """What a queue went through, coarsely: which reasons of drops, marks, how it filled and swung.

    Runs of one state are alike; a search that has seen many states has covered the discipline.
    """
    queue, used = summary["queues"][link], _float(summary["links"][link]["utilization"])
    reasons = "".join(
        name[0] for name, count in sorted((queue.get("drops") or {}).items()) if count
    )
    mean = _float(queue.get("mean_packets"))
    swing = _float(queue.get("std_packets")) / mean if mean > 0 else 0.0
    timeouts = sum(of.get("timeouts") or 0 for of in summary["classes"].values())
    variables = [
        _octave(_float(of["max"]), 10.0)
        for _, of in sorted((queue.get("variables") or {}).items())[:3]
        if of
    ]
    parts = [
        reasons,
        _octave(100 * (queue.get("marked") or 0) / max(1, queue["offered"]), 10.0),
        min(3, int(4 * used)),
        _octave(_float(queue.get("p99_delay_ms")), 4.0),
        min(3, int(swing)),
        _octave(float(timeouts), 10.0),
        *variables,
    ]
    return "/".join(map(str, parts))


def _octave(value: float, base: float) -> int:
    """The power of a base below a value of at least 1, capped; -1 for less, -2 for nothing."""
    if not value > 0 or math.isinf(value):
        return -2
    return max(-1, min(6, math.floor(math.log(value) / math.log(base))))


class Watching:
    """Runs tasks, and keeps of each the harms and the state of the queue."""

    def __init__(self, meter: Meter) -> None:
        """With what measures the harm."""
        self._meter = meter

    def others(self, task: Task) -> Sequence[tuple[float, int]]:  # noqa: ARG002 - of use to others
        """Of each entry that has joined in a task, what a flow asks for, and its flows."""
        return self._meter.others

    def __call__(
        self,
        task: Task,
        cancel: Cancel | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Record:
        """Run a task."""
        try:
            output = run_engine(task.scenario, cancel, progress)
        except ScenarioError as error:
            # A discipline that breaks the contract: there is nothing worse to find.
            return Record(task.id, task.replication, "", {"fault": str(error)})
        summary, series = json.loads(output.summary), _series(output.tables())
        run = Run(self.others(task), float(summary["duration_s"]), summary, series)
        kept: dict[str, float | str] = {**self._meter.measures(run)}
        kept["state"] = state(summary, self._meter.link)
        kept["cpu_s"] = float(summary["cost"]["cpu_seconds"])
        return Record(task.id, task.replication, str(summary["fingerprint"]), kept)


class Judge(Watching):
    """Runs tasks of an attack."""

    def __init__(self, target: Target) -> None:
        """For a scenario that is attacked."""
        super().__init__(Meter(target.base, target.link))
        self._target = target
        self.plans: dict[str, Plan] = {}
        """What runs, by the identity of its scenario."""

    def others(self, task: Task) -> Sequence[tuple[float, int]]:
        """Of each entry that has joined in a task, what a flow asks for, and its flows."""
        return others(self._target, self.plans[task.id])

    @property
    def meter(self) -> Meter:
        """What measures the harm."""
        return self._meter


def _series(tables: Sequence[tuple[str, Mapping[str, str], Mapping[str, bytes]]]) -> dict[str, Any]:
    return {
        labels["class"]: np.frombuffer(columns["throughput_bps"], "<f8").tolist()
        for name, labels, columns in tables
        if name == "class"
    }
