"""Reports on a telephone: 390 px wide, nothing cut off or to be moved sideways."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

import forebay
from advice_said import FOLDER
from forebay import sweep
from forebay._compared.report import render
from forebay._report import html
from forebay._report.page import Cell, Figure, Page, Row, Table
from forebay._report.panel import Panel, Series
from forebay.sweep import load, run, write_report

WIDTH = 390
BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium")

# What lies beyond the right edge, or holds more than it shows; drawings are clipped on purpose.
MEASURE = """<script>
const drawn = () => document.querySelectorAll(".figure svg.marks").length;
const wait = setInterval(() => {
  if (!drawn()) return;
  clearInterval(wait);
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
  const found = { width: innerWidth, whole, beyond, empty, broken, cells };
  fetch("/found", { method: "POST", body: JSON.stringify(found) });
}, 200);
</script>"""
# A window cannot be as narrow as a telephone; a frame can.
FRAME = f'<body><iframe style="width: {WIDTH}px; height: 2000px; border: 0" src="/page"></iframe>'


class Desk(ThreadingHTTPServer):
    """Hands out a page on the loopback interface and takes what was measured of it."""

    def __init__(self, page: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = {"/": FRAME, "/page": page.replace("</body>", MEASURE + "</body>")}
        self.found: Queue[dict[str, Any]] = Queue()


class Handler(BaseHTTPRequestHandler):
    server: Desk

    def do_GET(self) -> None:
        text = self.server.pages.get(self.path)
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write((text or "").encode())

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.server.found.put(json.loads(text))

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


def measured(page: str, folder: Path) -> dict[str, Any]:
    """What a browser says of a page that is 390 px wide."""
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", f"--user-data-dir={folder / 'profile'}"]
    with Desk(page) as desk:
        threading.Thread(target=desk.serve_forever, daemon=True).start()
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            [*command, f"http://127.0.0.1:{desk.server_port}/"], stdout=quiet, stderr=quiet
        ) as browser:
            try:
                found = desk.found.get(timeout=240)
            finally:
                browser.terminate()
                desk.shutdown()
    assert found["width"] == WIDTH
    return found


def assert_fits(page: str, folder: Path) -> None:
    found = measured(page, folder)
    assert found["whole"] <= WIDTH
    assert found["beyond"] == [] and found["empty"] == [] and found["broken"] == []


def test_a_comparison_with_many_classes(tmp_path: Path) -> None:
    scenario = forebay.load(FOLDER / "cellular.toml").with_("title", "Averyveryverylongname" * 3)
    for number in range(4):
        more = {"name": f"sensors of building {number}", "kind": "poisson", "from": "tower",
                "to": "phone", "rate": "2kbit", "size": "120B"}  # fmt: skip
        document = scenario.document
        document["traffic"].append(more)
        scenario = forebay.Scenario.of(document)
    assert_fits(render(forebay.compare(scenario, replications=2)), tmp_path)


@pytest.mark.parametrize("axes", [0, 2])
def test_a_study(axes: int, tmp_path: Path) -> None:
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
    assert_fits(page, tmp_path)


def test_a_card_shows_what_cannot_be_told(tmp_path: Path) -> None:
    rows: list[Row] = [
        ["loss on the wire", Cell("cannot tell", mark="absent"), "–", ""],
        ["rate", Cell("12 Mbit/s"), "11 Mbit/s", "13 Mbit/s"],
    ]
    table = Table(["", "estimate", "from", "to"], rows, "What was found")
    panel = Panel("", "x", "y", [Series("a", [0.0, 1.0], [0.0, 1.0])])
    page = html.render(Page("A page", "Fit", "Words.", [table, Figure([panel], "a line")]))
    cells = measured(page, tmp_path)["cells"]
    # A cell without anything in it has no place on a card.
    assert cells == ["cannot tell", "12 Mbit/s", "11 Mbit/s", "13 Mbit/s"]


def test_what_does_not_fit_is_found(tmp_path: Path) -> None:
    drawn = '<div class="figure"><svg class="marks"></svg></div>'
    wide = f'<!doctype html><body>{drawn}<p style="width: 500px">x</p></body>'
    with pytest.raises(AssertionError):
        assert_fits(wide, tmp_path)
