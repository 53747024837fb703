"""What a search found: a table, a picture and plain values."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from forebay import _engine
from forebay._judge import Standing
from forebay._measures import ABSENT, Beside
from forebay._report import chart
from forebay._report.page import Cell, Row, Table
from forebay._report.panel import Panel, Series
from forebay._report.table import fewer, number
from forebay._report.terminal import print_table
from forebay._scenario import TODAY
from forebay.stats import Interval
from forebay.tune.goal import Bound
from forebay.tune.search import Outcome, Tried, difference, mean_of
from forebay.tune.space import Parameter

STANDINGS = {Standing.INSIDE: "holds", Standing.OPEN: "open", Standing.OUTSIDE: "fails"}
"""What becomes of the bounds, as plain values."""
WORDS = STANDINGS | {Standing.OPEN: "not sure"}
"""The same in words."""


def print_outcome(
    console: Console, outcome: Outcome, scenario: str, settings: Sequence[str] = ()
) -> None:
    """Print the candidates, what stands beside them, and what to do with the best."""
    plan = outcome.plan
    print_table(console, _table(outcome))
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
    shown = (*outcome.candidates, *outcome.beside)
    if lacking := [_short(key) for key in plan.goal.keys if _lack(shown, key)]:
        console.print(
            f"Some runs have no value of {' and '.join(lacking)}; longer runs may have one.",
            style="dim",
        )
    best, tuned = outcome.best, outcome.tuned
    if best is None:
        advice = "Widen the ranges, or give longer runs."
        if plan.goal.bounds:
            advice = "Widen the ranges, loosen a bound, or give more runs: --trials, --verify."
        console.print(f"\n[bold]Nothing {_wanted(outcome, shown)}.[/bold] {advice}")
        return
    if best is tuned:
        console.print(f"\n[bold]Best: {escape(_assignments(outcome, best))}[/bold] (*)")
    else:
        console.print(f"\n[bold]Best: {escape(best.label)}[/bold] (*), which was not tuned.")
    if outcome.equals:
        console.print(f"Those marked = {Beside.OPEN.value}.")
    console.print(
        "".join(f"Beside today: {escape(each)}.\n" for each in _beside_today(outcome)), end=""
    )
    if tuned is None:
        console.print(f"No candidate {_wanted(outcome, outcome.candidates)}.")
        return
    if tuned is not best:
        less = Beside.OPEN.value if tuned in outcome.equals else _behind(outcome)
        console.print(
            f"Best of the values tried: {escape(_assignments(outcome, tuned))}; it {escape(less)}."
        )
    if at := _at_the_edge(outcome, tuned):
        console.print(f"It lies at the end of a range: {escape(at)}; a wider one may hold better.")
    if plan.queue is None:
        chosen = zip(plan.parameters, tuned.values, strict=True)
        every = [*settings, *(f"{parameter.path}={value}" for parameter, value in chosen)]
        sets = " ".join(f"--set {shlex.quote(each)}" for each in every)
        console.print(f"Use it: forebay run {scenario} {sets}", soft_wrap=True, highlight=False)


def _wanted(outcome: Outcome, many: Sequence[Tried]) -> str:
    """What none of some does that it takes to be the best."""
    goal = outcome.plan.goal
    wanted = ["surely keeps every bound"] if goal.bounds else []
    if _lack(many, goal.key):
        wanted.append(f"has a value of {_short(goal.key)} in every run")
    return " and ".join(wanted)


def _lack(many: Iterable[Tried], key: str) -> bool:
    """Whether any run of these has no value of a measure."""
    return any(each.estimate is not None and each.estimate.missing(key) for each in many)


def _behind(outcome: Outcome) -> str:
    """How far the best candidate is behind what was not tuned."""
    best, tuned, key = outcome.best, outcome.tuned, outcome.plan.goal.key
    assert best is not None and tuned is not None
    found = difference(outcome, tuned, best, key)
    assert found is not None
    return f"is {_apart(outcome, key, found, best.label)}"


def _beside_today(outcome: Outcome) -> Iterator[str]:
    """How far the best is from the scenario as it is written, by each measure of the goal."""
    today = next((each for each in outcome.beside if each.label == TODAY), None)
    if today is None or outcome.best is None or outcome.best is today:
        return
    for key in outcome.plan.goal.keys:
        found = difference(outcome, outcome.best, today, key)
        if found is None:
            continue
        if found.excludes_zero:
            yield f"{_short(key)} is {_apart(outcome, key, found, 'it')}"
        else:
            yield f"by {_short(key)} the two {Beside.OPEN.value}"


def _apart(outcome: Outcome, key: str, found: Interval, other: str) -> str:
    """The size of a difference of the best and another, and its direction."""
    assert outcome.best is not None and outcome.best.estimate is not None
    scale = _scale(outcome, key)
    size = replace(found, mean=abs(found.mean))
    way = "below" if found.mean < 0 else "above"
    few = _few(found, outcome.best.estimate.samples[key])
    return f"{_number(size, scale)} {scale.unit} {way} {other}{few}".replace("  ", " ")


def _table(outcome: Outcome) -> Table:
    """What was run again: a row each."""
    plan, goal = outcome.plan, outcome.plan.goal
    heads = [_parameter(each.path, plan.parameters) for each in plan.parameters]
    scales = {key: _scale(outcome, key) for key in goal.keys}
    heads += [f"{_short(key)}{scale.suffix}" for key, scale in scales.items()]
    if goal.bounds:
        heads.append("bounds")
    rows: list[Row] = []
    for tried in (*outcome.candidates, *outcome.beside):
        assert tried.estimate is not None
        cells = [*map(str, tried.values)] or ["" for _ in plan.parameters]
        for key, scale in scales.items():
            found = tried.estimate.interval(key)
            cells.append(_number(found, scale) + _few(found, tried.estimate.samples[key]))
        if goal.bounds:
            cells.append(WORDS[tried.estimate.standing(goal)])
        mark = "* " if tried is outcome.best else "= " if tried in outcome.equals else "  "
        name = Cell(f"{mark}{tried.label}", mark="best" if tried is outcome.best else "")
        rows.append([name, *cells])
    return Table(["", *heads], rows)


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
            "bounds": STANDINGS[tried.estimate.standing(plan.goal)],
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
        "tuned": None if outcome.tuned is None else one(outcome.tuned),
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
    shown = panels(outcome)
    if shown:
        chart.save(shown, path, "What was tried")
    return bool(shown)


def _trade(outcome: Outcome, bound: Bound) -> Panel:
    """The Pareto picture: what the measure costs in a bound's, of all that has both."""
    goal = outcome.plan.goal

    def placed(many: Iterable[Tried]) -> list[Tried]:
        return [
            each
            for each in many
            if not math.isnan(mean_of(each, bound.key) + mean_of(each, goal.key))
        ]

    tried = placed(outcome.trials)
    shown = placed([*outcome.candidates, *outcome.beside])
    every = [mean_of(each, bound.key) for each in (*tried, *shown)]
    above = [value for value in (*every, bound.value) if value > 0]
    spread = len(above) > 1 and max(above) > 20 * min(above) and min(every) >= 0
    # No place for zero on a logarithmic axis but its left end.
    least = min(above) / 2 if spread else 0.0

    def x_of(each: Tried) -> float:
        return max(mean_of(each, bound.key), least) if spread else mean_of(each, bound.key)

    front = _front(outcome, tried, bound)
    series = [
        _points("trials", [x_of(each) for each in tried], tried, goal.key),
        Series(
            "Pareto front of the trials",
            [x_of(each) for each in front],
            [mean_of(each, goal.key) for each in front],
            style="line",
        ),
    ]
    best = [outcome.best] if outcome.best is not None else []
    named = [("candidates, fresh seeds", outcome.candidates), ("best", best)]
    for label, many in [*named, *((each.label, [each]) for each in outcome.beside)]:
        if known := placed(many):
            series.append(_points(label, [x_of(each) for each in known], known, goal.key))
    if values := [value for one in series for value in one.y if value is not None]:
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
            bound.excess(mean_of(each, bound.key)),
            -mean_of(each, goal.key) if goal.maximize else mean_of(each, goal.key),
        ),
    )
    front: list[Tried] = []
    for each in order:
        if not front or goal.better(mean_of(each, goal.key), mean_of(front[-1], goal.key)):
            front.append(each)
    return front


def _points(label: str, x: Sequence[float], many: Sequence[Tried], key: str) -> Series:
    found = [None if each.estimate is None else each.estimate.interval(key) for each in many]
    return Series(
        label,
        list(x),
        [None if each is None else each.mean for each in found],
        [None if each is None else each.low for each in found] if label != "trials" else (),
        [None if each is None else each.high for each in found] if label != "trials" else (),
        style="points",
    )


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
    """The last two steps of a key, which tell columns apart, without the unit."""
    return re.sub(r"_(bps|ms|s|bytes)$", "", " ".join(path.split(".")[-2:])).replace("_", " ")


def _parameter(path: str, parameters: Sequence[Parameter]) -> str:
    """The last step of a path, or as many as tell it from the others."""
    steps = path.split(".")
    for count in range(1, len(steps)):
        name = ".".join(steps[-count:])
        if sum(each.path.endswith(f".{name}") for each in parameters) < 2:
            return name
    return path


@dataclass(frozen=True, slots=True)
class _Scale:
    """How the values of a key are shown."""

    factor: float
    unit: str

    @property
    def suffix(self) -> str:
        return f", {self.unit}" if self.unit else ""


def _scale(outcome: Outcome, key: str) -> _Scale:
    """The unit that suits the largest value of a key."""
    if key.endswith("_bps"):
        found = [
            value.mean
            for each in (*outcome.candidates, *outcome.beside)
            if each.estimate is not None and (value := each.estimate.interval(key)) is not None
        ]
        return _Scale(1e-6, "Mb/s") if max(found, default=0.0) >= 1e6 else _Scale(1e-3, "kb/s")
    for end, unit in (("_ms", "ms"), ("_s", "s"), ("_bytes", "B")):
        if key.endswith(end):
            return _Scale(1.0, unit)
    if key.endswith((".loss", ".utilization")):
        return _Scale(100.0, "%")
    return _Scale(1.0, "")


def _number(found: Interval | None, scale: _Scale) -> str:
    """Mean and half-width, to as many places as are known and never as powers of ten."""
    if found is None:
        return ABSENT
    half = None if found.half_width is None else found.half_width * scale.factor
    return str(number(found.mean * scale.factor, half))


def _few(found: Interval | None, samples: Sequence[float | None]) -> str:
    """On how many runs an interval rests, if some have no value; else nothing."""
    few = fewer(found.samples if found else None, len(samples))
    return f" {few}" if few else ""


def _ends(found: Interval | None) -> dict[str, float | int | None] | None:
    if found is None:
        return None
    return {"mean": found.mean, "low": found.low, "high": found.high, "samples": found.samples}
