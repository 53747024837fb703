"""Running a suite: its studies, one after another, then the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forebay._engine import ScenarioError
from forebay._runs.folder import claim
from forebay._suite import catalogue, league, ranking, report, requirements, results, tables, worst
from forebay._suite.behaviour import run as behaviour
from forebay._suite.catalogue import Suite
from forebay._suite.requirements import verdicts
from forebay.sweep import several

KINDS: Mapping[str, tuple[Callable[..., Any], Callable[..., tables.Report]]] = {
    "disciplines": (results.outcome, report.report),
    "controls": (league.outcome, ranking.report),
    "requirements": (verdicts.outcome, requirements.report),
}
"""By what a suite compares: the outcome of a test, and the report of all outcomes."""


def folder_for(name: str, quick: bool) -> Path:
    """Where the results of a suite go unless told otherwise."""
    return Path("out") / (f"{name}-quick" if quick else name)


def prepared(
    name: str,
    disciplines: list[str] | None,
    controls: list[str] | None,
    quick: bool,
    folder: Path,
    jobs: int | None,
    command: str,
) -> Callable[[several.Tell], Path]:
    """What runs the suite of a name, checked: called with who is told, it gives the report."""
    head = catalogue.header(name)
    if head.compares == "behaviour":
        if disciplines is not None:
            raise ScenarioError(f"{name} tests a congestion control; leave --disciplines out")
        return lambda tell: behaviour.run(
            name, head, controls, folder, quick=quick, command=command, tell=tell
        )
    if head.compares == "worst":
        if controls is not None:
            raise ScenarioError(f"{name} tests queue disciplines; leave --controls out")
        worst.check(name, head, disciplines)
        return lambda tell: worst.run(
            name, head, disciplines, folder, quick=quick, jobs=jobs, command=command, tell=tell
        )
    what = catalogue.load(name, disciplines, quick, controls)
    return lambda tell: run(what, folder, jobs=jobs, command=command, tell=tell)


def run(
    suite: Suite,
    folder: Path,
    *,
    jobs: int | None = None,
    command: str = "forebay suite",
    tell: several.Tell = lambda _text, _share: None,
) -> Path:
    """Run what a suite's tests still lack and write the report.

    Interrupted at any moment it goes on, called again, where it was. The results of each test are
    in a folder of its own.
    """
    compared = "controls" if suite.file.compares == "controls" else "disciplines"
    made_for = {"suite": suite.name, "quick": suite.quick, compared: list(suite.compared)}
    claim(folder, "suite.json", made_for, tables.held)
    studies = {test.name: test.study for test in suite.tests}
    kept = dict.fromkeys(studies, results.KEPT if suite.file.compares == "disciplines" else ())
    several.run(studies, folder, kept, jobs, tell, replications=1)
    outcome, reported = KINDS[suite.file.compares]
    found = [outcome(suite, test, folder / test.name) for test in suite.tests]
    spent = several.spent(folder, studies)
    return tables.write(suite, reported(suite, found), folder, command, spent)
