"""Disciplines that could stand at the bottleneck, and how well each explains a measurement.

A discipline's law cannot be read off, but it can be tried: each candidate is run with the measured
load, rate and round trip, and measured as the link was. The likelihood of the measurement is that
of its features (`features`) among those of the runs, with independent normal errors whose spread is
that of runs that differ by their seed alone, and at least `FLOOR` (a synthetic likelihood: Wood,
Nature 2010). No gradient, no trained network and no library beyond numpy is needed for six laws;
packages for simulation-based inference bring PyTorch with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay._engine import ScenarioError
from forebay._runs import Task
from forebay._runs.folder import claim
from forebay._runs.journal import Kept
from forebay._runs.service import run_all
from forebay._runs.task import Record
from forebay._scenario import Scenario
from forebay.fit.features import FLOOR, features
from forebay.fit.trial import How, Load, Route, document, measured

if TYPE_CHECKING:
    from forebay._engine import Cancel

KINDS = ("fifo", "codel", "fq-codel", "pie", "red", "cake")
"""What is told apart."""
SHARED = ("fifo", "codel", "pie", "red")
"""Disciplines in which all flows share a queue."""
NAMES = {
    "fifo": "FIFO",
    "codel": "CoDel",
    "fq-codel": "FQ-CoDel",
    "pie": "PIE",
    "red": "RED",
    "cake": "CAKE",
}
_MARKING = ("codel", "fq-codel", "pie", "red")
"""Disciplines that mark if they are told to; CAKE always does."""
_LARGE_S = 4.0
"""What a buffer holds that nobody fills, in s at the link's rate."""
HELD_S = 0.001
"""How long receivers may hold SACK back, which looks like a longer wait."""
_FIRST, _MORE = 1, 4
"""Seeds of every candidate, and more of those that remain."""
_FINER = ((0.6, 0.8, 1.25, 1.6), (0.9, 1.1))
"""Thresholds of RED that are tried then, as shares of those that were the best."""
_NEAR = 12.0
"""Candidates whose logarithm of the likelihood is further from the best one are out."""
_TEMPER = {"sender": 0.7, "receiver": 0.7, "summary": 0.35}
"""Share of the likelihood's logarithm that counts, because features say the same things in part;
those of reports more so."""
_UNSEEN = 3.0
"""What a feature adds, in squared standard deviations, if a candidate never shows it."""
VERSION = 3
"""Of the features; kept runs of another are not used."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A discipline with a room."""

    kind: str
    queue: Mapping[str, Any]
    room: float | None
    """Bytes of its buffer if that matters, otherwise None."""
    loss: float = 0.0
    """Share of packets that the wire loses behind it."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """Bytes that were in the queue when packets were lost; None without losses."""

    usual: float | None
    """Usually, in a queue that all share."""
    most: float | None
    """At the loss after the longest wait, in a queue that all share."""
    held: float | None
    """What was counted, in whichever queue."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate and how well it explains the measurement."""

    candidate: Candidate
    likelihood: float
    """Logarithm, tempered."""
    misfit: float
    """Mean square of the differences in standard deviations: about 1 where the model is right."""
    worst: str
    """The feature that differs most."""


def candidates(
    shaped: float | None,
    rate: float,
    rooms: Rooms,
    wait: float,
    *,
    loss: float = 0.0,
    classes: bool = False,
) -> list[Candidate]:
    """What could stand at a bottleneck.

    Disciplines of Linux differ from those of the documents: FQ-CoDel compares all that waits with a
    packet, PIE updates every 20 ms, since a timer comes a tick late, and RED's memory is short.

    Args:
        shaped: bit/s to which CAKE shapes; None if the link's rate changes.
        rate: bit/s.
        rooms: what was in the queue when packets were lost.
        wait: usual wait in s.
        loss: share that the wire may lose; 0 if nothing speaks for it.
        classes: whether flows have DSCPs.
    """
    large = max(60 * 1500.0, rate / 8 * _LARGE_S)
    usual_room, most, held = rooms.usual, rooms.most, rooms.held
    tight: list[float | None] = [None] if most is None else [None, most]
    found = [Candidate("fifo", {"kind": "fifo", "limit": limit(usual_room or large)}, usual_room)]
    if usual_room is not None and (less := usual_room - HELD_S * rate / 8) > 3000:
        found.append(Candidate("fifo", {"kind": "fifo", "limit": limit(less)}, less))
    if most is not None:
        # Beside others of that room, it shows whether they do anything.
        found.append(Candidate("fifo", {"kind": "fifo", "limit": limit(most)}, most))
    fair: list[float | None] = [None] if held is None else [None, held]
    kinds: list[tuple[str, dict[str, Any], list[float | None]]] = [
        ("codel", {}, tight),
        ("pie", {}, tight),
        ("pie", {"t_update": "20ms"}, tight),
        ("fq-codel", {}, fair),
        ("fq-codel", {"backlog": "all"}, fair),
    ]
    for kind, own, rooms_ in kinds:
        found += [
            Candidate(kind, {"kind": kind, "limit": limit(each or large)} | own, each)
            for each in rooms_
        ]
    # Tins matter if there are marks.
    for diffserv in ("diffserv3", "besteffort") if classes else ("diffserv3",):
        cake = {"kind": "cake", "diffserv": diffserv}
        if shaped is not None:
            cake["bandwidth"] = f"{shaped:.0f}bit"
        found.append(Candidate("cake", cake, None))
        if held is not None:
            small = cake | {"memory_limit": f"{max(3000, round(held))}B"}
            found.append(Candidate("cake", small, held))
    if loss > 0:
        for kind in ("fifo", "fq-codel"):
            found.append(Candidate(kind, {"kind": kind, "limit": limit(large)}, None, loss))
    usual = max(wait * rate / 8 / 1500, 1.0)
    leasts: dict[float, float | None] = {usual * share: None for share in (0.15, 0.35, 0.8)}
    if usual_room is not None:
        leasts[usual_room / 1500 / 12] = usual_room
    for least, room in leasts.items():
        found.append(Candidate("red", red(least), room))
        found.append(Candidate("red", red_of_linux(least), room))
    return list(
        {repr(sorted(each.queue.items())) + str(each.loss): each for each in found}.values()
    )


def marking(listed: Sequence[Candidate], marks: bool) -> list[Candidate]:
    """The same for a load that can be marked: disciplines that do mark, or that do not."""
    own = {"ecn": marks}
    return [
        replace(each, queue={**each.queue, **own}) if each.kind in _MARKING else each
        for each in listed
    ]


def red(least: float) -> dict[str, Any]:
    """RED with the usual proportions: the upper threshold three times, the limit twelve times."""
    packets = max(2, round(least))
    return {
        "kind": "red",
        "min_th": f"{packets}p",
        "max_th": f"{3 * packets}p",
        "limit": f"{12 * packets}p",
    }


def red_of_linux(least: float, most: float = 0.1) -> dict[str, Any]:
    """The same as tc sets it up, with the `burst` that its manual recommends.

    Args:
        least: lower threshold in full packets.
        most: drop probability at the upper threshold.
    """
    # tc asks for more than a packet.
    bytes_ = round(1500 * max(1.2, least))
    return {
        "kind": "red",
        "min_th": f"{bytes_}B",
        "max_th": f"{3 * bytes_}B",
        "limit": f"{12 * bytes_}B",
        "max_p": most,
        "weight": _weight(bytes_ / 1500),
        "gentle": False,
        "mean_packet": "1500B",
        "gaps": "linux",
        "idle": "linux",
    }


def _weight(least: float) -> float:
    """RED's weight by tc's rule: the largest power of 1/2 with which a burst passes."""
    burst = max(2, round(5 * least / 3) + 1)
    allowed = burst + 1 - least
    found = (0.5**power for power in range(1, 20))
    return next((each for each in found if allowed <= (1 - (1 - each) ** burst) / each), 0.5**9)


def least_of(queue: Mapping[str, Any]) -> float:
    """The lower threshold of a RED as `red` or `red_of_linux` has it, in full packets."""
    written = str(queue["min_th"])
    return float(written[:-1]) / (1500 if written.endswith("B") else 1)


def limit(room: float) -> str:
    """A room in bytes as a number of full packets."""
    return f"{max(1, round(room / 1500))}p"


class Trials(Kept):
    """Runs of candidates, each run once and kept: a fit that was stopped goes on."""

    def __init__(
        self, folder: Path, load: Load, route: Route, how: How, jobs: int | None = None
    ) -> None:
        """Open a folder, new or begun earlier.

        Args:
            folder: where runs are kept.
            load: what sends.
            route: what all candidates have in common; its queue does not count.
            how: how they are measured.
            jobs: runs at a time; one a core unless given.
        """
        claim(folder, "fit.json", {"forebay fit": VERSION}, lambda _: "runs of another forebay fit")
        super().__init__(folder)
        self._load, self._route, self.how, self._jobs = load, route, how, jobs
        # The same scenario tells something else if it is measured in another way.
        self._mark = sha256(repr((how, route.rtt, route.rate)).encode()).hexdigest()[:8]
        self._known = {(each.id, each.replication): each for each in self._journal.records}

    def of(
        self,
        wanted: Sequence[tuple[Candidate, int]],
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[dict[str, float]]:
        """The features of candidates with seeds; empty where a run sent nothing."""
        tasks: dict[tuple[str, int], Task] = {}
        keys = []
        for candidate, seed in wanted:
            made = Scenario.of(self._document(candidate), "fit")
            key = (f"{made.identity()[:16]}-{self._mark}", seed)
            keys.append(key)
            if key not in self._known:
                tasks[key] = Task(*key, seed, made)
        known = len(set(keys)) - len(tasks)
        run_all(
            list(tasks.values()),
            self._run,
            jobs=self._jobs,
            tell=lambda now: progress(known + now.finished),
            note=self._keep,
        )
        return [
            {name: float(value) for name, value in self._known[key].measures.items()}
            for key in keys
        ]

    def _document(self, candidate: Candidate) -> dict[str, Any]:
        route = self._route
        whole = document(
            replace(route, queue=candidate.queue, loss=candidate.loss),
            self._load,
        )
        del whole["seed"]
        return whole

    def _run(self, task: Task, cancel: Cancel, progress: Callable[[float], None]) -> Record:
        try:
            seen = measured(task.scenario.document, "candidate", self.how, cancel, progress)
            found: dict[str, float | str] = dict(features(seen, self._route.rtt, self._route.rate))
        except ScenarioError:
            found = {}
        return Record(task.id, task.replication, "", found)

    def _keep(self, records: Sequence[Record]) -> None:
        self._journal.append(records)
        self._known |= {(record.id, record.replication): record for record in records}


def judge(
    seen: Mapping[str, float],
    trials: Trials,
    listed: Sequence[Candidate],
    progress: Callable[[float], None] = lambda _: None,
) -> list[Judged]:
    """How well each candidate explains what was seen, the best first."""
    temper = _TEMPER[trials.how.vantage]
    first = [(each, seed) for each in listed for seed in range(1, _FIRST + 1)]
    ran = trials.of(first, lambda done: progress(0.5 * done / len(first)))
    runs: dict[int, list[dict[str, float]]] = {}
    for at, found in enumerate(ran):
        runs.setdefault(at // _FIRST, []).append(found)
    for shares in _FINER:
        listed = [*listed, *_nearer(_judged(seen, listed, runs, temper), shares)]
        finer = [
            (at, seed) for at in range(len(runs), len(listed)) for seed in range(1, _FIRST + 1)
        ]
        ran = trials.of([(listed[at], seed) for at, seed in finer])
        for (at, _), found in zip(finer, ran, strict=True):
            runs.setdefault(at, []).append(found)
    judged = _judged(seen, listed, runs, temper)
    best = max(each.likelihood for each in judged.values())
    near = [at for at, each in judged.items() if each.likelihood > best - _NEAR * temper]
    more = [(listed[at], seed) for at in near for seed in range(_FIRST + 1, _FIRST + _MORE + 1)]
    ran = trials.of(more, lambda done: progress(0.5 + 0.5 * done / max(1, len(more))))
    for at, found in zip([each for each in near for _ in range(_MORE)], ran, strict=True):
        runs[at].append(found)
    judged = _judged(seen, listed, runs, temper)
    return sorted(judged.values(), key=lambda each: -each.likelihood)


def _nearer(judged: Mapping[int, Judged], shares: Sequence[float]) -> list[Candidate]:
    """RED with thresholds around the best so far: it has no usual ones."""
    tried = [each for each in judged.values() if each.candidate.kind == "red"]
    best = max(tried, key=lambda each: each.likelihood, default=None)
    if best is None or best.likelihood < max(each.likelihood for each in judged.values()) - _NEAR:
        return []
    queue = best.candidate.queue
    least = least_of(queue)
    if "weight" in queue:
        found = [red_of_linux(least * share, queue["max_p"]) for share in shares]
        if len(shares) > 2:
            # tc's own probability.
            found += [red_of_linux(least * share, 0.02) for share in (1.0, 2.0)]
    else:
        found = [red(least * share) for share in shares]
    known = [dict(each.candidate.queue) for each in tried]
    fresh = [{**queue, **each} for each in found]
    fresh = [each for at, each in enumerate(fresh) if each not in known + fresh[:at]]
    return [Candidate("red", each, best.candidate.room) for each in fresh]


def _judged(
    seen: Mapping[str, float],
    listed: Sequence[Candidate],
    runs: Mapping[int, Sequence[Mapping[str, float]]],
    temper: float,
) -> dict[int, Judged]:
    spread = _spread(list(runs.values()))
    return {at: _one(seen, listed[at], several, spread, temper) for at, several in runs.items()}


def _one(
    seen: Mapping[str, float],
    candidate: Candidate,
    several: Sequence[Mapping[str, float]],
    spread: Mapping[str, float],
    temper: float,
) -> Judged:
    squares, log = {}, 0.0
    for name, value in seen.items():
        if name not in FLOOR:
            continue
        shown = [run[name] for run in several if name in run]
        if len(shown) < max(1, len(several) / 2):
            squares[name] = _UNSEEN
            log -= 0.5 * _UNSEEN
            continue
        own = float(np.var(shown, ddof=1)) if len(shown) > 2 else 0.0
        # Pooled, and its own if that is larger.
        variance = max(spread.get(name, 0.0), 0.5 * own) * (1 + 1 / len(shown)) + FLOOR[name] ** 2
        # Beyond some deviations, further ones say little: tails are heavier than a normal's.
        square = (value - float(np.mean(shown))) ** 2 / variance
        squares[name] = square
        log -= 0.5 * 4 * np.log1p(square / 3) + 0.5 * np.log(variance)
    worst = max(squares, key=lambda name: squares[name], default="")
    misfit = float(np.mean(list(squares.values()))) if squares else 0.0
    return Judged(candidate, temper * float(log), misfit, worst)


def _spread(groups: Iterable[Sequence[Mapping[str, float]]]) -> dict[str, float]:
    """The variance of each feature between seeds, the median over the candidates."""
    found: dict[str, list[float]] = {}
    for several in groups:
        for name in FLOOR:
            shown = [run[name] for run in several if name in run]
            if len(shown) > 1:
                found.setdefault(name, []).append(float(np.var(shown, ddof=1)))
    return {name: float(np.median(each)) for name, each in found.items()}
