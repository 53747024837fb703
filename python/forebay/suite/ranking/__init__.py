"""The report of a suite of congestion controls: a league table, and scores by setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _engine
from forebay.papers import Panel
from forebay.papers.page import markdown
from forebay.suite import tables
from forebay.suite.catalogue import Suite
from forebay.suite.league import Line, Outcome
from forebay.suite.tables import ABSENT, cell, ends, panel


def write(
    suite: Suite, outcomes: Sequence[Outcome], folder: Path, command: str, cpu_seconds: float
) -> Path:
    """Write `report.html`, `summary.md` with its images and `results.json`.

    Args:
        suite: what was run.
        outcomes: what it came to.
        folder: where to write.
        command: the command line.
        cpu_seconds: processor time that the runs took.

    Returns:
        The report.
    """
    return tables.write(
        "suite/ranking",
        suite,
        outcomes,
        folder,
        said={
            "controls": suite.compared,
            "lines": [line for outcome in outcomes for line in outcome.lines],
            "counts": dict(zip(suite.compared, _counts(suite, outcomes), strict=True)),
            "command": command,
            "cpu_seconds": cpu_seconds,
        },
        panels=_panels,
        plain=results(suite, outcomes),
        summary=_summary,
        words=(cell, ranked),
    )


def results(suite: Suite, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What the report says, as plain values."""
    return {
        "suite": suite.name,
        "version": _engine.version,
        "quick": suite.quick,
        "controls": list(suite.compared),
        "league": [_plain(line) for outcome in outcomes for line in outcome.lines],
        "settings": [
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
    }


def ranked(line: Line, control: str) -> str:
    """A cell of the league table: mean, interval and rank."""
    if control not in line.means or line.ranks[control] is None:
        return ABSENT
    return f"{cell(line.means[control], line.score)} ({line.ranks[control]})"


def _plain(line: Line) -> dict[str, Any]:
    return {
        "test": line.test.name,
        "section": line.test.section,
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


def _panels(outcome: Outcome) -> Iterator[Panel]:
    for detail in outcome.details:
        unit = f", {detail.score.unit}" if detail.score.unit else ""
        controls = list(outcome.lines[0].means)
        rows = [row for _, row in detail.rows]
        yield panel(f"{detail.score.title}{unit}", controls, rows)


def _summary(said: Mapping[str, Any], images: Mapping[str, str]) -> Iterator[str]:
    yield "## League table"
    yield _league(said)
    for outcome in said["outcomes"]:
        yield from _test(outcome, said["controls"], images[outcome.anchor])


def _league(said: Mapping[str, Any]) -> str:
    controls = said["controls"]
    rows = []
    for line in said["lines"]:
        unit = f", {line.score.unit}" if line.score.unit else ""
        cells = [
            f"**{ranked(line, name)}**" if name in line.best else ranked(line, name)
            for name in controls
        ]
        title = f"{line.test.title}: {line.score.title}{unit}, {line.score.better} is better"
        rows.append([line.test.section, title, *cells])
    best = [f"{said['counts'][name][0]} / {said['counts'][name][1]}" for name in controls]
    rows.append(
        ["", f"lines of {len(rows)} in which no control is better / no control is worse", *best]
    )
    return markdown(["Section", "Score", *controls], rows)


def _test(outcome: Outcome, controls: Sequence[str], image: str) -> Iterator[str]:
    test = outcome.test
    yield f"## {test.section} {test.title}"
    yield f"{test.about} RFC 9743: {test.requirement}."
    yield f"![{test.title}]({image})"
    rows = []
    for detail in outcome.details:
        unit = f", {detail.score.unit}" if detail.score.unit else ""
        rows.append([f"**{detail.score.title}{unit}**", *[""] * len(controls)])
        for number, (title, row) in enumerate(detail.rows, 1):
            cells = [cell(row.get(name), detail.score) for name in controls]
            rows.append([f"{number} {title}".rstrip(), *cells])
    yield markdown(["Setting", *controls], rows)
