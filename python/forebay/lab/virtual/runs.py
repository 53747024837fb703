"""A run in virtual time, seen from outside: from a scenario to a result."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from forebay import _disk, _engine
from forebay._runs import Result, Task
from forebay._scenario import Scenario
from forebay.lab import qdiscs, topology
from forebay.lab.errors import LabError
from forebay.lab.gates import library
from forebay.lab.runs import measure
from forebay.lab.virtual import guest, machine, timeline
from forebay.lab.virtual import programs as programs_
from forebay.lab.virtual.kernel import Kernel, found
from forebay.lab.virtual.links import file_name

_ERROR = "error: "
_LOOK_S = 0.2
_PATIENCE_S = 120.0
"""Processor time in which a scenario goes on by a fifth of a second, even at 100 Gbit/s."""


Outage = tuple[str, int, int]
"""Name of a link, when its gate is killed and when another takes its place, in ns."""


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    congestion: str | None = None,
    kernel: Kernel | None = None,
    gate: str | Path | None = None,
    captures: Path | None = None,
    outages: Sequence[Outage] = (),
    programs: Sequence[str] = (),
    root: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a scenario on real packets, in virtual time: two runs of a seed are equal.

    Needs Linux on x86-64, and no privileges.

    Args:
        scenario: what to run.
        seed: of all random numbers, those of the kernel too, instead of the scenario's own.
        congestion: Linux' name of a congestion control, such as "bbr", for all TCP flows.
        kernel: what runs, instead of the one that is found.
        gate: the library of the gate.
        captures: folder for packet captures of every host and link and a time line, in a folder of
            the seed.
        outages: gates that are killed meanwhile. What the queue of such a link did is measured
            until then.
        programs: programs of Linux as "HOST: COMMAND", which start in this order at time zero.
            `files` of the result has what they said and wrote, `programs` of its summary the rest.
        root: a folder that hosts of programs have instead of the machine's files.
        progress: called now and then with the fraction of the time that has passed.

    Raises:
        ScenarioError: the scenario cannot run, or asks for what a lab does not have.
        LabError: there is no kernel, or the guest failed.

    Example:
        >>> short = scenario.with_("duration", "6s")
        >>> one, other = (lab.virtual.run(short, seed=7) for _ in range(2))
        >>> one.summary == other.summary
        True
    """
    asked = programs_.read(programs, root)
    if asked.programs and "traffic" not in scenario.document:
        scenario = scenario.with_("traffic", [])
    first = seed if seed is not None else topology.read(scenario, congestion).seed
    order = Order(congestion, kernel, gate, captures, outages, progress, asked)
    return run_tasks(seeded(scenario, [first]), order)[0]


def run_all(
    scenario: Scenario,
    seeds: Sequence[int],
    *,
    congestion: str | None = None,
    kernel: Kernel | None = None,
    gate: str | Path | None = None,
    captures: Path | None = None,
    outages: Sequence[Outage] = (),
    progress: Callable[[float], None] | None = None,
) -> list[Result]:
    """Run a scenario with each of these seeds, as `run` does, one guest a processor at a time.

    Captures of the run with seed N are in the folder `seed-N` of `captures`.

    Args:
        scenario: what to run.
        seeds: one a run.
        congestion: as for `run`.
        kernel: as for `run`.
        gate: as for `run`.
        captures: as for `run`.
        outages: as for `run`.
        progress: called with the fraction of all runs that is done.

    Example:
        >>> results = lab.virtual.run_all(scenario.with_("duration", "6s"), seeds=[1, 2])
        >>> [result.summary["seed"] for result in results]
        [1, 2]
    """
    order = Order(congestion, kernel, gate, captures, outages, progress)
    return run_tasks(seeded(scenario, seeds), order)


def seeded(scenario: Scenario, seeds: Sequence[int]) -> list[Task]:
    """A task for each of these seeds."""
    base = scenario.bare()
    return [Task(base.name, at + 1, seed, base) for at, seed in enumerate(seeds)]


@dataclass(frozen=True)
class Order:
    """What runs have in common, as `run` has it."""

    congestion: str | None
    kernel: Kernel | None
    gate: str | Path | None
    captures: Path | None
    outages: Sequence[Outage] = ()
    progress: Callable[[float], None] | None = None
    programs: programs_.Order = programs_.NONE


def run_tasks(tasks: Sequence[Task], order: Order) -> list[Result]:
    """Carry out tasks, as `run` does, one guest a processor at a time.

    Captures are in the folder `seed-N` of `captures`; if several things are run, in that folder of
    the one that is called so.
    """
    parts = [0.0] * len(tasks)
    several = len({task.id for task in tasks}) > 1

    def folder(task: Task) -> Path | None:
        if order.captures is None:
            return None
        home = order.captures / file_name(task.id) if several else order.captures
        return home / f"seed-{task.seed}"

    def told(at: int, fraction: float) -> None:
        parts[at] = fraction
        if order.progress is not None:
            order.progress(sum(parts) / len(parts))

    with machine.Guests() as guests, ThreadPoolExecutor(os.cpu_count()) as pool:
        for task in tasks:
            plan = topology.read(task.scenario, order.congestion)
            programs_.check(order.programs, plan.nodes)
            qdiscs.check(plan)
            if (into := folder(task)) is not None:
                _check_captures(plan, task.scenario, into)
        kernel, gate = order.kernel or found(), library(order.gate)
        carry_out = partial(_run, guests, kernel, gate, order)
        try:
            runs = [
                pool.submit(carry_out, task, folder(task), partial(told, at))
                for at, task in enumerate(tasks)
            ]
            while True:
                # The signal of Ctrl-C may reach another thread, and not wake this one.
                done, left = wait(runs, _LOOK_S, FIRST_EXCEPTION)
                for each in done:
                    each.result()
                if not left:
                    return [each.result() for each in runs]
        except BaseException:
            # Their threads wait for them.
            guests.end()
            raise


def _check_captures(plan: topology.Topology, scenario: Scenario, into: Path) -> None:
    _disk.make_folder(into, follow=True)
    read = scenario.files(Path(scenario.base, scenario.name))
    for name in timeline.files(plan):
        _disk.check_output(into / name, read)


def _run(
    guests: machine.Guests,
    kernel: Kernel,
    gate: Path,
    order: Order,
    task: Task,
    captures: Path | None,
    progress: Callable[[float], None],
) -> Result:
    scenario = task.scenario
    plan = topology.read(scenario, order.congestion, order.programs.hosts)
    live = _engine.live(scenario.text, scenario.base)
    faults: list[str] = []

    def heard(line: str) -> None:
        if line.startswith(guest.PROGRESS):
            progress(float(line.removeprefix(guest.PROGRESS)))
        if line.startswith(_ERROR):
            faults.append(line.removeprefix(_ERROR))

    with machine.folder() as folder:
        given = {
            "text": scenario.text,
            "name": scenario.name,
            "base": str(Path(scenario.base).resolve()),
            "congestion": order.congestion,
            "captures": captures is not None,
            "outages": order.outages,
            "order": asdict(order.programs),
        }
        (folder / guest.SCENARIO).write_text(json.dumps(given), "utf-8")
        (folder / "main.py").write_text(_MAIN.format(path=sys.path), "utf-8")
        try:
            machine.boot(
                guests,
                kernel,
                folder,
                [
                    "mount tmpfs /run",
                    f"run - {sys.executable} -S -B {machine.RESULTS}/main.py",
                ],
                seed=task.seed,
                date=programs_.DATE if order.programs.programs else None,
                patience=_PATIENCE_S if order.programs.programs else None,
                parameters=["random.trust_cpu=on"],
                library=gate,
                heard=heard,
            )
        except LabError:
            if faults:
                raise LabError(faults[0]) from None
            raise
        if captures is not None:
            for each in folder.glob("*.pcap"):
                _disk.write(captures / each.name, each.read_bytes())
        seen = json.loads((folder / guest.SEEN).read_text("utf-8"))
        for what, *values in seen["told"]:
            getattr(live, what)(*values)
        flows = {
            link: {int(number): (index, last) for number, (index, last) in found.items()}
            for link, found in seen["flows"].items()
        }
        # The gates' clock is the guest's.
        measure(plan, live, folder, flows, dict.fromkeys(plan.gates, -machine.EPOCH))
        files = programs_.collected(folder, order.programs)
    result = Result.of(live.finish())
    if order.programs.programs:
        summary = result.summary | {"programs": seen["programs"]}
        result = replace(result, summary=summary, files=files)
    if captures is not None:
        timeline.write(plan, result, captures)
    return result


_MAIN = """\
import sys
sys.path[:] = {path!r}
from forebay.lab.virtual.guest import main
sys.exit(main())
"""
"""Python without its search for packages, which takes half a second here: they are known."""
