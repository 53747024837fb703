"""From a scenario and what is asked of it to a search."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _disk
from forebay._comparison import beside_today
from forebay._engine import ScenarioError
from forebay._runs import Progress
from forebay._scenario import TODAY, Scenario, labelled
from forebay.tune import show
from forebay.tune.goal import read_goal
from forebay.tune.runs import Runs
from forebay.tune.search import Outcome, Tuning, search
from forebay.tune.space import Parameter, check, read_parameter


def tune(
    scenario: Scenario,
    folder: str | Path,
    *,
    maximize: str | None = None,
    minimize: str | None = None,
    subject_to: Sequence[str] = (),
    parameters: Sequence[str] = (),
    discipline: str | Mapping[str, Any] | None = None,
    link: str | None = None,
    baseline: str | None = None,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    command: str = "",
    seed: int | None = None,
    **amounts: int,
) -> Outcome:
    """Look for parameter values that optimise a measure within bounds.

    What is not given comes from the scenario's `[tune]` and `[compare]` tables. Finished runs are
    kept in `folder`; called again, it goes on where it was, also with another goal, ranges or
    numbers of runs. At the end it writes `results.json`, and `pareto.png` if there is anything to
    draw.

    Args:
        scenario: what to run.
        folder: where runs and what was found are kept.
        maximize: the measure to make large, a key of the summary joined by dots, or `efficiency` or
            `classes.<class>.gain` beside a baseline.
        minimize: the measure to make small, instead.
        subject_to: bounds such as `classes.voice.loss <= 0.001`.
        parameters: fields and what they may be, such as `link[0].queue.limit=10p..400p:log`.
        discipline: the queue that is tuned, instead of the scenario's own: a kind, a label of the
            scenario's list, or a table.
        link: the link that gets it.
        baseline: the discipline, by label or kind, beside which gain and efficiency are given.
        jobs: runs at a time; one a core unless given.
        progress: called about ten times a second.
        command: the command line, for `results.json`.
        seed: of the first replication and of the search, instead of the scenario's.
        amounts: `trials`, `replications`, `candidates` and `verify`, as `Tuning` has them.

    Raises:
        ScenarioError: anything that is not understood or could not run.
        OSError: results could not be kept.
        KeyboardInterrupt: interrupted; every finished run is kept.

    Example:
        >>> found = tune.tune(scenario.with_("duration", "10s"), "out/tuned",
        ...     minimize="classes.calls.p99_delay_ms", discipline="fifo",
        ...     parameters=["dumbbell.queue.limit=10p..100p"],
        ...     trials=3, replications=2, candidates=1, verify=2)
        >>> len(found.trials)
        3
    """
    checked = scenario.effective()
    table = checked.get("tune") or {}
    if maximize is None and minimize is None:
        maximize, minimize = table.get("maximize"), table.get("minimize")
    goal = read_goal(maximize, minimize, subject_to or table.get("subject_to") or ())
    written = [f"{path}={values}" for path, values in (table.get("parameters") or {}).items()]
    found = tuple(read_parameter(each) for each in parameters or written)
    check(found)
    compare = checked.get("compare") or {}
    listed = dict(labelled(each) for each in compare.get("disciplines") or [])
    queue = None if discipline is None else _queue(discipline, listed)
    name = baseline if baseline is not None else compare.get("baseline")
    base = scenario.bare()
    where = link if link is not None else _link(scenario, listed or queue or name)
    beside: list[tuple[str, dict[str, Any] | None]] = [(TODAY, None)]
    if listed:
        lanes = beside_today(scenario, where)
        beside += [
            labelled(each) for label, each in lanes.items() if each != TODAY and label != name
        ]
    if queue is None:
        _check_paths(base, found)
    plan = Tuning(
        base,
        where,
        queue,
        found,
        goal,
        tuple(beside),
        None if name is None else (name, _queue(name, listed)),
        tuple(compare.get("efficiency") or ()),
        seed=int(checked.get("seed", 1)) if seed is None else seed,
        **amounts,
    )
    with Runs(base, Path(folder), jobs) as runs:
        outcome = search(plan, runs, progress)
        text = json.dumps(show.plain(outcome, command), indent=1, ensure_ascii=False)
        _disk.write(runs.folder / "results.json", f"{text}\n")
        show.draw(outcome, runs.folder / "pareto.png")
    return outcome


def _link(scenario: Scenario, needed: object) -> str | None:
    """The compared link, if disciplines are put on one."""
    try:
        return scenario.default_link()
    except ScenarioError:
        if needed:
            raise
        return None


def _queue(
    discipline: str | Mapping[str, Any], listed: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    if isinstance(discipline, str) and discipline in listed:
        return listed[discipline]
    return labelled(discipline)[1]


def _check_paths(base: Scenario, parameters: Sequence[Parameter]) -> None:
    """Check that every field can be set, with the low end of its range."""
    for parameter in parameters:
        low = parameter.choices[0] if parameter.choices else parameter.value(parameter.low)
        base.with_(parameter.path, low)
