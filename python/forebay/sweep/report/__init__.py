"""The report of a study: one HTML file that needs no network."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from forebay import _disk, stats
from forebay._engine import ScenarioError
from forebay._relative import EFFICIENCY
from forebay._report import embedded, plotly_source, resource, template
from forebay.measures import GOODPUT, MEASURES
from forebay.sweep.data import StudyData

_MOST_NUMBERS = 600_000
"""Numbers of one kind of figure in the file, about 4 MB; beyond, less is offered to choose from."""
_MOST_TRADES = 16
_LINK_MEASURES = (
    ("links", "utilization", "Link used", "%", 100.0),
    ("queues", "mean_delay_ms", "Mean time in queue", "ms", 1.0),
    ("queues", "p99_delay_ms", "99th percentile time in queue", "ms", 1.0),
    ("queues", "loss", "Dropped", "%", 100.0),
)
_SERIES = {"mean_packets": ("Mean queue", "packets", 1.0), "throughput_bps": (
    "Throughput", "kb/s", 1e-3)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """A measure that the report offers."""

    key: str
    title: str
    unit: str
    scale: float
    half_width: str | None = None
    """Column with its half-width, if it is of batch means."""
    trade: bool = False
    """Whether trade-offs are shown between it and others."""


def write(data: StudyData, path: str | Path | None = None) -> Path:
    """Write the report of a study.

    Args:
        data: its results, complete or not.
        path: where; `report.html` in the study's folder unless given.

    Raises:
        ScenarioError: there is no finished run yet.
    """
    path = data.folder / "report.html" if path is None else Path(path)
    _disk.write(path, render(data))
    return path


def render(data: StudyData) -> str:
    """The report of a study as HTML, with everything it needs inside.

    Raises:
        ScenarioError: there is no finished run yet.
    """
    if data.runs.is_empty():
        raise ScenarioError(f"{data.folder}: holds no finished run yet")
    shown = offered(data)
    if not shown:
        raise ScenarioError(f"{data.folder}: its runs hold no measure that is a number")
    counts = data.runs.group_by("point").len()["len"]
    figures = _figures(data, shown)
    return template("sweep/report").render(
        data=data,
        settings=len(figures["settings"]),
        fewest=counts.min(),
        most=counts.max(),
        level=100 * stats.LEVEL,
        study=json.dumps(data.layout.study, indent=2, ensure_ascii=False),
        hash=data.layout.manifest["hash"],
        until=data.layout.study["until"],
        style=Markup(style()),
        script=Markup(plotting() + _own("report.js")),
        plotly=Markup(plotly_source()),
        figures=Markup(embedded(figures)),
    )


def offered(data: StudyData) -> list[Shown]:
    """The measures that the report offers: what users get, then the links, then what was asked."""
    found: list[Shown] = []
    known = set(data.measures)
    classes = _names(data, "classes")
    if data.long_run:
        for key in data.measures:
            match = re.fullmatch(r"(classes|queues)\.(.+)\.([^.]+)\.batch_mean", key)
            if match is not None:
                title, unit, scale = _SERIES[match[3]]
                half = key.removesuffix("batch_mean") + "batch_half_width"
                found.append(Shown(key, f"{match[2]}: {title}, batch means", unit, scale, half))
    for measure in MEASURES:
        for name in classes:
            key = f"classes.{name}.{measure.key}"
            if key in known:
                trade = measure is GOODPUT or measure.key in ("p99_delay_ms", "mos")
                title = f"{name}: {measure.title}"
                found.append(Shown(key, title, measure.unit, measure.scale, trade=trade))
    if EFFICIENCY in known:
        found.append(Shown(EFFICIENCY, "System efficiency", "x", 1.0))
    for group, last, title, unit, scale in _LINK_MEASURES:
        for name in _names(data, group):
            key = f"{group}.{name}.{last}"
            if key in known:
                found.append(Shown(key, f"{name}: {title}", unit, scale))
    if data.layout.study["keys"] or not found:
        taken = {each.key for each in found}
        found += [Shown(key, key, "", 1.0) for key in data.measures if key not in taken]
    return found


def _names(data: StudyData, group: str) -> list[str]:
    """The classes or links of the study, in order of their names."""
    pattern = re.compile(rf"{group}\.(.+)\.[^.]+")
    matches = (pattern.fullmatch(key) for key in data.measures)
    return sorted({match[1] for match in matches if match is not None})


def style() -> str:
    """The style sheet of the reports of studies and suites."""
    return resource("report.css") + _own("report.css")


def plotting() -> str:
    """The script with which those reports draw."""
    return _own("plot.js")


def _own(name: str) -> str:
    return resources.files("forebay.sweep.report").joinpath(name).read_text(encoding="utf-8")


def _figures(data: StudyData, shown: Sequence[Shown]) -> dict[str, Any]:
    """The numbers that figures and tables show, one row for each setting."""
    settings = _settings(data)
    cells = settings.height * len(data.disciplines)
    shown = shown[: max(1, _MOST_NUMBERS // (3 * cells))]
    until = data.layout.study["until"] or {}
    return {
        "labels": data.disciplines,
        "axes": [
            {"name": axis.name, "labels": axis.labels, "numbers": axis.numbers, "unit": axis.unit}
            for axis in data.axes
        ],
        "settings": settings["steps"].to_list(),
        "measures": [
            {"key": each.key, "title": each.title, "unit": each.unit, "trade": each.trade}
            for each in shown
        ],
        "first": next((at for at, s in enumerate(shown) if s.key == until.get("key")), 0),
        "means": [_means(data, settings, each) for each in shown],
        "differences": _differences(data, settings, shown),
        "regions": _regions(data, settings, shown),
    }


def _settings(data: StudyData) -> pl.DataFrame:
    """The settings that have a finished run, with the step on every axis."""
    points = data.layout.manifest["points"]
    steps = pl.DataFrame(
        {"point": [p["id"] for p in points], "steps": [p["steps"] for p in points]},
        schema={"point": pl.String, "steps": pl.List(pl.Int64)},
    )
    present = data.runs.select("point", *data.columns).unique(
        "point", keep="first", maintain_order=True
    )
    return (
        present.join(steps, on="point", how="left", maintain_order="left")
        .drop("point")
        .unique("steps", keep="first", maintain_order=True)
        .with_row_index("row")
    )


def _cells(
    data: StudyData, settings: pl.DataFrame, table: pl.DataFrame, columns: Sequence[str]
) -> list[list[list[float | None] | None]]:
    """Columns of a table as settings times disciplines; null where there is none."""
    if data.columns:
        placed = table.join(settings, on=data.columns, how="left")
    else:
        placed = table.with_columns(pl.lit(0).alias("row"))
    at = {label: number for number, label in enumerate(data.disciplines)}
    cells: list[list[list[float | None] | None]] = [
        [None] * len(at) for _ in range(settings.height)
    ]
    for row, label, *values in placed.select("row", "discipline", *columns).iter_rows():
        if values[0] is not None:
            cells[row][at[label]] = [None if v is None else float(f"{v:.6g}") for v in values]
    return cells


def _means(data: StudyData, settings: pl.DataFrame, each: Shown) -> Any:
    table = data.intervals(each.key)
    if each.half_width is not None:
        half = data.intervals(each.half_width)["mean"]
        batches = data.intervals(each.key.removesuffix("batch_mean") + "batches")["mean"]
        table = table.with_columns(half.alias("half_width"), batches.alias("samples"))
    scaled = table.with_columns(pl.col("mean") * each.scale, pl.col("half_width") * each.scale)
    return _cells(data, settings, scaled, ("mean", "half_width", "samples"))


def _differences(data: StudyData, settings: pl.DataFrame, shown: Sequence[Shown]) -> Any:
    """By discipline that is taken away, then by measure; fewer of both if there are too many."""
    cells = settings.height * len(data.disciplines) * 2
    if len(data.disciplines) < 2:
        return {}
    against = data.disciplines
    if cells * len(shown) * len(against) > _MOST_NUMBERS:
        against = against[:1]
    return {
        label: [
            _cells(
                data,
                settings,
                data.differences(each.key, label).with_columns(
                    pl.col("mean") * each.scale, pl.col("half_width") * each.scale
                ),
                ("mean", "half_width"),
            )
            for each in shown
        ]
        for label in against
    }


def _regions(data: StudyData, settings: pl.DataFrame, shown: Sequence[Shown]) -> Any:
    """Joint regions of the means, by the numbers of two measures."""
    candidates = [at for at, each in enumerate(shown) if each.trade][:_MOST_TRADES]
    cells = settings.height * len(data.disciplines) * 5
    pairs = list(combinations(candidates, 2))[: max(1, _MOST_NUMBERS // cells)]
    return {
        f"{first},{second}": _cells(
            data,
            settings,
            data.regions(shown[first].key, shown[second].key).with_columns(
                pl.col("x") * shown[first].scale,
                pl.col("y") * shown[second].scale,
                pl.col("xx") * shown[first].scale ** 2,
                pl.col("xy") * shown[first].scale * shown[second].scale,
                pl.col("yy") * shown[second].scale ** 2,
            ),
            ("x", "y", "xx", "xy", "yy"),
        )
        for first, second in pairs
    }
