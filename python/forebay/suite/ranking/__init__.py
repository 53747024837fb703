"""The report of a suite of congestion controls: a league table, and scores by setting."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from forebay import _engine
from forebay._report import drawn, template
from forebay._runs.journal import write_whole
from forebay.papers import Panel, Series, draw
from forebay.papers.page import markdown
from forebay.stats import Interval
from forebay.suite.catalogue import Score, Suite
from forebay.suite.league import Line, Outcome
from forebay.sweep.report import style

IMAGES = "images"
ABSENT = "–"


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
    (folder / IMAGES).mkdir(exist_ok=True)
    images = {each.anchor: f"{IMAGES}/{suite.name}-{each.anchor}.svg" for each in outcomes}
    for outcome in outcomes:
        draw.save(
            [dataclasses.asdict(panel) for panel in _panels(outcome)],
            folder / images[outcome.anchor],
        )
    said = {
        "suite": suite,
        "outcomes": outcomes,
        "controls": suite.compared,
        "lines": [line for outcome in outcomes for line in outcome.lines],
        "counts": dict(zip(suite.compared, _counts(suite, outcomes), strict=True)),
        "runs": sum(each.runs for each in outcomes),
        "replications": outcomes[0].test.study.most,
        "seed": outcomes[0].test.study.seed,
        "version": _engine.version,
        "command": command,
        "cpu_seconds": cpu_seconds,
    }
    plain = json.dumps(results(suite, outcomes), indent=1, ensure_ascii=False)
    write_whole(folder / "results.json", (plain + "\n").encode())
    write_whole(folder / "summary.md", _summary(said, images).encode())
    html = template("suite/ranking").render(
        **said,
        style=Markup(style()),
        drawn={name: drawn(folder / path) for name, path in images.items()},
        cell=cell,
        ranked=ranked,
    )
    path = folder / "report.html"
    write_whole(path, html.encode())
    return path


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
                    {"setting": title, "values": {name: _ends(each) for name, each in row.items()}}
                    for title, row in detail.rows
                ],
            }
            for outcome in outcomes
            for detail in outcome.details
        ],
    }


def cell(interval: Interval | None, score: Score) -> str:
    """A mean with its interval, as tables show it."""
    if interval is None:
        return ABSENT
    if interval.half_width is None:
        return f"{interval.mean:.{score.decimals}f}"
    return f"{interval.mean:.{score.decimals}f} ±{interval.half_width:.{score.decimals}f}"


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
        "values": {name: _ends(each) for name, each in line.means.items()},
        "ranks": line.ranks,
        "not_told_apart": [list(pair) for pair in line.same],
    }


def _ends(interval: Interval | None) -> dict[str, float | None] | None:
    if interval is None:
        return None
    ends = {"mean": interval.mean, "low": interval.low, "high": interval.high}
    return {name: None if v is None else float(f"{v:.6g}") for name, v in ends.items()}


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
    """A panel a score: the settings by their numbers, a curve a control."""
    for detail in outcome.details:
        numbers = [str(at) for at in range(1, len(detail.rows) + 1)]
        series = []
        for control in outcome.lines[0].means:
            found = [row[control] for _, row in detail.rows]
            means = [each.mean if each else None for each in found]
            low = [each.low if each else None for each in found]
            high = [each.high if each else None for each in found]
            known = None not in (*low, *high)
            series.append(
                Series(
                    control,
                    numbers,
                    means,
                    low if known else (),
                    high if known else (),
                    style="points" if len(numbers) == 1 else "line",
                )
            )
        unit = f", {detail.score.unit}" if detail.score.unit else ""
        yield Panel("", "setting", f"{detail.score.title}{unit}", series)


def _summary(said: Mapping[str, Any], images: Mapping[str, str]) -> str:
    parts = [
        f"`{said['command']}`, forebay {said['version']}: {said['runs']} runs, "
        f"{said['replications']} of each point with seeds {said['seed']} to "
        f"{said['seed'] + said['replications'] - 1}, {said['cpu_seconds']:.0f} s of processor "
        "time.",
        "## League table",
        _league(said),
    ]
    for outcome in said["outcomes"]:
        parts += _test(outcome, said["controls"], images[outcome.anchor])
    return "\n\n".join(parts) + "\n"


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
    rows.append(["", f"lines of {len(rows)} in which none is better / none is worse", *best])
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
