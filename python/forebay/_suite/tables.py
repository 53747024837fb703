"""What the reports of suites have in common: their files, numbers in cells, and a panel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _disk, _engine, _written
from forebay._measures import ABSENT
from forebay._report import chart, html, markdown
from forebay._report.page import (
    Block,
    Cell,
    Facts,
    Figure,
    Fold,
    Group,
    Legend,
    Md,
    Page,
    Row,
    Section,
    Table,
    Text,
    anchor,
)
from forebay._report.panel import Panel, Series, plain
from forebay._report.table import number, short
from forebay._suite.catalogue import Check, Score, Suite, Test
from forebay.stats import Interval

IMAGES = "images"


@dataclass(frozen=True, slots=True)
class Report:
    """What a suite of one kind has to say."""

    compared: str
    """What is compared, in words."""
    runs: int
    reading: str
    """How to read it."""
    opening: Section
    """All tests at a glance."""
    tests: Sequence[Section]
    in_short: Sequence[Block] = ()
    """The tests in the summary; those of the page unless given."""
    results: Any = None
    """The same as plain values, if they are kept."""


def build() -> str:
    """Version and commit of the engine: builds of one version may give other results."""
    return _engine.version + (f" ({_engine.commit})" if _engine.commit else "")


def write(suite: Suite, report: Report, folder: Path, command: str, cpu_seconds: float) -> Path:
    """Write `report.html`, `summary.md` with its images and, of some kinds, `results.json`."""
    study = suite.tests[0].study
    told = Text(
        f"`{command}`, forebay {build()}: {report.runs} runs, {study.most} of "
        f"each point with seeds {study.seed} to {study.seed + study.most - 1}, "
        f"{cpu_seconds:.0f} s of processor time."
    )
    quick = f" **A quick run: a look, with {study.most} runs of each point.**" * suite.quick
    count = f"{len(suite.compared)} {report.compared} in {len(suite.tests)} tests"
    plain = "; its numbers as plain values are in `results.json`" if report.results else ""
    blocks = [
        Section("How to read this", [Text(report.reading)], card=True),
        report.opening,
        Legend(suite.compared),
        *report.tests,
        what_was_run(suite.file.citation, command, cpu_seconds, f"{KEPT}{plain}."),
    ]
    about = Md(f"{count}, {report.runs:,} runs.{quick}")
    page = Page(suite.file.title, "Suite", about, blocks, suite.compared)
    summary = [told, report.opening, *(report.in_short or report.tests)]
    return save(page, summary, folder, report.results)


def save(page: Page, summary: Sequence[Block], folder: Path, results: Any = None) -> Path:
    """Write a page, a summary with its images, their data, and results if they are kept."""
    _disk.make_folder(folder / IMAGES)
    figures = {}
    for figure in _figures(summary):
        chart.save(figure.panels, folder / figure.image, figure.words)
        panels = [plain(each) for each in figure.panels if isinstance(each, Panel)]
        figures[figure.image] = {"words": figure.words, "panels": panels}
    _disk.write(folder / "figures.json", _written.dump(short(figures)))
    if results is not None:
        text = json.dumps(results, indent=1, ensure_ascii=False)
        _disk.write(folder / "results.json", f"{text}\n")
    _disk.write(folder / "summary.md", f"{markdown.render(summary)}\n")
    _disk.write(folder / "report.html", html.render(page))
    return folder / "report.html"


def _figures(blocks: Sequence[Block]) -> Iterator[Figure]:
    """The figures that have files."""
    for block in blocks:
        if isinstance(block, Figure) and block.image:
            yield block
        if isinstance(block, Section):
            yield from _figures(block.blocks)


def image(suite: str, of: str) -> str:
    """The file of a figure, from the summary."""
    return f"{IMAGES}/{suite}-{re.sub(r'[^a-z0-9]+', '-', of.lower())}.svg"


def what_was_run(citation: str, command: str, cpu_seconds: float, kept: str) -> Section:
    """How to repeat it, and where the results are."""
    facts = [
        ("Suite", Md(citation)),
        ("Command", Md(f"`{command}`")),
        ("forebay", build()),
        ("Cost", f"{cpu_seconds:.0f} s of processor time"),
        ("Runs", Md(kept)),
    ]
    return Section("What was run", [Facts(facts)])


KEPT = (
    "Seeds, fingerprints and every measure of every run are in `runs/*.parquet` of each test’s "
    "folder"
)


def heading(test: Test) -> str:
    """The heading of a test."""
    return f"{test.file.section} {test.file.title}"


def with_unit(of: Score | Check) -> str:
    """A title with its unit."""
    return f"{of.title}, {of.unit}" if of.unit else of.title


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a test in every setting."""

    title: str
    """With its unit."""
    rows: Sequence[tuple[str, Row, Mapping[str, Interval | None]]]
    """The setting, the cells, and the intervals by name."""


def overview(
    suite: Suite, title: str, what: str, lines: Iterable[tuple[Test, str, str, Row]], last: Row
) -> Table:
    """What everything that is compared comes to at a glance."""
    rows: list[Row] = [
        [Md(f"[{section}](#{anchor(heading(test))})"), Cell(f"{test.file.title}: {words}"), *cells]
        for test, section, words, cells in lines
    ]
    columns = ["Section", what, *suite.compared]
    return Table(columns, [*rows, ["", *last]], title, words=2)


def section(
    suite: Suite, test: Test, told: Sequence[Block], heads: Sequence[str], numbers: Sequence[Number]
) -> Section:
    """A test: what is told of it, a panel a number, and all numbers."""
    panels: list[Panel] = []
    rows: list[Row | Group] = []
    for each in numbers:
        of_panel = [intervals for _, _, intervals in each.rows]
        panels.append(panel(each.title, list(of_panel[0]), of_panel))
        rows.append(Group(each.title))
        for at, (setting, cells, _) in enumerate(each.rows, 1):
            rows.append([f"{at} {setting}".rstrip(), *cells])
    table = Table(["Setting", *heads], rows, f"Numbers of {test.file.title}")
    figure = Figure(panels, test.file.title, image(suite.name, test.name))
    return Section(heading(test), [*told, figure, Fold("Numbers", [table])])


def held(made_for: Mapping[str, Any]) -> str:
    """What a folder holds in words, by what it was made for."""
    which = "quick" if made_for["quick"] else "full"
    tested = made_for.get("disciplines") or made_for.get("controls") or [made_for["control"]]
    return f"{which} results of {made_for['suite']} for {', '.join(tested)}"


def kept(suite: Suite, **found: Any) -> dict[str, Any]:
    """What a report says, as plain values."""
    head = {"suite": suite.name, "version": _engine.version, "quick": suite.quick}
    return head | found


def cell(interval: Interval | None, score: Score | Check) -> str:
    """A mean with its interval, as tables show it."""
    if interval is None:
        return ABSENT
    return str(number(interval.mean, interval.half_width, score.decimals))


def ends(interval: Interval | None) -> dict[str, float | None] | None:
    """An interval as plain values of six digits."""
    if interval is None:
        return None
    ends = {"mean": interval.mean, "low": interval.low, "high": interval.high}
    return {name: None if v is None else float(f"{v:.6g}") for name, v in ends.items()}


def panel(title: str, names: Sequence[str], rows: Sequence[Mapping[str, Interval | None]]) -> Panel:
    """Settings by their numbers, a curve a name."""
    numbers = [str(at) for at in range(1, len(rows) + 1)]
    series = []
    for name in names:
        found = [row[name] for row in rows]
        means = [each.mean if each else None for each in found]
        low = [each.low if each else None for each in found]
        high = [each.high if each else None for each in found]
        known = None not in (*low, *high)
        series.append(
            Series(
                name,
                numbers,
                means,
                low if known else (),
                high if known else (),
                style="points" if len(numbers) == 1 else "line",
            )
        )
    return Panel("", "setting", title, series)
