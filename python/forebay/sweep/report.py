"""The report of a study: one HTML file that needs no network."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl

from forebay import _disk, stats
from forebay._engine import ScenarioError
from forebay._measures import ABSENT, GOODPUT, MEASURES
from forebay._relative import EFFICIENCY
from forebay._report import html
from forebay._report.page import (
    Block,
    Cell,
    Choice,
    Code,
    Controls,
    Facts,
    Figure,
    Fold,
    Legend,
    Md,
    Page,
    Row,
    Section,
    Select,
    Table,
    Text,
    plain,
)
from forebay._report.panel import Panel, Range, Region, Series, wide
from forebay._report.table import fewer, number
from forebay.sweep.axes import Axis
from forebay.sweep.data import StudyData

_MOST_NUMBERS = 600_000
"""Numbers of one kind of figure in the file, about 4 MB; beyond, less is offered to choose from."""
_MOST_TRADES = 16
_MOST_PANELS = 30
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

    @property
    def said(self) -> str:
        """The title with the unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


def write_report(data: StudyData, path: str | Path | None = None) -> Path:
    """Write the report of a study, one HTML file that needs no network.

    Args:
        data: the runs.
        path: the file, one that is there is replaced; without it, `report.html` in the study's
            folder.

    Raises:
        ScenarioError: there is no finished run yet.

    Example:
        >>> sweep.write_report(sweep.results("out/study"), "study.html").name
        'study.html'
    """
    path = data.folder / "report.html" if path is None else Path(path)
    _disk.check_output(path, [each for each in data.folder.iterdir() if each.suffix != ".html"])
    _disk.write(path, render(data))
    return path


def render(data: StudyData) -> str:
    """The report of a study as HTML, with everything it needs inside."""
    return html.render(page(data))


def page(data: StudyData) -> Page:
    """The report: figures and a table of the measure that a reader chooses.

    Raises:
        ScenarioError: there is no finished run yet.
    """
    if data.runs.is_empty():
        raise ScenarioError(f"{data.folder}: holds no finished run yet")
    if not offered(data):
        raise ScenarioError(f"{data.folder}: its runs hold no measure that is a number")
    found = Charts(data)
    heading = "Over the axes" if data.axes else "By discipline"
    about = Text("Point at a mark to see its values.", small=True)
    controls = Controls(found.selects)
    sections = [Section("This study is not complete", [_INCOMPLETE])] * (not data.complete)
    sections += [
        Section("Which intervals these are", [Text(_intervals(data))], card=True),
        Section(heading, [Legend(data.disciplines), about, controls, found.multiples()]),
    ]
    if len(data.disciplines) > 1:
        told = (
            "Where an interval does not reach zero, the two differ. The measure is the one above."
        )
        against = Controls([found.against])
        blocks = [Text(told, small=True), against, found.differences()]
        sections.append(Section("Paired differences", blocks))
    sections.append(Section("The numbers", [found.tables()]))
    if len(found.traded) > 1:
        sections.append(Section("Trade-offs", list(found.trades())))
    sections.append(Section("What was run", _what_was_run(data)))
    return Page(data.title, "Study", _lede(data, found), sections, data.disciplines)


_INCOMPLETE = Text(
    Md("The figures show the runs that had ended; the same `forebay sweep` goes on with the rest.")
)


def _lede(data: StudyData, found: Charts) -> str:
    def count(number: int, what: str) -> str:
        return f"{number} {what}{'' if number == 1 else 's'}"

    axes = " × ".join(f"**{plain(axis.name)}**" for axis in data.axes)
    return Md(
        f"{count(len(data.disciplines), 'discipline')} at {count(len(found.settings), 'setting')}"
        f"{f' of {axes}' if axes else ''}, {data.runs.height:,} runs."
    )


def _intervals(data: StudyData) -> str:
    level = f"{100 * stats.LEVEL:g} %"
    alone = "Each interval stands alone: among many, one in twenty misses its value."
    if data.long_run:
        return Md(
            f"Every point is **one run**. Measures named “batch means” carry a {level} interval "
            "from that run alone: the warm-up is removed by MSER-5 and the rest is cut into 10 to "
            "30 batches, whose means are taken for independent. All other measures are shown "
            f"without an interval, because one run gives none. {alone}"
        )
    counts = data.runs.group_by("point").len()["len"]
    fewest, most = min(counts), max(counts)
    runs = f"**{most} independent runs** of every point"
    if fewest != most:
        runs = f"**{fewest} to {most} independent runs** of a point"
    if any(data.runs[each.key].null_count() for each in offered(data)):
        runs += ", or over those that have a value; the numbers below say how many"
    until = data.layout.study["until"]
    stopped = "" if not until else (
        f"Runs were added until the interval of `{until['key']}` was at most "
        f"±{until['half_width']}, or {until['at_most']} runs were made; stopping so makes "
        "intervals slightly optimistic. "
    )  # fmt: skip
    return Md(
        f"Bands, bars and ± are {level} Student intervals of the mean over {runs}. Run *r* has the "
        "same random numbers under every discipline, so that differences are taken run by run; "
        "their intervals are those of the paired differences. Ellipses are joint "
        f"{level} regions of two means (Hotelling’s T²). {stopped}{alone}"
    )


def _what_was_run(data: StudyData) -> list[Block]:
    study = json.dumps(data.layout.study, indent=2, ensure_ascii=False)
    runs = "Seeds, fingerprints and every measure of every run are in the folder’s"
    facts = [
        ("forebay", str(data.version)),
        ("Study", Md(f"`{data.layout.manifest['hash']}`")),
        ("Runs", Md(f"{runs} `runs/*.parquet`.")),
    ]
    return [Fold("The study", [Code(study)]), Facts(facts)]


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


Cells = list[list[list[float | None] | None]]
"""Numbers by setting and discipline; None where there is no run."""


class Charts:
    """The figures and tables of a study, by what a reader chooses."""

    def __init__(self, data: StudyData) -> None:
        """Of a study of which runs have ended."""
        self.data = data
        self.table = _settings(data)
        self.settings: list[list[int]] = self.table["steps"].to_list()
        cells = len(self.settings) * len(data.disciplines)
        self.shown = offered(data)[: max(1, _MOST_NUMBERS // (3 * cells))]
        until = data.layout.study["until"] or {}
        chosen = next((at for at, s in enumerate(self.shown) if s.key == until.get("key")), 0)
        measures = {str(at): each.said for at, each in enumerate(self.shown)}
        axes = {str(at): axis.name for at, axis in enumerate(data.axes)}
        along = max(axes, key=lambda at: _length(data.axes[int(at)]), default="")
        self.selects = [Select("measure", "Measure", measures, str(chosen))]
        self.alongs: dict[tuple[str, ...], int | None] = {(): 0 if data.axes else None}
        if len(axes) > 1:
            self.selects.append(Select("along", "Along", axes, along))
            self.alongs = {(at,): int(at) for at in axes}
        self.traded = [at for at, each in enumerate(self.shown) if each.trade][:_MOST_TRADES]
        # Fewer to take away if there are too many numbers.
        against = data.disciplines
        if 2 * cells * len(self.shown) * len(against) > _MOST_NUMBERS:
            against = against[:1]
        names = {str(data.disciplines.index(label)): label for label in against}
        self.against = Select("against", "Difference from", names)

    def multiples(self) -> Choice:
        """A measure along an axis, a panel for each combination of steps on the others."""
        parts = {
            (str(at), *along): [self._multiples(self.means(each), each.said, axis, each.said)]
            for at, each in enumerate(self.shown)
            for along, axis in self.alongs.items()
        }
        return Choice([select.name for select in self.selects], parts)

    def differences(self) -> Choice:
        """The same of differences from one discipline."""
        parts: dict[tuple[str, ...], Sequence[Block]] = {}
        for at, each in enumerate(self.shown):
            label = ", ".join(filter(None, ("difference", each.unit)))
            for other, name in self.against.options.items():
                cells = self.paired(each, name)
                words = f"Difference of {each.said} from {name}"
                for along, axis in self.alongs.items():
                    parts[(str(at), *along, other)] = [
                        self._multiples(cells, label, axis, words, 0.0)
                    ]
        return Choice([*(select.name for select in self.selects), "against"], parts)

    def tables(self) -> Choice:
        """The means and intervals of a measure at every setting."""
        axes = self.data.axes
        heads = [*(axis.name for axis in axes), *self.data.disciplines]
        parts: dict[tuple[str, ...], Sequence[Block]] = {}
        for at, each in enumerate(self.shown):
            rows: list[Row] = [
                [
                    *(axis.labels[step] for axis, step in zip(axes, steps, strict=True)),
                    *map(_cell, cells),
                ]
                for steps, cells in zip(self.settings, self.means(each), strict=True)
            ]
            about = Text(f"{each.said}: mean ± half-width of its interval.", small=True)
            if not axes:
                rows = [["", *row] for row in rows]
            table = Table(heads if axes else ["", *heads], rows, "The numbers")
            parts[(str(at),)] = [about, table]
        return Choice(("measure",), parts)

    def trades(self) -> Iterator[Block]:
        """Two measures against each other, a panel for each setting."""
        yield Text(
            "A dot is the mean of two measures; the ellipse around it holds both true means with "
            f"{100 * stats.LEVEL:g} % confidence. Ellipses need three runs or more.",
            small=True,
        )
        names = {str(at): self.shown[at].said for at in self.traded}
        first = self.traded[0]
        delay = next((at for at in self.traded if "delay" in self.shown[at].title), None)
        second = delay if delay not in (None, first) else self.traded[1]
        selects = (
            Select("trade-x", "Across", names, str(first)),
            Select("trade-y", "Up", names, str(second)),
        )
        yield Controls(selects)
        cells = len(self.settings) * len(self.data.disciplines) * 5
        pairs = list(permutations(self.traded, 2))[: 2 * max(1, _MOST_NUMBERS // cells)]
        parts: dict[tuple[str, ...], Sequence[Block]] = {
            (str(x), str(y)): [self._trade(self.shown[x], self.shown[y])] for x, y in pairs
        }
        other = (
            "Choose two different measures. A pair that is not in the report, which would grow too "
            "large, is given by forebay.sweep.results(...).regions."
        )
        yield Choice(("trade-x", "trade-y"), parts, [Text(other, small=True)])
        if (left := len(self.settings) - _MOST_PANELS) > 0:
            how = "forebay.sweep.results(...).regions gives them"
            yield Text(f"{left} more settings are not drawn; {how}.", small=True)

    def means(self, each: Shown) -> Cells:
        """Mean, half-width, number of samples, and of runs."""
        on = [*self.data.columns, "discipline"]
        table = self.data.intervals(each.key).join(
            self.data.runs.group_by(on).len("runs"), on=on, how="left", maintain_order="left"
        )
        if each.half_width is not None:
            half = self.data.intervals(each.half_width)["mean"]
            batches = self.data.intervals(each.key.removesuffix("batch_mean") + "batches")["mean"]
            table = table.with_columns(half.alias("half_width"), batches.alias("samples"))
        return self._cells(_scaled(table, each), ("mean", "half_width", "samples", "runs"))

    def paired(self, each: Shown, against: str) -> Cells:
        """Mean and half-width of the difference from a discipline."""
        table = self.data.differences(each.key, against)
        return self._cells(_scaled(table, each), ("mean", "half_width"))

    def regions(self, x: Shown, y: Shown) -> Cells:
        """The joint region of two means: both, and their covariances."""
        scales = {"x": x.scale, "y": y.scale, "xx": x.scale**2, "xy": x.scale * y.scale}
        scales["yy"] = y.scale**2
        table = self.data.regions(x.key, y.key)
        scaled = table.with_columns(pl.col(name) * scale for name, scale in scales.items())
        return self._cells(scaled, tuple(scales))

    def _multiples(
        self, cells: Cells, label: str, along: int | None, words: str, level: float | None = None
    ) -> Figure:
        axis = None if along is None else self.data.axes[along]
        groups: dict[str, list[int]] = {}
        for row, steps in enumerate(self.settings):
            groups.setdefault(self._described(steps, along), []).append(row)
        places, log = _places(axis)
        ticks = tuple(zip(places, axis.labels, strict=True)) if _ticked(axis) and axis else ()
        values = [cell[0] for row in cells for cell in row if cell is not None]
        panels = []
        for title, rows in list(groups.items())[:_MOST_PANELS]:
            series = []
            for at, name in enumerate(self.data.disciplines):
                known = [row for row in rows if cells[row][at]]
                x = [places[0 if along is None else self.settings[row][along]] for row in known]
                found = [cells[row][at] or [] for row in known]
                if x:
                    series.append(_series(name, x, found))
            name = axis.name if axis else ""
            panels.append(
                Panel(
                    title,
                    name,
                    label,
                    series,
                    x_log=log,
                    y_log=level is None and wide(values),
                    x_ticks=ticks,
                    level=level,
                )
            )
        return Figure(panels, f"{words} for each discipline")

    def _trade(self, x: Shown, y: Shown) -> Figure:
        cells = self.regions(x, y)
        panels = []
        for steps, row in list(zip(self.settings, cells, strict=True))[:_MOST_PANELS]:
            regions = [
                Region(name, *cell)  # type: ignore[arg-type]
                for name, cell in zip(self.data.disciplines, row, strict=True)
                if cell
            ]
            across = _from_zero([(each.x, each.xx) for each in regions])
            up = _from_zero([(each.y, each.yy) for each in regions])
            title = self._described(steps, None)
            panels.append(Panel(title, x.said, y.said, (), regions, across, up))
        return Figure(panels, f"{y.said} against {x.said}")

    def _described(self, steps: Sequence[int], without: int | None) -> str:
        """The steps on all axes but one."""
        return ", ".join(
            f"{axis.name} {axis.labels[step]}"
            for at, (axis, step) in enumerate(zip(self.data.axes, steps, strict=True))
            if at != without
        )

    def _cells(self, table: pl.DataFrame, columns: Sequence[str]) -> Cells:
        """Columns of a table by setting and discipline."""
        on = self.data.columns
        placed = table.join(self.table, on=on, how="left") if on else table.with_columns(row=0)
        at = {label: number for number, label in enumerate(self.data.disciplines)}
        cells: Cells = [[None] * len(at) for _ in self.settings]
        for row, label, *values in placed.select("row", "discipline", *columns).iter_rows():
            if values[0] is not None:
                cells[row][at[label]] = [None if v is None else float(f"{v:.6g}") for v in values]
        return cells


def _from_zero(means: Sequence[tuple[float, float | None]]) -> Range | None:
    """The range of an axis, if an interval reaches below 0, where no measure lies."""
    below = any(mean < math.sqrt(variance or 0.0) for mean, variance in means)
    return (0.0, None) if below else None


def _series(name: str, x: Sequence[Any], found: Sequence[Sequence[float | None]]) -> Series:
    means = [cell[0] or 0.0 for cell in found]
    half = [cell[1] for cell in found]
    if None in half:
        return Series(name, x, means)
    low = [mean - (each or 0.0) for mean, each in zip(means, half, strict=True)]
    high = [mean + (each or 0.0) for mean, each in zip(means, half, strict=True)]
    return Series(name, x, means, low, high)


def _places(axis: Axis | None) -> tuple[Sequence[Any], bool]:
    """Where the steps of an axis are, and whether it is logarithmic."""
    if axis is None:
        return [""], False
    if not axis.numbers:
        return axis.labels, False
    least, most = min(axis.numbers), max(axis.numbers)
    return axis.numbers, least > 0 and most >= 8 * least


def _ticked(axis: Axis | None) -> bool:
    """Whether each step of an axis of numbers has its own tick."""
    return axis is not None and axis.numbers is not None and len(axis.numbers) <= 8


def _length(axis: Axis) -> tuple[bool, int]:
    """The axis to begin with: one of numbers, with many steps."""
    return bool(axis.numbers), len(axis.labels)


def _cell(cell: Sequence[float | None] | None) -> Cell:
    """Mean and half-width, and on how many runs they rest if others have no value."""
    if cell is None or cell[0] is None:
        return Cell(ABSENT)
    shown = number(cell[0], cell[1])
    return replace(shown, note=f"{shown.note} {fewer(cell[2], cell[3])}".strip())


def _scaled(table: pl.DataFrame, each: Shown) -> pl.DataFrame:
    return table.with_columns(pl.col("mean", "half_width") * each.scale)


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
