"""The report of a control's behaviour: a verdict a case, numbers beside thresholds, and courses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _engine
from forebay._report.page import Cell, Figure, Legend, Md, Page, Section, Table, Text, anchor
from forebay._report.panel import Panel, Series
from forebay._suite import tables
from forebay._suite.behaviour.case import Case
from forebay._suite.behaviour.trace import State

Found = Sequence[tuple[Case, Mapping[str, Any]]]
COURSES = ("data in flight, BDP", "BBR.max_bw, bandwidths", "state, 0 to 6")
"""What the figure has of each course."""


def write(suite: Mapping[str, Any], found: Found, folder: Path, command: str) -> Path:
    """Write `report.html`, `summary.md` with its image, and `results.json`."""
    spent = sum(each["cpu_seconds"] for _, each in found)
    held = f"{sum(holds(each) for _, each in found)} of {len(found)} cases hold"
    quick = " **A quick run: the first path of each case alone.**" if suite["quick"] else ""
    about = Md(f"`{suite['control']}`: {held}.{quick}")
    states = ", ".join(f"{each.value} {each.name}" for each in State)
    table = Table(["Case", "Title", "Verdict"], list(_glance(found)), "Verdicts", words=3)
    figure = Figure(list(_panels(found)), "Courses", tables.image(suite["name"], "courses"))
    legend = Text(f"States in the figure: {states}.")
    cases = [_case(case, each) for case, each in found]
    kept = "The verdicts and numbers as plain values are in `results.json`."
    blocks = [
        Section("At a glance", [table, Legend(COURSES), figure, legend]),
        *cases,
        tables.what_was_run(suite["citation"], command, spent, kept),
    ]
    page = Page(suite["title"], "Suite", about, blocks, COURSES)
    told = Text(
        f"`{command}`, forebay {tables.build()}, control `{suite['control']}`: {held}; "
        f"{spent:.0f} s of processor time."
    )
    summary = [told, table, figure, legend, *cases]
    return tables.save(page, summary, folder, _plain(suite, found))


def holds(each: Mapping[str, Any]) -> bool:
    """Whether every check holds on every path."""
    return all(check["holds"] for out in each["outcomes"] for check in out["checks"])


def verdict(each: Mapping[str, Any]) -> str:
    """A case's verdict in words."""
    paths = [all(check["holds"] for check in out["checks"]) for out in each["outcomes"]]
    if all(paths):
        return "holds"
    return f"does not hold on {len(paths) - sum(paths)} of {len(paths)} paths"


def _plain(suite: Mapping[str, Any], found: Found) -> dict[str, Any]:
    """What the report says, as plain values."""
    cases = [
        {
            "number": case.number,
            "title": case.title,
            "verdict": verdict(each),
            "note": case.note,
            "paths": [{"path": out["path"], "checks": out["checks"]} for out in each["outcomes"]],
        }
        for case, each in found
    ]
    return {**suite, "version": _engine.version, "cases": cases}


def _panels(found: Found) -> Iterator[Panel]:
    """Data in flight, the bandwidth estimate and the state, on the first path of each case."""
    for case, each in found:
        course = next((out["course"] for out in each["outcomes"] if out["course"]), None)
        if course is not None:
            columns = zip(COURSES, ("inflight", "bandwidth", "state"), strict=True)
            series = [
                Series(label, course["time"], course[name], style="steps")
                for label, name in columns
            ]
            yield Panel(f"{case.number}: {course['title']}", "time, s", "", series)


def _glance(found: Found) -> Iterator[list[Cell | str]]:
    for case, each in found:
        link = Md(f"[{case.number}](#{anchor(_heading(case))})")
        yield [link, case.title, Cell(verdict(each), mark="" if holds(each) else "no")]


def _case(case: Case, each: Mapping[str, Any]) -> Section:
    words = verdict(each)
    blocks = [Text(Md(f"{case.asks} **{words[0].upper()}{words[1:]}.**"))]
    if case.note:
        blocks.append(Text(Md(case.note)))
    heads = ["Path", "Check", "Number", "Threshold", ""]
    table = Table(heads, list(_rows(each)), f"Checks of case {case.number}", words=5)
    return Section(_heading(case), [*blocks, table])


def _heading(case: Case) -> str:
    return f"Case {case.number}: {case.title}"


def _rows(each: Mapping[str, Any]) -> Iterator[list[Cell | str]]:
    for out in each["outcomes"]:
        for at, check in enumerate(out["checks"]):
            own = " (ours)" if check["derived"] else ""
            held = Cell("holds") if check["holds"] else Cell("does not hold", mark="no")
            place = out["path"] if at == 0 else ""
            yield [place, check["what"], check["number"], f"{check['threshold']}{own}", held]
