"""What a search found: a table, a picture and plain values."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from forebay import _engine
from forebay.papers import Panel, Series
from forebay.papers.declare import Style
from forebay.stats import Interval
from forebay.tune.goal import Bound, Estimate
from forebay.tune.search import Outcome, Tried

STANDINGS = {"holds": "holds", "open": "not sure", "fails": "fails"}
"""What becomes of the bounds, in words."""


def print_outcome(
    console: Console, outcome: Outcome, scenario: str, settings: Sequence[str] = ()
) -> None:
    """Print the candidates, what stands beside them, and what to do with the best.

    Args:
        console: where.
        outcome: what was found.
        scenario: the scenario's file, as one types it.
        settings: what was changed in it beforehand, as `--set` takes it.
    """
    plan = outcome.plan
    goal = plan.goal
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("", *(_short(each.path) for each in plan.parameters)):
        table.add_column(head, overflow="fold")
    for key in goal.keys:
        table.add_column(_short(key), justify="right", overflow="fold")
    if goal.bounds:
        table.add_column("bounds")
    equals = outcome.equals
    for tried in (*outcome.candidates, *outcome.beside):
        mark = "* " if tried is outcome.best else "= " if tried in equals else "  "
        values = [escape(str(value)) for value in tried.values] or ["" for _ in plan.parameters]
        cells = [f"{mark}{escape(tried.label)}", *values]
        assert tried.estimate is not None
        cells += [_number(tried.estimate.interval(key)) for key in goal.keys]
        if goal.bounds:
            cells.append(STANDINGS[tried.estimate.standing(goal)])
        style = "bold green" if tried is outcome.best else ""
        table.add_row(*cells, style=style)
    console.print(table)
    ran = sum(tried.estimate is not None for tried in outcome.trials)
    refused = len(outcome.trials) - ran
    search = f"{ran} trials of {plan.replications} runs"
    if refused:
        search += f", {refused} more could not run"
    console.print(
        f"Mean ± 95 % interval over {plan.verify} runs with seeds that the search had not seen; "
        f"the search: {search}.",
        style="dim",
    )
    best = outcome.best
    if best is None:
        console.print(
            "\n[bold]No candidate surely keeps every bound.[/bold] Widen the ranges, loosen a "
            "bound, or give more runs: --trials, --verify."
        )
        return
    console.print(f"\n[bold]Best: {escape(_assignments(outcome, best))}[/bold] (*)")
    if equals:
        console.print("Not to be told from it by these runs: those marked =.")
    if at := _at_the_edge(outcome, best):
        console.print(f"It lies at the end of a range: {escape(at)}; a wider one may hold better.")
    if plan.queue is None:
        chosen = zip(plan.parameters, best.values, strict=True)
        every = [*settings, *(f"{parameter.path}={value}" for parameter, value in chosen)]
        sets = " ".join(f"--set {shlex.quote(each)}" for each in every)
        console.print(f"Use it: forebay run {scenario} {sets}", soft_wrap=True, highlight=False)


def plain(outcome: Outcome, command: str) -> dict[str, Any]:
    """What was found as plain values; keys documented in `docs/tune.md`."""
    plan, best = outcome.plan, outcome.best

    def one(tried: Tried) -> dict[str, Any]:
        paths = [parameter.path for parameter in plan.parameters]
        found: dict[str, Any] = {
            "label": tried.label,
            "values": dict(zip(paths, tried.values, strict=False)),
        }
        if tried.estimate is None:
            return found | {"refusal": tried.refusal}
        return found | {
            "bounds": tried.estimate.standing(plan.goal),
            "measures": {
                key: _ends(tried.estimate.interval(key)) for key in tried.estimate.samples
            },
        }

    return {
        "forebay": _engine.version,
        "command": command,
        "scenario": plan.scenario.name,
        "goal": str(plan.goal),
        "seed": plan.seed,
        "replications": {"search": plan.replications, "verify": plan.verify},
        "best": None if best is None else one(best),
        "equals": [tried.label for tried in outcome.equals],
        "candidates": [one(tried) for tried in outcome.candidates],
        "beside": [one(tried) for tried in outcome.beside],
        "trials": [one(tried) for tried in outcome.trials],
    }


def panels(outcome: Outcome) -> list[Panel]:
    """The measure against each bound's key, or against each parameter without bounds."""
    plan = outcome.plan
    if plan.goal.bounds:
        return [_trade(outcome, bound) for bound in plan.goal.bounds[:4]]
    found = []
    for at, parameter in enumerate(plan.parameters[:4]):
        if parameter.choices:
            continue
        tried = [each for each in outcome.trials if each.estimate is not None]
        x = [_amount(each.values[at], parameter.unit) for each in tried]
        found.append(
            Panel(
                "",
                parameter.path,
                plan.goal.key,
                [_points("trials", x, tried, plan.goal.key)],
                x_log=parameter.log,
            )
        )
    return found


def draw(outcome: Outcome, path: Path) -> bool:
    """Write the picture as PNG; whether there is anything to draw."""
    from dataclasses import asdict

    from forebay.papers import draw as drawing

    shown = panels(outcome)
    if shown:
        drawing.save([asdict(panel) for panel in shown], path)
    return bool(shown)


def _trade(outcome: Outcome, bound: Bound) -> Panel:
    """The Pareto picture: what the measure costs in a bound's."""
    goal = outcome.plan.goal
    tried = [
        each
        for each in outcome.trials
        if each.estimate is not None and None not in _both(each.estimate, bound.key, goal.key)
    ]
    shown = [*outcome.candidates, *outcome.beside]
    every = [_mean(each, bound.key) for each in (*tried, *shown)]
    above = [value for value in (*every, bound.value) if value > 0]
    spread = len(above) > 1 and max(above) > 20 * min(above) and min(every) >= 0
    # No place for zero on a logarithmic axis but its left end.
    least = min(above) / 2 if spread else 0.0

    def x_of(each: Tried) -> float:
        return max(_mean(each, bound.key), least) if spread else _mean(each, bound.key)

    front = _front(outcome, tried, bound)
    series = [_points("trials", [x_of(each) for each in tried], tried, goal.key)]
    series.append(
        Series(
            "Pareto front of the trials",
            [x_of(each) for each in front],
            [_mean(each, goal.key) for each in front],
            style="line",
        )
    )
    series.append(
        _points("candidates, fresh seeds", [x_of(each) for each in outcome.candidates],
                outcome.candidates, goal.key)
    )  # fmt: skip
    best = outcome.best
    if best is not None:
        series.append(_points("chosen", [x_of(best)], [best], goal.key))
    for each in outcome.beside:
        series.append(_points(each.label, [x_of(each)], [each], goal.key))
    values = [value for one in series for value in one.y if value is not None]
    ends = [min(values), max(values)]
    series.append(Series(str(bound), [bound.value] * 2, ends, style="steps"))
    note = "  (0 at the left end)" if spread and min(every) <= 0 else ""
    return Panel("", bound.key + note, goal.key, series, x_log=spread)


def _front(outcome: Outcome, tried: Sequence[Tried], bound: Bound) -> list[Tried]:
    """The trials that no other one beats in both measures."""
    goal = outcome.plan.goal
    order = sorted(
        tried,
        key=lambda each: (
            bound.excess(_mean(each, bound.key)),
            -_mean(each, goal.key) if goal.maximize else _mean(each, goal.key),
        ),
    )
    front: list[Tried] = []
    for each in order:
        if not front or goal.better(_mean(each, goal.key), _mean(front[-1], goal.key)):
            front.append(each)
    return front


def _points(label: str, x: Sequence[float], many: Sequence[Tried], key: str) -> Series:
    found = [None if each.estimate is None else each.estimate.interval(key) for each in many]
    style: Style = "points"
    return Series(
        label,
        list(x),
        [None if each is None else each.mean for each in found],
        [None if each is None else each.low for each in found] if label != "trials" else (),
        [None if each is None else each.high for each in found] if label != "trials" else (),
        style=style,
    )


def _both(estimate: Estimate, first: str, second: str) -> tuple[Interval | None, Interval | None]:
    return estimate.interval(first), estimate.interval(second)


def _mean(tried: Tried, key: str) -> float:
    found = None if tried.estimate is None else tried.estimate.interval(key)
    return float("nan") if found is None else found.mean


def _amount(value: Any, unit: str) -> float:
    return float(str(value).removesuffix(unit)) if unit else float(value)


def _assignments(outcome: Outcome, tried: Tried) -> str:
    paths = [parameter.path for parameter in outcome.plan.parameters]
    pairs = zip(paths, tried.values, strict=True)
    return ", ".join(f"{path} = {value}" for path, value in pairs)


def _at_the_edge(outcome: Outcome, tried: Tried) -> str:
    """Parameters whose value is within a hundredth of an end of their range."""
    found = []
    for parameter, value in zip(outcome.plan.parameters, tried.values, strict=True):
        if parameter.choices:
            continue
        number, room = _amount(value, parameter.unit), parameter.high - parameter.low
        if min(number - parameter.low, parameter.high - number) <= 0.01 * room:
            found.append(f"{parameter.path} = {value}")
    return ", ".join(found)


def _short(path: str) -> str:
    """The last two steps of a path or key, which tell columns apart."""
    return ".".join(path.split(".")[-2:])


def _number(found: Interval | None) -> str:
    if found is None:
        return "–"
    half = "" if found.half_width is None else f" ±{found.half_width:.2g}"
    return f"{found.mean:.4g}{half}"


def _ends(found: Interval | None) -> dict[str, float | int | None] | None:
    if found is None:
        return None
    return {"mean": found.mean, "low": found.low, "high": found.high, "samples": found.samples}
