"""The engine in a page: the module computes what the engine does, and the page needs no server."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import forebay
from explore.browser import Tab
from forebay import _comparison, _files

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
FILE = {
    "title": "A link with a baseline",
    "duration": "8s",
    "warmup": "1s",
    "dumbbell": {"rate": "4Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "100p"}},
    "traffic": [
        {"name": "bulk", "kind": "bulk", "flows": 2},
        {"name": "voice", "kind": "voice"},
    ],
    "compare": {"disciplines": ["fifo", "codel"], "baseline": "fifo", "replications": 3},
}
RUN = """
import { readFileSync } from "node:fs";
const { Engine } = await import(process.argv[1]);
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const engine = new Engine(await WebAssembly.instantiate(module));
const { files, scenarios } = JSON.parse(readFileSync(0, "utf8"));
for (const [name, path] of files) engine.lend(name, readFileSync(path));
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
    read = [(path.name, str(path)) for path in (ROOT / "examples").glob("*.gz")]
    asked = {"files": read, "scenarios": [each.document for each in scenarios.values()]}
    documents = json.dumps(asked)
    done = subprocess.run(command, input=documents, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = dict(zip(scenarios, json.loads(done.stdout), strict=True))
    assert found == expected and len(set(found.values())) == len(found)


def fits_a_telephone(page: Page) -> None:
    """See that nothing makes a page wider than a narrow window."""
    before = page.viewport_size
    assert before is not None
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size(before)


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


@contextmanager
def opened(chromium: Browser, site: str) -> Iterator[Tab]:
    """A page that asks for nothing but the files beside it, and has no error."""
    context = chromium.new_context(viewport={"width": 1360, "height": 900}, accept_downloads=True)
    found = Tab(context.new_page())
    asked: list[str] = []
    context.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    yield found
    own = site.removesuffix("index.html")
    assert found.errors == [] and asked
    assert [each for each in asked if not each.startswith((f"GET {own}", "GET blob:"))] == []
    context.close()


@pytest.fixture
def tab(chromium: Browser, site: str) -> Iterator[Tab]:
    """A page for one test."""
    with opened(chromium, site) as found:
        yield found


@pytest.fixture(scope="module")
def comparing(chromium: Browser, site: str) -> Iterator[Page]:
    """The page that compares, for several comparisons: its first one loads Python."""
    with opened(chromium, site) as tab:
        tab.page.goto(site.replace("index.html", "compare.html"))
        tab.page.wait_for_function("() => document.querySelector('#text').value.length > 10")
        yield tab.page


def test_a_scenario_is_watched_changed_and_saved(tab: Tab, site: str, tmp_path: Path) -> None:
    tab.open(f"{site}?scenario=household")
    assert (
        tab.page.locator("#title").inner_text()
        == forebay.load(ROOT / "examples/household.toml").document["title"]
    )
    assert tab.page.locator(".lane").count() == 2
    tab.wait("() => Number(document.querySelector('#clock b').textContent) > 0.2")
    tab.pause()
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
    for wrong, words in [
        ("#s=garbage", "the link is damaged"),
        ("#s=%00.%ff", "the link is damaged"),
        ("?scenario=nowhere", "scenarios/nowhere.json: 404"),
        ("#story=nowhere&step=1", "no step 1 of a story"),
        ("#story=wred&step=99", "no step 99 of a story"),
    ]:
        tab.page.goto("about:blank")
        tab.page.goto(f"{site}{wrong}")
        expect(tab.page.locator("#said")).to_contain_text(words)
        # The first story is told instead.
        expect(tab.page.locator("#story-title")).to_be_visible()
    # The browser itself writes that a file is missing.
    tab.errors[:] = [each for each in tab.errors if "404" not in each]


def test_the_page_loads_little(tab: Tab, site: str) -> None:
    loaded: set[str] = set()
    tab.page.on("request", lambda request: loaded.add(urlsplit(request.url).path))
    tab.open(f"{site}?scenario=household")
    assert f"/try/static/{try_it.MODULE.name}" in loaded
    sent = [content for name, content in try_it.files() if f"/try/{name}" in loaded]
    # 1.3 MB are the goal; another compiler may make the module some kilobytes larger.
    assert sum(len(gzip.compress(content, 9)) for content in sent) < 1_310_000


# In CI what checks JavaScript is there, and so is Pyodide: what fails is not skipped.
compares = pytest.mark.skipif(
    not try_it.compares() and not os.environ.get("FOREBAY_CI"),
    reason="there is no Pyodide; npm --prefix tools/js ci installs it",
)


def compared_here(scenario: forebay.Scenario, replications: int) -> dict[str, Any]:
    """The summary.json of `forebay compare`."""
    listed, baseline = _comparison.against_today(scenario)
    found = forebay.compare(
        scenario, disciplines=listed, replications=replications, baseline=baseline
    )
    summary: dict[str, Any] = json.loads(json.dumps(_files.summary(found)))
    return summary


def alike(here: Any, there: Any, path: str = "") -> list[str]:
    """Where two summaries differ by more than the last digits of a number."""
    if isinstance(here, dict) and isinstance(there, dict) and here.keys() == there.keys():
        return [each for key in here for each in alike(here[key], there[key], f"{path}.{key}")]
    if isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        pairs = enumerate(zip(here, there, strict=True))
        return [each for at, (a, b) in pairs for each in alike(a, b, f"{path}[{at}]")]
    if isinstance(here, float) and isinstance(there, float):
        return (
            []
            if here == pytest.approx(there, rel=1e-12, abs=1e-15)
            else [f"{path}: {here}, {there}"]
        )
    return [] if here == there else [f"{path}: {here}, {there}"]


@compares
@pytest.mark.parametrize(
    ("name", "shorter"),
    [
        ("household", {"duration": "6s", "warmup": "1s"}),
        ("branch-uplink", {"duration": "5s", "warmup": "1s"}),
        ("sensors", {"duration": "10s", "warmup": "2s"}),
        ("baseline", {}),
    ],
)
def test_a_comparison_is_that_of_the_command(
    comparing: Page, name: str, shorter: dict[str, str]
) -> None:
    if name == "baseline":
        scenario = forebay.Scenario.of(FILE, "scenario.toml")
    else:
        scenario = forebay.load(ROOT / f"examples/{name}.toml").with_all(shorter)
    expected = compared_here(scenario, 3)
    page = comparing
    page.locator("#text").fill(scenario.to_toml())
    page.locator("#replications").fill("3")
    page.locator("#compare").click()
    expect(page.locator("#results")).to_be_visible(timeout=180_000)
    with page.expect_download() as download:
        page.locator("#save-summary").click()
    found = json.loads(Path(download.value.path()).read_text())
    assert found.pop("scenario") == "scenario.toml"
    expected.pop("scenario")
    assert alike(expected, found) == []
    assert found["advice"]["headline"] in page.locator("#compared").inner_text()
    assert len(found["disciplines"]) >= 2 and found["replications"] == 3
    assert Axe().run(page).response["violations"] == []
    if name != "household":
        return
    fits_a_telephone(page)
    with page.expect_popup() as opened:
        page.locator("#report").click()
    report = Tab(opened.value)
    expect(report.page.locator("h1")).to_have_text(str(found["title"]))
    report.page.wait_for_function("() => document.querySelectorAll('canvas, svg').length > 3")
    assert report.errors == []


@compares
def test_what_is_wrong_in_a_pasted_scenario_is_said(comparing: Page) -> None:
    page = comparing
    good = forebay.Scenario.of(FILE).to_toml()
    unlisted = forebay.Scenario.of(FILE).without("compare").to_toml()
    for text, words in [
        ("[[traffic", "TOML parse error at line 1"),
        ("{", "EOF while parsing"),
        (good.replace('"10ms"', '"-10ms"'), "dumbbell.delay: "),
        (good.replace('kind = "bulk"', 'kind = "bulkk"'), "bulkk"),
        (f'plugins = ["mine.py"]\n{good}', "plugins: cannot be loaded here"),
        (good.replace('kind = "voice"', 'kind = "pcap", file = "no.pcap"'), "no.pcap"),
        (unlisted, "compare.disciplines: there is none"),
        (unlisted.replace('"10ms"', '"-10ms"'), "dumbbell.delay: "),
    ]:
        page.locator("#text").fill(text)
        page.locator("#compare").click()
        expect(page.locator("#text-wrong")).to_contain_text(words, timeout=60_000)
        expect(page.locator("#compare")).to_be_enabled()


@compares
def test_a_comparison_is_cancelled(comparing: Page) -> None:
    page = comparing
    page.locator("#text").fill(forebay.Scenario.of(FILE | {"duration": "40000s"}).to_toml())
    page.locator("#compare").click()
    expect(page.locator("#state")).to_contain_text("3 disciplines", timeout=60_000)
    page.locator("#cancel").click()
    expect(page.locator("#compare")).to_be_enabled()
    expect(page.locator("#progress")).to_be_hidden()
    assert page.locator("#text-wrong").inner_text() == ""


@compares
def test_a_link_holds_the_scenario(tab: Tab, site: str) -> None:
    page = tab.page
    page.goto(site.replace("index.html", "compare.html"))
    page.wait_for_function("() => document.querySelector('#text').value.length > 10")
    text = forebay.Scenario.of(FILE).to_toml()
    page.locator("#text").fill(text)
    page.locator("#link").click()
    expect(page.locator("#said")).to_contain_text("the link")
    link = page.url
    assert "#s=" in link
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#text")).to_have_value(text)
    page.goto("about:blank")
    page.goto(f"{link[:-9]}")
    expect(page.locator("#text-wrong")).to_contain_text("the link is damaged")
    page.goto("about:blank")
    page.goto(f"{link.split('#')[0]}?scenario=nowhere")
    expect(page.locator("#text-wrong")).to_contain_text('no scenario "nowhere"')
    # An example is there instead, and a reload loses nothing that is written.
    assert "[[traffic]]" in page.locator("#text").input_value()
    page.locator("#text").fill(text)
    page.wait_for_url("**#s=*")
    page.reload()
    expect(page.locator("#text")).to_have_value(text)
    page.locator("#chosen").select_option("cellular")
    expect(page.locator("#text")).not_to_have_value(text)
    assert page.url.endswith("?scenario=cellular")
    page.goto("about:blank")
    page.goto(link)
    page.locator("#watch").click()
    page.wait_for_url("**/index.html**", timeout=60_000)
    page.wait_for_function("() => document.querySelectorAll('.lane').length === 2")
    assert page.locator("#title").inner_text() == FILE["title"]


@compares
def test_lanes_are_compared_and_reported(tab: Tab, site: str) -> None:
    tab.open(f"{site}?scenario=household")
    tab.pause()
    tab.press("m")
    expect(tab.page.locator("#compared button")).to_be_visible()
    tab.page.locator("#compared button").click()
    expect(tab.page.locator("#compared")).to_be_hidden()
    with tab.page.expect_popup() as opened:
        tab.press("r")
    expect(opened.value.locator("h1")).to_have_text(
        "A home's uplink while photos are uploaded", timeout=240_000
    )


def played(page: Any, code: str) -> None:
    page.locator("#code").fill(code)
    page.locator("#run").click()
    expect(page.locator("#run")).to_be_enabled(timeout=90_000)


METHODS = (
    "class Mine extends Discipline { setup() { this.q = []; } "
    "enqueue(p, now) {%s} dequeue(now) {%s} }"
)
SHIFT = "return this.q.shift();"


@compares
def test_a_discipline_of_a_reader_is_tried(tab: Tab, site: str, tmp_path: Path) -> None:
    page = tab.page
    page.goto(site.replace("index.html", "play.html"))
    page.wait_for_function("() => document.querySelector('#code').value.length > 10")
    played(page, page.locator("#code").input_value())
    assert page.locator("#wrong").inner_text() == ""
    expect(page.locator("#conforms")).to_contain_text("It keeps every contract")
    expect(page.locator("#table")).to_contain_text("99th percentile delay")
    fits_a_telephone(page)
    assert Axe().run(page).response["violations"] == []
    # A FIFO that is written here delays packets as the engine's own.
    page.locator("summary").click()
    text = page.locator("#text").input_value().replace("20s", "6s").replace("5s", "1s", 1)
    page.locator("#text").fill(text)
    limit = "if (this.q.length >= 100) this.drop(p, 'overflow'); else this.q.push(p);"
    played(page, METHODS % (limit, SHIFT))
    expect(page.locator("#conforms")).to_contain_text("It keeps every contract")
    (tmp_path / "played.toml").write_text(text)
    fifo = forebay.load(tmp_path / "played.toml").with_queue({"kind": "fifo", "limit": "100p"})
    delay = forebay.run(fifo).summary["classes"]["calls"]["p99_delay_ms"]
    cells = page.locator("tr", has_text="calls").filter(has_text="99th").locator("td")
    assert float(cells.nth(1).inner_text()) == pytest.approx(delay, rel=1e-3)


@compares
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("class Mine {}", "there is no class that extends Discipline"),
        ("class Mine extends Discipline { enqueue() {} }", "no method dequeue"),
        ("class Mine extends Discipline {", "Unexpected"),
        (METHODS % ("nonsense();", SHIFT), "enqueue: ReferenceError: nonsense"),
        (METHODS % ("", SHIFT), "holds"),
        (METHODS % ("this.q.push(p);", "return this.q[0];"), "has already left"),
        (METHODS % ("this.q.push(p);", "return 7;"), "expected a packet"),
        (METHODS % ("this.q.push(p); this.drop(p, 'no');", SHIFT), "unknown reason"),
    ],
)
def test_a_wrong_discipline_is_said(tab: Tab, site: str, code: str, words: str) -> None:
    page = tab.page
    page.goto(site.replace("index.html", "play.html"))
    page.wait_for_function("() => document.querySelector('#code').value.length > 10")
    played(page, code)
    expect(page.locator("#found")).to_contain_text(words)
    # The browser itself writes what the policy refuses.
    tab.errors[:] = [each for each in tab.errors if "Content Security Policy" not in each]


@compares
def test_a_discipline_that_does_not_return_is_ended(tab: Tab, site: str) -> None:
    page = tab.page
    page.clock.install()
    page.goto(site.replace("index.html", "play.html"))
    page.wait_for_function("() => document.querySelector('#code').value.length > 10")
    page.locator("#code").fill(METHODS % ("this.q.push(p);", "for (;;);"))
    page.locator("#run").click()
    expect(page.locator("iframe")).to_be_attached()
    # A sound one says something within a second.
    page.wait_for_timeout(2000)
    expect(page.locator("#run")).to_be_disabled()
    page.clock.fast_forward(9000)
    expect(page.locator("#wrong")).to_contain_text("did not return within 10 s")
    expect(page.locator("#run")).to_be_enabled()
    expect(page.locator("iframe")).not_to_be_attached()


@compares
def test_a_discipline_has_no_network_and_runs_after_a_click_alone(
    chromium: Browser, site: str
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(site.replace("index.html", "play.html"))
    page.wait_for_function("() => document.querySelector('#code').value.length > 10")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(2)
        elsewhere = f"127.0.0.1:{listener.getsockname()[1]}/x"
        tries = f"""
            const said = [];
            new WebSocket("ws://{elsewhere}");
            fetch("http://{elsewhere}", {{ mode: "no-cors" }}).catch(() => undefined);
            try {{ importScripts("http://{elsewhere}"); }}
            catch (e) {{ said.push(`script ${{e.name}}`); }}
            const asked = new XMLHttpRequest();
            try {{ asked.open("GET", "http://{elsewhere}", false); asked.send(); }}
            catch (e) {{ said.push(`request ${{e.name}}`); }}
            throw new Error(`${{said}}, origin ${{self.origin}}`);"""
        page.locator("#code").fill(METHODS % (tries, SHIFT))
        page.locator("#link").click()
        expect(page.locator("#said")).to_contain_text("the link")
        link = page.url
        page.goto("about:blank")
        page.goto(link)
        expect(page.locator("#state")).to_contain_text("runs when you press Run")
        page.wait_for_timeout(1000)
        assert page.locator("iframe").count() == 0
        page.locator("#run").click()
        expect(page.locator("#wrong")).to_contain_text(
            "script NetworkError,request NetworkError, origin null", timeout=60_000
        )
        with pytest.raises(TimeoutError):
            listener.accept()
    context.close()


@compares
def test_it_works_without_a_network_after_a_visit(tab: Tab, site: str) -> None:
    tab.open(f"{site}?scenario=household")
    tab.page.evaluate("async () => { await navigator.serviceWorker.ready }")
    tab.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    tab.page.context.set_offline(True)
    for address in [f"{site}?scenario=cellular", site.removesuffix("index.html")]:
        tab.open(address)
        tab.wait("() => document.querySelectorAll('.lane').length === 2")
    # What has not been visited, and is large, says so.
    for page, said in [("compare", "#text-wrong"), ("play", "#wrong")]:
        tab.page.goto(site.replace("index.html", f"{page}.html"))
        tab.page.wait_for_function("() => document.querySelector('textarea').value.length > 10")
        tab.page.locator("button.main").click()
        expect(tab.page.locator(said)).to_contain_text("without a network", timeout=60_000)
    # The browser itself writes what it could not load.
    tab.errors[:] = [each for each in tab.errors if "503" not in each]
    tab.page.context.set_offline(False)
