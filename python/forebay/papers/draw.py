"""Figures from the panels of a record, by matplotlib.

Colours are Okabe and Ito's and one of Tol's, which colour-blind readers tell apart; markers and
dashes do so in grey. Steps of one parameter take cividis from dark to light instead.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.ticker import LogFormatter

from forebay import _disk

COLOURS = (
    "#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999",
    "#882255",
)  # fmt: skip
MARKERS = "osD^vPX*h"
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)))
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "forebay",
    "svg.fonttype": "path",
}


def figure(panels: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw panels, two to a row; one legend serves panels that show the same variants."""
    with mpl.rc_context(STYLE):
        wide = 1 if len(panels) == 1 else 2
        high = math.ceil(len(panels) / wide)
        # As wide as a page of text; one panel leaves room beside it for the legend.
        drawn = Figure(figsize=(6.4 if wide == 1 else 9.6, 3.5 * high), layout="constrained")
        grid = list(drawn.subplots(high, wide, squeeze=False).flat)
        looks: dict[str, dict[str, Any]] = {}
        for axes, panel in zip(grid, panels, strict=False):
            _panel(axes, panel, looks)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        handles: dict[str, Any] = {}
        for axes in grid:
            marks, labels = axes.get_legend_handles_labels()
            handles |= {label: mark for mark, label in zip(marks, labels, strict=True)}
        if len(handles) > 1:
            drawn.legend(
                handles.values(),
                handles.keys(),
                loc="outside lower center",
                ncols=_legend_columns(list(handles), wide),
            )
        return drawn


def _legend_columns(labels: Sequence[str], wide: int) -> int:
    """As many columns as fit under a figure that is `wide` panels wide, their rows even."""
    room, most = (88, 4) if wide == 1 else (132, 7)
    fit = max(1, min(most, room // (max(map(len, labels)) + 8)))
    return math.ceil(len(labels) / math.ceil(len(labels) / fit))


def save(panels: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a figure; the same panels give the same bytes as SVG."""
    with mpl.rc_context(STYLE):
        metadata = {"Date": None} if path.suffix == ".svg" else None
        drawn = io.BytesIO()
        figure(panels).savefig(drawn, format=path.suffix[1:], dpi=150, metadata=metadata)
    _disk.write(path, drawn.getvalue())


def _panel(axes: Axes, panel: Mapping[str, Any], looks: dict[str, dict[str, Any]]) -> None:
    labels = [each["label"] for each in (*panel["series"], *panel["regions"])]
    _choose(looks, list(dict.fromkeys(labels)), panel["ordered"])
    bars = [each for each in panel["series"] if each["style"] == "bars"]
    for each in panel["series"]:
        if each["stated"]:
            axes.plot(
                each["x"], each["y"], "*", mfc="white", mec="black", ms=11, zorder=5,
                label=each["label"],
            )  # fmt: skip
        elif each["style"] == "bars":
            _bars(axes, each, bars.index(each), len(bars), looks[each["label"]])
        else:
            _line(axes, each, looks[each["label"]])
    for each in panel["regions"]:
        _region(axes, each, looks[each["label"]])
    axes.set(title=panel["title"], xlabel=panel["x_label"], ylabel=panel["y_label"])
    for axis, log in ((axes.xaxis, panel["x_log"]), (axes.yaxis, panel["y_log"])):
        if log:
            axis.axes.set(**{f"{axis.axis_name}scale": "log"})
            if max(axis.get_view_interval()) < 1e4:
                # Plain numbers, which beyond would be 1e+05; there powers of ten stay.
                axis.set_major_formatter(LogFormatter())
                axis.set_minor_formatter(LogFormatter())
    if panel["x_range"] is not None:
        axes.set_xlim(*panel["x_range"])
    if panel["y_range"] is not None:
        axes.set_ylim(*panel["y_range"])


def _choose(looks: dict[str, dict[str, Any]], labels: Sequence[str], ordered: bool) -> None:
    """A colour, marker and dash for every label, the same in all panels."""
    fresh = [label for label in labels if label not in looks]
    shades = mpl.colormaps["cividis"](np.linspace(0.0, 0.88, max(len(fresh), 2)))
    for shade, label in zip(shades, fresh, strict=False):
        number = len(looks)
        looks[label] = {
            "color": shade if ordered else COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)],
            "ls": DASHES[number % len(DASHES)],
        }


def _line(axes: Axes, each: Mapping[str, Any], look: Mapping[str, Any]) -> None:
    y = _numbers(each["y"])
    style = dict(look)
    if each["style"] == "points":
        style["ls"] = ""
    if each["style"] == "steps" or len(y) > 60:
        style["marker"] = ""
    steps = each["style"] == "steps"
    axes.plot(
        each["x"], y, label=each["label"], drawstyle="steps-post" if steps else "default", **style
    )
    if each["low"] and each["style"] == "points":
        axes.errorbar(each["x"], y, yerr=_errors(each), fmt="none", ecolor=look["color"], lw=1)
    elif each["low"]:
        axes.fill_between(
            each["x"], _numbers(each["low"]), _numbers(each["high"]),
            color=look["color"], alpha=0.18, lw=0, step="post" if steps else None,
        )  # fmt: skip


def _bars(
    axes: Axes, each: Mapping[str, Any], number: int, count: int, look: Mapping[str, Any]
) -> None:
    wide = 0.8 / count
    at = np.arange(len(each["x"])) + (number - (count - 1) / 2) * wide
    hatches = cycle(["", "//", "..", "xx", "\\\\", "oo"])
    hatch = [next(hatches) for _ in range(number + 1)][-1]
    axes.bar(
        at, _numbers(each["y"]), wide, label=each["label"], color=look["color"], hatch=hatch,
        edgecolor="white", lw=0.5, yerr=_errors(each) if each["low"] else None,
        error_kw={"lw": 1},
    )  # fmt: skip
    axes.set_xticks(np.arange(len(each["x"])), each["x"])


def _region(axes: Axes, each: Mapping[str, Any], look: Mapping[str, Any]) -> None:
    axes.plot(
        each["x"], each["y"], marker=look["marker"], color=look["color"], ls="", label=each["label"]
    )
    if each["xx"] is None:
        return
    values, vectors = np.linalg.eigh([[each["xx"], each["xy"]], [each["xy"], each["yy"]]])
    small, large = np.sqrt(np.maximum(values, 0.0))
    angle = math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
    axes.add_patch(
        Ellipse(
            (each["x"], each["y"]), 2 * large, 2 * small, angle=angle,
            fc=look["color"], ec=look["color"], alpha=0.35,
        )
    )  # fmt: skip


def _numbers(values: Sequence[float | None]) -> np.ndarray[Any, Any]:
    return np.array([math.nan if value is None else value for value in values], float)


def _errors(each: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    y = _numbers(each["y"])
    return np.array([y - _numbers(each["low"]), _numbers(each["high"]) - y])
