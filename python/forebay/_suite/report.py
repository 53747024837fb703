"""The report of a suite of disciplines, and its summary for documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from forebay._report.page import (
    Block,
    Cell,
    Code,
    Figure,
    Fold,
    Group,
    Heading,
    Md,
    Row,
    Section,
    Table,
    Text,
    anchor,
)
from forebay._report.panel import Panel
from forebay._suite import tables

if TYPE_CHECKING:
    from forebay._suite.catalogue import Suite
    from forebay._suite.results import Outcome, Setting
    from forebay._suite.results import Row as Measured

PANELS = 6
"""Trade-off graphs of a test in the summary; if there are more, those of its first class."""
OF_LINKS = ("mean queueing delay", "99th percentile queueing delay", "link used", "dropped",
            "flows that lose in a loss event")  # fmt: skip
OF_CLASSES = ("goodput", "loss", "99th percentile queueing delay", "jitter (RFC 3550)",
              "mean flow startup time", "mean completion time", "95th percentile completion time",
              "voice quality, MOS")  # fmt: skip


def report(suite: Suite, outcomes: Sequence[Outcome]) -> tables.Report:
    """The report of its tests."""
    labels = list(suite.compared)
    return tables.Report(
        "disciplines",
        sum(each.data.runs.height for each in outcomes),
        _reading(suite),
        Section("At a glance", [Text(_GLANCE), _glance(labels, outcomes)]),
        [Section(_heading(each), list(_test(each, labels))) for each in outcomes],
        [Text(_ELLIPSES), *(_in_short(each, suite, labels) for each in outcomes)],
    )


_GLANCE = (
    "Cells have the mean queueing delay at the link under test in ms / the share of the link used "
    "in %."
)
_ELLIPSES = (
    "Every ± is a 95 % interval over the runs. In the trade-off graphs (section 2.7) small marks "
    "are runs, the large one is their median, and the ellipses are the 1-σ contours of the runs. "
    "Points to the left and high up are good."
)


def _reading(suite: Suite) -> str:
    return Md(
        f"Every ± is a 95 % Student interval over **{suite.tests[0].study.most} "
        "independent runs**; "
        "run *r* has the same random numbers under every discipline. Queueing delay is one-way "
        "delay beyond propagation. In trade-off graphs (section 2.7) small marks are runs, the "
        "large one is their median, and the ellipse is the 1-σ contour of the maximum-likelihood "
        "Gaussian of the runs: it shows how runs spread, not how well a mean is known. Better is "
        "up and to the left. Distributions are those of the first run, over packets and over "
        "intervals of 1 s. Each discipline has the parameters that its source recommends and the "
        "same buffer in a test."
    )


def _heading(outcome: Outcome) -> str:
    return tables.heading(outcome.test)


def _glance(labels: Sequence[str], outcomes: Sequence[Outcome]) -> Table:
    """Queueing delay and use of every link under test, for every setting."""
    rows: list[Row] = []
    for outcome in outcomes:
        links = len(outcome.test.study.links)
        link = Md(f"[{outcome.test.file.section}](#{anchor(_heading(outcome))})")
        for setting in outcome.settings:
            for name, (used, delay, *_) in setting.blocks[:links]:
                said = filter(None, [setting.title, name] if links > 1 else [setting.title])
                title = ": ".join(filter(None, (outcome.test.file.title, ", ".join(said))))
                cells = [
                    Cell(d.text, f"/ {100 * u.interval.mean:.1f}") if u.interval else Cell(d.text)
                    for d, u in zip(delay.cells, used.cells, strict=True)
                ]
                rows.append([link, Cell(title), *cells])
    return Table(["Section", "Test", *labels], rows, "At a glance", words=2)


def _test(outcome: Outcome, labels: Sequence[str]) -> Iterator[Block]:
    """Everything of a test."""
    test = outcome.test
    yield Text(f"RFC 7928: {test.file.requirement}.", small=True)
    yield Text(Md(test.file.about))
    yield Figure(_titled(outcome), "Goodput over queueing delay")
    if outcome.shares:
        yield Heading("Shares")
        yield Figure(outcome.shares, "Shares")
    if outcome.course:
        yield Heading("Over time")
        yield Figure(outcome.course, "The first run over time")
    yield Fold("Distributions", [Figure(outcome.curves, "Distributions")])
    for setting in outcome.settings:
        rows: list[Row | Group] = []
        for of, measured in setting.blocks:
            rows += [Group(of), *map(_row, measured)]
        summary = f"Numbers: {setting.title}" if setting.title else "Numbers"
        table = Table(["", *labels], rows, f"{summary} of {test.file.title}")
        yield Fold(summary, [table], open=len(outcome.settings) == 1)
    study: dict[str, Any] = dict(outcome.data.layout.study)
    own = Md(f"`forebay report {outcome.data.folder}` writes its own report.")
    whole = json.dumps(study, indent=2, ensure_ascii=False)
    yield Fold("The study", [Text(own, small=True), Code(whole)])


def _titled(outcome: Outcome) -> list[Panel]:
    return [panel for panels in outcome.trades.values() for panel in panels]


def _in_short(outcome: Outcome, suite: Suite, labels: Sequence[str]) -> Section:
    """A test's graphs, and of every setting the rows that the RFC's metrics ask for."""
    test, trades = outcome.test, _titled(outcome)
    if len(trades) > PANELS:
        trades = list(outcome.trades[test.file.trade[0].class_])
    panels = [*trades, *outcome.shares, *outcome.course[:1]]
    rows = [row for each in outcome.settings for row in _rows(each, outcome)]
    return Section(
        _heading(outcome),
        [
            Text(f"{test.file.about} RFC 7928: {test.file.requirement}."),
            Figure(panels, test.file.title, tables.image(suite.name, test.name)),
            Table(["", *labels], rows, test.file.title),
        ],
    )


def _rows(setting: Setting, outcome: Outcome) -> Iterator[Row | Group]:
    links = len(outcome.test.study.links)
    for name, rows in setting.blocks:
        chosen = [row for row in rows if _shown(name, row)]
        if not chosen:
            continue
        said = [setting.title] if setting.title else []
        if not name.startswith("link ") or links > 1:
            said.append(name)
        if said:
            yield Group(", ".join(said))
        yield from map(_row, chosen)


def _row(row: Measured) -> list[str]:
    return [row.title + (f", {row.unit}" if row.unit else ""), *(cell.text for cell in row.cells)]


def _shown(block: str, row: Measured) -> bool:
    if block.startswith("link "):
        return row.title in OF_LINKS
    return block == "fairness" or row.title in OF_CLASSES
