"""Reports on a telephone: 390 px wide, nothing cut off or to be moved sideways."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import forebay
from advice_said import FOLDER
from forebay import study
from forebay.report import render
from forebay.sweep import load, run
from forebay.sweep.report import write

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
MEASURE = """<script>addEventListener("load", () => setTimeout(() => {
  document.querySelectorAll("details").forEach(each => { each.open = true; });
  const beyond = [...document.body.querySelectorAll("*")].filter(each => {
    if (each.closest("svg, .figure, script, style")) return false;
    const style = getComputedStyle(each);
    const hides = style.overflowX !== "visible" && each.scrollWidth > each.clientWidth + 1;
    return each.getBoundingClientRect().right > innerWidth + 1 || hides;
  }).map(each => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 40)}`);
  const hidden = [...document.querySelectorAll("select")]
    .filter(each => each.offsetParent && !each.options.length).map(each => each.id);
  const drawn = document.querySelectorAll(".figure svg.main-svg").length;
  const whole = document.documentElement.scrollWidth;
  parent.postMessage({ width: innerWidth, whole, beyond, hidden, drawn }, "*");
}, 500));</script>"""
# A window cannot be as narrow as a telephone; a frame can.
FRAME = """<body><iframe style="width: %dpx; height: 2000px; border: 0" src="%s"></iframe>
<pre id="found"></pre><script>addEventListener("message", event => {
  document.getElementById("found").textContent = JSON.stringify(event.data);
});</script>"""


def measured(page: str, folder: Path) -> dict[str, Any]:
    """What a browser says of a page that is 390 px wide."""
    assert BROWSER is not None
    (folder / "page.html").write_text(page.replace("</body>", MEASURE + "</body>"), "utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME % (WIDTH, "page.html"), "utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", f"--user-data-dir={folder / 'profile'}"]
    command += ["--virtual-time-budget=10000", "--dump-dom", frame.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    match = re.search(r'<pre id="found">(.+?)</pre>', dom)
    assert match is not None, dom[:2000]
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    assert found["width"] == WIDTH
    return found


def assert_fits(page: str, folder: Path) -> None:
    found = measured(page, folder)
    assert found["whole"] <= WIDTH and found["beyond"] == [] and found["hidden"] == []
    assert found["drawn"] > 0


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
    page = write(study.load(tmp_path / "out"), None).read_text("utf-8")
    assert_fits(page, tmp_path)


def test_what_does_not_fit_is_found(tmp_path: Path) -> None:
    drawn = '<div class="figure"><svg class="main-svg"></svg></div>'
    wide = f'<!doctype html><body>{drawn}<p style="width: 500px">x</p></body>'
    with pytest.raises(AssertionError):
        assert_fits(wide, tmp_path)
