"""Running a suite: its studies, one after another, then the report."""

from __future__ import annotations

import json
from pathlib import Path

from forebay._engine import ScenarioError
from forebay.suite import report, results
from forebay.suite.catalogue import Suite
from forebay.sweep import several

_MARK = "suite.json"


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
    _claim(folder, suite)
    studies = {test.name: test.study for test in suite.tests}
    kept = dict.fromkeys(studies, results.KEPT)
    several.run(studies, folder, kept, jobs, tell, replications=1)
    outcomes = results.collect(suite, folder)
    spent = several.spent(folder, studies)
    return report.write(suite, outcomes, folder, command, spent)


def _claim(folder: Path, suite: Suite) -> None:
    """Refuse a folder that holds something else, so that nothing of it is replaced."""
    disciplines = [label for label, _ in suite.tests[0].study.disciplines]
    wanted = {"suite": suite.name, "quick": suite.quick, "disciplines": disciplines}
    mark = folder / _MARK
    if mark.exists():
        held = json.loads(mark.read_text("utf-8"))
        if held != wanted:
            what = f"{'quick' if held['quick'] else 'full'} results of {held['suite']}"
            what += f" for {', '.join(held['disciplines'])}"
            raise ScenarioError(f"{folder}: holds {what}; give another folder with --out")
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScenarioError(
            f"{folder}: holds files that are not a suite's results; give another with --out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(json.dumps(wanted) + "\n", "utf-8")
