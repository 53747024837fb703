"""The report of a suite: one HTML file that needs no network, and a summary in Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from forebay import _disk, _engine
from forebay._report import embedded, plotly_source, template
from forebay.suite.report import summary
from forebay.suite.results import QUANTILES
from forebay.sweep.report import plotting, style

if TYPE_CHECKING:
    from forebay.suite.catalogue import Suite
    from forebay.suite.results import Outcome, Row


def write(
    suite: Suite, outcomes: Sequence[Outcome], folder: Path, command: str, cpu_seconds: float
) -> Path:
    """Write `report.html`, and `summary.md` with its images.

    Args:
        suite: what was run.
        outcomes: what it came to.
        folder: where to write.
        command: the command line.
        cpu_seconds: processor time that the runs took.
    """
    labels = list(outcomes[0].data.disciplines)
    figures = {"labels": labels, "tests": {each.anchor: each.figures for each in outcomes}}
    figures["quantiles"] = QUANTILES.tolist()
    said = {
        "suite": suite,
        "outcomes": outcomes,
        "labels": labels,
        "glance": list(_glance(outcomes)),
        "runs": sum(each.data.runs.height for each in outcomes),
        "replications": outcomes[0].test.study.most,
        "version": _engine.version,
        "command": command,
        "cpu_seconds": cpu_seconds,
    }
    html = template("suite/report").render(
        **said,
        studies=[(each, _settings_of(each)) for each in outcomes],
        style=Markup(style()),
        script=Markup(plotting() + _own("suite.js")),
        plotly=Markup(plotly_source()),
        figures=Markup(embedded(figures)),
    )
    summary.write(said, folder)
    path = folder / "report.html"
    _disk.write(path, html)
    return path


def _glance(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, str, Row, Row]]:
    """Queueing delay and use of every link under test, for every setting."""
    for outcome in outcomes:
        links = len(outcome.test.study.links)
        for setting in outcome.settings:
            for name, (used, delay, *_) in setting.blocks[:links]:
                said = [setting.title, name] if links > 1 else [setting.title]
                yield outcome, ", ".join(filter(None, said)), delay, used


def _settings_of(outcome: Outcome) -> str:
    """The study as it was run, for whoever wants to repeat it."""
    study: dict[str, Any] = dict(outcome.data.layout.study)
    return json.dumps(study, indent=2, ensure_ascii=False)


def _own(name: str) -> str:
    return resources.files("forebay.suite.report").joinpath(name).read_text(encoding="utf-8")
