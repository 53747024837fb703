"""The search: candidates are bred from an archive of the worst of each kind.

It follows MAP-Elites (J.-B. Mouret, J. Clune, "Illuminating search spaces by mapping elites", 2015,
arXiv:1504.04909). The archive has the worst candidate of each *cell*: what the attack pays (the
mean load of its datagrams), what it does to the path, what joins, and the state through which the
discipline went. So a flood does not drive out an attack that pays little, and what reaches a new
state of the discipline is kept to breed from, even if it does no harm yet. A *niche* is a cell
without the state. It is bred from the less often, the more candidates came into it in vain.

Points are drawn in a unit cube. Random numbers depend on the seed and the number of the batch
alone, so a search whose runs are kept retraces its steps, whatever the number of cores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forebay.attack.plan import DATAGRAMS, Plan, Space
from forebay.attack.trials import Harm, Trials

Guide = Literal["archive", "random"]
"""How candidates are found: bred from the archive, or drawn at random, for a comparison."""
Point = NDArray[np.float64]
Niche: TypeAlias = "tuple[int, str, str]"
"""What an attack pays, what it does to the path, and what joins."""

BATCH = 16
"""Candidates of a batch; not by the number of cores, so that a search does not depend on it."""
_FIRST = 8
"""Batches at random, before any are bred."""
PRICES = (0.0, 0.1, 0.2, 0.4, 1.0)
"""Ends of the niches by mean load of datagrams, as shares of the link's rate."""
PATHS = {"clean": 0, "course": 1, "errors": 2}
"""What may be done to the path, the least first."""
_GREEDY, _WORST = 0.7, 3
"""Share of the parents that are among the so many worst under a bound. On eight small searches
(`benches/breeding.py`) this reached more than drawing niches alone."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate and what it did."""

    number: int
    """In the order of the search, from 0."""
    plan: Plan
    harm: Harm
    point: Point

    @property
    def price(self) -> int:
        """The niche of what it pays: 0 nothing, 1 up to the second of `PRICES`, and so on."""
        return sum(self.plan.load > end for end in PRICES)

    @property
    def path(self) -> str:
        """What it does to the path: nothing, a course of the rate, or errors on the wire."""
        wire = (self.plan.loss, self.plan.reorder, self.plan.cut)
        if any(each is not None for each in wire):
            return "errors"
        return "course" if self.plan.slow is not None else "clean"

    @property
    def senders(self) -> str:
        """What joins: nothing, datagrams, transfers, or both."""
        kinds = {each.kind in DATAGRAMS for each in self.plan.joining}
        return {0: "none", 2: "both"}.get(len(kinds), "datagrams" if True in kinds else "transfers")

    @property
    def niche(self) -> Niche:
        """What it pays, what it does to the path, and what joins."""
        return (self.price, self.path, self.senders)


@dataclass
class Searched:
    """What a search found."""

    best: dict[Niche, Tried]
    """The worst of each niche."""
    cells: dict[tuple[Niche, str], Tried]
    """The worst of each cell."""
    course: list[tuple[int, float, float]]
    """Candidates so far, processor seconds so far and worst harm, where it grew."""
    tried: int
    cpu_s: float
    idle: Counter[Niche] = field(default_factory=Counter)
    """Of each niche, how many have come into it since its worst grew."""


def search(
    trials: Trials,
    space: Space,
    *,
    seconds: float,
    seed: int,
    guide: Guide = "archive",
    most: int | None = None,
    told: Callable[[float, float], None] = lambda _share, _worst: None,
    stop: Callable[[Tried], bool] = lambda _: False,
) -> Searched:
    """Search for processor seconds in the engine, or for a number of candidates.

    Args:
        trials: runs candidates.
        space: where they come from.
        seconds: processor time of the runs after which it ends.
        seed: of the search, and of all its runs.
        guide: how candidates are found.
        most: candidates to try at most.
        told: called after each batch with the share that is done and the worst harm.
        stop: ends the search at a candidate for which it is true.
    """
    found = Searched({}, {}, [], 0, 0.0)
    batch = 0
    while found.cpu_s < seconds and (most is None or found.tried < most):
        rng = np.random.default_rng([seed, batch])
        count = BATCH if most is None else min(BATCH, most - found.tried)
        first = guide == "random" or batch < _FIRST or not found.cells
        points = [
            rng.random(len(space.names)) if first else _bred(rng, found, space)
            for _ in range(count)
        ]
        plans = [space.plan(point.tolist()) for point in points]
        before = trials.cpu_s
        harms = trials.harms(plans, [seed])
        found.cpu_s += trials.cpu_s - before
        ended = False
        for plan, harm, point in zip(plans, harms, points, strict=True):
            each = Tried(found.tried, plan, harm, point)
            found.tried += 1
            _note(found, each)
            # There is nothing worse than a broken contract.
            ended = ended or bool(harm.fault) or stop(each)
        worst = max((each.harm.mean for each in found.best.values()), default=-math.inf)
        share = found.cpu_s / seconds if most is None else found.tried / most
        told(min(1.0, share), worst)
        batch += 1
        # What cannot run costs no time, but must not go on for ever.
        if ended or (not found.cells and batch > 4 * _FIRST):
            break
    return found


def _note(found: Searched, each: Tried) -> None:
    harm = each.harm.mean
    if harm == -math.inf:
        return
    worst = max((known.harm.mean for known in found.best.values()), default=-math.inf)
    if harm > worst:
        found.course.append((each.number + 1, found.cpu_s, harm))
    cell = (each.niche, each.harm.state)
    if cell not in found.cells or harm > found.cells[cell].harm.mean:
        found.cells[cell] = each
    found.idle[each.niche] += 1
    if each.niche not in found.best or harm > found.best[each.niche].harm.mean:
        found.best[each.niche] = each
        found.idle[each.niche] = 0


def _bred(rng: np.random.Generator, found: Searched, space: Space) -> Point:
    """A child of one or two of the archive."""
    point = _parent(rng, found).point.copy()
    if rng.random() < 0.3:
        other = _parent(rng, found).point
        which = _blocks(space)
        taken = which == rng.choice(np.unique(which))
        point[taken] = other[taken]
    # What a candidate does not depend on is left alone: changed, it would be the same one.
    live = np.array(space.live(point.tolist()))
    count = len(point)
    changed = live & (rng.random(count) < rng.choice([1.0, 2.0, 4.0]) / live.sum())
    changed[rng.choice(np.flatnonzero(live))] = True
    anew = rng.random(count) < 0.3
    step = rng.normal(0.0, rng.choice([0.02, 0.1, 0.25]), count)
    point[changed & anew] = rng.random(count)[changed & anew]
    near = changed & ~anew
    point[near] = np.abs(point[near] + step[near])
    return np.where(point >= 1.0, np.maximum(0.0, 2.0 - 1e-9 - point), point)


def _parent(rng: np.random.Generator, found: Searched) -> Tried:
    """One of the worst cells under a bound on what they cost, a niche's worst, or any cell.

    The bound, a price and what may be done to the path, is drawn at random: so cheap attacks are
    bred as often as those that pay. A niche is chosen the less often, the more came into it since
    its worst grew.
    """
    cells = list(found.cells.values())
    choice = rng.random()
    if choice < _GREEDY:
        price, path = int(rng.integers(len(PRICES) + 1)), int(rng.integers(len(PATHS)))
        within = [each for each in cells if each.price <= price and PATHS[each.path] <= path]
        worst = sorted(within or cells, key=lambda each: -each.harm.mean)[:_WORST]
        return worst[int(rng.integers(len(worst)))]
    if choice < _GREEDY + 0.1:
        return cells[int(rng.integers(len(cells)))]
    niches = list(found.best)
    weights = np.array([1 / (10 + found.idle[each]) for each in niches])
    return found.best[niches[int(rng.choice(len(niches), p=weights / weights.sum()))]]


def _blocks(space: Space) -> NDArray[np.int64]:
    """Which part of a point each coordinate belongs to: the path is 0, an entry its number + 1."""
    heads = [name.partition(".")[0] for name in space.names]
    return np.array([int(head) + 1 if head.isdecimal() else 0 for head in heads])
