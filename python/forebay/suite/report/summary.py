"""The summary of a suite in Markdown, with its graphs as images, for documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _disk
from forebay.papers import Panel, Region, Series, draw
from forebay.papers.page import markdown

if TYPE_CHECKING:
    from forebay.suite.results import Outcome, Row, Setting

IMAGES = "images"
PANELS = 6
"""Trade-off graphs of a test; if its classes have more together, those of the first are drawn."""
OF_LINKS = ("mean queueing delay", "99th percentile queueing delay", "link used", "dropped",
            "flows that lose in a loss event")  # fmt: skip
OF_CLASSES = ("goodput", "loss", "99th percentile queueing delay", "jitter (RFC 3550)",
              "mean flow startup time", "mean completion time", "95th percentile completion time",
              "voice quality, MOS")  # fmt: skip


def write(said: Mapping[str, Any], folder: Path) -> None:
    """Write `summary.md` and the folder `images` beside it.

    Args:
        said: what the report says, as its template takes it.
        folder: where to write.
    """
    _disk.make_folder(folder / IMAGES)
    parts = [_head(said), "## At a glance", _glance(said)]
    for outcome in said["outcomes"]:
        parts += _test(outcome, said, folder)
    _disk.write(folder / "summary.md", ("\n\n".join(parts) + "\n"))


def _head(said: Mapping[str, Any]) -> str:
    seed, count = said["outcomes"][0].test.study.seed, said["replications"]
    return (
        f"`{said['command']}`, forebay {said['version']}: {said['runs']} runs, {count} of each "
        f"point with seeds {seed} to {seed + count - 1}, {said['cpu_seconds']:.0f} s of processor "
        "time. Every ± is a 95 % interval over the runs. The ellipses in the trade-off graphs "
        "(section 2.7) are the 1-σ contours of the runs. Points to the left and high up are good."
    )


def _glance(said: Mapping[str, Any]) -> str:
    rows = []
    for outcome, setting, delay, used in said["glance"]:
        name = outcome.test.title + (f": {setting}" if setting else "")
        cells = [
            f"{d.text} / {100 * u.interval.mean:.1f}" if d.interval and u.interval else "–"
            for d, u in zip(delay.cells, used.cells, strict=True)
        ]
        rows.append([outcome.test.section, name, *cells])
    told = (
        "Cells have the mean queueing delay at the link under test in ms / the share of the link "
        "used in %."
    )
    return f"{told}\n\n{markdown(['Section', 'Test', *said['labels']], rows)}"


def _test(outcome: Outcome, said: Mapping[str, Any], folder: Path) -> Iterator[str]:
    test = outcome.test
    yield f"## {test.section} {test.title}"
    yield f"{test.about} RFC 7928: {test.requirement}."
    panels = [dataclasses.asdict(panel) for panel in _panels(outcome, said["labels"])]
    image = f"{IMAGES}/{said['suite'].name}-{outcome.anchor}.svg"
    draw.save(panels, folder / image)
    yield f"![{test.title}]({image})"
    yield markdown(
        ["", *said["labels"]], [row for each in outcome.settings for row in _rows(each, outcome)]
    )


def _rows(setting: Setting, outcome: Outcome) -> Iterator[list[str]]:
    """Of every setting the rows that the RFC's metrics of queue and completion ask for."""
    links = len(outcome.test.study.links)
    for name, rows in setting.blocks:
        chosen = [row for row in rows if _shown(name, row)]
        if not chosen:
            continue
        link = name.startswith("link ")
        said = [setting.title] if setting.title else []
        if not link or links > 1:
            said.append(name)
        if said:
            yield [f"**{', '.join(said)}**", *[""] * len(chosen[0].cells)]
        for row in chosen:
            title = row.title + (f", {row.unit}" if row.unit else "")
            yield [title, *(cell.text for cell in row.cells)]


def _shown(block: str, row: Row) -> bool:
    if block.startswith("link "):
        return row.title in OF_LINKS
    return block == "fairness" or row.title in OF_CLASSES


def _panels(outcome: Outcome, labels: Sequence[str]) -> Iterator[Panel]:
    trades = outcome.figures["trades"]
    if len(trades) > PANELS:
        trades = [each for each in trades if each["class"] == outcome.test.trades[0].class_]
    for each in trades:
        regions = [
            Region(label, *mark["ellipse"])
            for label, mark in zip(labels, each["marks"], strict=True)
            if mark is not None and mark["ellipse"] is not None
        ]
        yield Panel(each["setting"], "queueing delay, ms", f"goodput of {each['class']}, Mb/s",
                    y_range=_apart(regions), regions=regions)  # fmt: skip
    for each in outcome.figures["ratios"]:
        series = [
            Series(label, each["labels"], [mean for mean, _ in line],
                   [mean - half for mean, half in line], [mean + half for mean, half in line])
            for label, line in zip(labels, each["lines"], strict=True)
        ]  # fmt: skip
        yield Panel("", each["axis"], each["title"], series)
    if outcome.figures["course"] is not None:
        series = [
            Series(label, each["time"], each["queue"])
            for label, each in zip(labels, outcome.figures["course"], strict=True)
        ]
        yield Panel("first run", "time, s", "queue, packets", series)


def _apart(regions: Sequence[Region]) -> tuple[float, float] | None:
    """A range where differences below a hundredth would fill the axis."""
    values = [region.y for region in regions]
    least, most = min(values, default=0.0), max(values, default=0.0)
    return None if most - least >= 0.01 * most else (0.97 * most, 1.01 * most)
