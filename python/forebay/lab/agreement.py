"""A scenario in the lab and in the simulator, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import stats
from forebay._measures import MEASURES
from forebay._runs import Result, Task, result_of, run_all
from forebay._scenario import Scenario
from forebay.lab import qdiscs, topology
from forebay.lab.runs import run

if TYPE_CHECKING:
    from forebay.lab.virtual.kernel import Kernel

BUSY = 0.1
"""Utilization below which a link's queue has nothing to tell."""


@dataclass(frozen=True)
class Row:
    """One quantity on both sides."""

    where: str
    """A class of traffic, or a link."""
    what: str
    unit: str
    live: stats.Interval | None
    simulated: stats.Interval | None

    @property
    def difference(self) -> float | None:
        """Of the live mean from the simulated one, as a share of it."""
        if self.live is None or self.simulated is None or self.simulated.mean == 0:
            return None
        return self.live.mean / self.simulated.mean - 1


@dataclass(frozen=True)
class Agreement:
    """Runs of one scenario in the lab, and as many simulated with the same seeds."""

    scenario: Scenario
    live: tuple[Result, ...]
    simulated: tuple[Result, ...]

    def rows(self) -> list[Row]:
        """Every quantity that both sides measured."""
        found = []
        for link in self.live[0].summary["links"]:
            if self.simulated[0].summary["links"][link]["utilization"] < BUSY:
                continue
            for section, key, what, unit, scale in (
                ("links", "utilization", "utilization", "%", 100.0),
                ("queues", "mean_packets", "mean queue", "packets", 1.0),
                ("queues", "p99_delay_ms", "p99 wait", "ms", 1.0),
                ("queues", "loss", "loss", "%", 100.0),
            ):
                found.append(self._row(section, link, key, what, unit, scale))
        for class_ in self.live[0].summary["classes"]:
            for measure in MEASURES:
                found.append(
                    self._row(
                        "classes", class_, measure.key, measure.short, measure.unit, measure.scale
                    )
                )
        return [row for row in found if row.live is not None and row.simulated is not None]

    def _row(self, section: str, where: str, key: str, what: str, unit: str, scale: float) -> Row:
        def of(results: tuple[Result, ...]) -> stats.Interval | None:
            values = [result.summary[section][where].get(key) for result in results]
            return stats.interval([None if v is None else v * scale for v in values])

        return Row(where, what, unit, of(self.live), of(self.simulated))


def against_simulation(
    scenario: Scenario,
    *,
    seed: int | None = None,
    replications: int = 1,
    congestion: str | None = None,
    gate: str | Path | None = None,
    kernel: Kernel | None = None,
    captures: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Agreement:
    """Run a scenario in the lab and in the simulator, each several times with the same seeds.

    A node is one host on both sides, whatever `from_host` and `to_host` say.

    Args:
        scenario: what to run.
        seed: of the first replication; the following ones count up from it.
        replications: runs on each side.
        congestion: as for `run`; the simulator keeps the scenario's own.
        gate: as for `run`.
        kernel: runs the lab in virtual time, in this kernel.
        captures: as for `virtual.run`.
        progress: called with the fraction that is done.

    Raises:
        ScenarioError: the scenario cannot run, or asks for what a lab does not have.
        LabError: the lab cannot be built, or something in it failed.

    Example:
        >>> short = scenario.with_("duration", "6s")
        >>> both = lab.against_simulation(short, kernel=lab.virtual.find())
        >>> row = both.rows()[0]
        >>> row.where, row.what, abs(row.difference) < 0.1
        ('bottleneck', 'utilization', True)
    """
    first = seed if seed is not None else int(scenario.effective()["seed"])
    seeds = range(first, first + replications)
    base = scenario.bare()
    built = topology.read(base, congestion)
    qdiscs.refuse(built, qdiscs.NOT_SIMULATED)
    tasks, simulated = (
        [Task(each.name, at + 1, seed, each) for at, seed in enumerate(seeds)]
        for each in (base, built.simulated)
    )
    if kernel is not None:
        from forebay.lab.virtual.runs import Order, run_tasks

        live = run_tasks(tasks, Order(congestion, kernel, gate, captures, progress=progress))
    else:
        live = []
        for at, each in enumerate(seeds):
            told = _part(progress, at, replications)
            live.append(run(scenario, seed=each, congestion=congestion, gate=gate, progress=told))
    return Agreement(scenario, tuple(live), tuple(run_all(simulated, result_of)))


def _part(
    progress: Callable[[float], None] | None, number: int, of: int
) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda fraction: progress((number + fraction) / of)
