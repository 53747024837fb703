"""Runs checks on all cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forebay._engine import ScenarioError
from forebay._runs import Task, run_all, summary_of
from forebay._scenario import Scenario
from forebay._validate import queues, schedulers, tcp
from forebay._validate.check import Check, Finding, Summary, judge

MODULES = {module.FAMILY: module for module in (queues, schedulers, tcp)}
"""The families of checks, in order."""
FAMILIES = {queues.FAMILY: "Queues", schedulers.FAMILY: "Schedulers", tcp.FAMILY: "TCP"}
"""Their headings."""


@dataclass(frozen=True)
class Outcome:
    """What became of a number of checks."""

    findings: tuple[Finding, ...]
    """In the order of the checks."""
    seconds: float
    """Time that it took."""
    cpu_seconds: float
    """Processor time of all runs."""
    packets: int
    """Data packets delivered in all runs, their warm-up left out."""

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Findings that do not agree."""
        return tuple(finding for finding in self.findings if finding.verdict != "agrees")


def all_checks() -> list[Check]:
    """Every check, in the order of the report."""
    return [check for module in MODULES.values() for check in module.checks()]


def select(checks: Sequence[Check], names: Sequence[str]) -> list[Check]:
    """The checks called by their own name or by that of their family.

    Raises:
        ScenarioError: nothing has such a name.
    """
    known = {check.name for check in checks} | {check.family for check in checks}
    for name in names:
        if name not in known:
            raise ScenarioError(
                f'there is no check "{name}"; the families are {", ".join(FAMILIES)} and '
                f"the checks {', '.join(check.name for check in checks)}"
            )
    return [check for check in checks if check.name in names or check.family in names]


def run_checks(
    checks: Sequence[Check],
    *,
    jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """Run every check, the replications of all of them side by side.

    Args:
        checks: what to run.
        jobs: runs at a time; one a core unless given.
        progress: called from this thread with the share of runs that have ended.

    Raises:
        ScenarioError: a scenario that cannot run, which is a mistake in the check.
        KeyboardInterrupt: interrupted; every run has stopped.
    """
    start = time.perf_counter()
    bases = [Scenario.of(dict(check.scenario), check.name) for check in checks]
    tasks = [
        Task(check.name, at + 1, seed, base)
        for check, base in zip(checks, bases, strict=True)
        for at, seed in enumerate(check.seeds)
    ]
    tell = None if progress is None else (lambda now: progress(now.fraction))
    found = iter(run_all(tasks, summary_of, jobs=jobs, tell=tell))
    summaries: list[list[Summary]] = [[next(found) for _ in check.seeds] for check in checks]
    findings = [
        finding
        for check, those in zip(checks, summaries, strict=True)
        for finding in judge(check, those)
    ]
    return Outcome(
        tuple(findings),
        time.perf_counter() - start,
        sum(float(each["cost"]["cpu_seconds"]) for those in summaries for each in those),
        sum(int(each["packets"]) for those in summaries for each in those),
    )
