"""From a scenario and what is attacked to finds that are small, saved and looked at again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, labelled
from forebay.attack import bounds as bounds_
from forebay.attack import finds, show
from forebay.attack.bounds import Bounds
from forebay.attack.confirm import Confirmation, confirmations, needed
from forebay.attack.finds import Found
from forebay.attack.minimise import SEEDS, minimise
from forebay.attack.outcome import Outcome
from forebay.attack.plan import Plan, Space, Target
from forebay.attack.search import PATHS, Guide, Niche, Searched, Tried, search
from forebay.attack.trials import Trials, added

Told = Callable[[str, float], None]
"""Told what is being done, and the share of all that is done."""
_SEARCH = 0.8
"""Share of the progress that is the search's."""


def attack(
    scenario: Scenario,
    folder: str | Path,
    *,
    discipline: str | Mapping[str, Any] | None = None,
    against: str | Mapping[str, Any] | None = None,
    control: str | None = None,
    box: str | Mapping[str, Any] | None = None,
    measure: str = "starvation",
    bounds: Bounds | None = None,
    link: str | None = None,
    seconds: float = 60.0,
    finds: int = 3,
    seed: int = 1,
    guide: Guide = "archive",
    confirm: bool = True,
    jobs: int | None = None,
    told: Told = lambda _what, _share: None,
    command: str = "",
) -> Outcome:
    """Look for the network in which a scenario's traffic suffers most.

    Runs are kept in `folder`; called again, it goes on where it was. At the end the folder has
    `report.html`, `summary.md`, `results.json`, `bounds.toml`, and in `finds` a scenario and a
    story for each find.

    Args:
        scenario: the network, and the traffic whose harm counts.
        folder: where runs and finds are kept.
        discipline: what is attacked, in place of the link's queue: a kind, a label or a table.
        against: a rival: the harm is what the discipline does more than it.
        control: a congestion control for all of the scenario's transfers.
        box: what is attacked, in front of the queue: a kind or a table; the rival is the same queue
            without it, unless another is given.
        measure: the harm, one of `forebay.attack.MEASURES`.
        bounds: what the attack may do.
        link: the link that is attacked; the compared one unless given.
        seconds: processor time of the search's runs.
        finds: how many are made small and looked at again, each of another niche.
        seed: of the search and its runs.
        guide: "archive", or "random" for a comparison.
        confirm: whether finds are looked at again.
        jobs: runs at a time; one a core unless given.
        told: called with what is being done, and the share that is done.
        command: the command line, for the report.

    Raises:
        ScenarioError: anything that is not understood or could not run.
        OSError: results could not be kept.
        KeyboardInterrupt: interrupted; every finished run is kept.

    Example:
        >>> found = attack.attack(scenario, "out/attack", discipline="codel",
        ...     measure="p99", seconds=1, finds=1, confirm=False)
        >>> found.finds[0].scenario.document["title"].startswith("Attack on codel")
        True
    """
    into = Path(folder)
    listed = dict(
        labelled(each) for each in (scenario.document.get("compare") or {}).get("disciplines") or []
    )
    queue, called = _queue(discipline, listed)
    rival, beside = _queue(against, listed)
    target = Target(scenario, link, control)
    if queue is None:
        own = _own_kind(target)
        called = control if control is not None else own
    if box is not None:
        plain = queue if queue is not None else target.queue
        queue = {**plain, "box": labelled(box)[1]}
        if rival is None:
            rival, beside = plain, f"{called} alone"
        called = labelled(box)[0]
    given = bounds or Bounds()
    limits = bounds_.for_measure(given, measure)
    space = Space(limits, len(target.traffic), target.duration_s)
    for each in (queue, rival):
        target.change(Plan(), each).of(target.base).effective()
    _check_bounds(target, limits, queue, space)
    runs = 0

    def heard(now: int) -> None:
        nonlocal runs
        runs = now

    with Trials(
        target, measure, into, queue=queue, rival=rival, jobs=jobs, progress=heard
    ) as trials:
        of = trials.measure
        bounds_.keep(given, into / "bounds.toml")
        seeds = range(seed, seed + SEEDS)
        [calm] = trials.harms([Plan()], seeds)
        found = search(
            trials,
            space,
            # What breaks the contract without any attack needs no search.
            seconds=0.0 if calm.fault else seconds,
            seed=seed,
            guide=guide,
            told=lambda share, worst: told(
                f"{runs} runs, worst {show.harm(of, worst)}", _SEARCH * share
            ),
        )
        chosen = _chosen(trials, found, finds, seeds, calm.mean)
        faults = tuple(
            dict.fromkeys(
                harm.fault for harm in (calm, *(c.harm for c in found.cells.values())) if harm.fault
            )
        )
        made: list[Found] = []
        for at, each in enumerate(chosen):
            done = _SEARCH + (1 - _SEARCH) * at / len(chosen)
            told(f"find {at + 1} of {len(chosen)}: making it small", done)
            one = _made(trials, each, at + 1, called, beside, seed, confirm, jobs, told, done, into)
            if all(one.small.plan != other.small.plan for other in made):
                made.append(one)
        order = sorted(range(len(made)), key=lambda at: -made[at].harm)
        outcome = Outcome(
            target,
            called,
            beside,
            of,
            limits,
            calm.mean,
            found,
            tuple(made[at] for at in order),
            faults,
        )
        _write(outcome, into, command, queue, _beside(outcome, rival, beside))
    return outcome


def _made(
    trials: Trials,
    tried: Tried,
    number: int,
    called: str,
    beside: str,
    seed: int,
    confirm: bool,
    jobs: int | None,
    told: Told,
    done: float,
    folder: Path,
) -> Found:
    target, of = trials.target, trials.measure
    small = minimise(
        trials,
        tried.plan,
        range(seed, seed + SEEDS),
        told=lambda count: told(f"find {number}: {count} smaller ones tried", done),
    )
    again: tuple[Confirmation, ...] = ()
    if confirm:
        again = tuple(
            confirmations(
                target,
                of.name,
                small.plan,
                needed(small.after.mean, small.calm.mean),
                seed + SEEDS,
                queue=trials.queue,
                rival=trials.rival,
                jobs=jobs,
                told=lambda how: told(f"find {number}: confirming, {how}", done),
                folder=folder / "confirmed",
            )
        )
    more = f" more than {beside}" if beside else ""
    title = f"Attack on {called}: {of.title} {show.harm(of, small.after.mean)}{more}"
    scenario = finds.scenario_of(target, small.plan, trials.queue, seed, title)
    return Found(f"{number}-{of.name}", tried, small, again, scenario)


_LEAST = 0.05
"""Share of the harm that must be the attack's, for a candidate to be a find."""
_AGAIN = 32
"""Cells that are judged again before finds are chosen, beside the worst of each niche."""


def _chosen(
    trials: Trials, found: Searched, most: int, seeds: Sequence[int], calm: float
) -> list[Tried]:
    """The worst of different niches that no cheaper one reaches.

    What pays less and does less to the path comes first if the harm is nearly the same. The search
    ran each with one seed, and the worst of many is lucky: the mean over `seeds` counts.
    """

    def weight(each: Tried) -> float:
        return added(each.harm.mean, calm) * (1 - 0.08 * each.price - 0.1 * PATHS[each.path])

    worst = sorted(found.cells.values(), key=weight, reverse=True)[:_AGAIN]
    again = {each.number: each for each in (*worst, *found.best.values()) if not each.harm.fault}
    harms = trials.harms([each.plan for each in again.values()], seeds)
    best: dict[Niche, Tried] = {}
    for each, harm in zip(again.values(), harms, strict=True):
        if each.niche not in best or harm.mean > best[each.niche].harm.mean:
            best[each.niche] = replace(each, harm=harm)
    harmful = [
        each
        for each in best.values()
        if added(each.harm.mean, calm) > _LEAST * abs(each.harm.mean)
        and math.isfinite(each.harm.mean)
    ]
    front = [
        each
        for each in harmful
        if not any(
            other is not each
            and other.price <= each.price
            and PATHS[other.path] <= PATHS[each.path]
            and added(other.harm.mean, calm) >= 0.95 * added(each.harm.mean, calm)
            for other in harmful
        )
    ]
    return sorted(front, key=weight, reverse=True)[:most]


def _queue(given: Any, listed: Mapping[str, dict[str, Any]]) -> tuple[Any, str]:
    """A discipline's table and what it is called; none if none is given."""
    if given is None:
        return None, ""
    if isinstance(given, str) and given in listed:
        return listed[given], given
    label, table = labelled(given)
    return table, label


def _own_kind(target: Target) -> str:
    return str(target.queue.get("kind", "its queue"))


def _check_bounds(target: Target, limits: Bounds, queue: Any, space: Space) -> None:
    """Check that the first value of every parameter can be set, and that there is every control."""
    parameters = space.plan([0.0] * len(space.names)).parameters
    try:
        target.change(Plan(parameters=parameters), queue).of(target.base).effective()
    except ScenarioError as error:
        raise ScenarioError(f"bounds: parameters: {error}") from None
    files = [str(Path(target.base.base, each)) for each in target.base.document.get("plugins", [])]
    known = [each["name"] for each in json.loads(_engine.kinds(files))["controls"]]
    for control in limits.controls:
        if control not in known:
            raise ScenarioError(
                f'bounds: controls: there is no "{control}"; one of {", ".join(known)}'
            )


def _beside(outcome: Outcome, rival: Any, called: str) -> dict[str, Any]:
    """What a story shows at its end: the rival, or another discipline, with its label."""
    if rival is None:
        called = "fq-codel" if outcome.called != "fq-codel" else "fifo"
    return {"label": called, **labelled(called if rival is None else rival)[1]}


def _write(
    outcome: Outcome, folder: Path, command: str, queue: Any, beside: dict[str, Any]
) -> None:
    home = folder / "finds"
    _disk.make_folder(home)
    for each in outcome.finds:
        text = finds.file_text(each, outcome.measure, outcome.target, command)
        _disk.write(home / f"{each.name}.toml", text)
        told = finds.story(each, outcome.measure, outcome.target, outcome.called, queue, beside)
        _disk.write(home / f"{each.name}.story.toml", told)
    show.write(outcome, folder, command)
