"""A find made small: the fewest flows, the roundest numbers and the shortest time that still do it.

It is delta debugging (A. Zeller, R. Hildebrandt, "Simplifying and isolating failure-inducing
input", IEEE TSE 28(2), 2002) on a plan instead of a text: what can be left out is left out, what
can be made smaller or rounder is, as long as a share of the harm stays, beyond that in the scenario
as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forebay.attack.plan import DATAGRAMS, Joining, Plan, Target
from forebay.attack.trials import Harm, Trials, added

KEEP = 0.8
"""Share of the harm that must stay."""
SEEDS = 3
"""Runs by which a smaller plan is judged: the mean counts."""
_TOGETHER = 4
"""Smaller plans that are tried at once, the first of which is taken that does it."""
_MOST = 240
"""Smaller plans that are tried at most."""


@dataclass(frozen=True, slots=True)
class Small:
    """A plan that was made small."""

    plan: Plan
    before: Harm
    """The harm of what was found, under the seeds by which smaller plans were judged."""
    after: Harm
    calm: Harm
    """The harm in the scenario as it is, as long as the small plan."""
    tried: int
    """Smaller plans that were tried."""


def minimise(
    trials: Trials,
    plan: Plan,
    seeds: Sequence[int],
    told: Callable[[int], None] = lambda _: None,
) -> Small:
    """Make a plan small."""
    [before, calm] = trials.harms([plan, Plan(duration=plan.duration)], seeds)
    best, after, tried = plan, before, 0
    least = KEEP * added(before.mean, calm.mean)
    seen = {repr(plan)}
    again = math.isfinite(least) and least > 0
    while again and tried < _MOST:
        again = False
        ways = iter(_smaller(best, trials.target))
        while tried < _MOST:
            batch: list[Plan] = []
            for each in ways:
                if repr(each) not in seen:
                    seen.add(repr(each))
                    batch.append(each)
                if len(batch) == _TOGETHER:
                    break
            if not batch:
                break
            tried += len(batch)
            told(tried)
            # A shorter run has another harm without any attack, which does not count.
            shorter = [Plan(duration=each.duration) for each in batch]
            harms = trials.harms([*batch, *shorter], seeds)
            triples = zip(batch, harms, harms[len(batch) :], strict=False)
            enough = (each for each in triples if added(each[1].mean, each[2].mean) >= least)
            kept = next(enough, None)
            if kept is not None:
                best, after, calm = kept
                again = True
                break
    return Small(best, before, after, calm, tried)


def _smaller(plan: Plan, target: Target) -> Iterator[Plan]:
    """Plans that are simpler in one way, what simplifies most first."""
    for at in range(len(plan.joining)):
        yield replace(plan, joining=plan.joining[:at] + plan.joining[at + 1 :])
    for part in ("slow", "cut", "loss", "reorder", "delay"):
        if getattr(plan, part) is not None:
            yield _without(plan, part)
    for path in plan.parameters:
        rest = {name: value for name, value in plan.parameters.items() if name != path}
        yield replace(plan, parameters=rest)
    duration = plan.duration or target.duration_s
    for share in (0.25, 0.5, 0.75):
        shorter = round_to(duration * share, 1)
        if shorter >= max(2.0, 4 * target.warmup_s) and shorter < duration:
            yield replace(plan, duration=shorter)
    for at, joining in enumerate(plan.joining):
        for each in _simpler(joining):
            yield replace(plan, joining=(*plan.joining[:at], each, *plan.joining[at + 1 :]))
    for digits in (1, 2):
        if plan.delay is not None:
            yield replace(plan, delay=round_to(plan.delay, digits))
        if plan.slow is not None:
            for at in range(3):
                slow = list(plan.slow)
                slow[at] = round_to(slow[at], digits)
                if slow[2] < 1:
                    yield replace(plan, slow=(slow[0], slow[1], slow[2]))
        if plan.loss is not None:
            yield replace(plan, loss=round_to(plan.loss, digits))
        if plan.reorder is not None:
            first, second = (round_to(each, digits) for each in plan.reorder)
            yield replace(plan, reorder=(first, second))
        if plan.cut is not None:
            first, second = (round_to(each, digits) for each in plan.cut)
            if first < second:
                yield replace(plan, cut=(first, second))


def _without(plan: Plan, part: str) -> Plan:
    """A plan that leaves a part of the path as the scenario has it."""
    fields: dict[str, Any] = {part: None}
    return replace(plan, **fields)


def _simpler(joining: Joining) -> Iterator[Joining]:
    """Entries that are simpler in one way."""
    for flows in (1, joining.flows // 2, joining.flows - 1):
        if 0 < flows < joining.flows:
            yield replace(joining, flows=flows)
    if joining.start:
        yield replace(joining, start=0.0)
    if joining.stop is not None:
        yield replace(joining, stop=None)
    plain: list[dict[str, Any]] = [{"way": None}, {"like": 0}, {"ecn": "not-ect"}]
    if joining.kind not in DATAGRAMS:
        plain.append({"control": "new-reno"})
    if joining.kind == "poisson":
        plain.append({"kind": "cbr"})
    if joining.kind == "on-off":
        plain.append({"kind": "cbr", "rate": joining.load})
    for fields in plain:
        changed = replace(joining, **fields)
        if changed != joining:
            yield changed
    if joining.kind in DATAGRAMS:
        for share in (0.5, 0.75):
            yield replace(joining, rate=joining.rate * share)
    for digits in (1, 2):
        for name in _NUMBERS[joining.kind]:
            value = getattr(joining, name)
            if value is None or (rounded := round_to(value, digits)) == value or not rounded:
                continue
            yield replace(joining, **{name: type(value)(rounded)})


_COMMON = ("start", "stop", "way")
_NUMBERS = {
    "bulk": _COMMON,
    "files": (*_COMMON, "file", "pause"),
    "cbr": (*_COMMON, "rate", "size"),
    "poisson": (*_COMMON, "rate", "size"),
    "on-off": (*_COMMON, "rate", "size", "on", "off"),
}
"""What is rounded of an entry, by its kind."""


def round_to(value: float, digits: int) -> float:
    """A number to so many significant digits; with one of them, 15 becomes 20 and 1234 1000."""
    return float(f"{value:.{digits - 1}e}")
