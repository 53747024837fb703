"""Candidates that are tried: each run once, kept, and judged by the harm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay._engine import ScenarioError
from forebay._runs import Change
from forebay.attack.measure import Judge, Measure
from forebay.attack.plan import Plan, Target
from forebay.tune.runs import Runs


@dataclass(frozen=True, slots=True)
class Harm:
    """What a plan did under the seeds that it was run with."""

    values: tuple[float, ...]
    """One a seed; less the rival's where there is one. Not a number where nothing was measured."""
    state: str = ""
    """What the queue went through with the first seed."""
    fault: str = ""
    """How the discipline broke the contract, if it did."""

    @property
    def mean(self) -> float:
        """Over the seeds where it was measured; minus infinity without any."""
        known = [each for each in self.values if not math.isnan(each)]
        if self.fault:
            return math.inf
        return sum(known) / len(known) if known else -math.inf


def added(harm: float, calm: float) -> float:
    """What an attack adds to the harm in the scenario as it is, where there is any.

    Beside a rival that does worse in that scenario, `calm` is below 0, and what leads up to 0 is no
    harm.
    """
    # A measure that does not exist there is no number, and no harm.
    return harm - max(0.0, calm)


class Trials:
    """Runs of plans against a scenario under a discipline, and a rival's beside them if asked."""

    def __init__(
        self,
        target: Target,
        measure: str,
        folder: Path,
        *,
        queue: Any = None,
        rival: Any = None,
        jobs: int | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Open a folder of runs.

        Args:
            target: what is attacked.
            measure: the name of the harm that counts.
            folder: where runs are kept.
            queue: the discipline that is attacked; the scenario's own if none.
            rival: the discipline that must do better.
            jobs: runs at a time; one a core unless given.
            progress: told how many runs have ended, those of before included.
        """
        self._judge = Judge(target)
        self.measure: Measure = self._judge.meter.check(measure)
        if measure == "regret" and rival is None:
            raise ScenarioError("--measure regret needs a rival: --against KIND")
        self.target, self.queue, self.rival = target, queue, rival
        self._progress = progress
        marks = {"forebay attack": 1, "scenario": target.base.identity()[:16]}
        self._runs = Runs(target.base, folder, jobs, work=self._judge, made_for=("attack", marks))
        self.asked = 0
        """Runs that were asked for, kept ones included."""
        self.cpu_s = 0.0
        """Processor time of these in the engine, in seconds."""

    def __enter__(self) -> Trials:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the folder."""
        self._runs.__exit__(*_)

    def harms(self, plans: Sequence[Plan], seeds: Sequence[int]) -> list[Harm]:
        """What plans do under some seeds; one that cannot run does nothing."""
        queues = [self.queue] if self.rival is None else [self.queue, self.rival]
        runs = [self._checked(plan, queues, seeds) for plan in plans]
        wanted = [pair for each in runs for pair in each]
        before = self.asked
        measured = iter(self._runs.measures(wanted, lambda now: self._progress(before + now)))
        self.asked += len(wanted)
        found = []
        for each in runs:
            rows = [[next(measured) for _ in seeds] for _ in range(len(each) // len(seeds))]
            self.cpu_s += sum(float(row.get("cpu_s", 0.0)) for some in rows for row in some)
            found.append(self._harm(rows) if rows else Harm(()))
        return found

    def _checked(
        self, plan: Plan, queues: Sequence[Any], seeds: Sequence[int]
    ) -> list[tuple[Change, int]]:
        """The runs of a plan, under each discipline with each seed; none if it is refused."""
        try:
            wanted = [
                (self.target.change(plan, queue, seed=seed), seed)
                for queue in queues
                for seed in seeds
            ]
            for change, _ in wanted:
                self._judge.plans[self._runs.identity(change)] = plan
        except ScenarioError:
            return []
        return wanted

    def _harm(self, rows: Sequence[Sequence[dict[str, float | str]]]) -> Harm:
        own, rival = rows[0], rows[1] if len(rows) > 1 else None
        fault = next((str(row["fault"]) for row in own if "fault" in row), "")
        name = self.measure.name
        values = [float(row.get(name, math.nan)) for row in own]
        if rival is not None:
            values = [v - float(r.get(name, math.nan)) for v, r in zip(values, rival, strict=True)]
        return Harm(tuple(values), str(own[0].get("state", "")), fault)
