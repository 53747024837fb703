"""The gate's page in a browser: what is full, slow and new, and names that stay text."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

PAGE = Path(__file__).parents[2] / "crates/gate/src/page"
FILES = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
MARKUP = "<img src=x onerror=document.title='markup'>"


def way(mbps: float, at: int, later: float | None = None, rtt_ms: float | None = None) -> list[Any]:
    """A direction since `at` seconds: packets waited for 1 ms, and `later` after 10 s."""
    late = 0 if later is None else 100 * max(0, at - 10)
    packets = at * 100
    waited = ((packets - late) + late * (later or 0)) / 1e3
    sent = int(mbps * 125_000 * at)
    return [sent, packets, 0, 0, 0, waited, 1, 2, at, rtt_ms, rtt_ms]


def answer(at: int) -> dict[str, Any]:
    """What `page.rs` says at this second."""
    calm = [MARKUP, "AP", 50e6, None, way(5, at, rtt_ms=12.5), way(1, at)]
    hasty = ["hasty", "AP", 50e6, 10e6, way(52, at, later=80), way(1, at)]
    # Its packets waited for long before the page was opened.
    idle = ["idle", None, 50e6, 10e6, [9, 9, 0, 0, 0, 9, 900, 900, 9, 900, 900], way(0, 0)]
    new = ["new", None, 50e6, 10e6, way(0, at), way(0, at)]
    return {
        "uptime_s": at,
        "reloads": int(at > 10),
        "link_bps": [100e6, 100e6],
        "nodes": [["Hill", None, 200e6, 100e6], ["AP", "Hill", 58e6, 30e6]],
        "circuits": [
            [None, None, None, None, way(0.1, at), way(0, at)],
            calm,
            hasty,
            idle,
            *([new] if at > 10 else []),
        ],
    }


@pytest.fixture
def page() -> Iterator[str]:
    asked = 0

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal asked
            name, kind = FILES.get(self.path, ("", "application/json"))
            if self.path == "/data":
                asked += 5
                body = json.dumps(answer(asked)).encode()
            else:
                body = (PAGE / name).read_bytes() if name else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header(
                "Content-Security-Policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
            )
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_the_page_tells_who_is_slow_what_is_full_and_what_changed(
    page: str, chromium: Browser
) -> None:
    tab = chromium.new_page()
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.clock.install()
    tab.goto(page)
    for _ in range(4):
        tab.wait_for_timeout(200)
        tab.clock.run_for(5_000)
    tab.wait_for_function("document.querySelectorAll('#changed time').length > 2")

    def rows(table: str) -> list[list[str]]:
        lines = tab.locator(f"{table} tr").all()
        return [line.locator("td").all_inner_texts() for line in lines[1:]]

    full = rows("#full")
    assert [line[0] for line in full] == ["AP", "the link", "Hill"]
    assert full[0][1].strip() == "98 %"
    assert full[0][2:4] == ["57", "58"]
    slow = rows("#slow")
    assert slow[0][:5] == ["hasty", "AP", "52 / 1.00", "50 / 10", "80 / 1.0"]
    calm = next(line for line in slow if line[0] == MARKUP)
    assert calm[6] == "13 / –"
    assert tab.title() == "Circuits"
    said = tab.locator("#changed li").all_inner_texts()
    for expected in (
        "The configuration was read again.",
        "Circuit new is new.",
        "Circuit hasty down: packets wait for 80 ms, usually 1.0.",
    ):
        assert sum(expected in line for line in said) == 1, (expected, said)
    # Unknown addresses are no circuit; what is old is not slow.
    assert full[1][6] == "4" and tab.inner_text("#state").startswith("4 circuits, 2 nodes; up for ")
    assert tab.inner_text("#state").endswith(" min")
    for order in ("p99", "rtt"):
        tab.select_option("#order", order)
        assert rows("#slow")[0][0] != "idle", order
    for width in (390, 1280, 1920):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        heights = tab.evaluate(
            "[...document.querySelectorAll('td')].map(cell => cell.offsetHeight)"
        )
        assert max(heights) < 40, (width, heights)
    tab.fill("#filter", "hast")
    assert [line[0] for line in rows("#slow")] == ["hasty"]
    assert not faults
    tab.close()
