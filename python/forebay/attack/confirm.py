"""Whether a find holds elsewhere: with other seeds, in another stack, in Linux' own kernel."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import stats
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, lookup
from forebay.attack.measure import Meter, Run, others
from forebay.attack.plan import Plan, Target
from forebay.attack.trials import Trials
from forebay.stats import Interval

SEEDS = 8
"""Fresh seeds of a confirmation in the simulator."""
KERNEL_SEEDS = 3
"""Seeds of a confirmation in the virtual kernel, whose runs take seconds."""
HALF = 0.5
"""Share of the harm, beyond that in the scenario as it is, that must be found again."""

CONFIRMED, NOT, IMPOSSIBLE = "confirmed", "not confirmed", "not possible"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One way in which a find was looked at again."""

    how: str
    verdict: str
    """`CONFIRMED`, `NOT` or `IMPOSSIBLE`."""
    found: Interval | None
    """The harm, over the seeds."""
    why: str = ""
    """Why it was not possible."""


def confirmations(
    target: Target,
    measure: str,
    plan: Plan,
    least: float,
    first_seed: int,
    *,
    queue: Any = None,
    rival: Any = None,
    jobs: int | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Iterator[Confirmation]:
    """Look at a find again.

    It is confirmed if the mean harm is at least `least`, and so is the harm of three of four seeds.

    Args:
        target: the scenario that is attacked.
        measure: the name of the harm.
        plan: the find.
        least: the harm that must be found again.
        first_seed: of the fresh ones.
        queue: the discipline; the scenario's own if none.
        rival: the discipline that must do better, if any.
        jobs: runs at a time.
        told: called with what is looked at next.
    """
    seeds = range(first_seed, first_seed + SEEDS)
    told("other seeds")
    yield _simulated(
        f"{SEEDS} other seeds", target, measure, plan, least, seeds, queue, rival, jobs
    )
    other = "linux-6.1" if _stack(target) == "standard" else "standard"
    told(other)
    try:
        changed = _with_stack(target, other)
    except ScenarioError as error:
        yield Confirmation(f"stack {other}", IMPOSSIBLE, None, str(error))
    else:
        yield _simulated(f"stack {other}", changed, measure, plan, least, seeds, queue, rival, jobs)
    told("Linux")
    yield _in_kernel(target, measure, plan, least, first_seed, queue, rival)


def needed(harm: float, calm: float) -> float:
    """The harm that must be found again, of what was found and that in the scenario as it is."""
    return calm + HALF * (harm - calm)


def verdict(found: Sequence[Confirmation]) -> str:
    """That of all: confirmed if something confirms it and nothing speaks against it."""
    verdicts = [each.verdict for each in found]
    return NOT if NOT in verdicts or CONFIRMED not in verdicts else CONFIRMED


def _judged(how: str, values: Sequence[float], least: float) -> Confirmation:
    known = [each for each in values if not math.isnan(each)]
    holds = [each >= least for each in known]
    confirmed = (
        bool(known) and sum(known) / len(known) >= least and sum(holds) >= 0.75 * len(values)
    )
    return Confirmation(how, CONFIRMED if confirmed else NOT, stats.interval(known or [None]))


def _simulated(
    how: str,
    target: Target,
    measure: str,
    plan: Plan,
    least: float,
    seeds: Sequence[int],
    queue: Any,
    rival: Any,
    jobs: int | None,
) -> Confirmation:
    with (
        tempfile.TemporaryDirectory(prefix="forebay-") as folder,
        Trials(target, measure, Path(folder), queue=queue, rival=rival, jobs=jobs) as trials,
    ):
        [found] = trials.harms([plan], seeds)
    if not found.values:
        return Confirmation(how, IMPOSSIBLE, None, "the engine refuses it")
    return _judged(how, found.values, least)


def _stack(target: Target) -> str:
    stack = (target.base.effective().get("tcp") or {}).get("stack") or "standard"
    return str(stack["kind"] if isinstance(stack, Mapping) else stack)


def _with_stack(target: Target, stack: str) -> Target:
    """The same in another stack, with its own conventions and no memory of others' parameters."""
    base = target.base
    tcp = {
        name: value
        for name, value in (base.document.get("tcp") or {}).items()
        if name in ("congestion", "ecn", "accurate_ecn", "receive_window", "min_rto")
    }
    preset = {"linux-6.1": "linux-6.1", "standard": "rfc"}[stack]
    return Target(base.with_("tcp", {"preset": preset, **tcp}), target.link)


QDISCS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "fifo": ("pfifo", ("limit",)),
    "codel": ("codel", ("limit", "target", "interval", "ecn")),
    "fq-codel": ("fq_codel", ("limit", "target", "interval", "ecn")),
    "pie": ("pie", ("limit", "target", "ecn")),
    "fq-pie": ("fq_pie", ("limit", "target", "ecn")),
    "cake": ("cake", ()),
}
"""The kernel's own discipline of a kind, and the parameters that tc is told."""


def kernel_queue(target: Target, queue: Any) -> tuple[Any, str]:
    """What the virtual kernel queues with, and how to call it.

    The kernel's own discipline, if it has one and nothing is set that tc is not told; otherwise
    forebay's, under the kernel's TCP.
    """
    base = target.base if queue is None else target.base.with_queue(queue, target.link)
    found = _queue_of(base, target)
    kind = str(found.get("kind"))
    usual = _queue_of(target.base.with_queue(kind, target.link), target) if kind in QDISCS else {}
    name, told = QDISCS.get(kind, ("", ()))
    if not name or any(usual.get(key) != value for key, value in found.items() if key not in told):
        return queue, f"forebay's {kind}"
    options = []
    for key in told:
        value = found[key]
        if key == "ecn":
            options += ["ecn"] if value else ["noecn"] if name != "pie" else []
        else:
            options.append(f"{key} {str(value).removesuffix('p') if key == 'limit' else value}")
    options = [each for each in options if each != "noecn" or name != "fq_pie"]
    table = {"kind": "kernel", "qdisc": name}
    return table | ({"options": " ".join(options)} if options else {}), f"Linux' {name}"


def _queue_of(base: Scenario, target: Target) -> dict[str, Any]:
    found = base.effective()
    links = {each["name"]: each for each in base.resolved()["links"]}
    queue: dict[str, Any] = lookup(found, links[target.link]["queue_path"]) or {}
    return queue


def _in_kernel(
    target: Target, measure: str, plan: Plan, least: float, first_seed: int, queue: Any, rival: Any
) -> Confirmation:
    from forebay.lab import virtual
    from forebay.lab.errors import LabError
    from forebay.lab.virtual.kernel import found

    how = "Linux in virtual time"
    meter = Meter(target.base, target.link)
    seeds = range(first_seed, first_seed + KERNEL_SEEDS)
    try:
        kernel = found()
        values = [0.0] * len(seeds)
        for sign, each in ((1, queue), (-1, rival)):
            if sign < 0 and rival is None:
                continue
            table, called = kernel_queue(target, each)
            how = f"{how}{', ' if sign > 0 else ' beside '}{called}"
            scenario = target.change(plan, table).of(target.base)
            results = virtual.run_all(scenario, seeds, kernel=kernel)
            for at, result in enumerate(results):
                series = {
                    str(name): rows["throughput_bps"].to_list()
                    for (name,), rows in result.classes.partition_by("class", as_dict=True).items()
                }
                duration_s = float(result.summary["duration_s"])
                joining = others(target, plan)
                harms = meter.measures(Run(joining, duration_s, result.summary, series))
                values[at] += sign * harms.get(measure, math.nan)
    except (LabError, ScenarioError) as error:
        return Confirmation(how, IMPOSSIBLE, None, str(error).splitlines()[0])
    return _judged(how, values, least)
