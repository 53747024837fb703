"""The page at `try/` of the site: explore with the engine in the page, without a server.

It is the page of `forebay explore`. In the place of its connection (`live.js`) is a worker, which
runs the WebAssembly module of `make web`. A scenario is opened by its name, `?scenario=household`,
and a story by its step, `#story=wred&step=1`. Nothing is loaded from elsewhere or sent anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from forebay._explore import stories
from forebay._explore.stage import usual
from forebay._scenario import Scenario, load

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "target/wasm32-unknown-unknown/web/forebay_web.wasm"
PAGE = ROOT / "python/forebay/_explore/page"
SCRIPTS = ROOT / "crates/web/js"
EXAMPLES = PurePosixPath("examples")
INDEX = "try/index.html"

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'"
)
"""What the page may load: nothing from elsewhere."""


@cache
def scenarios() -> dict[PurePosixPath, str]:
    """The examples that can be opened, by file, each with its name in addresses.

    Those that read other files, such as captures, cannot: a page has no files.
    """
    found: dict[PurePosixPath, str] = {}
    for path in sorted((ROOT / EXAMPLES).rglob("*.toml")):
        example = EXAMPLES / path.relative_to(ROOT / EXAMPLES).as_posix()
        if "[[traffic]]" in path.read_text("utf-8") and not load(path).resolved()["files"]:
            found[example] = "-".join(example.relative_to(EXAMPLES).with_suffix("").parts)
    return found


def address(example: PurePosixPath) -> str | None:
    """Where an example is opened, from the root of the site; none if it cannot be."""
    name = scenarios().get(example)
    return None if name is None else f"{INDEX}?scenario={name}"


def story_address(name: str) -> str:
    """Where a story is opened, from the root of the site."""
    return f"{INDEX}#story={name}&step=1"


def shown(scenario: Scenario) -> dict[str, Any]:
    """What the worker is told of a scenario."""
    return {
        "scenario": scenario.document,
        "name": scenario.name,
        "queues": usual(scenario),
        "link": None,
        "plays": True,
    }


def files() -> Iterator[tuple[str, bytes]]:
    """The files of the folder `try`, each with its content; none without the module."""
    if not MODULE.exists():
        return
    index = (PAGE / "index.html").read_text("utf-8")
    charset = '<meta charset="utf-8">\n'
    policy = f'{charset}<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    yield "index.html", index.replace(charset, policy, 1).encode()
    for path in sorted(PAGE.rglob("*")):
        name = path.relative_to(PAGE).as_posix()
        if path.is_file() and not name.endswith((".d.ts", "index.html", "live.js")):
            yield f"static/{name}", path.read_bytes()
    for path in sorted(SCRIPTS.glob("*.js")):
        yield f"static/{path.name}", path.read_bytes()
    yield f"static/{MODULE.name}", MODULE.read_bytes()
    told = [story.for_stage() | {"base": ""} for story in stories.all_stories()]
    yield "stories.json", json.dumps(told).encode()
    for example, name in scenarios().items():
        yield f"scenarios/{name}.json", json.dumps(shown(load(ROOT / example))).encode()
