"""A report in a browser: what is switched, chosen and pointed at, light and dark, for everyone."""

from __future__ import annotations

import base64
import gzip
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from forebay._report import html
from forebay._report.page import (
    Bullets,
    Cell,
    Choice,
    Code,
    Controls,
    Facts,
    Figure,
    Fold,
    Group,
    Heading,
    Legend,
    Md,
    Section,
    Select,
    Table,
    Text,
)
from forebay._report.page import Page as Report
from test_chart import EVERY, EVIL, PLACES

TABLE = Table(
    ["", "one", "two"],
    [Group("goodput, kb/s"), ["a", Cell("1", "±2", "best"), "–"], ["b", Cell("3", mark="no"), "4"]],
    "Numbers",
)
REPORT = Report(
    "Everything",
    "Test",
    Md("Two variants of `a page`."),
    [
        Section("What matters", [Text("First."), Bullets([Md("**one**"), EVIL])], card=True),
        Section("Numbers", [TABLE, Facts([("Name", Md("`value`"))])]),
        Section(
            "Figures",
            [
                Legend(["a", "b", EVIL]),
                Text("Small print.", small=True),
                Figure(EVERY, "Everything"),
                Heading("A map"),
                Figure([PLACES], "A map", scale=["few", "many"]),
            ],
        ),
        Section(
            "Chosen",
            [
                Controls([Select("what", "What", {"0": "lines", "1": "bars", "2": "none"}, "1")]),
                Choice(
                    ["what"],
                    {(str(at),): [Heading(f"Chosen {at}"), Figure([EVERY[at]], "Chosen")]
                     for at in (0, 1)},
                    [Text("Nothing is drawn.")],
                ),
                Fold("More", [Code("key = 1"), Figure([EVERY[2]], "Folded")]),
            ],
        ),
    ],
    ["a", "b", EVIL],
)  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html.render(REPORT), "utf-8")
    return path


@pytest.fixture(scope="module")
def opened(chromium: Browser, file: Path) -> Iterator[Page]:
    """The report, with all figures drawn, and nothing fetched or said."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url))
    page.goto(file.as_uri())
    drawn(page)
    yield page
    assert said == [file.as_uri()]
    context.close()


def test_other_threads_go_on_while_the_library_is_made() -> None:
    ticks, ended = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not ended.wait(0.001):
            ticks += 1

    other = threading.Thread(target=tick)
    other.start()
    html._made()
    ended.set()
    other.join()
    assert ticks > 20


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What the library is made of, each time; it is kept in tmp_path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts = [base64.b64encode(gzip.compress(text)).decode() for text in (b"first", b"second")]
    left = iter(texts)
    monkeypatch.setattr(html, "_made", lambda: next(left))
    return texts


def test_the_library_is_made_once_for_a_user(made: list[str]) -> None:
    assert html.library.__wrapped__() == html.library.__wrapped__() == made[0]


def test_without_a_place_the_library_is_made_anew(made: list[str], tmp_path: Path) -> None:
    (tmp_path / "forebay").write_text("no folder")
    assert [html.library.__wrapped__() for _ in made] == made


@pytest.mark.parametrize("content", [b"", b"H4sI", b"\xff", b"</script>"])
def test_a_damaged_library_is_made_anew(made: list[str], tmp_path: Path, content: bytes) -> None:
    html.library.__wrapped__()
    [kept] = (tmp_path / "forebay").iterdir()
    kept.write_bytes(content)
    assert html.library.__wrapped__() == made[1]
    assert kept.read_text() == made[1]


def drawn(page: Page) -> None:
    """Wait until every figure that can be seen is drawn."""
    page.wait_for_function(
        """() => [...document.querySelectorAll(".figure")]
          .every(each => !each.offsetParent || each.querySelector("svg path"))"""
    )


def curves(page: Page, at: int) -> int:
    """How many curves a figure has."""
    return page.locator(".figure").nth(at).locator("path[stroke^='var(--d']").count()


def test_a_variant_is_switched_off_in_all_figures(opened: Page) -> None:
    before = [curves(opened, at) for at in range(4)]
    button = opened.get_by_role("button", name="a", exact=True)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    expect(opened.locator(".figure").nth(3).locator("path[stroke^='var(--d']")).to_have_count(0)
    assert curves(opened, 0) < before[0] and curves(opened, 2) < before[2]
    expect(opened.locator("[data-map=a]")).to_be_hidden()
    button.click()
    expect(opened.locator("[data-map=a]")).to_be_visible()
    opened.get_by_role("button", name="b", exact=True).dblclick()
    assert button.get_attribute("aria-pressed") == "false"
    button.dblclick()
    for name in ("b", EVIL):
        opened.get_by_role("button", name=name, exact=True).click()
    opened.wait_for_function(
        f"""() => document.querySelectorAll(".figure")[0]
          .querySelectorAll("path[stroke^='var(--d']").length === {before[0]}"""
    )
    assert [curves(opened, at) for at in range(4)] == before


def test_the_pointer_is_told_values_and_intervals(opened: Page) -> None:
    figure = opened.locator(".figure").nth(3)
    figure.scroll_into_view_if_needed()
    mark = figure.locator("path[fill='var(--d0)'][transform]").first.bounding_box()
    assert mark is not None
    opened.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    expect(opened.locator(".tip")).to_be_visible()
    assert opened.locator(".tip").inner_text().split("\n") == ["setting: 1", "a: 1 (0 to 2)"]
    opened.mouse.move(2, 2)
    expect(opened.locator(".tip")).to_be_hidden()


def test_parts_are_chosen(opened: Page) -> None:
    expect(opened.get_by_role("heading", name="Chosen 1")).to_be_visible()
    opened.locator("#what").select_option("0")
    expect(opened.get_by_role("heading", name="Chosen 0")).to_be_visible()
    drawn(opened)
    opened.locator("#what").select_option("2")
    expect(opened.get_by_text("Nothing is drawn.")).to_be_visible()
    opened.locator("#what").select_option("1")
    opened.get_by_text("More", exact=True).click()
    drawn(opened)
    assert opened.get_by_role("img", name="Folded, regions").locator("svg").count() == 1
    opened.get_by_text("More", exact=True).click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 820, 1280, 1920])
def test_it_is_for_everyone(opened: Page, width: int, scheme: str) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    opened.wait_for_timeout(200)
    found = Axe().run(opened).response["violations"]
    assert [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]] == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    for figure in opened.locator(".figure:visible").all():
        inner, outer = figure.locator("svg").first.bounding_box(), figure.bounding_box()
        assert inner is not None and outer is not None
        assert inner["width"] <= outer["width"] + 1 and inner["height"] <= outer["height"] + 1
