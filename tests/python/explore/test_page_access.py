"""The page for everyone: keyboard, accessibility checker, narrow and wide, light and dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from explore.browser import Server, Tab

WIDTHS = {"telephone": (390, 844), "tablet": (820, 1100), "desktop": (1440, 900)}


def complaints(tab: Tab) -> list[str]:
    """What the checker finds, with the place."""
    found = Axe().run(tab.page).response["violations"]
    return [f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_checker_has_nothing_to_say(tab: Tab, scheme: str) -> None:
    tab.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    tab.seek(4)
    tab.show_changes()
    tab.show_series()
    tab.page.wait_for_timeout(300)
    assert complaints(tab) == []
    tab.press("Escape")
    for key in ("open-keys", "open-stories", "save"):
        tab.click(f"#{key}")
        expect(tab.page.locator("dialog")).to_be_visible()
        assert complaints(tab) == []
        tab.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_checker_has_nothing_to_say_of_a_story(tab: Tab, told: Server, scheme: str) -> None:
    tab.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    tab.page.goto("about:blank")
    tab.open(f"{told.address.partition('#')[0]}#story=aspq&step=3")
    expect(tab.page.locator("#story-title")).to_have_text("Frozen, or timed out")
    tab.pause()
    assert complaints(tab) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off(tab: Tab, width: str) -> None:
    wide, high = WIDTHS[width]
    tab.page.set_viewport_size({"width": wide, "height": high})
    tab.seek(4)
    tab.show_changes()
    tab.page.wait_for_timeout(300)
    beyond = tab.page.evaluate(
        """() => [...document.body.querySelectorAll("*")].filter(each => {
          if (each.closest("svg, .uplot, .skip, .hidden, dialog:not([open])")) return false;
          const style = getComputedStyle(each);
          const hides = style.overflowX !== "visible" && each.scrollWidth > each.clientWidth + 1;
          return each.getBoundingClientRect().right > innerWidth + 1
            || hides && !each.matches("select, input, pre");
        }).map(each => `${each.tagName}.${each.className} ${each.textContent.slice(0, 40)}`)"""
    )
    assert beyond == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= wide


def test_the_keyboard_alone_suffices(tab: Tab) -> None:
    page = tab.page
    reached: list[str] = []
    # The run must not be over before it is paused.
    tab.speed("-5")
    expect(page.locator("#speed-text")).to_contain_text("slower")
    page.reload()
    tab.wait("() => document.querySelector('.lane canvas')")
    tab.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    for _ in range(40):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if reached[-1] == "BODY":
            break
        outlined = "() => getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        assert page.evaluate(outlined), f"no focus to be seen on {reached[-1]}"
        tab.press("Tab")
    for needed in ("open-stories", "toggle-change", "save", "compare", "report", "play", "CANVAS"):
        assert needed in reached
    tab.page.evaluate("document.activeElement.blur()")
    tab.press("Space")
    tab.wait("() => Number(document.querySelector('#clock b').textContent) > 0.1")
    tab.press("Space")
    tab.wait("() => document.querySelector('#play').ariaLabel === 'Play'")
    there = tab.now_s
    tab.press(".")
    tab.wait("at => Number(document.querySelector('#clock b').textContent) > at", there)
    speed = page.locator("#speed-text")
    before = speed.inner_text()
    tab.press("-")
    expect(speed).not_to_have_text(before)
    tab.press("+")
    expect(speed).to_have_text(before)
    tab.press("c")
    expect(page.locator("#change")).to_be_visible()
    assert page.evaluate("document.querySelector('#change').contains(document.activeElement)")
    tab.press("Escape")
    page.evaluate("document.activeElement.blur()")
    tab.press("c")
    expect(page.locator("#change")).to_be_hidden()
    tab.press("?")
    keys = page.locator("dialog")
    expect(keys).to_contain_text("Play or pause")
    for shown in ("Space", "Home", "Slower", "Faster", "Enter"):
        expect(keys).to_contain_text(shown)
    keys.get_by_role("checkbox").uncheck()
    tab.press("Escape")
    page.evaluate("document.activeElement.blur()")
    tab.press("c")
    expect(page.locator("#change")).to_be_hidden()
    tab.press("Home")


def test_what_moves_says_what_it_is(tab: Tab) -> None:
    tab.seek(5)
    for picture in tab.page.locator(".lane canvas").all():
        assert picture.get_attribute("aria-label")
        described = picture.get_attribute("aria-describedby")
        state = tab.page.locator(f"#{described}")
        expect(state).to_contain_text("Waiting")
        tab.wait(f"() => /\\d+ p/.test(document.querySelector('#{described}').innerText)")
