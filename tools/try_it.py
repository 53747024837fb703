"""The page at `try/` of the site: explore with the engine in the page, without a server.

It is the page of `forebay explore`. In the place of its connection (`live.js`) is a worker, which
runs the WebAssembly module of `make web`. A scenario is opened by its name, `?scenario=household`,
and a story by its step, `#story=wred&step=1`. Nothing is loaded from elsewhere or sent anywhere.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from forebay._comparison import usual
from forebay._explore import stories
from forebay._report import html
from forebay._scenario import Scenario, load

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "target/page/forebay.wasm"
PLAYGROUND = ROOT / "target/page/playground.wasm"
PAGE = ROOT / "python/forebay/_explore/page"
SCRIPTS = ROOT / "crates/web/js"
OWN = ROOT / "crates/web/page"
JUDGE = ROOT / "crates/web/python"
PYODIDE = ROOT / "tools/js/node_modules/pyodide"
EXAMPLES = PurePosixPath("examples")
INDEX = "try/index.html"

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "frame-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""What the page may load: nothing from elsewhere."""


@cache
def scenarios() -> dict[PurePosixPath, str]:
    """The examples that can be opened, by file, each with its name in addresses."""
    found: dict[PurePosixPath, str] = {}
    for path in sorted((ROOT / EXAMPLES).rglob("*.toml")):
        example = EXAMPLES / path.relative_to(ROOT / EXAMPLES).as_posix()
        if "[[traffic]]" in path.read_text("utf-8"):
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
        "files": [each["file"] for each in scenario.resolved()["files"]],
    }


PACKAGE = (
    "__init__.py", "stats.py", "_advice/*.py", "_cache.py", "_compared/*.py", "_comparison.py",
    "_disk.py", "_explore/__init__.py", "_explore/compared.py", "_files.py", "_measures.py",
    "_plugins.py", "_relative.py", "_report/*", "_runs/__init__.py", "_runs/folder.py",
    "_runs/pool.py", "_runs/result.py", "_runs/service.py", "_runs/task.py", "_scenario.py",
)  # fmt: skip
"""What of the package judges a comparison and writes its report, and what that imports."""

LIBRARIES = ("jinja2", "markupsafe", "markdown_it", "mdurl", "tomli_w")
"""Libraries in Python that the report needs."""


def packed() -> bytes:
    """The Python code that judges comparisons in a page, as a zip file."""
    found: dict[str, bytes] = {}
    package = ROOT / "python/forebay"
    for pattern in PACKAGE:
        for path in package.glob(pattern):
            if path.is_file():
                found[f"forebay/{path.relative_to(package).as_posix()}"] = path.read_bytes()
    found[f"forebay/_report/{html.LIBRARY}"] = html.library().encode()
    for path in JUDGE.glob("*.py"):
        found[path.name] = path.read_bytes()
    for name in LIBRARIES:
        folder = Path(str(importlib.import_module(name).__file__)).parent
        for path in folder.rglob("*.py"):
            found[f"{name}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(found.items()):
            # Equal content gives an equal file.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def compares() -> bool:
    """Whether pages can compare: the interpreter of Python is at hand."""
    return (PYODIDE / "pyodide.mjs").exists()


def files() -> Iterator[tuple[str, bytes]]:
    """The files of the folder `try`, each with its content; none without the module.

    Among them is a service worker, which keeps them for the time without a network.
    """
    found = dict(_files())
    if not found:
        return
    version = hashlib.sha256()
    for name, content in sorted(found.items()):
        version.update(f"{name} {hashlib.sha256(content).hexdigest()}".encode())
    worker = (SCRIPTS / "offline.js").read_text("utf-8")
    kept = json.dumps({"version": version.hexdigest()[:16], "first": sorted(first(found))})
    found["offline.js"] = f"const KEPT = {kept};\n{worker}".encode()
    yield from found.items()


def first(names: Iterable[str]) -> Iterator[str]:
    """What is kept at the first visit: all but Python and the module of the playground."""
    late = ("static/pyodide/", "static/forebay.zip", f"static/{PLAYGROUND.name}")
    for name in names:
        if not name.startswith(late):
            yield name


def _files() -> Iterator[tuple[str, bytes]]:
    if not MODULE.exists():
        return
    charset = '<meta charset="utf-8">\n'
    policy = f'{charset}<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    pages = [PAGE / "index.html", *(sorted(OWN.glob("*.html")) if compares() else ())]
    for path in pages:
        text = path.read_text("utf-8")
        if path.parent == PAGE and compares():
            text = text.replace('  <div class="tools icons">', f"  {NAVIGATION}\n{_ICONS}", 1)
            text = text.replace(_STYLE, f'{_STYLE}\n<link rel="stylesheet" href="static/own.css">')
        # A page with a policy of its own keeps it.
        own = "Content-Security-Policy" in text
        yield path.name, (text if own else text.replace(charset, policy, 1)).encode()
    for path in sorted(PAGE.rglob("*")):
        name = path.relative_to(PAGE).as_posix()
        if path.is_file() and not name.endswith((".d.ts", "index.html", "live.js")):
            yield f"static/{name}", path.read_bytes()
    for path in sorted((*SCRIPTS.glob("*.js"), *OWN.glob("*.css"))):
        if path.name != "offline.js":
            yield f"static/{path.name}", path.read_bytes()
    yield f"static/{MODULE.name}", MODULE.read_bytes()
    if compares():
        yield f"static/{PLAYGROUND.name}", PLAYGROUND.read_bytes()
        for name in INTERPRETER:
            yield f"static/pyodide/{name}", (PYODIDE / name).read_bytes()
        yield "static/forebay.zip", packed()
    told = [story.for_stage() | {"base": ""} for story in stories.all_stories()]
    yield "stories.json", json.dumps(told).encode()
    listed = []
    for example, name in scenarios().items():
        scenario = load(ROOT / example)
        what = shown(scenario)
        title = scenario.document.get("title") or name
        listed.append({"name": name, "title": title, "files": what["files"]})
        yield f"scenarios/{name}.json", json.dumps(what).encode()
        yield f"scenarios/{name}.toml", (ROOT / example).read_bytes()
        for file in what["files"]:
            yield f"files/{file}", (ROOT / example).parent.joinpath(file).read_bytes()
    yield "scenarios.json", json.dumps(listed).encode()


INTERPRETER = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
"""Files of Pyodide."""
NAVIGATION = (
    '<nav class="tools" aria-label="Pages"><a href="compare.html">Compare your own</a>'
    '<a href="play.html">Write a discipline</a><a href="../index.html">Documents</a></nav>'
)
_ICONS = '  <div class="tools icons">'
_STYLE = '<link rel="stylesheet" href="static/page.css">'
