"""The search: an optimiser proposes, replications judge, fresh seeds decide.

1. Every trial is run with the same seeds (common random numbers), so that trials differ by their
   parameters and not by luck. The optimiser (optuna's tree-structured Parzen estimator, with the
   bounds as constraints) sees the mean of the measure, and of each bound the worse end of its
   interval.
2. The best of many noisy numbers is too good to be true. So the best trials are run again with more
   replications and with seeds that the search has not seen, beside the scenario as it is written
   and the disciplines that it compares. Only these runs decide.
3. Of all that were run again and whose intervals keep every bound, also of what stands beside, the
   best mean is the best; those whose paired difference from it holds zero are named as its equals,
   at a level that allows for the number of all that were run again (Bonferroni). What lacks the
   measure in a run in which anything else has it is neither: its mean is that of its luckier runs.

Finished runs are kept, so a search that was stopped retraces its steps and goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from forebay import _relative, stats
from forebay._engine import ScenarioError
from forebay._judge import Standing
from forebay._runs import Change, Progress
from forebay._scenario import Scenario, lookup, resolved_link
from forebay.stats import Interval
from forebay.tune.goal import UNMEASURED, Estimate, Goal
from forebay.tune.proposals import Score, explore
from forebay.tune.runs import Runs
from forebay.tune.space import Parameter


@dataclass(frozen=True)
class Tuning:
    """What is tuned, and how much is run."""

    scenario: Scenario
    """Without its [compare] and [tune] tables."""
    link: str | None
    queue: dict[str, Any] | None
    """The discipline that is tuned; the scenario's own if none."""
    parameters: tuple[Parameter, ...]
    goal: Goal
    beside: tuple[tuple[str, dict[str, Any] | None], ...] = ()
    """Label and queue of what the candidates are shown beside; no queue is the scenario's own."""
    baseline: tuple[str, dict[str, Any]] | None = None
    """The discipline beside which gain and efficiency are given."""
    efficient: tuple[str, ...] = ()
    """Classes whose flows make the efficiency; all if empty."""
    trials: int = 40
    replications: int = 8
    """Of each trial."""
    candidates: int = 6
    """Trials that are run again."""
    verify: int = 30
    """Replications of these, with other seeds."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial, or a candidate with fresh seeds, or what stands beside.

    Example:
        >>> found = tune.tune(scenario.with_("duration", "10s"), "out/tuned",
        ...     minimize="classes.calls.p99_delay_ms", discipline="fifo",
        ...     parameters=["dumbbell.queue.limit=10p..100p"],
        ...     trials=3, replications=2, candidates=1, verify=2)
        >>> [trial.refusal for trial in found.trials]
        ['', '', '']
    """

    label: str
    """What tables call it."""
    values: tuple[Any, ...]
    """Of the parameters, in order; empty for what stands beside."""
    estimate: Estimate | None
    """None if it could not run."""
    refusal: str = ""
    """Why it could not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found.

    Example:
        >>> found = tune.tune(scenario.with_("duration", "10s"), "out/tuned",
        ...     minimize="classes.calls.p99_delay_ms", discipline="fifo",
        ...     parameters=["dumbbell.queue.limit=10p..100p"],
        ...     trials=3, replications=2, candidates=1, verify=2)
        >>> found.best in (*found.candidates, *found.beside)
        True
    """

    plan: Tuning
    """What was asked for."""
    trials: tuple[Tried, ...]
    """Distinct ones, in the order in which they were proposed, with the search's seeds."""
    candidates: tuple[Tried, ...]
    """The best of them with fresh seeds, best first by the search."""
    beside: tuple[Tried, ...]
    """With fresh seeds too."""

    @property
    def best(self) -> Tried | None:
        """The best of all that keep the bounds, also of what stands beside; none if nothing does.

        What lacks the measure in a run in which anything else has it is never the best. Of equal
        means the candidate is taken.
        """
        return self._best_of((*self.candidates, *self.beside))

    @property
    def tuned(self) -> Tried | None:
        """The best candidate by the same rules; none if no candidate keeps them."""
        return self._best_of(self.candidates)

    @property
    def equals(self) -> tuple[Tried, ...]:
        """Others that keep the bounds and cannot be told apart from the best with these runs."""
        best = self.best
        if best is None:
            return ()
        found = []
        for each in self._comparable((*self.candidates, *self.beside)):
            apart = difference(self, each, best, self.plan.goal.key)
            if each is not best and (apart is None or not apart.excludes_zero):
                found.append(each)
        return tuple(found)

    def _best_of(self, many: Sequence[Tried]) -> Tried | None:
        best, key = None, self.plan.goal.key
        for each in self._comparable(many):
            if best is None or self.plan.goal.better(mean_of(each, key), mean_of(best, key)):
                best = each
        return best

    def _comparable(self, many: Sequence[Tried]) -> list[Tried]:
        """Those that keep the bounds and have the measure in every run in which anything has it.

        A run in which nothing has it, such as one in which no flow began, says nothing of any.
        """
        goal = self.plan.goal
        every = set[int]().union(
            *(
                each.estimate.runs(goal.key)
                for each in (*self.candidates, *self.beside)
                if each.estimate is not None
            )
        )
        return [
            each
            for each in many
            if every
            and each.estimate is not None
            and each.estimate.runs(goal.key) == every
            and each.estimate.standing(goal) is Standing.INSIDE
        ]


def difference(outcome: Outcome, first: Tried, second: Tried, key: str) -> Interval | None:
    """Of one from another by a measure, run by run; none if no run has both.

    By the goal's measure, by which the best was chosen among many, at a level that allows for them.
    """
    assert first.estimate is not None and second.estimate is not None
    others = len(outcome.candidates) + len(outcome.beside) - 1
    many = max(1, others) if key == outcome.plan.goal.key else 1
    level = 1 - (1 - stats.LEVEL) / many
    return stats.paired_difference(first.estimate.samples[key], second.estimate.samples[key], level)


def mean_of(tried: Tried, key: str) -> float:
    """Mean of a measure; not a number if there is none."""
    found = None if tried.estimate is None else tried.estimate.interval(key)
    return math.nan if found is None else found.mean


def search(plan: Tuning, runs: Runs, progress: Callable[[Progress], None] | None = None) -> Outcome:
    """Look for the best point, and judge the best candidates with fresh seeds."""
    return _Search(plan, runs, progress).outcome()


class _Search:
    def __init__(
        self, plan: Tuning, runs: Runs, progress: Callable[[Progress], None] | None
    ) -> None:
        self._plan = plan
        self._runs = runs
        self._progress = progress
        baseline = 1 if plan.baseline is not None else 0
        again = plan.candidates + len(plan.beside) + baseline
        self._whole = (plan.trials + baseline) * plan.replications + again * plan.verify
        self._done = 0
        self._baseline_follows = plan.baseline is not None and any(
            not self._within_queue(parameter.path) for parameter in plan.parameters
        )

    def outcome(self) -> Outcome:
        plan = self._plan
        self._probe()
        seeds = range(plan.seed, plan.seed + plan.replications)
        trials = self._search(seeds)
        usable = [each for each in trials if each.estimate is not None]
        if not usable:
            why = next((each.refusal for each in trials if each.refusal), "none was measured")
            raise ScenarioError(f"no trial could run; the first one: {why}")
        fresh = range(seeds.stop, seeds.stop + plan.verify)
        best = _shortlist(plan, usable)
        again = [self._point(each.values) for each in best]
        again += [self._put(queue) for _, queue in plan.beside]
        estimates = self._estimates(again, fresh)
        judged = [
            Tried(each.label, each.values, estimate)
            for each, estimate in zip(best, estimates, strict=False)
        ]
        shown = [
            Tried(label, (), estimate)
            for (label, _), estimate in zip(plan.beside, estimates[len(best) :], strict=True)
        ]
        return Outcome(plan, tuple(trials), tuple(judged), tuple(shown))

    def _probe(self) -> None:
        """Find out with one run that every measure exists."""
        plan = self._plan
        points = [self._put(plan.queue)]
        if plan.baseline is not None:
            points.append(self._put(plan.baseline[1]))
        for point in points:
            self._runs.check(point)
        measured = self._runs.measures([(point, plan.seed) for point in points])
        known = {key for key, value in measured[0].items() if not isinstance(value, str)}
        if plan.baseline is not None:
            known |= {_relative.gain(each) for each in _relative.classes_of(known)}
            known.add(_relative.EFFICIENCY)
        elif any(key.endswith(".gain") or key == _relative.EFFICIENCY for key in plan.goal.keys):
            raise ScenarioError(
                "gain and efficiency need a baseline; name a discipline with --baseline, or "
                "in the scenario's [compare] table"
            )
        plan.goal.check(known)

    def _search(self, seeds: range) -> list[Tried]:
        plan, goal = self._plan, self._plan.goal
        tried = 0

        def tries(many: Sequence[tuple[Any, ...]]) -> list[Tried]:
            nonlocal tried
            tried += len(many)
            return self._tries(many, seeds, tried - len(many))

        def score(each: Tried) -> Score:
            found = None if each.estimate is None else each.estimate.interval(goal.key)
            if each.estimate is None or found is None:
                return None, ()
            return found.mean, each.estimate.excess(goal, cautious=True)

        found = explore(
            plan.parameters,
            start=self._start(),
            most=plan.trials,
            seed=plan.seed,
            maximize=goal.maximize,
            tries=tries,
            score=score,
        )
        return list(found.values())

    def _start(self) -> list[dict[str, float | int]]:
        """Where the search begins: the values that the scenario and its disciplines have now."""
        plan = self._plan
        queues = [plan.queue, *(queue for _, queue in plan.beside)]
        starts = []
        for queue in queues:
            try:
                effective = self._runs.effective(self._put(queue))
            except ScenarioError:
                continue
            drawn = {
                parameter.path: parameter.drawn(lookup(effective, parameter.path))
                for parameter in plan.parameters
            }
            known = {path: value for path, value in drawn.items() if value is not None}
            if len(known) == len(drawn) and known not in starts:
                starts.append(known)
        return starts

    def _tries(self, many: Sequence[tuple[Any, ...]], seeds: range, first: int) -> list[Tried]:
        """Trials of these values of the parameters."""
        refusals = {values: self._refusal(self._point(values)) for values in many}
        usable = [values for values in many if not refusals[values]]
        found = self._estimates([self._point(values) for values in usable], seeds)
        estimates = dict(zip(usable, found, strict=True))
        return [
            Tried(f"trial {first + at}", values, estimates.get(values), refusals[values])
            for at, values in enumerate(many, start=1)
        ]

    def _refusal(self, point: Change) -> str:
        """Why a point cannot run; empty if it can."""
        try:
            self._runs.check(point)
        except ScenarioError as error:
            return str(error)
        return ""

    def _estimates(self, points: Sequence[Change], seeds: range) -> list[Estimate]:
        """What the goal's measures are at some points, with these seeds."""
        bases = [self._base_of(point) for point in points]
        every = [*points, *(base for base in bases if base is not None)]
        wanted = [(point, seed) for point in every for seed in seeds]
        before = self._done

        def tell(done: int) -> None:
            self._done = before + done
            if self._progress is not None:
                whole = max(self._whole, self._done)
                self._progress(Progress(self._done, whole, self._done / whole))

        measured = self._runs.measures(wanted, tell)
        rows = [measured[at : at + len(seeds)] for at in range(0, len(measured), len(seeds))]
        own, others = rows[: len(points)], iter(rows[len(points) :])
        goal = self._plan.goal
        return [
            _estimate(goal, samples, None if base is None else next(others), self._plan.efficient)
            for samples, base in zip(own, bases, strict=True)
        ]

    def _point(self, values: tuple[Any, ...]) -> Change:
        paths = [parameter.path for parameter in self._plan.parameters]
        return self._put(self._plan.queue, tuple(zip(paths, values, strict=True)))

    def _put(
        self, queue: dict[str, Any] | None, values: tuple[tuple[str, Any], ...] = ()
    ) -> Change:
        return Change(queue, (self._plan.link,), values)

    def _base_of(self, point: Change) -> Change | None:
        """The same scenario under the baseline: with the values that are not the queue's."""
        plan = self._plan
        if plan.baseline is None:
            return None
        if not self._baseline_follows:
            return self._put(plan.baseline[1])
        kept = tuple(each for each in point.values if not self._within_queue(each[0]))
        return self._put(plan.baseline[1], kept)

    def _within_queue(self, path: str) -> bool:
        """Whether a path leads into the queue that disciplines are put on."""
        plan, plain = self._plan, {"kind": "fifo"}
        bare = plan.scenario.with_queue(plan.queue or plain, plan.link)
        place = resolved_link(bare, bare.compared_link(plan.link))["queue_path"]
        try:
            changed = bare.with_(path, 0)
        except ScenarioError:
            return True
        return changed.with_(place, plain) == bare.with_(place, plain)


def _estimate(
    goal: Goal,
    samples: Sequence[dict[str, float | str]],
    base: Sequence[dict[str, float | str]] | None,
    efficient: Sequence[str],
) -> Estimate:
    rows: list[dict[str, Any]] = [dict(each) for each in samples]
    if base is not None:
        keys = [_relative.goodput(each) for each in _relative.classes_of(rows[0])]
        table = pl.DataFrame(
            [
                {"discipline": label, "replication": at, **{key: row.get(key) for key in keys}}
                for label, many in (("own", rows), ("base", base))
                for at, row in enumerate(many)
            ]
        )
        both = _relative.relative(table, ["replication"], "base", efficient)
        own = both.filter(pl.col("discipline") == "own").to_dicts()
        rows = [row | more for row, more in zip(rows, own, strict=True)]
    return Estimate({key: [row.get(key) for row in rows] for key in goal.keys})


def _shortlist(plan: Tuning, usable: Sequence[Tried]) -> list[Tried]:
    """Trials to judge again: half of those that surely keep the bounds, half of those that may."""
    goal = plan.goal

    def ranked(cautious: bool) -> list[Tried]:
        def order(tried: Tried) -> tuple[float, int, float]:
            assert tried.estimate is not None
            excess = sum(max(0.0, each) for each in tried.estimate.excess(goal, cautious=cautious))
            found = tried.estimate.interval(goal.key)
            value = UNMEASURED if found is None else found.mean * (-1 if goal.maximize else 1)
            return excess, tried.estimate.missing(goal.key), value

        return sorted(usable, key=order)

    chosen: dict[str, Tried] = {}
    for sure, maybe in zip(ranked(True), ranked(False), strict=True):
        for each in (sure, maybe):
            if len(chosen) < plan.candidates:
                chosen[each.label] = each
    return list(chosen.values())
