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
from forebay.attack import linux
from forebay.attack.plan import Plan, Target
from forebay.attack.trials import Trials, added
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
    folder: Path | None = None,
) -> Iterator[Confirmation]:
    """Look at a find again.

    It is confirmed if the mean harm is at least `least`, and so is the harm of three of four seeds.
    Runs are kept in `folder`; called again, it goes on where it was.

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
        folder: where runs are kept; nowhere unless given.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="forebay-") as short:
            yield from confirmations(
                target, measure, plan, least, first_seed,
                queue=queue, rival=rival, jobs=jobs, told=told, folder=Path(short),
            )  # fmt: skip
        return
    seeds = range(first_seed, first_seed + SEEDS)
    told("other seeds")
    yield _simulated(
        f"{SEEDS} other seeds",
        Trials(target, measure, folder / "seeds", queue=queue, rival=rival, jobs=jobs),
        plan,
        least,
        seeds,
    )
    other = "linux-6.1" if _stack(target) == "standard" else "standard"
    told(other)
    try:
        changed = _with_stack(target, other)
    except ScenarioError as error:
        yield Confirmation(f"stack {other}", IMPOSSIBLE, None, str(error))
    else:
        yield _simulated(
            f"stack {other}",
            Trials(changed, measure, folder / other, queue=queue, rival=rival, jobs=jobs),
            plan,
            least,
            seeds,
        )
    told("Linux")
    yield _in_kernel(target, measure, plan, least, first_seed, queue, rival, folder / "linux")


def needed(harm: float, calm: float) -> float:
    """The harm that must be found again, of what was found and that in the scenario as it is."""
    return max(calm, 0.0) + HALF * added(harm, calm)


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
    how: str, trials: Trials, plan: Plan, least: float, seeds: Sequence[int]
) -> Confirmation:
    with trials:
        [found] = trials.harms([plan], seeds)
    if not found.values:
        return Confirmation(how, IMPOSSIBLE, None, "the engine refuses it")
    return _judged(how, found.values, least)


def _in_kernel(
    target: Target,
    measure: str,
    plan: Plan,
    least: float,
    first_seed: int,
    queue: Any,
    rival: Any,
    folder: Path,
) -> Confirmation:
    from forebay.lab.errors import LabError

    how = "Linux in virtual time"
    seeds = range(first_seed, first_seed + KERNEL_SEEDS)
    values = [0.0] * len(seeds)
    try:
        with linux.Runs(target, folder) as runs:
            for sign, each in ((1, queue), (-1, rival)):
                if sign < 0 and rival is None:
                    continue
                table, called = linux.queue(target, each)
                how = f"{how}{', ' if sign > 0 else ' beside '}{called}"
                for at, harms in enumerate(runs.harms(plan, table, seeds)):
                    values[at] += sign * harms.get(measure, math.nan)
    except (LabError, ScenarioError) as error:
        return Confirmation(how, IMPOSSIBLE, None, str(error).splitlines()[0])
    return _judged(how, values, least)


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
