"""What is drawn in one diagram: the layers of a panel, and those of a map, with their data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from forebay._report.looks import Looks
from forebay._report.panel import Map, Panel, Range, Region, Series, Way

Spec = dict[str, Any]
Block = tuple[dict[str, Any], dict[str, Sequence[Any]]]
"""Rows of a data set: the fields that are the same in all, and the columns of the others."""

MARKED = 60
"""Most points of a curve that has a mark at each."""
POINT: Spec = {"type": "point", "filled": True, "opacity": 1, "size": 34, "clip": True}
HOLLOW: Spec = {"filled": False, "fill": "var(--card)", "strokeWidth": 1.2, "size": 110}
LINE: Spec = {"strokeWidth": 1.7, "clip": True}
SHOWN = {"filter": "indexof(shown, datum.s) >= 0"}
"""Keeps the variants that a reader has not switched off."""
ELLIPSE = [
    {"calculate": "sequence(0, 6.29, 0.157)", "as": "k"},
    {"flatten": ["k"]},
    {"calculate": "sqrt(datum.xx)", "as": "a"},
    {"calculate": "datum.a > 0 ? datum.xy / datum.a : 0", "as": "b"},
    {"calculate": "datum.x + datum.a * cos(datum.k)", "as": "ex"},
    {
        "calculate": "datum.y + datum.b * cos(datum.k)"
        " + sqrt(max(0, datum.yy - datum.b * datum.b)) * sin(datum.k)",
        "as": "ey",
    },
]
"""The contour at distance 1 of a Gaussian, from its means and covariances."""


@dataclass(slots=True)
class View:
    """One diagram's specification, and its data sets by the names that it uses."""

    spec: Spec
    data: dict[str, list[Block]] = field(default_factory=dict)


def view(panel: Panel | Map, looks: Looks) -> View:
    """The specification of one diagram, without its size and title."""
    return _map(panel, looks) if isinstance(panel, Map) else _Diagram(panel, looks).view()


def rows(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """The rows of a data set."""
    return [
        same | dict(zip(columns, values, strict=True))
        for same, columns in blocks
        for values in zip(*columns.values(), strict=True)
    ]


def marked(each: Series) -> bool:
    """Whether its points have marks of its variant."""
    few = each.style == "line" and len(each.x) <= MARKED
    return (few or each.style == "points") and not each.stated


class _Diagram:
    """The layers of a panel, one for each kind of marks that it has."""

    def __init__(self, panel: Panel, looks: Looks) -> None:
        self.panel = panel
        self.data: dict[str, list[Block]] = {}
        self.layers: list[Spec] = []
        names = next((each.x for each in panel.series if len(each.x)), ())
        self.named = any(isinstance(name, str) for name in names)
        self.bars = any(each.style == "bars" for each in panel.series)
        self.colour, self.dash, self.shape = map(looks.encoding, ("colours", "dashes", "shapes"))
        self.x = self._x()
        self.y = self._y()

    def view(self) -> View:
        """Areas first, then curves, then marks."""
        panel = self.panel
        if panel.shade is not None:
            low, high = panel.shade
            self.layers.append(
                {
                    "data": {"values": [{}]},
                    "mark": {"type": "rect", "color": "var(--shade)", "clip": True},
                    "encoding": {"x": {"datum": low}, "x2": {"datum": high}},
                }
            )
        if panel.level is not None:
            rule = {"type": "rule", "color": "var(--quiet)"}
            level = {"y": {"datum": panel.level}}
            self.layers.append({"data": {"values": [{}]}, "mark": rule, "encoding": level})
        drawn = [each for each in panel.series if not each.stated]
        for style, shape in (("line", "linear"), ("curve", "linear"), ("steps", "step-after")):
            self._curves(style, shape, [each for each in drawn if each.style == style])
        self._bars([each for each in drawn if each.style == "bars"])
        self._points("points", [each for each in drawn if each.style == "points"])
        self._regions(panel.regions)
        self._points("stated", [each for each in panel.series if each.stated])
        return View({"layer": self.layers}, self.data)

    def _curves(self, style: str, shape: str, curves: Sequence[Series]) -> None:
        if not curves:
            return
        known = [each for each in curves if len(each.low)]
        if known and not self.named:
            band = {"y": self._of_y("l"), "y2": {"field": "h"}, "color": self.colour}
            self._add(f"{style}-band", known, _area(shape), band)
        line = LINE | {"type": "line", "interpolate": shape}
        self._add(style, curves, line, {"color": self.colour, "strokeDash": self.dash})
        if known and self.named:
            self._intervals(style, known)
        few = [each for each in curves if marked(each)]
        if few:
            self._add(f"{style}-marks", few, POINT, {"color": self.colour, "shape": self.shape})

    def _bars(self, bars: Sequence[Series]) -> None:
        if not bars:
            return
        self._add("bars", bars, {"type": "bar"}, {"color": self.colour})
        self._intervals("bars", [each for each in bars if len(each.low)])

    def _points(self, name: str, many: Sequence[Series]) -> None:
        if not many:
            return
        self._intervals(name, [each for each in many if len(each.low)])
        mark = POINT | HOLLOW if name == "stated" else POINT
        self._add(name, many, mark, {"color": self.colour, "shape": self.shape})

    def _intervals(self, name: str, many: Sequence[Series]) -> None:
        if many:
            rule = {"type": "rule", "strokeWidth": 1.3, "clip": True}
            ends = {"y": self._of_y("l"), "y2": {"field": "h"}}
            colour = {"value": "var(--ink)"} if name == "bars" else self.colour
            self._add(f"{name}-ends", many, rule, ends | {"color": colour})

    def _regions(self, regions: Sequence[Region]) -> None:
        if not regions:
            return
        wide = [each for each in regions if each.xx is not None]
        if wide:
            columns = {name: [getattr(each, name) for each in wide] for name in _MOMENTS}
            self.data["regions"] = [({}, {"s": [each.label for each in wide], **columns})]
            contour = {
                "x": self.x | {"field": "ex"},
                "y": self._of_y("ey"),
                "order": {"field": "k"},
            }
            self.layers.append(
                {
                    "data": {"name": "regions"},
                    "transform": [SHOWN, *ELLIPSE],
                    "mark": {"type": "line", "fillOpacity": 0.16, "strokeWidth": 1, "clip": True,
                             "interpolate": "linear-closed"},
                    "encoding": contour | {"stroke": self.colour, "fill": self.colour},
                }
            )  # fmt: skip
        looks = {"color": self.colour, "shape": self.shape}
        runs = [Series(each.label, each.runs[0], each.runs[1]) for each in regions if each.runs]
        if runs:
            self._add("runs", runs, POINT | {"size": 14, "opacity": 0.45}, looks)
        dots = [(each, each.dot or (each.x, each.y)) for each in regions]
        middle = [Series(each.label, [x], [y]) for each, (x, y) in dots]
        self._add("middle", middle, POINT | {"size": 70}, looks)

    def _add(self, name: str, many: Sequence[Series], mark: Spec, encoding: Spec) -> None:
        self.data[name] = [self._block(each) for each in many]
        places = {"x": self.x, "y": self.y}
        if self.bars and self.named:
            places["xOffset"] = {"field": "s", "sort": self.colour["scale"]["domain"]}
        layer = {"data": {"name": name}, "transform": [SHOWN], "mark": mark}
        self.layers.append(layer | {"encoding": places | encoding})

    def _block(self, each: Series) -> Block:
        columns: dict[str, Sequence[Any]] = {"x": list(each.x), "y": list(each.y)}
        if len(each.low):
            columns |= {"l": list(each.low), "h": list(each.high)}
        for axis, log in (("x", self.panel.x_log), ("y", self.panel.y_log)):
            if log:
                columns[axis] = [_positive(value) for value in columns[axis]]
        if self.panel.y_log and len(each.low):
            least = self._least()
            for end in ("l", "h"):
                columns[end] = [None if v is None else max(v, least) for v in columns[end]]
        return {"s": each.label}, columns

    def _least(self) -> float:
        """The smallest value that a logarithmic axis can show."""
        ends = [value for each in self.panel.series for value in (*each.y, *each.low)]
        return min((value for value in ends if value is not None and value > 0), default=1.0)

    def _x(self) -> Spec:
        panel = self.panel
        if self.named:
            names = list(dict.fromkeys(str(name) for each in panel.series for name in each.x))
            long = sum(len(name) + 2 for name in names) > 52
            turned = {"labelAngle": -35, "labelAlign": "right"} if long else {"labelAngle": 0}
            axis = turned | {"labelLimit": 150, "labelOverlap": False}
            scale: Spec = {"domain": names} | ({} if self.bars else {"type": "point"})
            kind: Spec = {"field": "x", "type": "nominal", "title": panel.x_label}
            return kind | {"axis": axis, "scale": scale}
        values = [value for each in panel.series for value in each.x]
        values += [each.x for each in panel.regions]
        found = _quantity("x", panel.x_label, panel.x_range, panel.x_log, values, nice=False)
        if panel.x_ticks:
            places, texts = ([tick[part] for tick in panel.x_ticks] for part in (0, 1))
            words = f"{json.dumps(texts)}[indexof({json.dumps(places)}, datum.value)]"
            found["axis"] = {"values": places, "labelExpr": words}
        return found

    def _y(self) -> Spec:
        panel = self.panel
        values = [value for each in panel.series for value in each.y]
        values += [each.y for each in panel.regions]
        found = _quantity("y", panel.y_label, panel.y_range, panel.y_log, values, nice=True)
        if self.bars and not panel.y_log:
            found["scale"] |= {"zero": True, "padding": 0}
        if panel.y_log and any(len(each.low) for each in panel.series):
            found["scale"].setdefault("domainMin", self._least())
        return found

    def _of_y(self, name: str) -> Spec:
        return self.y | {"field": name}


_MOMENTS = ("x", "y", "xx", "xy", "yy")


def _positive(value: Any) -> Any:
    """What a logarithmic axis can show."""
    return value if value is not None and value > 0 else None


def _area(shape: str) -> Spec:
    return {"type": "area", "opacity": 0.15, "interpolate": shape, "clip": True}


def _quantity(
    name: str, title: str, ends: Range | None, log: bool, values: Iterable[Any], *, nice: bool
) -> Spec:
    """The encoding of a number on an axis."""
    kind = {"type": "log", "nice": False} if log else {"zero": False, "nice": nice}
    scale: Spec = kind | {"padding": 8 if name == "x" else 4}
    given = ends or (None, None)
    for key, end in zip(("domainMin", "domainMax"), given, strict=True):
        if end is not None:
            scale |= {key: end, "padding": 0, "nice": nice and None in given and not log}
    found: Spec = {"field": name, "type": "quantitative", "title": title, "scale": scale}
    if log:
        known = [value for value in (*values, *given) if value is not None and value > 0]
        plain = min(known, default=1) >= 1e-4 and max(known, default=1) < 1e5
        found["axis"] = {
            "values": _ticks(known, 1000 if name == "y" else 100),
            "format": "~r" if plain else "~e",
        }
    return found


def _ticks(values: Sequence[float], room: float) -> list[float]:
    """Powers of ten; up to a ratio of `room` with 2 and 5, as powers alone may leave one label."""
    low = math.floor(math.log10(min(values, default=1.0)))
    high = math.ceil(math.log10(max(values, default=1.0)))
    digits = (1, 2, 5) if max(values, default=1.0) <= room * min(values, default=1.0) else (1,)
    return [float(f"{digit}e{power}") for power in range(low, high + 1) for digit in digits]


def _map(found: Map, looks: Looks) -> View:
    """Rings and paths, then lines, then places."""
    at = looks.labels.index(found.label) if found.label in looks.labels else 0
    ink = looks.colours[at]
    x, y = _axes(found)
    data: dict[str, list[Block]] = {}
    layers: list[Spec] = []

    def add(name: str, block: Iterable[Block], mark: Spec, encoding: Spec) -> None:
        data[name] = list(block)
        layers.append(
            {"data": {"name": name}, "mark": mark, "encoding": {"x": x, "y": y} | encoding}
        )

    dashed = {"type": "line", "color": "var(--quiet)", "strokeWidth": 1.4}
    if found.ways:
        order = {"detail": {"field": "n"}, "order": {"field": "k"}}
        rings = [each for each in found.ways if each.ring is not None]
        add("rings", map(_ring, rings), dashed | {"strokeDash": [2, 3], "strokeWidth": 1}, order)
        add("ways", map(_way, found.ways), dashed | {"strokeDash": [6, 4]}, order)
        tip = POINT | {"shape": "M-.6 .7L0 -1L.6 .7Z", "size": 130, "clip": False}
        turned = {"angle": {"field": "angle", "type": "quantitative", "scale": None}}
        add("tips", map(_tips, found.ways), tip | {"color": "var(--quiet)"}, turned)
    many = found.segments
    steps = list(range(len(many.widths)))
    width = {"field": "step", "type": "ordinal", "legend": None,
             "scale": {"domain": steps, "range": list(many.widths)}}  # fmt: skip
    colours = {"domain": steps, "range": [f"var(--m{step})" for step in steps]}
    colour = {"field": "step", "type": "ordinal", "legend": None, "scale": colours}
    columns = {name: getattr(many, name) for name in ("x", "y", "x2", "y2", "step")}
    add(
        "segments",
        [({}, columns | _told(many.told))],
        {"type": "rule", "strokeCap": "butt", "clip": found.large},
        {
            "x2": {"field": "x2"},
            "y2": {"field": "y2"},
            "strokeWidth": width,
            "color": colour if found.scale else {"value": ink},
        },
    )
    places = found.places
    shape = {"field": "square", "scale": {"domain": [False, True], "range": ["circle", "square"]}}
    few = len(places.x) <= MARKED
    columns = {"x": places.x, "y": places.y, "name": places.name, "square": places.square}
    add(
        "places",
        [({}, columns | _told(places.told))],
        {
            "type": "point", "filled": True, "fill": "var(--card)", "opacity": 1,
            "size": 60 if few else 16, "stroke": "var(--quiet)",
            "strokeWidth": 1.5 if few else 1, "clip": found.large,
        },
        {"shape": shape | {"type": "nominal", "legend": None}},
    )  # fmt: skip
    if any(places.name):
        text = {"type": "text", "dy": -11, "fontSize": 11, "color": "var(--ink)", "clip": False}
        names = {"text": {"field": "name"}}
        add("places", data["places"], text, names)
    return View({"layer": layers}, data)


def _axes(found: Map) -> Iterator[Spec]:
    """Both axes, of one scale, around the middle of everything."""
    columns = [(found.places.x, found.places.y), *((way.x, way.y) for way in found.ways)]
    xs, ys = ([value for pair in columns for value in pair[axis]] for axis in (0, 1))
    for way in found.ways:
        xs += [way.x[0] - (way.ring or 0), way.x[0] + (way.ring or 0)]
        ys += [way.y[0] - (way.ring or 0), way.y[0] + (way.ring or 0)]
    spans = [(min(values), max(values)) for values in (xs, ys)]
    half_x, half_y = (max((high - low) / 2, 1e-9) for low, high in spans)
    edge = 60  # pixels on both sides, for names
    unit = f"max({half_x:g} / max(width - {edge}, 1), {half_y:g} / max(height - {edge}, 1))"
    for name, (low, high), size in zip("xy", spans, ("width", "height"), strict=True):
        middle = (low + high) / 2
        ends = [{"expr": f"{middle:.9g} {sign} {size} * {unit}"} for sign in "-+"]
        scale = {"domain": ends, "zero": False, "nice": False}
        axis = {"title": found.unit, "grid": True} if found.unit else None
        yield {"field": name, "type": "quantitative", "scale": scale, "axis": axis}


def _told(columns: Any) -> dict[str, Sequence[Any]]:
    """Columns that a reader is shown; their titles tell them from those of the drawing."""
    return {f"told {title}": values for title, values in columns.items()}


def _ring(way: Way) -> Block:
    assert way.ring is not None
    turns = [step * math.pi / 24 for step in range(49)]
    return {"n": way.name}, {
        "x": [way.x[0] + way.ring * math.cos(turn) for turn in turns],
        "y": [way.y[0] + way.ring * math.sin(turn) for turn in turns],
        "k": list(range(49)),
    }


def _way(way: Way) -> Block:
    told = _told({"": [f"{way.name}, {time}" for time in way.times]})
    return {"n": way.name}, {"x": way.x, "y": way.y, "k": list(range(len(way.x))), **told}


def _tips(way: Way) -> Block:
    """Where each leg ends, and where it points, in degrees from upwards."""
    legs = list(zip(way.x, way.y, way.x[1:], way.y[1:], strict=False))
    angles = [math.degrees(math.atan2(x2 - x, y2 - y)) for x, y, x2, y2 in legs]
    return {"n": way.name}, {"x": way.x[1:], "y": way.y[1:], "angle": angles}
