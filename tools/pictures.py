"""Make the screenshots of the documents: docs/images/explore*.png, watch.svg and those of reports.

Run from the source tree with its Python, in which forebay is built, where there is a chromium:
`.venv/bin/python tools/pictures.py`, or with the names of some. `make site` draws the figures of
papers and suites, and `make docs` the maps of the templates.
"""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import FloatRect, Page
from rich.console import Console

import forebay
from forebay._comparison import variants_of
from forebay._watch import Watch

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
EXAMPLE = ROOT / "examples" / "branch-uplink.toml"
EDGE = 8
"""Pixels around a part of a page."""
sys.path.insert(0, str(ROOT / "tests" / "python"))

from explore.browser import Tab, browsing, serving  # noqa: E402 - lies beside the tests


def explorer() -> None:
    """An example, and a step of a story."""
    with browsing() as browser:
        for name, words, at_s, size in (
            ("explore", [str(EXAMPLE), "--disciplines", "today,fq-codel"], 14.0, (1360, 1010)),
            ("explore-story", ["--story", "cp-aqm"], None, (1360, 860)),
        ):
            width, height = size
            context = browser.new_context(viewport={"width": width, "height": height})
            with serving(ROOT, *words) as server:
                tab = Tab(context.new_page())
                tab.open(server.address)
                if at_s is not None:
                    tab.wait("() => document.querySelector('#play').ariaLabel === 'Pause'")
                    tab.pause()
                    tab.seek(at_s)
                    tab.speed("-10")
                    tab.click("#play")
                    tab.page.wait_for_timeout(1500)
                    tab.page.locator("#window").select_option("10")
                else:
                    tab.page.get_by_role("link", name="Step 2").click()
                    tab.page.wait_for_timeout(7000)
                tab.pause()
                tab.page.wait_for_timeout(400)
                photograph(tab.page, name)
            context.close()


def terminal() -> None:
    """Three disciplines in the terminal."""
    scenario = forebay.load(EXAMPLE)
    watch = Watch(variants_of(scenario, None, ["today", "codel", "fq-codel"]), "uplink")
    for _ in range(140):
        watch.tick(0.1)
    console = Console(width=132, height=30, record=True, file=io.StringIO())
    console.print(watch.draw(132, 30))
    picture = console.export_svg(title="forebay watch")
    # Rich names fonts that a browser would fetch from elsewhere.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S)
    picture = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", picture)
    (IMAGES / "watch.svg").write_text(picture, "utf-8")


def reports() -> None:
    """The top of a report, and the maps of a wired and of a wireless network."""
    with TemporaryDirectory() as name, browsing() as browser:
        folder = Path(name)
        towns = ROOT / "examples" / "networks" / "towns.graphml"
        forebay_("import", towns, "--load", "36Gbit", "--scale", "0.01", cwd=folder)
        for picture, scenario, size, part in (
            ("report", EXAMPLE, (1240, 1235), None),
            ("map", folder / "towns.toml", (1100, 1090), "section[aria-labelledby=the-network]"),
            (
                "wireless",
                EXAMPLE.with_name("sensors.toml"),
                (1160, 500),
                "[data-words^='Map of the stations']",
            ),
        ):
            forebay_("compare", scenario, "--out", folder / picture, cwd=folder)
            width, height = size
            context = browser.new_context(viewport={"width": width, "height": height})
            page = context.new_page()
            page.goto((folder / picture / "report.html").as_uri())
            page.wait_for_timeout(3000)
            box = None
            if part is not None:
                hidden = f".legend {{ display: none }} {part} {{ scroll-margin-top: {EDGE}px }}"
                page.add_style_tag(content=hidden)
                page.evaluate("part => document.querySelector(part).scrollIntoView()", part)
                page.wait_for_timeout(500)
                inside = page.locator(part).bounding_box()
                assert inside is not None, f"{picture}: no {part} in the report"
                left, wide = inside["x"] - EDGE, inside["width"] + 2 * EDGE
                box = FloatRect(x=left, y=0, width=wide, height=height)
            photograph(page, picture, box)
            context.close()


def photograph(page: Page, name: str, box: FloatRect | None = None) -> None:
    """Keep what a page shows, in 256 colours: a third of the size, and nobody sees it."""
    shot = Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")
    few = shot.quantize(256, kmeans=3, dither=Image.Dither.NONE)
    few.save(IMAGES / f"{name}.png", optimize=True)


def forebay_(*words: str | Path, cwd: Path) -> None:
    """Run a command, whose output is of no interest unless it fails."""
    command = [sys.executable, "-m", "forebay", *map(str, words)]
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)


MAKERS: dict[str, Callable[[], None]] = {"watch": terminal, "explore": explorer, "reports": reports}

if __name__ == "__main__":
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name]()
