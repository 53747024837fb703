"""Running a suite: its studies, one after another, then the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forebay._engine import ScenarioError
from forebay._runs.folder import claim
from forebay.suite import catalogue, league, ranking, report, requirements, results, tables
from forebay.suite.behaviour import run as behaviour
from forebay.suite.catalogue import Suite
from forebay.suite.requirements import verdicts
from forebay.sweep import several


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
    """What runs the suite of a name, checked; it is called with who is told, and gives the report.

    Raises:
        ScenarioError: there is no such suite, discipline or control, or a test that could not run.
    """
    head = catalogue.header(name)
    if head.compares == "behaviour":
        if disciplines is not None:
            raise ScenarioError(f"{name} tests a congestion control; leave --disciplines out")
        return lambda tell: behaviour.run(
            name, controls, folder, quick=quick, command=command, title=head.title,
            citation=head.citation, tell=tell,
        )  # fmt: skip
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

    Interrupted at any moment it goes on, called again, where it was.

    Args:
        suite: what to run.
        folder: results of each test in a folder of its own, `report.html` and `summary.md`, and of
            congestion controls and requirements `results.json`.
        jobs: runs at a time; one a core unless given.
        command: the command line, for the report.
        tell: called about ten times a second.

    Returns:
        The report.

    Raises:
        ScenarioError: a test that could not run, or a folder that holds something else.
        OSError: results could not be kept; what had been kept stays.
        KeyboardInterrupt: interrupted; every finished run is kept.
    """
    claim(folder, "suite.json", _made_for(suite), _words)
    studies = {test.name: test.study for test in suite.tests}
    kept = dict.fromkeys(studies, results.KEPT if suite.compares == "disciplines" else ())
    several.run(studies, folder, kept, jobs, tell, replications=1)
    spent = several.spent(folder, studies)
    if suite.compares == "controls":
        found = ranking.report(suite, league.collect(suite, folder))
    elif suite.compares == "requirements":
        found = requirements.report(suite, verdicts.collect(suite, folder))
    else:
        found = report.report(suite, results.collect(suite, folder))
    return tables.write(suite, found, folder, command, spent)


def _made_for(suite: Suite) -> dict[str, Any]:
    compared = "controls" if suite.compares == "controls" else "disciplines"
    return {"suite": suite.name, "quick": suite.quick, compared: list(suite.compared)}


def _words(held: Mapping[str, Any]) -> str:
    which = "quick" if held["quick"] else "full"
    tested = held.get("disciplines") or held.get("controls") or []
    return f"{which} results of {held['suite']} for {', '.join(tested)}"
