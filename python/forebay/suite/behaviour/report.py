"""The report of a control's behaviour: a verdict a case, numbers beside thresholds, and courses."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from forebay import _disk, _engine
from forebay._report import drawn, template
from forebay.papers import Panel, Series, draw
from forebay.papers.page import markdown
from forebay.suite.behaviour.case import Case
from forebay.suite.behaviour.trace import State
from forebay.sweep.report import style

IMAGE = "images"
Found = Sequence[tuple[Case, Mapping[str, Any]]]


def write(suite: Mapping[str, Any], found: Found, folder: Path, command: str) -> Path:
    """Write `report.html`, `summary.md` with its image, and `results.json`.

    Args:
        suite: its name, title, citation, the control, and whether it is quick.
        found: every case, and what it came to.
        folder: where to write.
        command: the command line.

    Returns:
        The report.
    """
    _disk.make_folder(folder / IMAGE)
    image = f"{IMAGE}/{suite['name']}-courses.svg"
    draw.save([dataclasses.asdict(panel) for panel in _panels(found)], folder / image)
    spent = sum(each["cpu_seconds"] for _, each in found)
    held = sum(holds(each) for _, each in found)
    said = {
        "suite": suite,
        "cases": [(case, each, verdict(each)) for case, each in found],
        "held": held,
        "states": list(State),
        "version": _engine.version,
        "command": command,
        "cpu_seconds": spent,
    }
    _disk.write(folder / "results.json", _plain(suite, found))
    _disk.write(folder / "summary.md", _summary(said, image))
    html = template("suite/behaviour").render(
        **said, style=Markup(style()), drawn=drawn(folder / image)
    )
    _disk.write(folder / "report.html", html)
    return folder / "report.html"


def holds(each: Mapping[str, Any]) -> bool:
    """Whether every check holds on every path."""
    return all(check["holds"] for out in each["outcomes"] for check in out["checks"])


def verdict(each: Mapping[str, Any]) -> str:
    """A case's verdict in words."""
    paths = [all(check["holds"] for check in out["checks"]) for out in each["outcomes"]]
    if all(paths):
        return "holds"
    return f"does not hold on {len(paths) - sum(paths)} of {len(paths)} paths"


def _plain(suite: Mapping[str, Any], found: Found) -> str:
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
    plain = {**suite, "version": _engine.version, "cases": cases}
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def _panels(found: Found) -> Iterator[Panel]:
    """Data in flight and the bandwidth estimate, on the first path of cases with a course."""
    for case, each in found:
        course = next((out["course"] for out in each["outcomes"] if out["course"]), None)
        if course is not None:
            flight = Series(
                "data in flight, BDP", course["time"], course["inflight"], style="steps"
            )
            rate = Series(
                "BBR.max_bw, bandwidths", course["time"], course["bandwidth"], style="steps"
            )
            state = Series("state, 0 to 6", course["time"], course["state"], style="steps")
            yield Panel(f"{case.number}: {course['title']}", "time, s", "", [flight, rate, state])


def _summary(said: Mapping[str, Any], image: str) -> str:
    suite, cases = said["suite"], said["cases"]
    rows = [[f"[{case.number}](#{_anchor(case)})", case.title, found] for case, _, found in cases]
    parts = [
        f"`{said['command']}`, forebay {said['version']}, control `{suite['control']}`: "
        f"{said['held']} of {len(cases)} cases hold; {said['cpu_seconds']:.0f} s of processor "
        "time.",
        markdown(["Case", "Title", "Verdict"], rows),
        f"![Courses]({image})",
        "States in the figure: " + ", ".join(f"{each.value} {each.name}" for each in State) + ".",
    ]
    for case, each, found in cases:
        parts.append(f"## {_heading(case)}")
        parts.append(f"{case.asks} **{found[0].upper()}{found[1:]}.**")
        if case.note:
            parts.append(case.note)
        parts.append(markdown(["Path", "Check", "Number", "Threshold", ""], list(_rows(each))))
    return "\n\n".join(parts) + "\n"


def _heading(case: Case) -> str:
    return f"Case {case.number}: {case.title}"


def _anchor(case: Case) -> str:
    """What a link to the heading names."""
    return re.sub(r"[^\w -]", "", _heading(case).lower()).replace(" ", "-")


def _rows(each: Mapping[str, Any]) -> Iterator[list[str]]:
    for out in each["outcomes"]:
        for at, check in enumerate(out["checks"]):
            own = " (ours)" if check["derived"] else ""
            mark = "holds" if check["holds"] else "**does not hold**"
            place = out["path"] if at == 0 else ""
            yield [place, check["what"], check["number"], f"{check['threshold']}{own}", mark]
