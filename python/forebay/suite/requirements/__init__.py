"""The report of a suite of requirements: a matrix of verdicts, and numbers beside bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _engine
from forebay.papers import Panel
from forebay.papers.page import markdown
from forebay.suite import tables
from forebay.suite.catalogue import Check, Suite
from forebay.suite.requirements.verdicts import Cell, Found, Line, Outcome
from forebay.suite.tables import ABSENT, cell, ends, panel

SIGNS = {"holds": "✓", "does not hold": "✗", "open": "?", "does not apply": "–", "not judged": ""}
"""Verdicts in the matrix."""


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
        "suite/requirements",
        suite,
        outcomes,
        folder,
        said={
            "queues": suite.compared,
            "counts": {name: counted(outcomes, name) for name in suite.compared},
            "command": command,
            "cpu_seconds": cpu_seconds,
        },
        panels=_panels,
        plain=results(suite, outcomes),
        summary=_summary,
        words=(asked, bounds, number, shown),
    )


def results(suite: Suite, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What the report says, as plain values."""
    return {
        "suite": suite.name,
        "version": _engine.version,
        "quick": suite.quick,
        "queues": list(suite.compared),
        "checks": [_plain(line) for outcome in outcomes for line in outcome.lines],
    }


def counted(outcomes: Sequence[Outcome], queue: str) -> tuple[int, int, int]:
    """Of the checks with bounds that apply to a queue: those that hold, are open, do not hold."""
    verdicts = [line.cells[queue].verdict for outcome in outcomes for line in outcome.lines]
    return verdicts.count("holds"), verdicts.count("open"), verdicts.count("does not hold")


def bounds(found: Found | None, check: Check) -> str:
    """What is allowed, in the words of a table; of a check itself unless in a setting."""
    low, high = (check.low, check.high) if found is None else (found.low, found.high)
    texts = [
        "" if end is None or math.isinf(end) else f"{end:.{check.decimals}f}" for end in (low, high)
    ]
    if not any(texts):
        return "not judged"
    at_least, at_most = texts
    if at_least == at_most:
        return at_least
    said = f"{at_least} to {at_most}" if all(texts) else f"at least {at_least}"
    return said if at_least else f"at most {at_most}"


def asked(check: Check) -> str:
    """The bounds of a check, its unit, and whose they are."""
    packets = f", or {check.packets} packets where one takes longer" if check.packets else ""
    runs = ", in every run" if check.every else ""
    judged = check.low is not None or check.high is not None
    unit = f"{'' if judged else ','} {check.unit}" if check.unit else ""
    return f"{bounds(None, check)}{unit}{packets}{runs}{' (ours)' if check.own else ''}"


def shown(found: Cell, check: Check) -> str:
    """A cell of the matrix: the verdict, in how many settings, and between which means."""
    count = sum(each.verdict == found.verdict for each in found.asked)
    where = f" {count} of {len(found.asked)}" if found.verdict in ("does not hold", "open") else ""
    sign = f"{SIGNS[found.verdict]}{where}"
    if found.span is None:
        return sign
    low, high = (f"{end:.{check.decimals}f}" for end in found.span)
    span = f"{low} to {high}" if high != low else low
    return f"{sign}{':' if where else ''} {span}".strip()


def number(found: Found, check: Check) -> str:
    """A cell of a test's table: the number, in brackets if it is not asked."""
    text = cell(found.interval, check)
    if found.verdict == "does not apply":
        return ABSENT if found.interval is None else f"({text})"
    return {"does not hold": f"{text} ✗", "open": f"{text} ?"}.get(found.verdict, text)


def _plain(line: Line) -> dict[str, Any]:
    check = line.check
    return {
        "test": line.test.name,
        "section": check.section,
        "check": check.title,
        "asks": check.asks,
        "unit": check.unit,
        "bounds": [check.low, check.high],
        "bounds_are_ours": check.own,
        "queues": {
            name: {
                "verdict": each.verdict,
                "settings": [
                    {
                        "setting": found.setting,
                        "value": ends(found.interval),
                        "verdict": found.verdict,
                    }
                    for found in each.found
                ],
            }
            for name, each in line.cells.items()
        },
    }


def _panels(outcome: Outcome) -> Iterator[Panel]:
    """A panel a check: the settings by their numbers, a curve a queue."""
    for line in outcome.lines:
        unit = f", {line.check.unit}" if line.check.unit else ""
        settings = zip(*(each.found for each in line.cells.values()), strict=True)
        rows = [
            {name: found.interval for name, found in zip(line.cells, each, strict=True)}
            for each in settings
        ]
        yield panel(f"{line.check.title}{unit}", list(line.cells), rows)


def _summary(said: Mapping[str, Any], images: Mapping[str, str]) -> Iterator[str]:
    yield "## Verdicts"
    yield (
        "✓ means that a check holds in all settings, ✗ that it does not hold in some (their number "
        "follows), ? that it is open in some, and – that it does not apply. The numbers are the "
        "smallest and the largest mean over the settings."
    )
    yield _matrix(said)
    for outcome in said["outcomes"]:
        yield from _test(outcome, said["queues"], images[outcome.anchor])


def _matrix(said: Mapping[str, Any]) -> str:
    queues = said["queues"]
    rows = []
    for outcome in said["outcomes"]:
        for line in outcome.lines:
            cells = [shown(line.cells[name], line.check) for name in queues]
            held = [
                f"**{text}**" if line.cells[name].verdict == "does not hold" else text
                for name, text in zip(queues, cells, strict=True)
            ]
            title = f"{line.test.title}: {line.check.title}; {asked(line.check)}"
            rows.append([line.check.section, title, *held])
    counts = [" / ".join(map(str, said["counts"][name])) for name in queues]
    rows.append(["", "checks that hold / are open / do not hold", *counts])
    return markdown(["Section", "Check", *queues], rows)


def _test(outcome: Outcome, queues: Sequence[str], image: str) -> Iterator[str]:
    test = outcome.test
    yield f"## {test.section} {test.title}"
    yield test.about
    for line in outcome.lines:
        check = line.check
        absent = f" {check.absent}" if check.absent else ""
        yield f"- {check.section}: {check.asks} *{check.title}*: {asked(check)}.{absent}"
    yield f"![{test.title}]({image})"
    rows = []
    for line in outcome.lines:
        unit = f", {line.check.unit}" if line.check.unit else ""
        rows.append([f"**{line.check.title}{unit}**", *[""] * len(queues)])
        settings = zip(*(line.cells[name].found for name in queues), strict=True)
        for at, founds in enumerate(settings, 1):
            cells = [number(found, line.check) for found in founds]
            rows.append([f"{at} {founds[0].setting}".rstrip(), *cells])
    yield markdown(["Setting", *queues], rows)
