"""Reports on a telephone: 390 px wide, nothing cut off or to be moved sideways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import forebay
from advice_said import FOLDER
from forebay import sweep
from forebay._compared.report import render
from forebay._report import html
from forebay._report.page import Cell, Figure, Row, Table
from forebay._report.page import Page as Report
from forebay._report.panel import Panel, Series
from forebay.sweep import load, run, write_report

WIDTH = 390

# What lies beyond the right edge, or holds more than it shows; drawings are clipped on purpose.
MEASURE = """() => {
  document.querySelectorAll("details").forEach(each => { each.open = true; });
  const beyond = [...document.body.querySelectorAll("*")].filter(each => {
    if (each.closest("svg, .figure, script, style")) return false;
    const style = getComputedStyle(each);
    const hides = style.overflowX !== "visible" && each.scrollWidth > each.clientWidth + 1;
    return each.getBoundingClientRect().right > innerWidth + 1 || hides;
  }).map(each => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 40)}`);
  const empty = [...document.querySelectorAll("select")]
    .filter(each => each.offsetParent && !each.options.length).map(each => each.id);
  const broken = [...document.querySelectorAll("label")].filter(each => {
    const range = document.createRange();
    range.selectNodeContents(each.firstChild);
    return !each.firstChild.textContent.trim().includes(" ") && range.getClientRects().length > 1;
  }).map(each => each.textContent);
  const whole = document.documentElement.scrollWidth;
  const cells = [...document.querySelectorAll(".cards td")]
    .filter(each => each.offsetParent).map(each => each.textContent.trim());
  return { width: innerWidth, whole, beyond, empty, broken, cells };
}"""


@pytest.fixture
def telephone(chromium: Browser) -> Iterator[Page]:
    """A page that is as wide as a telephone."""
    page = chromium.new_page(viewport={"width": WIDTH, "height": 2000})
    yield page
    page.close()


def measured(text: str, page: Page, width: int = WIDTH) -> dict[str, Any]:
    """What a browser says of a page, once its figures are drawn."""
    page.set_content(text)
    page.wait_for_function("() => document.querySelectorAll('.figure svg.marks').length > 0")
    found: dict[str, Any] = page.evaluate(MEASURE)
    assert found["width"] == width
    return found


def assert_fits(text: str, page: Page) -> None:
    found = measured(text, page)
    assert found["whole"] <= WIDTH
    assert found["beyond"] == [] and found["empty"] == [] and found["broken"] == []


def test_a_comparison_with_many_classes(telephone: Page) -> None:
    scenario = forebay.load(FOLDER / "cellular.toml").with_("title", "Averyveryverylongname" * 3)
    for number in range(4):
        more = {"name": f"sensors of building {number}", "kind": "poisson", "from": "tower",
                "to": "phone", "rate": "2kbit", "size": "120B"}  # fmt: skip
        document = scenario.document
        document["traffic"].append(more)
        scenario = forebay.Scenario.of(document)
    assert_fits(render(forebay.compare(scenario, replications=2)), telephone)


@pytest.mark.parametrize("axes", [0, 2])
def test_a_study(axes: int, tmp_path: Path, telephone: Page) -> None:
    paths = [("link.dsl.rate", ["1Mbit", "2Mbit"]), ("traffic.upload.flows", [1, 3])]
    document = {
        "scenario": str(FOLDER / "dsl.toml"),
        "replications": 3,
        "disciplines": ["fifo", "codel"],
        "axis": [{"path": path, "values": values} for path, values in paths[:axes]],
    }
    file = tmp_path / "study.json"
    file.write_text(json.dumps(document), "utf-8")
    run(load(file), tmp_path / "out")
    page = write_report(sweep.results(tmp_path / "out"), None).read_text("utf-8")
    assert_fits(page, telephone)


def test_a_card_shows_what_cannot_be_told(telephone: Page) -> None:
    rows: list[Row] = [
        ["loss on the wire", Cell("cannot tell", mark="absent"), "–", ""],
        ["rate", Cell("12 Mbit/s"), "11 Mbit/s", "13 Mbit/s"],
    ]
    table = Table(["", "estimate", "from", "to"], rows, "What was found")
    panel = Panel("", "x", "y", [Series("a", [0.0, 1.0], [0.0, 1.0])])
    page = html.render(Report("A page", "Fit", "Words.", [table, Figure([panel], "a line")]))
    cells = measured(page, telephone)["cells"]
    # A cell without anything in it has no place on a card.
    assert cells == ["cannot tell", "12 Mbit/s", "11 Mbit/s", "13 Mbit/s"]


def test_a_long_label_is_folded_on_a_wide_page(chromium: Browser) -> None:
    label = "fq-codel with a target of three milliseconds for the uplink of the house, and a limit"
    columns = ["", *(f"p99 delay variation of the game number {at}, ms" for at in range(6))]
    cells = [Cell("199.25", "±279.25", "best") for _ in columns[1:]]
    table = Table(columns, [["fifo", *cells], [label, *cells]], "What decides")
    panel = Panel("", "x", "y", [Series(label, [0.0, 1.0], [0.0, 1.0])])
    page = html.render(Report("A page", "Fit", "Words.", [table, Figure([panel], "a line")]))
    wide = chromium.new_page(viewport={"width": 1280, "height": 2000})
    assert measured(page, wide, 1280)["beyond"] == []
    wide.close()


def test_what_does_not_fit_is_found(telephone: Page) -> None:
    drawn = '<div class="figure"><svg class="marks"></svg></div>'
    wide = f'<!doctype html><body>{drawn}<p style="width: 500px">x</p></body>'
    with pytest.raises(AssertionError):
        assert_fits(wide, telephone)
