"""The engine in a page: the module computes what the engine does, and the page needs no server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

import forebay
from explore.browser import Tab

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import try_it  # type: ignore[import-not-found]  # noqa: E402 - a tool of the site

pytestmark = pytest.mark.skipif(
    not try_it.MODULE.exists(), reason="there is no module for pages; make web builds it"
)

BOXES = {
    "duration": "6s",
    "dumbbell": {
        "rate": "4Mbit",
        "delay": "20ms",
        "queue": {"kind": "prio", "limit": "50p"},
        "box": {"kind": "aspq"},
    },
    "traffic": [
        {"name": "calls", "kind": "voice"},
        {"name": "high", "kind": "bulk", "flows": 2, "q": 0},
        {"name": "low", "kind": "bulk", "flows": 2, "q": 1},
    ],
}
RUN = """
import { readFileSync } from "node:fs";
const { Engine } = await import(process.argv[1]);
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const engine = new Engine(await WebAssembly.instantiate(module));
const scenarios = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(scenarios.map(each => engine.run(each).fingerprint)));
"""


def shortened(example: Path) -> forebay.Scenario:
    """An example, or a beginning of it that is long enough for losses."""
    scenario = forebay.load(example)
    return scenario.with_all({"duration": "8s", "warmup": "1s"})


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_runs_have_the_fingerprints_of_the_engine(tmp_path: Path) -> None:
    scenarios = {str(path): shortened(ROOT / path) for path in try_it.scenarios()}
    scenarios["boxes"] = forebay.Scenario.of(BOXES)
    assert len(scenarios) >= 10 and "wireless" in scenarios["examples/sensors.toml"].document
    expected = {name: forebay.run(each).fingerprint for name, each in scenarios.items()}
    command = ["node", "--input-type=module", "-e", RUN]
    # Called so, it is a module for every version of node.
    script = shutil.copy(try_it.SCRIPTS / "engine.js", tmp_path / "engine.mjs")
    command += [Path(script).as_uri(), str(try_it.MODULE)]
    documents = json.dumps([each.document for each in scenarios.values()])
    done = subprocess.run(command, input=documents, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = dict(zip(scenarios, json.loads(done.stdout), strict=True))
    assert found == expected and len(set(found.values())) == len(found)


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, as any server of files gives it."""
    folder = tmp_path_factory.mktemp("site")
    for name, content in try_it.files():
        path = folder / "try" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{try_it.INDEX}"
        server.shutdown()


@pytest.fixture
def tab(chromium: Browser, site: str) -> Iterator[Tab]:
    """A page that has asked for nothing but the files beside it, and has had no error."""
    context = chromium.new_context(viewport={"width": 1360, "height": 900}, accept_downloads=True)
    found = Tab(context.new_page())
    asked: list[str] = []
    context.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    yield found
    own = site.removesuffix("index.html")
    assert found.errors == [] and asked
    assert [each for each in asked if not each.startswith((f"GET {own}", "GET blob:"))] == []
    context.close()


def test_a_scenario_is_watched_changed_and_saved(tab: Tab, site: str, tmp_path: Path) -> None:
    tab.open(f"{site}?scenario=household")
    assert (
        tab.page.locator("#title").inner_text()
        == forebay.load(ROOT / "examples/household.toml").document["title"]
    )
    assert tab.page.locator(".lane").count() == 2
    tab.wait("() => Number(document.querySelector('#clock b').textContent) > 0.2")
    tab.pause()
    for name in ("compare", "report"):
        expect(tab.page.locator(f"#{name}")).to_be_hidden()
    tab.seek(5)
    tab.show_changes()
    rate = tab.page.locator("#change input[type=text]").first
    rate.fill("3Mbit")
    rate.press("Enter")
    tab.wait(
        "() => [...document.querySelectorAll('#change summary')].at(-1).innerText.includes('1')"
    )
    tab.seek(2)
    tab.seek(6)
    assert tab.recorded() == 1
    assert Axe().run(tab.page).response["violations"] == []
    tab.page.locator("body").press("s")
    with tab.page.expect_download() as download:
        tab.page.locator("dialog a[download]").first.click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    saved = forebay.load(file)
    change = saved.document["change"][0]
    assert change["at"].startswith("5") and "3Mbit" in change["set"].values()
    assert forebay.run(saved.with_all({"duration": "7s", "warmup": "1s"})).fingerprint


def test_a_story_is_told_and_a_wrong_name_is_said(tab: Tab, site: str) -> None:
    tab.open(site)
    expect(tab.page.locator("#story-title")).to_be_visible()
    assert "#story=" in tab.page.url and not tab.playing
    tab.press("Space")
    tab.wait("() => Number(document.querySelector('#clock b').textContent) > 0.05")
    tab.page.goto("about:blank")
    tab.open(f"{site}#story=wred&step=2")
    expect(tab.page.locator("#story-title")).to_be_visible()
    tab.wait("() => document.querySelectorAll('.lane').length > 1")
    tab.page.goto("about:blank")
    tab.page.goto(f"{site}?scenario=nowhere")
    expect(tab.page.locator("#said")).to_contain_text("scenarios/nowhere.json: 404")
    # The browser itself writes that a file is missing.
    tab.errors[:] = [each for each in tab.errors if "404" not in each]
