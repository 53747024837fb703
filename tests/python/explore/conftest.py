"""One server for all tests of the page; each test has a tab of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from explore.browser import Server, Tab, seldom_drawn, serving

SCENARIO = """
title = "Calls beside uploads"
duration = "20s"

[[link]]
name = "uplink"
from = "home"
to = "internet"
rate = "2Mbit"
delay = "10ms"
queue = { kind = "fifo", limit = "60p" }
reverse = { rate = "10Mbit", queue = { kind = "fifo", limit = "50p" } }

[[traffic]]
name = "upload"
kind = "bulk"
from = "home"
to = "internet"
flows = 2

[[traffic]]
name = "call"
kind = "voice"
from = "home"
to = "internet"
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the servers run, and save."""
    found = tmp_path_factory.mktemp("explore")
    (found / "home.toml").write_text(SCENARIO, "utf-8")
    return found


@pytest.fixture(scope="session")
def server(chromium: Browser, folder: Path) -> Iterator[Server]:
    """A server whose scenario has begun to play with its first tab, and was paused."""
    with serving(folder, "home.toml", "--disciplines", "fifo,codel") as found:
        page = chromium.new_page()
        first = Tab(page)
        first.open(found.address)
        first.wait("() => document.querySelector('#play').ariaLabel === 'Pause'")
        first.pause()
        page.close()
        yield found


@pytest.fixture(scope="session")
def told(folder: Path) -> Iterator[Server]:
    """A server for guided stories."""
    with serving(folder, "--story", "wred") as found:
        yield found


@pytest.fixture
def tab(chromium: Browser, server: Server) -> Iterator[Tab]:
    """The page at the beginning of the scenario, paused, without changes and messages."""
    context = chromium.new_context(viewport={"width": 1360, "height": 900})
    found = Tab(seldom_drawn(context.new_page()))
    found.open(server.address)
    found.pause()
    found.click("#reset")
    found.wait("() => Number(document.querySelector('#clock b').textContent) === 0")
    found.errors.clear()
    yield found
    assert found.errors == []
    context.close()
