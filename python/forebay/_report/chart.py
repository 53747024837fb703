"""The one drawing of panels: Vega-Lite specifications, for pages and for files.

Colours are names of the style sheet's variables, so that a chart follows a reader's light or dark
mode.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path

from forebay import _disk
from forebay._report.layers import HOLLOW, LINE, POINT, Spec, marked, rows, view
from forebay._report.looks import Looks, looks
from forebay._report.panel import Map, Panel

CONFIG: Spec = {
    "aria": False,
    "background": "transparent",
    "font": "system-ui, Roboto, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--line)",
        "gridColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelColor": "var(--quiet)",
        "titleColor": "var(--ink)",
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "tickCount": 6,
        "tickSize": 4,
        "titlePadding": 8,
    },
    "axisX": {"grid": False, "labelSeparation": 6},
    "title": {
        "anchor": "start",
        "color": "var(--ink)",
        "fontSize": 13,
        "fontWeight": 600,
        "offset": 8,
    },
    "text": {"fontSize": 12},
    "concat": {"spacing": 26},
}
"""How everything looks that is not data."""


def figure(panels: Sequence[Panel | Map]) -> Spec:
    """The whole specification of a figure: its panels, two to a row, with one legend."""
    shown = looks(panels)
    wide = 1 if len(panels) == 1 else 2
    width, height = (560, 260) if wide == 1 else (340, 220)
    views = []
    for panel in panels:
        made = view(panel, shown)
        for layer in made.spec["layer"]:
            if "name" in layer["data"]:
                layer["data"] = {"values": rows(made.data[layer["data"]["name"]])}
        title = {"title": panel.title} if panel.title else {}
        views.append(made.spec | title | {"width": width, "height": height})
    parts: list[Spec] = [{"columns": wide, "concat": views}]
    if len(shown.labels) > 1:
        parts.append(_legend(panels, shown, wide * (width + 60)))
    return {
        "config": CONFIG,
        "params": [{"name": "shown", "value": list(shown.labels)}],
        "padding": 12,
        "vconcat": parts,
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
    }


def _legend(panels: Sequence[Panel | Map], shown: Looks, width: int) -> Spec:
    """What each variant looks like, in even columns: the dash of curves, the shape of marks."""
    labels = shown.labels
    room = 7 * max(map(len, labels)) + 50
    across = math.ceil(len(labels) / math.ceil(len(labels) / max(1, width // room)))
    places = [
        {
            "s": label,
            "x": left,
            "middle": left + 13,
            "right": left + 26,
            "y": 20 * (at // across) + 10,
        }
        for at, label in enumerate(labels)
        for left in [room * (at % across)]
    ]
    every = [each for panel in panels if isinstance(panel, Panel) for each in panel.series]
    regions = [each for panel in panels if isinstance(panel, Panel) for each in panel.regions]
    lines = {
        each.label for each in every if each.style in ("line", "curve", "steps") and not each.stated
    }
    bars = {each.label for each in every if each.style == "bars"}
    marks = {each.label for each in every if marked(each)} | {each.label for each in regions}
    stated = {each.label for each in every if each.stated}

    def layer(wanted: Collection[str], mark: Spec, x: str, **encoding: Spec) -> Spec:
        here = {"x": x, "x2": "right", "y": "y"} if mark["type"] == "rule" else {"x": x, "y": "y"}
        fields = {
            name: {"field": of, "type": "quantitative", "scale": None} for name, of in here.items()
        }
        return {
            "data": {"values": [each for each in places if each["s"] in wanted]},
            "mark": mark | {"clip": False},
            "encoding": fields | encoding,
        }

    colour, dash, shape = map(shown.encoding, ("colours", "dashes", "shapes"))
    return {
        "width": room * across,
        "height": 20 * math.ceil(len(labels) / across),
        "layer": [
            layer(lines, LINE | {"type": "rule"}, "x", color=colour, strokeDash=dash),
            layer(bars, POINT | {"shape": "square", "size": 120}, "middle", color=colour),
            layer(marks, POINT | {"size": 46}, "middle", color=colour, shape=shape),
            layer(stated, POINT | HOLLOW, "middle", color=colour, shape=shape),
            layer(
                labels,
                {"type": "text", "align": "left", "dx": 8, "color": "var(--ink)"},
                "right",
                text={"field": "s"},
            ),
        ],
    }


def svg(panels: Sequence[Panel | Map], title: str) -> str:
    """A figure as SVG. Equal panels give equal text.

    Args:
        panels: what it shows.
        title: what a screen reader says of it.

    Example:
        >>> line = chart.Series("codel", [1.0, 2.0, 4.0], [12.1, 9.8, 8.7])
        >>> chart.svg([chart.Panel("", "rate, Mbit/s", "delay, ms", [line])], "Delay")[:4]
        '<svg'
    """
    import vl_convert

    light, dark = palette()
    text: str = vl_convert.vegalite_to_svg(_coloured(figure(panels), light))
    text = _NUMBERS.sub(lambda found: _LONG.sub(_short, found[0]), text)
    text = _NOISE.sub("", text)
    # Vega counts them over all figures of a process.
    clips = {name: f"clip{at}" for at, name in enumerate(dict.fromkeys(_CLIP.findall(text)))}
    text = _CLIP.sub(lambda found: clips[found[0]], text)
    head, start = text[: text.index(">")], text.index(">") + 1
    width, height = re.findall(r' (?:width|height)="([\d.]+)"', head)
    ground = f'<rect width="{width}" height="{height}" rx="6" fill="{light["card"]}"/>'
    rules = "".join(
        f'[{paint}="{light[name]}"]{{{paint}:{dark[name]}}}'
        for name in light
        for paint in ("fill", "stroke")
        if f'{paint}="{light[name]}"' in text + ground
    )
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    return f'{head} role="img"><title>{escape(title)}</title>{style}{ground}{text[start:]}\n'


def png(panels: Sequence[Panel | Map], scale: float = 2.0) -> bytes:
    """A figure as PNG, on a light ground.

    Args:
        panels: what it shows.
        scale: pixels of the file for each of the figure.

    Example:
        >>> line = chart.Series("codel", [1.0, 2.0, 4.0], [12.1, 9.8, 8.7])
        >>> chart.png([chart.Panel("", "rate, Mbit/s", "delay, ms", [line])])[1:4]
        b'PNG'
    """
    import vl_convert

    light, _ = palette()
    config = CONFIG | {"background": light["card"]}
    spec = _coloured(figure(panels) | {"config": config}, light)
    found: bytes = vl_convert.vegalite_to_png(spec, scale=scale)
    return found


def save(panels: Sequence[Panel | Map], path: Path, title: str) -> None:
    """Write a figure as SVG or PNG, by the end of the path; `title` is for a screen reader."""
    if path.suffix == ".svg":
        _disk.write(path, svg(panels, title))
    else:
        _disk.write(path, png(panels))


@cache
def palette() -> tuple[dict[str, str], dict[str, str]]:
    """The colours of the style sheet's variables, light and dark."""
    text = resources.files("forebay._report").joinpath("style.css").read_text("utf-8")
    light, dark, *_ = (
        dict(re.findall(r"--([\w-]+): (#\w+)", each))
        for each in re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    )
    return light, dark


def _coloured(spec: Spec, colours: Mapping[str, str]) -> str:
    """The specification as JSON, with colours in place of variables."""
    return re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], json.dumps(spec))


_NUMBERS = re.compile(r' (?:d|transform|[xy][12]?|width|height)="[^"]*"')
_CLIP = re.compile(r"clip\d+(?=[\")])")
_LONG = re.compile(r"-?\d*\.\d{3,}(?:e-?\d+)?")
_NOISE = re.compile(
    r'<path class="(?:background|foreground)"[^>]*(?:/>|></path>)'
    r'| (?:aria-hidden="true"|pointer-events="none"|opacity="1"|class="[^"]*")'
)
"""What is not seen."""


def _short(found: re.Match[str]) -> str:
    return f"{round(float(found[0]), 2) + 0.0:g}"
