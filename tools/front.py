"""The picture on the first page of the site: a step of a guided story, recorded frame by frame.

The frames are those that `forebay explore` sends to its page, at fixed instants, and the page's own
modules draw them. All of it is written into the page, so that it works without a server.
"""

from __future__ import annotations

import base64
import gzip
import json
import queue
import re
import urllib.parse
from pathlib import Path
from typing import Any

from forebay._explore import protocol, stories
from forebay._explore.stage import Client, Stage

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "python/forebay/_explore/page"
SCRIPT = ROOT / "docs/site/front.js"
STORY, STEP = "bufferbloat", 1
"""The upload begins."""
GRAIN_NS = 25_000_000
"""Between two frames, of which 20 are shown a second: half of real time, as the story has it."""
WAIT_S = 60
"""For a frame, at most."""

_IMPORT = re.compile(r'^(import .*|\}) from "[^"]*/([^"/]+)\.js";$', re.M)
_SHOWN = ("classes", "flows", "nodes", "links")
_LANE = ("id", "label", "colour", "kind", "queue", "limit_packets", "limit_bytes")


def html() -> str:
    """The page's scripts: the frames, compressed, the modules that draw them, and the player."""
    packed = gzip.compress(json.dumps(recorded(), separators=(",", ":")).encode(), mtime=0)
    modules: dict[str, str] = {}
    script = _with_modules(SCRIPT, modules)
    imports = json.dumps({"imports": {name: _address(text) for name, text in modules.items()}})
    return (
        f'<script type="text/plain" id="front-data">{base64.b64encode(packed).decode()}</script>\n'
        f'<script type="importmap">{imports}</script>\n'
        f'<script type="module">{script}</script>\n'
    )


def recorded() -> dict[str, Any]:
    """What does not move of the stage, and its frames."""
    story = stories.load(STORY)
    step = story.step[STEP]
    heard: queue.Queue[dict[str, Any]] = queue.Queue()
    client = Client(lambda text: heard.put(json.loads(text)))
    stage = Stage(story.run, story.lanes_of(STEP + 1), story.link)
    stage.start()
    try:
        stage.connect(client)
        shown = heard.get(timeout=WAIT_S)
        frames = []
        for at_ns in range(step.at_ns, step.until_ns + 1, GRAIN_NS):
            _send(stage, client, "seek", at_ns=at_ns)
            while (said := heard.get(timeout=WAIT_S)).get("now_ns") != at_ns:
                _drawn(stage, client, said)
            _drawn(stage, client, said)
            frames.append({"now_ns": at_ns, "lanes": [_plain(lane) for lane in said["lanes"]]})
    finally:
        stage.stop()
    lanes = [{key: lane[key] for key in _LANE} for lane in shown["lanes"]]
    return {"stage": {key: shown[key] for key in _SHOWN} | {"lanes": lanes}, "frames": frames}


def _drawn(stage: Stage, client: Client, frame: dict[str, Any]) -> None:
    """Answer a frame, so that the next one comes."""
    if frame["type"] == "frame":
        _send(stage, client, "ack", number=frame["number"])


def _send(stage: Stage, client: Client, type_: str, **fields: int) -> None:
    stage.post(client, protocol.command(json.dumps({"type": type_, **fields})))


def _plain(lane: dict[str, Any]) -> dict[str, Any]:
    """A lane without its series; of ages, the page shows only that of the packet that is next."""
    for each in lane["queues"]:
        for packet in each["packets"][1:]:
            packet[4] = 0
    return {key: value for key, value in lane.items() if key not in ("first", "points")}


def _with_modules(path: Path, modules: dict[str, str]) -> str:
    """The text of a module that imports others by name; these are added to `modules`."""
    text = path.read_text("utf-8")
    for _, name in _IMPORT.findall(text):
        if name not in modules:
            modules[name] = ""  # a circle ends here
            modules[name] = _with_modules(PAGE / f"{name}.js", modules)
    return _IMPORT.sub(r'\1 from "\2";', text)


def _address(text: str) -> str:
    return f"data:text/javascript,{urllib.parse.quote(text, safe=_UNQUOTED)}"


_UNQUOTED = " ;/?:@&=+$,-_.!~*'()[]{}|^`"
"""What may stand in such an address as it is."""
