"""Diagrams as plain data: panels of curves, bars and regions, and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from typing import Any, Literal

Style = Literal["line", "curve", "points", "steps", "bars"]
"""A line has a mark at each point if it has few, a curve has none."""
Range = tuple[float | None, float | None]
"""Ends of an axis; None is chosen from the points."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one variant. `x` is numbers, or names for bars.

    Example:
        >>> chart.Series("codel", [1.0, 2.0], [12.1, 9.8], low=[11.0, 9.1], high=[13.2, 10.5]).style
        'line'
    """

    label: str
    """What the legend calls it."""
    x: Sequence[float] | Sequence[str]
    """Numbers, or names for bars."""
    y: Sequence[float | None]
    """Means, one for each `x`; None leaves a gap."""
    low: Sequence[float | None] = ()
    """Lower ends of the 95 % intervals; empty if there are none."""
    high: Sequence[float | None] = ()
    """Upper ends, as many as lower ones."""
    style: Style = "line"
    """How it is drawn."""
    stated: bool = False
    """Whether these are numbers that the paper's text states; drawn as hollow stars."""


@dataclass(frozen=True, slots=True)
class Region:
    """A joint confidence region of two means, as `StudyData.regions` gives it.

    Example:
        >>> region = chart.Region("codel", x=9.4e6, y=12.1, xx=1e8, xy=-40.0, yy=0.2)
        >>> panel = chart.Panel("", "goodput, bit/s", "delay, ms", regions=[region])
    """

    label: str
    """What the legend calls it."""
    x: float
    """Mean of the first measure."""
    y: float
    """Mean of the second."""
    xx: float | None
    """Variance of the first mean; None if it is not known."""
    xy: float | None
    """Covariance of the two means."""
    yy: float | None
    """Variance of the second mean."""
    dot: tuple[float, float] | None = None
    """Where the large mark is; at the means unless given."""
    runs: Sequence[Sequence[float]] = ()
    """Both measures of each run, drawn as small marks: two lists."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram. Labels name the quantity and its unit.

    Example:
        >>> line = chart.Series("codel", [1.0, 2.0, 4.0], [12.1, 9.8, 8.7])
        >>> panel = chart.Panel("One queue", "rate, Mbit/s", "delay, ms", [line], y_log=True)
        >>> panel.labels
        ['codel']
    """

    title: str
    """Heading; may be empty."""
    x_label: str
    """Quantity and unit of the horizontal axis."""
    y_label: str
    """Quantity and unit of the vertical axis."""
    series: Sequence[Series] = ()
    """Curves, points or bars."""
    regions: Sequence[Region] = ()
    """Ellipses."""
    x_range: Range | None = None
    """Ends of the axis; chosen from the points unless given."""
    y_range: Range | None = None
    """Ends of the axis; chosen from the points unless given."""
    x_log: bool = False
    """Whether the axis is logarithmic."""
    y_log: bool = False
    """Whether the axis is logarithmic."""
    ordered: bool = False
    """Whether the series are steps of one parameter, to be coloured from dark to light."""
    x_ticks: Sequence[tuple[float, str]] = ()
    """Where the horizontal axis has ticks, and what is written there."""
    level: float | None = None
    """Where a horizontal line is."""
    shade: Range | None = None
    """A part of the horizontal axis with a grey ground."""

    @property
    def labels(self) -> list[str]:
        """The variants, each once, without numbers that are only stated."""
        known = [each.label for each in self.series if not each.stated]
        return list(dict.fromkeys(known + [each.label for each in self.regions]))


@dataclass(frozen=True, slots=True)
class Segments:
    """Straight lines of a map, each between two places, as columns of equal length."""

    x: Sequence[float]
    y: Sequence[float]
    x2: Sequence[float]
    y2: Sequence[float]
    step: Sequence[int]
    """What step of `widths` each has, and with `scale` of the colours, from 0 to 5."""
    widths: Sequence[float]
    """Pixels."""
    told: Mapping[str, Sequence[Any]]
    """What is said of each, by title."""


@dataclass(frozen=True, slots=True)
class Places:
    """Nodes of a map, as columns of equal length."""

    x: Sequence[float]
    y: Sequence[float]
    name: Sequence[str]
    """What is written beside each; may be empty."""
    square: Sequence[bool]
    """Whether it is a square instead of a circle."""
    told: Mapping[str, Sequence[Any]]
    """What is said of each, by title."""


@dataclass(frozen=True, slots=True)
class Way:
    """The path of something that moves, with a ring around its beginning."""

    name: str
    times: Sequence[str]
    x: Sequence[float]
    y: Sequence[float]
    ring: float | None
    """Radius."""


@dataclass(frozen=True, slots=True)
class Map:
    """Places in the plane, lines between them, and paths. Both axes have one scale."""

    title: str
    """Heading; may be empty."""
    label: str
    """The variant; its colour is that of the lines unless they have a scale."""
    segments: Segments
    places: Places
    ways: Sequence[Way] = ()
    unit: str = ""
    """Unit of the axes, which are not drawn without one."""
    scale: bool = False
    """Whether a segment's step is a colour, too."""
    large: bool = False
    """Whether it stands alone, to be moved and zoomed."""

    @property
    def labels(self) -> list[str]:
        """The one variant."""
        return [self.label]


def wide(values: Sequence[float | None]) -> bool:
    """Whether values span so much that an even axis would hide all but the largest."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and max(known) > 20 * min(known)


def plain(panel: Panel) -> dict[str, Any]:
    """A panel as plain values, without defaults.

    A series whose `x` are those of the one before it is without them.
    """
    series = [_given(each) for each in panel.series]
    for before, each in reversed(list(pairwise(series))):
        if each["x"] == before["x"]:
            del each["x"]
    regions = [_given(each) for each in panel.regions]
    return _given(panel) | {"series": series, "regions": regions}


def _given(part: Panel | Series | Region) -> dict[str, Any]:
    """The fields that are not their defaults."""
    values = {each.name: (getattr(part, each.name), each.default) for each in fields(part)}
    return {
        name: value
        for name, (value, default) in values.items()
        if value != default and (value != [] or default is MISSING)
    }


def read(values: Mapping[str, Any]) -> Panel:
    """A panel from plain values."""
    series: list[Series] = []
    for each in values["series"]:
        given = each if "x" in each else {**each, "x": series[-1].x}
        series.append(Series(**given))
    regions = [Region(**each) for each in values["regions"]]
    return Panel(**{**values, "series": series, "regions": regions})
