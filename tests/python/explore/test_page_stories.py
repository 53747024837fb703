"""Guided stories in a browser: each plays to its end, and each step has an address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from explore.browser import FASTEST, Server, Tab, seldom_drawn, serving
from forebay._explore import stories


@pytest.fixture
def teller(chromium: Browser, told: Server) -> Iterator[Tab]:
    context = chromium.new_context(viewport={"width": 1360, "height": 900})
    found = Tab(seldom_drawn(context.new_page()))
    found.open(told.address)
    yield found
    assert found.errors == []
    context.close()


def arrived(tab: Tab, name: str, number: int) -> None:
    """Wait until a step plays, or has played."""
    story = stories.load(name)
    expect(tab.page.locator("#story-title")).to_have_text(story.step[number - 1].title)
    labels = [lane["label"] for lane in story.lanes_of(number)]
    expect(tab.page.locator(".lane h2")).to_have_text(labels)


@pytest.mark.parametrize("name", stories.names())
def test_a_story_plays_to_its_end(teller: Tab, name: str) -> None:
    story = stories.load(name)
    teller.click("#open-stories")
    teller.page.get_by_role("button", name=story.title).click()
    for number, step in enumerate(story.step, 1):
        arrived(teller, name, number)
        teller.speed(FASTEST)
        end = step.until_ns / 1e9
        ready = "end => Math.abs(document.querySelector('#clock b').textContent - end) < 0.001"
        teller.wait(f"{ready} && document.querySelector('#play').ariaLabel === 'Play'", end)
        shown = {each.get_attribute("data-name") for each in teller.page.locator(".measure").all()}
        assert shown == set(step.shows)
        assert teller.page.locator(".looked").count() == len(step.look)
        assert teller.page.evaluate("location.hash") == f"#story={name}&step={number}"
        if number < len(story.step):
            teller.click("#story .next")
    expect(teller.page.locator("#story .next")).to_be_disabled()


def test_a_step_can_be_linked_to(teller: Tab, told: Server) -> None:
    address = told.address.partition("#")[0]
    for name, number in (("cp-aqm", 4), ("ncq", 2)):
        teller.page.goto("about:blank")
        teller.open(f"{address}#story={name}&step={number}")
        arrived(teller, name, number)
        begin = stories.load(name).step[number - 1].at_ns / 1e9
        # The text may be there before the picture.
        teller.wait("begin => Number(document.querySelector('#clock b').innerText) >= begin", begin)
    teller.press("p")
    arrived(teller, "ncq", 1)
    teller.press("n")
    arrived(teller, "ncq", 2)
    teller.page.get_by_role("link", name="Step 4").click()
    arrived(teller, "ncq", 4)
    teller.page.reload()
    arrived(teller, "ncq", 4)
    teller.page.get_by_role("button", name="Leave the story").click()
    expect(teller.page.locator("#story")).to_be_hidden()
    assert teller.page.evaluate("location.hash") == ""


def test_space_begins_the_story_that_a_page_opens_with(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, "--story", "bufferbloat") as server:
        context = chromium.new_context(viewport={"width": 390, "height": 844})
        tab = Tab(context.new_page())
        tab.open(server.address)
        arrived(tab, "bufferbloat", 1)
        expect(tab.page.locator("#play")).to_have_attribute("aria-label", "Play")
        story, picture = (tab.page.locator(each).bounding_box() for each in ("#story", "#lanes"))
        assert story is not None and picture is not None and story["y"] < picture["y"]
        tab.press("Space")
        expect(tab.page.locator("#play")).to_have_attribute("aria-label", "Pause")
        tab.show_changes()
        for width in (390, 768, 1280, 1920):
            tab.page.set_viewport_size({"width": width, "height": 900})
            assert tab.broken_words() == [], width
        context.close()
