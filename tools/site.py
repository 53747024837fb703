"""What the documentation site has beside the pages of `docs`.

Its first page has a picture that moves (`front.py`). The whole pages of papers, suites and
validation, and their figures, are made from the results that are kept. A page shows such a figure
by a comment on a line of its own: `<!-- figure images/NAME.svg: words -->`.

Pages link to files of the source tree, such as examples. Each of them becomes a page of its own.
Nothing is loaded from elsewhere, also not for the search of pages that are opened as files.

Where the engine is built as a module for pages (`make web`), each example that is named has a link
which opens it in the page of explore (`try_it`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from forebay._explore import stories
from forebay._report import chart
from forebay._report.panel import Panel, read
from forebay.papers import library
from forebay.papers import page as paper_page

sys.path.append(str(Path(__file__).parent))
import front
import results_pages
import try_it

ROOT = Path(__file__).parents[1]
DOCS = PurePosixPath("docs")
HOME = "index.md"
SOURCES = PurePosixPath("source")
LANGUAGES = {".rs": "rust", ".toml": "toml", ".py": "python", ".c": "c", ".cpp": "cpp", ".h": "c"}
PLAIN = {".md", ".ipynb", ".png", ".svg", ".json"}

RANKS = (
    (r"source/(crates|benches|fuzz|tests|tools|python|papers)/", 0.0),
    (r"source/(THIRD-PARTY|LICENSE-.*|CHANGELOG)\.", 0.0),
    ("source/examples/README.md", 1.0),
    ("source/", 0.2),
    ("papers/", 0.3),
    (r"suite-.*-results", 0.0),
    (r"(validation|performance|performance-tried|architecture|release|gallery)\.", 0.3),
    (r"reference/glossary\.", 20.0),
    (r"reference/(kinds|congestion|scenario)\.", 6.0),
    ("reference/python", 0.5),
    ("reference/", 1.5),
    (r"install\.", 1.0),
    (r"(extending|explore|gate|lab|suite-.*)\.", 6.0),
    ("", 3.0),
)
"""How much a page counts in the search, by the beginning of its name: what is to be done and what
a word means come before results and sources; 0: it is not searched."""
RESULTS = re.compile(r"(papers/|(validation|performance|performance-tried)\.)")
"""Pages whose tables are results, in which nobody searches."""
WORDS: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_name("search.yml").read_text("utf-8")
)
"""What people type, by the page that answers it."""

SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the theme would load for the search of pages that are opened as files."""
WORKER = "site/worker.js"
"""What does this here."""

DIALOG = 'data-md-component="search" role="dialog"'

_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe)[^>]* src=\"https?:|<link rel=\"stylesheet\" href=\"https?:"
)
_FIGURE = re.compile(r"^<!-- figure (\S+): (.*?) -->$", re.M)
_WATCH = "[Watch a scenario](explore.md)"
"""The first page's button; with the engine in a page, it plays the story of the picture there."""
_STORY = re.compile(r"^\| `([\w-]+)` \|", re.M)
_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def _written(page: str) -> PurePosixPath:
    """Where the text of a page of the site stands in the source tree."""
    path = PurePosixPath(page)
    if path.is_relative_to(SOURCES):
        return path.relative_to(SOURCES)
    return DOCS / page


def _page_of(target: PurePosixPath) -> str:
    """The page or file of the site that shows a file of the source tree."""
    if target == PurePosixPath("README.md"):
        return HOME
    if target.is_relative_to(DOCS):
        return str(target.relative_to(DOCS))
    shown = SOURCES / target
    return str(shown if target.suffix in PLAIN else shown.with_name(f"{shown.name}.md"))


def _targets(page: str, text: str) -> set[PurePosixPath]:
    """Files of the source tree that a page links to."""
    folder = _written(page).parent
    found = {PurePosixPath(normpath(folder / link[1])) for link in _LINK.findall(text)}
    return {path for path in found if (ROOT / path).exists()}


def _source(path: PurePosixPath) -> str:
    """A page that shows a file, or what is in a folder."""
    whole = ROOT / path
    if whole.is_dir():
        names = sorted(each.name for each in whole.iterdir() if each.suffix in LANGUAGES)
        return f"# {path}/\n\n" + "".join(f"- [{name}]({path.name}/{name})\n" for name in names)
    text = whole.read_text("utf-8")
    return f"# {path}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text}\n````\n"


def _papers() -> list[dict[str, Any]]:
    """The records of the papers' runs."""
    return [json.loads(path.read_text("utf-8")) for path in ROOT.glob("papers/*/results.json")]


def _figures() -> Iterator[tuple[str, list[Panel], str]]:
    """All figures: the file on the site, the panels, and the words."""
    for paper in _papers():
        for each in paper["figures"]:
            panels = list(map(read, each["panels"]))
            yield f"papers/{paper_page.image(paper, each)}", panels, each["caption"]
    yield from results_pages.figures()


def _pages() -> Iterator[tuple[str, str]]:
    """The whole pages of papers, suites and validation: the file on the site, and its text."""
    for paper in _papers():
        home = library.folder_of(paper["paper"])
        yield f"papers/{paper['paper']}.md", paper_page.text(paper_page.blocks(paper, home))
    yield from results_pages.pages()


def _replace(files: Files, file: File) -> None:
    """Add a file, in place of one of that name."""
    if (before := files.get_file_from_path(file.src_uri)) is not None:
        files.remove(before)
    files.append(file)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made here, and every file of the source tree that a page links to."""
    for name in ("icon.svg", "colours.css"):
        files.append(File.generated(config, f"site/{name}", abs_src_path=str(front.PAGE / name)))
    for name, text in _pages():
        _replace(files, File.generated(config, name, content=text))
    images, panels, words = zip(*_figures(), strict=True)
    with ProcessPoolExecutor() as pool:
        drawn = pool.map(chart.svg, panels, words, chunksize=4)
        for image, svg in zip(images, drawn, strict=True):
            files.append(File.generated(config, image, content=svg))
    for name, content in try_it.files():
        path = f"{PurePosixPath(try_it.INDEX).parent}/{name}"
        there = InclusionLevel.INCLUDED
        files.append(File.generated(config, path, content=content, inclusion=there))
    new = [file for file in files if file.is_documentation_page()]
    while new:
        linked = {path for file in new for path in _targets(file.src_uri, file.content_string)}
        new = []
        for path in sorted(linked):
            name = _page_of(path)
            if files.get_file_from_path(name) is not None or path.is_relative_to(DOCS):
                continue
            if path.suffix in PLAIN:
                file = File.generated(config, name, content=(ROOT / path).read_bytes())
            else:
                file = File.generated(config, name, content=_source(path))
            files.append(file)
            new += [file] if file.is_documentation_page() else []
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Point links into the source tree at the pages that show it."""
    here = page.file.src_uri
    boost = next(boost for name, boost in RANKS if re.match(name, here))
    page.meta["search"] = {"boost": boost} if boost else {"exclude": True}
    # The search takes tags from here. Nothing else shows them.
    if here in WORDS:
        page.meta["tags"] = WORDS[here]
    folder = _written(here).parent
    markdown = _FIGURE.sub(r"![\2](\1)", markdown)
    tried: set[PurePosixPath] = set()

    def from_here(page: str) -> str:
        return relpath(page, PurePosixPath(here).parent)

    def try_of(example: PurePosixPath) -> str:
        """The link that opens an example in the page, once on each."""
        to = try_it.address(example) if try_it.MODULE.exists() and example not in tried else None
        tried.add(example)
        return f" ([try it]({from_here(to)}))" if to else ""

    def moved(link: re.Match[str]) -> str:
        target = PurePosixPath(normpath(folder / link[2]))
        if not (ROOT / target).exists():
            return link[0]
        return f"{link[1]}{from_here(_page_of(target))}{link[3]}{try_of(target)}"

    def told(row: re.Match[str]) -> str:
        if row[1] not in stories.names() or not try_it.MODULE.exists():
            return row[0]
        return f"| `{row[1]}` ([try it]({from_here(try_it.story_address(row[1]))})) |"

    if here == HOME and try_it.MODULE.exists():
        story = from_here(try_it.story_address(front.STORY))
        markdown = markdown.replace(_WATCH, f"[Try it in this browser]({story})")
    heading, end, rest = _STORY.sub(told, _LINK.sub(moved, markdown)).partition("\n")
    return f"{heading}{try_of(_written(here).with_suffix(''))}{end}{rest}"


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Put the picture that moves into the first page, and tables of results out of the search."""
    here = page.file.src_uri
    if RESULTS.match(here):
        html = html.replace("<table>", "<table data-search-exclude>")
    return html + front.html() if here == HOME else html


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Let the search work without a network, and refuse pages that load anything from elsewhere."""
    worker = relpath(WORKER, PurePosixPath(page.file.dest_uri).parent)
    output = output.replace(SHIM, worker)
    # The theme's search is a dialog without a name.
    output = output.replace(DIALOG, f'{DIALOG} aria-label="Search"')
    if found := _ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri}: loads from elsewhere: {found[0]}")
    return output
