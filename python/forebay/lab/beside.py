"""Disciplines beside each other in the lab, those of Linux too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import _comparison as comparison
from forebay._comparison import Comparison
from forebay._runs import Result, Task
from forebay._scenario import Queue, Scenario
from forebay.lab.runs import run

if TYPE_CHECKING:
    from forebay.lab.virtual.kernel import Kernel


def compare(
    scenario: Scenario,
    disciplines: Sequence[Queue],
    *,
    link: str | None = None,
    seed: int | None = None,
    replications: int = 1,
    congestion: str | None = None,
    gate: str | Path | None = None,
    kernel: Kernel | None = None,
    captures: Path | None = None,
    progress: Callable[[float], None] | None = None,
    command: str | None = None,
) -> Comparison:
    """Run a scenario in the lab under several disciplines; equal seeds, equal traffic.

    Args:
        scenario: what to run.
        disciplines: as for `forebay.compare`; "kernel:cake" is Linux' CAKE without options.
        link: the link that gets the disciplines; the one that the scenario compares unless given.
        seed: of the first replication; the following ones count up from it.
        replications: runs of each discipline.
        congestion: as for `run`.
        gate: as for `run`.
        kernel: runs the lab in virtual time, in this kernel.
        captures: folder for captures, in a folder for each discipline; in virtual time alone.
        progress: called with the fraction that is done.
        command: what to call the command in the report.

    Raises:
        ScenarioError: the scenario cannot run, or asks for what a lab does not have.
        LabError: the lab cannot be built, or something in it failed.

    Example:
        >>> found = lab.compare(scenario.with_("duration", "6s"), ["fifo", "kernel:pfifo"],
        ...     kernel=lab.virtual.find())
        >>> found.labels
        ('fifo', 'kernel:pfifo')
    """

    def carry_out(tasks: Sequence[Task]) -> list[Result]:
        if kernel is not None:
            from forebay.lab.virtual.runs import Order, run_tasks

            order = Order(congestion, kernel, gate, captures, progress=progress)
            return run_tasks(tasks, order)
        found = []
        for number, task in enumerate(tasks):
            if progress is not None:
                progress(number / len(tasks))
            found.append(run(task.scenario, congestion=congestion, gate=gate))
        return found

    return comparison.compare(
        scenario,
        disciplines=disciplines,
        replications=replications,
        link=link,
        seed=seed,
        command=command,
        carry_out=carry_out,
    )
