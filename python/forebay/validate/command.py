"""What `forebay validate` does, and the table that it prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from forebay._engine import ScenarioError
from forebay.validate import page, replications, runner
from forebay.validate.page import cell
from forebay.validate.runner import Outcome


@dataclass(frozen=True)
class Record:
    """The result of the command."""

    section: dict[str, Any]
    """A section of the validation page."""
    passed: bool
    """Whether everything agrees."""
    outcome: Outcome | None
    """The checks' findings; none if replications were measured."""

    def print(self, console: Console) -> None:
        """Print a table for each check, and what it comes to."""
        if self.outcome is None:
            [table] = self.section["tables"]
            for name, seconds, efficiency in table["rows"]:
                share = f", efficiency {cell(efficiency)}" if efficiency else ""
                console.print(f"{name}: {cell(seconds)} s{share}")
            console.print("agrees" if self.passed else f"below {replications.GOAL}: differs")
            return
        _print_findings(console, self.outcome)


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
        only: names of checks or families; all if empty. Replications are measured only by name.
        jobs: runs at a time; one a core unless given.
        line: the command line, for the record.
        progress: called with the share of runs that have ended.

    Raises:
        ScenarioError: a name that no check has, or nothing left to run.
        KeyboardInterrupt: interrupted; every run has stopped.
    """
    if replications.NAME in only:
        if len(only) > 1:
            raise ScenarioError(
                f"--only {replications.NAME} measures time; run it by itself, on a quiet machine"
            )
        found = replications.measure()
        section = page.record_efficiency(found, line)
        return Record(section, found.efficiency >= replications.GOAL, None)
    checks = runner.all_checks()
    if only:
        checks = runner.select(checks, only)
    if quick:
        checks = [check for check in checks if check.quick]
    if not checks:
        raise ScenarioError("none of these checks is a fast one; leave out --quick")
    outcome = runner.run_checks(checks, jobs=jobs, progress=progress)
    return Record(page.record(outcome, line), not outcome.failures, outcome)


def _print_findings(console: Console, outcome: Outcome) -> None:
    checks = list(dict.fromkeys(finding.check.name for finding in outcome.findings))
    for name in checks:
        findings = [each for each in outcome.findings if each.check.name == name]
        check = findings[0].check
        table = Table(
            title=f"{check.title} ({name})", title_justify="left", box=box.SIMPLE_HEAD, expand=False
        )
        table.add_column("quantity")
        for column in ("reference", "ours", "95 % interval", "runs"):
            table.add_column(column, justify="right")
        table.add_column("verdict")
        for each in findings:
            found = each.interval
            between = "" if found.low is None else f"{cell(found.low)} to {cell(found.high)}"
            unit = f", {each.quantity.unit}" if each.quantity.unit else ""
            table.add_row(
                each.quantity.name + unit,
                cell(each.quantity.reference),
                cell(found.mean),
                between,
                str(found.samples),
                each.verdict,
                style=None if each.verdict == "agrees" else "bold red",
            )
        console.print(table)
    count, failures = len(outcome.findings), outcome.failures
    console.print(
        f"{count - len(failures)} of {count} quantities agree; {outcome.seconds:.0f} s, "
        f"{outcome.packets / 1e6:.0f} million packets."
    )
    for each in failures:
        console.print(f"{each.verdict}: {each.check.name}, {each.quantity.name}", style="bold red")
