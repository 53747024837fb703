"""The documentation site that `make site` has built: its search and its first page."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
SITE = ROOT / "target/site"
SOURCES = ("mkdocs.yml", "tools/*.py", "tools/search.yml", "docs/**/*.md", "docs/site/*")


def _is_built() -> bool:
    """Whether the site is there and younger than what it is made of."""
    home = SITE / "index.html"
    sources = (path for each in SOURCES for path in ROOT.glob(each))
    return home.exists() and all(path.stat().st_mtime <= home.stat().st_mtime for path in sources)


pytestmark = pytest.mark.skipif(
    not _is_built(), reason="make site has not built the site as it now is"
)

QUERIES = {
    "voip": "reference/glossary",
    "lag": "tutorials/uplink|reference/glossary",
    "jitter": "reference/glossary",
    "router": "tutorials/packets",
    "loss": "reference/glossary",
    "packet loss": "reference/(glossary|scenario)",
    "how do I set packet loss": "reference/scenario",
    "wifi": "tutorials/uplink",
    "wi-fi": "tutorials/uplink",
    "slow internet": "tutorials/uplink",
    "bufferbloat": "reference/glossary",
    "vpn": "tutorials/packets",
    "zoom": "tutorials/uplink",
    "gaming": "tutorials/uplink",
    "video call": "tutorials/uplink",
    "latency": "reference/glossary",
    "ping": "reference/glossary",
    "delay": "reference/glossary",
    "bandwidth": "reference/(glossary|scenario)",
    "throughput": "reference/glossary",
    "dsl": "tutorials/uplink",
    "starlink": "tutorials/uplink",
    "qos": "tutorials/uplink",
    "openwrt": "tutorials/packets",
    "docker": "install",
    "windows": "install",
    "install": "install",
    "pip": "install",
    "fq-codel": "reference/kinds",
    "codel": "reference/kinds",
    "cake": "reference/kinds",
    "pie": "reference/kinds",
    "red": "reference/kinds",
    "fq-pie": "reference/kinds",
    "dualpi2": "reference/kinds",
    "cp-aqm": "reference/kinds",
    "cq-aqm": "reference/kinds",
    "l4s": "reference/glossary|suite-l4s",
    "ecn": "reference/glossary",
    "bbr": "suite-bbr|reference/congestion",
    "cubic": "reference/congestion",
    "ns-3": "coming-from-ns3",
    "ns-2": "coming-from-ns3|reference/stacks",
    "p99": "reference/glossary",
    "confidence interval": "reference/glossary",
    "pcap": "reference/kinds|reference/scenario",
    "wireshark": "summary",
    "jupyter": "studies|tutorials/agent",
    "plug-in": "extending",
    "rust plugin": "extending",
    "python": "extending|reference/python|install",
    "traffic shaping": "tutorials/packets|gate",
    "rate limit": "reference/scenario",
    "tune": "tune",
    "compare": "tutorials/uplink|reference/cli",
    "agent": "gym|tutorials/agent",
    "isp": "tutorials/provider",
    "satellite": "source/examples|advice",
    "license": "index",
    "cite": "index|source/CITATION",
    "mos": "reference/glossary",
    "rfc7928": "suite-rfc7928",
}
"""What people type, and the page that must be the first or second hit."""
ODD = (
    "-x",
    "+codel",
    '"fq-codel"',
    "codel^2",
    "codel~1",
    "title:codel",
    "a:",
    "*",
    "10 Mbit/s",
    "(x",
)
"""Signs that mean something to the search."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a server that only reads files shows the site."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


# The theme's own worker, which says what it would only warn of.
ASK = """async ([worker, queries]) => {
  const index = await (await fetch("/search/search_index.json")).json();
  const own = new URL(worker, location.href).href;
  const source = `console.warn = (...words) => postMessage({ warned: String(words) });
    importScripts("${own}");`;
  const found = new Worker(URL.createObjectURL(new Blob([source])));
  const wrong = [];
  let asked = "", answer;
  found.onmessage = ({ data }) => data.warned ? wrong.push([asked, data.warned]) : answer(data);
  found.onerror = event => { wrong.push([asked, event.message]); answer({ data: { items: [] } }); };
  const ask = message => new Promise(done => { answer = done; found.postMessage(message); });
  await ask({ type: 0, data: { ...index, options: { suggest: false } } });
  const hits = {};
  for (asked of queries) {
    const { items } = (await ask({ type: 2, data: asked })).data;
    hits[asked] = items.slice(0, 2).map(group => group[0].location);
  }
  return { hits, wrong };
}"""


@pytest.fixture(scope="module")
def answers(chromium: Browser, address: str) -> Any:
    """The first two hits of every beginning of every query, and what went wrong."""
    [worker] = (SITE / "assets/javascripts/workers").glob("search.*.js")
    typed = {each[:end] for each in (*QUERIES, *ODD) for end in range(1, len(each) + 1)}
    page = chromium.new_page()
    page.goto(f"{address}/install.html")
    found = page.evaluate(ASK, [f"/{worker.relative_to(SITE)}", sorted(typed)])
    page.close()
    return found


def test_what_people_type_leads_to_the_page_that_helps(answers: Any) -> None:
    missed = {
        query: answers["hits"][query]
        for query, wanted in QUERIES.items()
        if not any(re.match(rf"({wanted})", hit) for hit in answers["hits"][query])
    }
    assert missed == {}


def test_no_beginning_of_a_query_fails(answers: Any) -> None:
    assert len(answers["hits"]) > 300
    assert answers["wrong"] == []


def test_the_search_of_a_page_works(chromium: Browser, address: str) -> None:
    for start in (address, SITE.as_uri()):
        page, wrong = opened(chromium, f"{start}/install.html")
        page.locator(".md-search__input").click()
        page.locator(".md-search__input").press_sequentially("fq-codel", delay=40)
        link = page.locator(".md-search-result__link").first
        link.wait_for()
        assert "reference/kinds.html" in (link.get_attribute("href") or "")
        assert wrong == []
        page.context.close()


def test_tables_of_results_are_not_searched() -> None:
    docs = json.loads((SITE / "search/search_index.json").read_text("utf-8"))["docs"]
    assert not [
        each for each in docs if re.match(r"source/crates|suite-\w+-results", each["location"])
    ]
    said = " ".join(each["text"] for each in docs if each["location"].startswith("validation"))
    assert "How far can you trust" in said
    page = (SITE / "validation.html").read_text("utf-8")
    cells = re.findall(r"<td[^>]*>([\d.]+ / [\d.]+)</td>", page)
    assert len(cells) > 20
    assert not [each for each in cells if each in said]


def opened(chromium: Browser, address: str, **context: Any) -> tuple[Page, list[str]]:
    """A page, and what its console says is wrong."""
    page = chromium.new_context(**context).new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(address)
    return page, wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1360, 1920])
def test_the_first_page_is_for_everyone(
    chromium: Browser, address: str, width: int, scheme: Any
) -> None:
    size = {"width": width, "height": 900}
    page, wrong = opened(chromium, address, viewport=size, color_scheme=scheme)
    page.locator("#front-lanes canvas").nth(1).wait_for()
    page.wait_for_timeout(500)  # the theme fades in
    assert page.evaluate("document.documentElement.scrollWidth") == width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert wrong == []
    page.context.close()


def instant(page: Page) -> float:
    return float(page.locator("#front-clock").inner_text().removesuffix(" s"))


@pytest.mark.parametrize("served", [True, False])
def test_the_picture_plays_when_it_is_asked_to(
    chromium: Browser, address: str, served: bool
) -> None:
    page, wrong = opened(chromium, f"{address if served else SITE.as_uri()}/index.html")
    play = page.locator("#front-play")
    page.locator("#front-lanes canvas").first.wait_for()
    before = instant(page)
    page.wait_for_timeout(300)
    assert instant(page) == before
    play.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#front-clock').innerText > '3.20'")
    assert play.inner_text() == "Pause"
    page.keyboard.press("Enter")
    stopped = instant(page)
    page.wait_for_timeout(300)
    assert instant(page) == stopped
    page.locator("#front-seek").focus()
    page.keyboard.press("End")
    assert instant(page) == 7.6
    assert wrong == []
    page.context.close()


def test_the_picture_does_not_move_for_who_wants_no_motion(chromium: Browser, address: str) -> None:
    page, wrong = opened(chromium, address, reduced_motion="reduce")
    page.locator("#front-lanes canvas").first.wait_for()
    assert page.locator("#front-play").is_hidden()
    page.locator("#front-seek").focus()
    page.keyboard.press("Home")
    assert instant(page) == 2.9
    assert wrong == []
    page.context.close()


def test_the_first_page_is_small() -> None:
    assert (SITE / "index.html").stat().st_size < 300_000
