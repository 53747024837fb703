"""The one drawing: where things are, that files are small and equal, and every paper's figures."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from forebay._report import chart
from forebay._report.layers import rows, view
from forebay._report.looks import looks
from forebay._report.panel import Map, Panel, Places, Region, Segments, Series, Way, plain, read

PAPERS = sorted((Path(__file__).parents[2] / "papers").glob("*/results.json"))
SPACE = "{http://www.w3.org/2000/svg}"
EVIL = '</text><script>"&'
EVERY = [
    Panel("lines", "x", "y", [
        Series("a", [1, 2, 3], [1.0, None, 3.0], [0.5, None, 2.0], [1.5, None, 4.0]),
        Series("b", [1.0, 2.0, 3.0], [0.0, 20.0, 3000.0], style="steps"),
        Series("said", [2], [2.5], stated=True),
    ], y_log=True, level=2.0, shade=(1.0, 1.5)),
    Panel("bars", "", "y", [
        Series("a", ["one", EVIL], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], style="bars"),
        Series(EVIL, ["one", EVIL], [1.0, None], style="bars"),
    ]),
    Panel("regions", "x", "y", regions=[
        Region("a", 5.0, 1.0, 0.25, 0.1, 0.16, dot=(5.1, 1.0), runs=[[4.9, 5.3], [0.8, 1.3]]),
        Region("b", 9.0, 2.0, None, None, None),
    ]),
    Panel("settings", "setting", "y", [Series("a", ["1", "2"], [1.0, 2.0], [0, 1], [2, 3])]),
]  # fmt: skip
"""Panels with everything that there is, and names that are none."""
PLACES = Map(
    "",
    "a",
    Segments([0, 10], [0, 0], [10, 10], [0, 10], [0, 7], list(range(1, 9)), {"": ["p", "q"]}),
    Places([0, 10, 10], [0, 0, 10], ["n", "", ""], [True, False, False], {"": ["n", "o", "p"]}),
    [Way("car", ["0s", "9s"], [0, 10], [10, 0], 3.0)],
    unit="m",
)


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?[\d.]+", text)]


def points(svg: str, colour: str) -> list[tuple[float, float]]:
    """Where the marks of a colour are within their panel, without the legend."""
    found = []
    for each in ElementTree.fromstring(svg).iter(f"{SPACE}path"):
        if each.get("fill") == colour and (moved := each.get("transform")):
            x, y = numbers(moved)
            found.append((x, y))
    return found


def test_things_are_where_their_numbers_are() -> None:
    series = [Series("only", [0, 5, 10], [0.0, 2.0, 8.0], style="points")]
    panel = Panel("", "x", "y", series, x_range=(0, 10), y_range=(0, 8))
    light, dark = chart.palette()
    text = chart.svg([panel], "t")
    assert points(text, light["d0"]) == [(0, 260), (280, 195), (560, 0)]
    assert f'[fill="{light["d0"]}"]{{fill:{dark["d0"]}}}' in text
    logarithmic = Panel("", "x", "y", [Series("only", [1, 10, 100], [1.0, 1.0, 1.0])],
                        x_log=True, x_range=(1, 100), y_range=(0, 2))  # fmt: skip
    assert points(chart.svg([logarithmic], "t"), light["d0"]) == [(0, 130), (280, 130), (560, 130)]


def test_a_region_is_as_wide_as_its_deviations() -> None:
    region = Region("only", 5.0, 4.0, 4.0, 1.0, 1.0)
    panel = Panel("", "x", "y", regions=[region], x_range=(0, 10), y_range=(0, 8))
    light, _ = chart.palette()
    [contour] = (
        numbers(str(each.get("d")))
        for each in ElementTree.fromstring(chart.svg([panel], "t")).iter(f"{SPACE}path")
        if each.get("stroke") == light["d0"] and len(str(each.get("d"))) > 200
    )
    x, y = contour[0::2], contour[1::2]
    assert (max(x) - min(x)) / 56 == pytest.approx(2 * math.sqrt(4.0), rel=0.01)
    assert (max(y) - min(y)) / 32.5 == pytest.approx(2 * math.sqrt(1.0), rel=0.01)


def test_equal_panels_give_equal_files_of_text_and_short_numbers() -> None:
    text = chart.svg(EVERY, EVIL)
    assert chart.svg([read(plain(panel)) for panel in EVERY], EVIL) == text
    found = ElementTree.fromstring(text)
    said = {each.text for each in found.iter(f"{SPACE}text")}
    assert {"lines", "a", "b", "said", "one", EVIL} <= said
    assert [each.text for each in found.iter(f"{SPACE}title")] == [EVIL]
    for each in found.iter():
        for name in ("d", "transform", "x", "y", "x2", "y2", "width", "height"):
            assert not re.search(r"\.\d{3}", each.get(name, "")), each.attrib
    assert "prefers-color-scheme:dark" in text and "var(--" not in text
    assert "url(http" not in text and "<image" not in text


def test_a_variant_has_the_same_looks_in_every_panel() -> None:
    shown = looks(EVERY, ["b"])
    assert shown.labels == ("b", "a", EVIL, "said")
    assert shown.colours[:2] == ("var(--d0)", "var(--d1)") and shown.colours[-1] == "var(--ink)"
    many = looks([], [str(at) for at in range(12)])
    dashes = map(tuple, many.dashes)
    assert len(set(zip(many.colours, dashes, many.shapes, strict=True))) == 12
    steps = [Series(str(at), [1], [1.0]) for at in range(5)]
    ordered = looks([Panel("", "", "", steps, ordered=True)])
    assert ordered.colours == tuple(f"var(--o{at})" for at in (0, 2, 4, 6, 8))


def test_a_map_is_drawn_with_its_lines_and_paths() -> None:
    made = view(PLACES, looks([PLACES]))
    assert [row["step"] for row in rows(made.data["segments"])] == [0, 7]
    [tip] = rows(made.data["tips"])
    assert (tip["x"], tip["y"]) == (10, 0) and tip["angle"] == pytest.approx(135)
    assert {round(math.hypot(row["x"], row["y"] - 10), 6) for row in rows(made.data["rings"])} == {
        3
    }
    assert chart.png([EVERY[0]]).startswith(b"\x89PNG")


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.parent.name)
def test_every_figure_of_a_paper_can_be_drawn(path: Path) -> None:
    record = json.loads(path.read_text("utf-8"))
    for figure in record["figures"]:
        panels = [read(panel) for panel in figure["panels"]]
        found = ElementTree.fromstring(chart.svg(panels, figure["caption"]))
        said = {each.text for each in found.iter(f"{SPACE}text")}
        labels = looks(panels).labels
        assert {panel.title for panel in panels if panel.title} <= said
        assert len(labels) == 1 or set(labels) <= said
