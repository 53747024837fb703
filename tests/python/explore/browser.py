"""A browser at the page of `forebay explore`, and what both leave behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

PROGRAM = next(
    (
        found
        for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
"""The first is Debian's without a window, which takes two thirds of the processor time."""
FASTEST = "21"
"""The last place of the speed's slider."""


@dataclass
class Server:
    """`forebay explore` in a process of its own."""

    address: str
    process: subprocess.Popen[str]


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Server]:
    """A server that ends with the block; `Ctrl-C` must end it quietly."""
    command = [sys.executable, "-m", "forebay", "explore", "--no-browser", *words]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            line = process.stdout.readline()
            assert re.match(r"http://127\.0\.0\.1:\d+/", line), line + process.stderr.read()
            yield Server(line.strip(), process)
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        assert errors == ""


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser that has no window."""
    with sync_playwright() as playwright:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=sandbox)
        yield browser
        browser.close()


def seldom_drawn(page: Page) -> Page:
    """A page that draws ten pictures a second: 60 take most of the processor time of such tests."""
    page.add_init_script(
        "window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 100);"
    )
    return page


@dataclass
class Tab:
    """A page, and what a person does on it."""

    page: Page
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def wait(self, condition: str, argument: object = None, seconds: float = 60) -> None:
        """Wait until an expression of the page holds."""
        self.page.wait_for_function(condition, arg=argument, timeout=1000 * seconds)

    def open(self, address: str) -> None:
        """Open an address and wait for the first picture."""
        self.page.goto(address)
        self.wait("() => document.querySelectorAll('.lane').length > 0")
        self.wait("() => document.querySelector('#clock b')")

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        self.page.keyboard.press(key)

    def click(self, what: str) -> None:
        """Click an element by its selector."""
        self.page.locator(what).click()

    @property
    def now_s(self) -> float:
        """The instant that the page shows."""
        return float(self.page.locator("#clock b").inner_text())

    @property
    def playing(self) -> bool:
        """Whether the page says that it plays."""
        return self.page.locator("#play").get_attribute("aria-label") == "Pause"

    def pause(self) -> None:
        """Pause, and wait until it is so."""
        if self.playing:
            self.click("#play")
            self.wait("() => document.querySelector('#play').ariaLabel === 'Play'")

    def seek(self, seconds: float) -> None:
        """Jump to an instant."""
        # This is a change, too. A second one could read what a picture in between has put there.
        self.page.locator("#seek").fill(str(round(1000 * seconds)))
        shown = "at => Math.abs(document.querySelector('#clock b').textContent - at) < 0.002"
        self.wait(shown, seconds)

    def speed(self, step: str) -> None:
        """Set the speed's slider."""
        self.page.locator("#speed").fill(step)

    def show_changes(self) -> None:
        """Open every part of the panel of changes."""
        if self.page.locator("#change").is_hidden():
            self.click("#toggle-change")
        self.page.evaluate(
            "document.querySelectorAll('#change details').forEach(each => { each.open = true; })"
        )

    def show_series(self) -> None:
        """Show every series."""
        hidden = self.page.locator("#toggles button[aria-pressed=false]")
        while hidden.count():
            hidden.first.click()

    def broken_words(self) -> list[str]:
        """Words in sight that begin on one line and end on another."""
        found: list[str] = self.page.evaluate("""() => {
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const range = document.createRange();
            const found = [];
            while (walker.nextNode()) {
                const node = walker.currentNode;
                if (!node.parentElement.checkVisibility()) continue;
                for (const { 0: word, index } of node.data.matchAll(/[A-Za-z]+/g)) {
                    range.setStart(node, index);
                    range.setEnd(node, index + word.length);
                    const lines = new Set([...range.getClientRects()].map(box => box.top));
                    if (lines.size > 1) found.push(word);
                }
            }
            return found;
        }""")
        return found

    def recorded(self) -> int:
        """How many changes are recorded."""
        title = self.page.locator("#change summary").last.inner_text()
        return int(title.partition("(")[2].rstrip(")"))
