"""Running a suite: its studies, one after another, then the report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forebay._runs.folder import claim
from forebay.suite import report, results
from forebay.suite.catalogue import Suite
from forebay.sweep import several


def folder_for(name: str, quick: bool) -> Path:
    """Where the results of a suite go unless told otherwise."""
    return Path("out") / (f"{name}-quick" if quick else name)


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
        folder: results of each test in a folder of its own, `report.html` and `summary.md`.
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
    kept = dict.fromkeys(studies, results.KEPT)
    several.run(studies, folder, kept, jobs, tell, replications=1)
    outcomes = results.collect(suite, folder)
    spent = several.spent(folder, studies)
    return report.write(suite, outcomes, folder, command, spent)


def _made_for(suite: Suite) -> dict[str, Any]:
    disciplines = [label for label, _ in suite.tests[0].study.disciplines]
    return {"suite": suite.name, "quick": suite.quick, "disciplines": disciplines}


def _words(held: Mapping[str, Any]) -> str:
    which = "quick" if held["quick"] else "full"
    return f"{which} results of {held['suite']} for {', '.join(held['disciplines'])}"
