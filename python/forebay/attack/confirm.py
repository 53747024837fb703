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
UNSEEN = "not looked at"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One way in which a find was looked at again."""

    how: str
    verdict: str
    """`CONFIRMED`, `NOT` or `IMPOSSIBLE`."""
    found: Interval | None
    """The harm, over the seeds."""
    calm: Interval | None = None
    """The same without the attack."""
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
    """Look at a find again, and at the scenario as it is with the same seeds.

    It is confirmed if it adds at least `least` to their mean harm there, in the mean and with three
    of four seeds. Runs are kept in `folder`; called again, it goes on where it was.

    Args:
        target: the scenario that is attacked.
        measure: the name of the harm.
        plan: the find.
        least: the harm that must be added.
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
    other = _other_stack(target)
    told(other)
    try:
        changed = _with_stack(target, other)
    except ScenarioError as error:
        yield Confirmation(f"stack {other}", IMPOSSIBLE, None, why=str(error))
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
    """What must be added again, of a harm and that in the scenario as it is."""
    return HALF * added(harm, calm)


def verdict(found: Sequence[Confirmation]) -> str:
    """That of all: confirmed if something confirms it and nothing speaks against it."""
    if not found:
        return UNSEEN
    verdicts = [each.verdict for each in found]
    return NOT if NOT in verdicts or CONFIRMED not in verdicts else CONFIRMED


def _judged(
    how: str, values: Sequence[float], calms: Sequence[float], least: float
) -> Confirmation:
    found, calm = (
        stats.interval([each for each in some if not math.isnan(each)] or [None])
        for some in (values, calms)
    )
    gains = [added(each, calm.mean if calm else 0.0) for each in values if not math.isnan(each)]
    holds = sum(each >= least for each in gains) >= 0.75 * len(values)
    confirmed = bool(gains) and holds and sum(gains) / len(gains) >= least
    return Confirmation(how, CONFIRMED if confirmed else NOT, found, calm)


def _simulated(
    how: str, trials: Trials, plan: Plan, least: float, seeds: Sequence[int]
) -> Confirmation:
    with trials:
        found, calm = trials.harms([plan, Plan(duration=plan.duration)], seeds)
    if not found.values:
        return Confirmation(how, IMPOSSIBLE, None, why="the engine refuses it")
    return _judged(how, found.values, calm.values, least)


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
    plans = (plan, Plan(duration=plan.duration))
    values, calms = ([0.0] * len(seeds) for _ in plans)
    try:
        with linux.Runs(target, folder) as runs:
            for sign, each in ((1, queue), (-1, rival)):
                if sign < 0 and rival is None:
                    continue
                table, called = linux.queue(target, each)
                how = f"{how}{', ' if sign > 0 else ' beside '}{called}"
                for each_plan, sums in zip(plans, (values, calms), strict=True):
                    for at, harms in enumerate(runs.harms(each_plan, table, seeds)):
                        sums[at] += sign * harms.get(measure, math.nan)
    except (LabError, ScenarioError) as error:
        return Confirmation(how, IMPOSSIBLE, None, why=str(error).splitlines()[0])
    return _judged(how, values, calms, least)


def _other_stack(target: Target) -> str:
    """A stack that the scenario's transfers do not have, or not all of them."""
    entries = target.base.effective()["traffic"]
    kinds = {each["tcp"]["stack"]["kind"] for each in entries if each.get("tcp")}
    return "linux-6.1" if kinds <= {"standard"} else "standard"


def _with_stack(target: Target, stack: str) -> Target:
    """The same in another stack, with its own conventions and no memory of others' parameters."""
    base = target.base
    preset = {"linux-6.1": "linux-6.1", "standard": "rfc"}[stack]
    document = base.document
    fields = {"tcp": {"preset": preset, **_kept(document)}}
    for at, entry in enumerate(document["traffic"]):
        if "tcp" in entry:
            fields[f"traffic[{at}].tcp"] = _kept(entry)
    return Target(base.with_all(fields), target.link)


def _kept(of: Mapping[str, Any]) -> dict[str, Any]:
    names = ("congestion", "ecn", "accurate_ecn", "receive_window", "min_rto")
    return {name: value for name, value in (of.get("tcp") or {}).items() if name in names}
