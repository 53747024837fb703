"""The report of a suite of requirements: a matrix of verdicts, and numbers beside bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from forebay._judge import Bounds
from forebay._measures import ABSENT
from forebay._report.page import Bullets, Cell, Md, Section, Table, Text
from forebay._suite import tables
from forebay._suite.catalogue import Check, Suite
from forebay._suite.requirements.verdicts import NOT_ASKED, NOT_JUDGED, Found, Line, Outcome
from forebay._suite.requirements.verdicts import Cell as Judged
from forebay._suite.tables import cell, ends, with_unit

SIGNS = {"holds": "✓", "does not hold": "✗", "open": "?", "does not apply": "–", "not judged": ""}
"""Verdicts in the matrix."""


_SIGNS = (
    "✓ means that a check holds in all settings, ✗ that it does not hold in some (their number "
    "follows), ? that it is open in some, and – that it does not apply. The numbers are the "
    "smallest and the largest mean over the settings."
)


def report(suite: Suite, outcomes: Sequence[Outcome]) -> tables.Report:
    """The report of its tests."""
    return tables.Report(
        "queue disciplines",
        sum(each.runs for each in outcomes),
        _reading(suite),
        Section("Verdicts", [Text(_SIGNS), _matrix(suite, outcomes)]),
        [_test(suite, each) for each in outcomes],
        results=results(suite, outcomes),
    )


def _reading(suite: Suite) -> str:
    return Md(
        "A check **holds (✓)** in a setting if the whole 95 % Student interval over "
        f"**{suite.tests[0].study.most} seeds** is within its bounds. It **does not hold (✗)** if "
        "the interval is outside. It is **open (?)** if the interval contains a bound; the number "
        "of seeds that would decide it follows, as far as it is known. It **does "
        "not apply (–)** if the setting does not have what the check is about. A queue gets the "
        "worst verdict of all settings, with the number of settings that have it. Numbers are the "
        "smallest and the largest mean."
    )


def results(suite: Suite, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What the report says, as plain values."""
    checks = [_plain(line) for outcome in outcomes for line in outcome.lines]
    return tables.kept(suite, queues=list(suite.compared), checks=checks)


def counted(outcomes: Sequence[Outcome], queue: str) -> tuple[int, int, int]:
    """Of the checks with bounds that apply to a queue: those that hold, are open, do not hold."""
    verdicts = [line.cells[queue].verdict for outcome in outcomes for line in outcome.lines]
    return verdicts.count("holds"), verdicts.count("open"), verdicts.count("does not hold")


def bounds(allowed: Bounds, check: Check) -> str:
    """What is allowed, in the words of a table."""
    if allowed == Bounds():
        return NOT_JUDGED
    at_least, at_most = (
        "" if math.isinf(end) else f"{end:.{check.decimals}f}"
        for end in (allowed.low, allowed.high)
    )
    if at_least == at_most:
        return at_least
    if at_least and at_most:
        return f"{at_least} to {at_most}"
    return f"at least {at_least}" if at_least else f"at most {at_most}"


def asked(check: Check) -> str:
    """The bounds of a check, its unit, and whose they are."""
    packets = f", or {check.packets} packets where one takes longer" if check.packets else ""
    runs = ", in every run" if check.every else ""
    unit = f"{',' if check.bounds == Bounds() else ''} {check.unit}" if check.unit else ""
    own = " (ours)" if check.own else ""
    return f"{bounds(check.bounds, check)}{unit}{packets}{runs}{own}"


def shown(found: Judged, check: Check) -> str:
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
    interval = found.judgement.interval
    text = cell(interval, check)
    if not found.applies:
        return ABSENT if interval is None else f"({text})"
    needed = f" {found.runs_needed} seeds" if found.runs_needed else ""
    return {"does not hold": f"{text} ✗", "open": f"{text} ?{needed}"}.get(found.verdict, text)


def _plain(line: Line) -> dict[str, Any]:
    check = line.check
    return {
        "test": line.test.name,
        "section": check.section,
        "check": check.title,
        "asks": check.asks,
        "unit": check.unit,
        "bounds": [None if math.isinf(end) else end for end in astuple(check.bounds)],
        "bounds_are_ours": check.own,
        "queues": {
            name: {
                "verdict": each.verdict,
                "settings": [
                    {
                        "setting": found.setting,
                        "value": ends(found.judgement.interval),
                        "verdict": found.verdict,
                        "runs_needed": found.runs_needed,
                    }
                    for found in each.found
                ],
            }
            for name, each in line.cells.items()
        },
    }


def _matrix(suite: Suite, outcomes: Sequence[Outcome]) -> Table:
    lines = (
        (
            line.test,
            line.check.section,
            f"{line.check.title}; {asked(line.check)}",
            [_verdict(line, name) for name in suite.compared],
        )
        for outcome in outcomes
        for line in outcome.lines
    )
    counts = [" / ".join(map(str, counted(outcomes, name))) for name in suite.compared]
    last = "checks that hold / are open / do not hold"
    return tables.overview(suite, "Verdicts", "Check", lines, [last, *counts])


def _verdict(line: Line, name: str) -> Cell:
    """A cell of the matrix, marked if the check does not hold."""
    found = line.cells[name]
    text = shown(found, line.check)
    if found.verdict == "does not hold":
        return Cell(text, mark="no")
    return Cell(text, mark="absent" if found.verdict == NOT_ASKED else "")


def _test(suite: Suite, outcome: Outcome) -> Section:
    test = outcome.test
    told = [Text(Md(test.file.about)), Bullets([_asks(line.check) for line in outcome.lines])]
    numbers = [_number(line, suite.compared) for line in outcome.lines]
    return tables.section(suite, test, told, ["Allowed", *suite.compared], numbers)


def _asks(check: Check) -> str:
    absent = f" {check.absent}" if check.absent else ""
    return Md(f"{check.section}: {check.asks} *{check.title}*: {asked(check)}.{absent}")


def _number(line: Line, queues: Sequence[str]) -> tables.Number:
    """A check in every setting under every queue."""
    check, rows = line.check, []
    for founds in zip(*(line.cells[name].found for name in queues), strict=True):
        cells: list[Cell | str] = [bounds(founds[0].judgement.bounds, check)]
        for found in founds:
            failed = found.verdict == "does not hold"
            cells.append(Cell(number(found, check), mark="no" if failed else ""))
        intervals = [found.judgement.interval for found in founds]
        rows.append((founds[0].setting, cells, dict(zip(queues, intervals, strict=True))))
    return tables.Number(with_unit(check), rows)
