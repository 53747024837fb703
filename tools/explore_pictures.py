"""Make the pictures of docs/explore.md: docs/images/explore*.png and watch.svg.

Run from the source tree with its Python, in which forebay is built, where there is a chromium:
`.venv/bin/python tools/explore_pictures.py`.
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console

import forebay
from forebay.comparison import variants_of
from forebay.watch import Watch

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
EXAMPLE = ROOT / "examples" / "branch-uplink.toml"
sys.path.insert(0, str(ROOT / "tests" / "python"))

from explore.browser import Tab, browsing, serving  # noqa: E402 - lies beside the tests


def page() -> None:
    """An example, and a step of a story."""
    with browsing() as browser:
        for name, words, at_s, size in (
            ("explore", [str(EXAMPLE), "--disciplines", "fifo 200p,fq-codel"], 14.0, (1360, 1010)),
            ("explore-story", ["--story", "cp-aqm"], None, (1360, 860)),
        ):
            width, height = size
            context = browser.new_context(viewport={"width": width, "height": height})
            with serving(ROOT, *words) as server:
                tab = Tab(context.new_page())
                tab.open(server.address)
                if at_s is not None:
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
                tab.page.screenshot(path=IMAGES / f"{name}.png")
            context.close()


def terminal() -> None:
    """Three disciplines in the terminal."""
    scenario = forebay.load(EXAMPLE)
    watch = Watch(variants_of(scenario, None, ["fifo 200p", "codel", "fq-codel"]), "uplink")
    for _ in range(140):
        watch.tick(0.1)
    console = Console(width=132, height=30, record=True, file=io.StringIO())
    console.print(watch.draw(132, 30))
    picture = console.export_svg(title="forebay watch")
    # Rich names fonts that a browser would fetch from elsewhere.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S)
    (IMAGES / "watch.svg").write_text(picture, "utf-8")


if __name__ == "__main__":
    terminal()
    page()
