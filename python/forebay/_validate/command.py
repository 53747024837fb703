"""What `forebay validate` does, and the table that it prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from forebay._engine import ScenarioError
from forebay._report.page import Cell, Table
from forebay._report.table import cell
from forebay._report.terminal import print_table
from forebay._validate import record, runner
from forebay._validate.check import Finding
from forebay._validate.runner import Outcome


@dataclass(frozen=True)
class Record:
    """The result of the command."""

    section: dict[str, Any]
    """A section of the validation page."""
    outcome: Outcome
    """The checks' findings."""

    @property
    def passed(self) -> bool:
        """Whether everything agrees."""
        return not self.outcome.failures

    def print(self, console: Console) -> None:
        """Print a table for each check, and what it comes to."""
        outcome = self.outcome
        checks = list(dict.fromkeys(finding.check.name for finding in outcome.findings))
        for name in checks:
            findings = [each for each in outcome.findings if each.check.name == name]
            check = findings[0].check
            console.print(f"{check.title} ({name})")
            heads = ["quantity", "reference", "ours", "95 % interval", "runs", "verdict"]
            print_table(console, Table(heads, [_row(each) for each in findings]))
            console.print()
        count, failures = len(outcome.findings), outcome.failures
        console.print(
            f"{count - len(failures)} of {count} quantities agree; {outcome.seconds:.0f} s, "
            f"{outcome.packets / 1e6:.0f} million packets."
        )
        for each in failures:
            console.print(
                f"{each.verdict}: {each.check.name}, {each.quantity.name}", style="bold red"
            )


def execute(
    *,
    quick: bool,
    only: Sequence[str],
    jobs: int | None,
    line: str,
    progress: Callable[[float], None] | None = None,
) -> Record:
    """Run the checks that are asked for.

    Args:
        quick: only the fast ones.
        only: names of checks or families; all if empty.
        jobs: runs at a time; one a core unless given.
        line: the command line, for the record.
        progress: called with the share of runs that have ended.

    Raises:
        ScenarioError: a name that no check has, or nothing left to run.
        KeyboardInterrupt: interrupted; every run has stopped.
    """
    checks = runner.all_checks()
    if only:
        checks = runner.select(checks, only)
    if quick:
        checks = [check for check in checks if check.quick]
    if not checks:
        raise ScenarioError("none of these checks is a fast one; leave out --quick")
    outcome = runner.run_checks(checks, jobs=jobs, progress=progress)
    return Record(record.checks(outcome, line), outcome)


def _row(each: Finding) -> list[Cell]:
    found = each.interval
    between = "" if found.low is None else f"{cell(found.low, 5)} to {cell(found.high, 5)}"
    unit = f", {each.quantity.unit}" if each.quantity.unit else ""
    texts = (
        each.quantity.name + unit,
        cell(each.quantity.reference, 5),
        cell(found.mean, 5),
        between,
        str(found.samples),
        each.verdict,
    )
    return [Cell(text, mark="" if each.verdict == "agrees" else "no") for text in texts]
