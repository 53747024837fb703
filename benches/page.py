"""How large and how quick the page with the engine in it is, in Chromium without a screen.

    make web && .venv/bin/python benches/page.py [RUNS]

Prints, over RUNS runs (5 by default):
- what the page loads: bytes, and bytes compressed with gzip;
- from the address to the first frame that shows a packet, medians and ranges, and the processor
  time of all of Chromium until then, which other programs on the machine change little;
- frames drawn a second while ten flows at 10 Mbit/s play at real speed, the speed reached, and the
  processor time of a frame; and the load of the machine.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/python")]

import try_it  # type: ignore[import-not-found]  # noqa: E402 - a tool of the site

from explore.browser import browsing  # noqa: E402 - as the tests open it

TEN_FLOWS = {
    "scenario": {
        "duration": "600s",
        "dumbbell": {
            "rate": "10Mbit",
            "delay": "10ms",
            "queue": {"kind": "fifo", "limit": "100p"},
        },
        "traffic": [{"kind": "bulk", "flows": 10, "tcp": {"congestion": "cubic"}}],
    },
    "name": "ten-flows.toml",
    "queues": ["today", "fq-codel"],
    "link": None,
    "plays": True,
}
SPY = """
const parse = JSON.parse;
window.frames_seen = [];
JSON.parse = text => {
  const read = parse(text);
  for (const each of read.ok ?? []) {
    if (each.type !== "frame") continue;
    const shown = each.lanes.some(lane => lane.moving_total > 0 || lane.total > 0);
    requestAnimationFrame(() => window.frames_seen.push([performance.now(), shown, each.actual]));
  }
  return read;
};
"""
"""Notes when each frame is drawn, whether it shows a packet, and the speed that is reached."""


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def spent() -> float:
    """Processor time in s of all processes below this one so far (Linux)."""
    parents, times = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # It has ended.
            continue
        parents[int(path.parent.name)] = int(fields[1])
        # Its own, and that of children that have ended.
        times[int(path.parent.name)] = sum(map(int, fields[11:15]))
    below, found = [os.getpid()], 0
    while below:
        parent = below.pop()
        children = [child for child, of in parents.items() if of == parent]
        found += sum(times[child] for child in children)
        below += children
    return found / os.sysconf("SC_CLK_TCK")


def spread(values: list[float], digits: int) -> str:
    """Median and range."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main(runs: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        made = dict(try_it.files())
        for name, content in made.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        asked: set[str] = set()
        Path(folder, "scenarios/ten-flows.json").write_text(json.dumps(TEN_FLOWS))
        handler = partial(Quiet, directory=folder)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, browsing() as browser:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/index.html?scenario=ten-flows"
            first, work, rates, speeds, frames = [], [], [], [], []
            for _ in range(runs):
                page = browser.new_page(viewport={"width": 1360, "height": 900})
                page.add_init_script(SPY)
                page.on("request", lambda request: asked.add(urlsplit(request.url).path[1:]))
                before = spent()
                page.goto(address)
                page.wait_for_function("() => window.frames_seen.some(each => each[1])")
                work.append(spent() - before)
                first.append(page.evaluate("window.frames_seen.find(each => each[1])[0] / 1000"))
                page.wait_for_timeout(3000)
                last, before = page.evaluate("performance.now()"), spent()
                page.wait_for_timeout(5000)
                used = spent() - before
                seen = page.evaluate("window.frames_seen")
                drawn = [each for each in seen if each[0] > last]
                rates.append((len(drawn) - 1) / (drawn[-1][0] - drawn[0][0]) * 1000)
                frames.append(1000 * used / len(drawn))
                speeds.append(drawn[-1][2])
                page.close()
            server.shutdown()
    loaded = [content for name, content in made.items() if name in asked]
    packed = sum(len(gzip.compress(each, 9)) for each in loaded)
    print(f"loaded: {sum(map(len, loaded)):,} bytes, {packed:,} compressed")
    print(
        f"first packet on the screen: {spread(first, 2)} s; {spread(work, 2)} s of processor time"
    )
    print(f"ten flows: {spread(rates, 1)} frames a second, at {spread(speeds, 2)} of real time;")
    print(f"  {spread(frames, 1)} ms of processor time a frame")
    print(f"load of the machine: {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
