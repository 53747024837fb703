"""What reports of tables have in common: their files, numbers in cells, and a figure a test."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from markupsafe import Markup

from forebay import _disk, _engine
from forebay._report import drawn, template
from forebay.papers import Panel, Series, draw
from forebay.stats import Interval
from forebay.suite.catalogue import Check, Score, Suite, Test
from forebay.sweep.report import style

IMAGES = "images"
ABSENT = "–"


class Shown(Protocol):
    """A test's outcome, as far as every report asks for it."""

    @property
    def test(self) -> Test:
        """What was run."""

    @property
    def anchor(self) -> str:
        """Its place in the report, and its image's name."""

    @property
    def runs(self) -> int:
        """How many runs it has."""


Of = TypeVar("Of", bound=Shown)


def write(
    page: str,
    suite: Suite,
    outcomes: Sequence[Of],
    folder: Path,
    *,
    said: Mapping[str, Any],
    panels: Callable[[Of], Iterable[Panel]],
    plain: Mapping[str, Any],
    summary: Callable[[Mapping[str, Any], Mapping[str, str]], Iterable[str]],
    words: Iterable[Callable[..., str]],
) -> Path:
    """Write `report.html`, `summary.md` with its images and `results.json`.

    Args:
        page: folder of the page.
        suite: what was run.
        outcomes: what it came to.
        folder: where to write.
        said: what the page and the summary say beyond what all do; the command line ("command")
            and the processor time of the runs ("cpu_seconds") among it.
        panels: the figure of a test.
        plain: the results as plain values.
        summary: paragraphs of the summary, of all that is said and the images by anchor.
        words: functions that the page calls, by their names.

    Returns:
        The report.
    """
    _disk.make_folder(folder / IMAGES)
    images = {each.anchor: f"{IMAGES}/{suite.name}-{each.anchor}.svg" for each in outcomes}
    for outcome in outcomes:
        figure = [dataclasses.asdict(each) for each in panels(outcome)]
        draw.save(figure, folder / images[outcome.anchor])
    study = outcomes[0].test.study
    whole = {
        "suite": suite,
        "outcomes": outcomes,
        "runs": sum(each.runs for each in outcomes),
        "replications": study.most,
        "version": _engine.version,
        **said,
    }
    told = (
        f"`{said['command']}`, forebay {_engine.version}: {whole['runs']} runs, {study.most} of "
        f"each point with seeds {study.seed} to {study.seed + study.most - 1}, "
        f"{said['cpu_seconds']:.0f} s of processor time."
    )
    results = json.dumps(plain, indent=1, ensure_ascii=False)
    _disk.write(folder / "results.json", (results + "\n"))
    text = "\n\n".join([told, *summary(whole, images)])
    _disk.write(folder / "summary.md", (text + "\n"))
    html = template(page).render(
        **whole,
        **{each.__name__: each for each in words},
        style=Markup(style()),
        drawn={name: drawn(folder / path) for name, path in images.items()},
    )
    path = folder / "report.html"
    _disk.write(path, html)
    return path


def cell(interval: Interval | None, score: Score | Check) -> str:
    """A mean with its interval, as tables show it."""
    if interval is None:
        return ABSENT
    if interval.half_width is None:
        return f"{interval.mean:.{score.decimals}f}"
    return f"{interval.mean:.{score.decimals}f} ±{interval.half_width:.{score.decimals}f}"


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
