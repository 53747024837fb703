"""The report of a suite of congestion controls: a league table, and scores by setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from forebay._measures import ABSENT
from forebay._report.page import Cell, Md, Section, Table, Text
from forebay._suite import tables
from forebay._suite.catalogue import Suite
from forebay._suite.league import Line, Outcome
from forebay._suite.tables import cell, ends, with_unit


def report(suite: Suite, outcomes: Sequence[Outcome]) -> tables.Report:
    """The report of its tests."""
    return tables.Report(
        "congestion controls",
        sum(each.runs for each in outcomes),
        _reading(suite),
        Section("League table", [_league(suite, outcomes)]),
        [_test(suite, each) for each in outcomes],
        results=results(suite, outcomes),
    )


def _reading(suite: Suite) -> str:
    return Md(
        f"Every ± is a 95 % Student interval over **{suite.tests[0].study.most} seeds**, which are "
        "the same for every control. Each line of the league table is a score, averaged over the "
        "settings of its test. The number in parentheses is the rank: one more than the number of "
        "controls that are better. A control is better if a paired t test at 5 %, corrected by "
        "Holm for all pairs of the line, finds a difference, and if this is large enough to "
        "matter. Controls with the same rank need not be equal, but these runs do not distinguish "
        "them. Marked cells: no control is better."
    )


def results(suite: Suite, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What the report says, as plain values."""
    return tables.kept(
        suite,
        controls=list(suite.compared),
        league=[_plain(line) for outcome in outcomes for line in outcome.lines],
        settings=[
            {
                "test": outcome.test.name,
                "score": detail.score.title,
                "rows": [
                    {"setting": title, "values": {name: ends(each) for name, each in row.items()}}
                    for title, row in detail.rows
                ],
            }
            for outcome in outcomes
            for detail in outcome.details
        ],
    )


def ranked(line: Line, control: str) -> str:
    """A cell of the league table: mean, interval and rank."""
    if control not in line.means or line.ranks[control] is None:
        return ABSENT
    return f"{cell(line.means[control], line.score)} ({line.ranks[control]})"


def _plain(line: Line) -> dict[str, Any]:
    return {
        "test": line.test.name,
        "section": line.test.file.section,
        "score": line.score.title,
        "unit": line.score.unit,
        "better": line.score.better,
        "matters": line.score.matters,
        "values": {name: ends(each) for name, each in line.means.items()},
        "ranks": line.ranks,
        "not_told_apart": [list(pair) for pair in line.same],
    }


def _counts(suite: Suite, outcomes: Sequence[Outcome]) -> Iterator[tuple[int, int]]:
    """Of each control the lines in which none is better, and those in which none is worse."""
    lines = [line for outcome in outcomes for line in outcome.lines]
    for control in suite.compared:
        last = [
            control
            for line in lines
            if line.ranks.get(control) and _is_last(line, control) and control not in line.best
        ]
        yield sum(control in line.best for line in lines), len(last)


def _is_last(line: Line, control: str) -> bool:
    """Whether it is told apart from nobody that is worse."""
    mine = line.means[control]
    sign = 1.0 if line.score.better == "higher" else -1.0
    same = {name for pair in line.same if control in pair for name in pair}
    return mine is not None and not any(
        other is not None and name not in same and sign * (mine.mean - other.mean) > 0
        for name, other in line.means.items()
    )


def _league(suite: Suite, outcomes: Sequence[Outcome]) -> Table:
    every = [line for outcome in outcomes for line in outcome.lines]
    lines = (
        (
            line.test,
            line.test.file.section,
            f"{with_unit(line.score)}, {line.score.better} is better",
            [
                Cell(ranked(line, name), mark="best" if name in line.best else "")
                for name in suite.compared
            ],
        )
        for line in every
    )
    last = f"lines of {len(every)} in which no control is better / no control is worse"
    counts = [f"{best} / {last}" for best, last in _counts(suite, outcomes)]
    return tables.overview(suite, "League table", "Score", lines, [last, *counts])


def _test(suite: Suite, outcome: Outcome) -> Section:
    test = outcome.test
    numbers = [
        tables.Number(
            with_unit(detail.score),
            [
                (title, [cell(row.get(name), detail.score) for name in suite.compared], row)
                for title, row in detail.rows
            ],
        )
        for detail in outcome.details
    ]
    told = Text(Md(f"{test.file.about} RFC 9743: {test.file.requirement}."))
    return tables.section(suite, test, [told], suite.compared, numbers)
