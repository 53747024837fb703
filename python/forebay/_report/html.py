"""Pages as HTML: one file with everything inside, which needs no network."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from forebay import _cache, _disk
from forebay._engine import ScenarioError
from forebay._report import page
from forebay._report.chart import CONFIG
from forebay._report.layers import Spec, view
from forebay._report.looks import Looks, looks
from forebay._report.page import Group, Md, Page, Section
from forebay._report.panel import Map

_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table").disable("image")
)
LIBRARY = "library.txt"
_DRAG = "[mousedown, window:mouseup] > window:mousemove!"


def render(shown: Page) -> str:
    """The page as HTML."""
    charts = Charts(shown.labels)
    environment = Environment(
        loader=PackageLoader("forebay._report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "anchor": page.anchor,
        "inline": _inline,
        "kind": lambda block: type(block).__name__,
        "looks": charts.legend,
        "panels": charts.add,
        "paragraphs": _paragraphs,
    }
    environment.tests |= {
        "group": lambda row: isinstance(row, Group),
        "section": lambda block: isinstance(block, Section),
    }
    text = environment.get_template("template.html").render(
        page=shown,
        labels=list(shown.labels),
        style=Markup(_resource("style.css")),
        script=Markup(_resource("page.js")),
        drawn=lambda: charts.panels,
        data=lambda: Markup(embedded(charts.plain())),
        library=lambda: Markup(library()),
    )
    return text.lstrip()


class Charts:
    """The charts of a page: specifications and columns, each once however often it is used."""

    def __init__(self, labels: Sequence[str]) -> None:
        """No chart yet; `labels` are the variants of the page."""
        self.labels = labels
        self.panels: list[dict[str, Any]] = []
        self._specs: dict[str, int] = {}
        self._columns: dict[str, int] = {}

    def add(self, figure: page.Figure) -> str:
        """The numbers of a figure's panels, which the script draws."""
        shown = looks(figure.panels, figure.labels or self.labels)
        first = len(self.panels)
        for panel in figure.panels:
            made = view(panel, shown)
            large = isinstance(panel, Map) and panel.large
            kind = "large" if large else "map" if isinstance(panel, Map) else ""
            data = {
                name: [[same, {key: self._column(values) for key, values in columns.items()}]
                       for same, columns in blocks]
                for name, blocks in made.data.items()
            }  # fmt: skip
            spec = json.dumps(_moved(made.spec, large), sort_keys=True)
            drawn = {"spec": self._specs.setdefault(spec, len(self._specs)), "data": data}
            only = panel.label if isinstance(panel, Map) else ""
            self.panels.append(drawn | {"title": panel.title, "kind": kind, "of": only})
        return " ".join(map(str, range(first, len(self.panels))))

    def legend(self, labels: Sequence[str]) -> Iterator[dict[str, str]]:
        """How variants look, for their buttons."""
        found: Looks = looks((), labels)
        for label, colour, dash, shape in zip(
            found.labels, found.colours, found.dashes, found.shapes, strict=True
        ):
            dashes = " ".join(map(str, dash)) if dash[1] else "none"
            yield {"label": label, "colour": colour, "dash": dashes, "shape": shape}

    def plain(self) -> dict[str, Any]:
        """What the script reads."""
        return {
            "config": CONFIG,
            "specs": [json.loads(each) for each in self._specs],
            "columns": [json.loads(each) for each in self._columns],
            "panels": self.panels,
        }

    def _column(self, values: Sequence[Any]) -> int:
        text = json.dumps([_short(each) for each in values], separators=(",", ":"))
        return self._columns.setdefault(text, len(self._columns))


def embedded(value: Any) -> str:
    """JSON that cannot end the script element around it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _short(value: Any) -> Any:
    """Six digits are more than a figure shows."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _moved(spec: Spec, large: bool) -> Spec:
    """The specification of a diagram that is moved by the pointer and zoomed by the wheel."""
    layers = [dict(layer) for layer in spec["layer"]]
    data = next((layer for layer in layers if "name" in layer["data"]), None)
    if data is None or "nominal" in (data["encoding"][axis]["type"] for axis in "xy"):
        return spec
    wheel = "wheel!" if large else "wheel![event.ctrlKey || event.metaKey]"
    select = {"type": "interval", "translate": _DRAG, "zoom": wheel}
    data["params"] = [{"name": "part", "select": select, "bind": "scales"}]
    return spec | {"layer": layers}


def _inline(text: str) -> Markup:
    """A text within a paragraph."""
    return Markup(_MARKDOWN.renderInline(text)) if isinstance(text, Md) else escape(text)


def _paragraphs(text: str, small: bool) -> Markup:
    kind = ' class="small"' if small else ""
    if not isinstance(text, Md):
        return Markup(f"<p{kind}>{escape(text)}</p>")
    return Markup(_MARKDOWN.render(text).replace("<p>", f"<p{kind}>"))


def _resource(name: str) -> str:
    return resources.files("forebay._report").joinpath(name).read_text(encoding="utf-8")


@cache
def library() -> str:
    """Vega-Lite and what it needs, compressed; the browser unpacks it."""
    # The page of the site brings it: it has no processes.
    brought = resources.files("forebay._report").joinpath(LIBRARY)
    if brought.is_file():
        return brought.read_text(encoding="ascii")
    # Of the same library and of what is asked of it.
    try:
        asked = zlib.crc32(_BUNDLE.encode())
        kept = _cache.folder() / f"vega-{version('vl-convert-python')}-{asked:08x}.txt"
    except (RuntimeError, PackageNotFoundError):
        return _made()
    # A file that is cut off or damaged is made anew; gzip has a checksum of all of it.
    with suppress(OSError, ScenarioError, ValueError, EOFError, zlib.error):
        if found := _disk.read_if_any(kept):
            gzip.decompress(base64.b64decode(found, validate=True))
            return found.decode("ascii")
    made = _made()
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        _disk.write(kept, made)
    return made


def _made() -> str:
    # In a process of its own: vl-convert holds Python's lock for a second or two, for which the
    # server of `forebay explore` would stand still.
    done = subprocess.run([sys.executable, "-c", _BUNDLE], stdout=subprocess.PIPE, check=True)
    return base64.b64encode(gzip.compress(done.stdout, mtime=0)).decode()


_BUNDLE = """\
import sys, vl_convert
bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
sys.stdout.buffer.write(bundle.encode())
"""
