"""Circles among the modules of each crate: `python tools/rust_circles.py`, part of `make lint`.

Two modules with the same parent must not need each other, directly or through others. A path counts
for the module where the named item is defined, however many `use` lie between. Code for tests is
left out. A method called on a value, and a macro used without a path, name no module. Prints the
modules of each circle with the lines that close it. Exit code 1 if there is one.

`cargo modules dependencies --acyclic` is not used: it takes a type and its own method for a circle,
and a child that names its parent, which is the usual form of a Rust module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Path_ = tuple[str, ...]
"""A module or an item by its names from the crate's root."""


# What is not code, and may hold braces or words that look like it.
SILENT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|\\'|[^\\'])'""", re.S
)
FOR_TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
USE = re.compile(r"\buse ([^;]+);")
INLINE = re.compile(r"\bmod (\w+) \{")
DEFINITION = re.compile(
    r"\b(?=(?:struct|enum|union|trait|type|fn|const|static|macro_rules!) (?:mut )?(\w+))"
)
# A path, or one name that may come from a glob: a type, a function or a macro.
NAMED = re.compile(r"(?<![.\w])(?:\w+(?:\s*::\s*\w+)+|[A-Z]\w*|\w+(?=[(!]))")


@dataclass
class Module:
    """One module, with all paths as written."""

    paths: dict[Path_, str] = field(default_factory=dict)
    """What it names, and where first."""

    defined: set[str] = field(default_factory=set)
    imported: dict[str, Path_] = field(default_factory=dict)
    globs: list[Path_] = field(default_factory=list)


def main() -> int:
    """Check every crate."""
    found = 0
    for crate in sorted(Path("crates").iterdir()):
        for parent, circle, places in circles(read(crate / "src")):
            found += 1
            print(f"{crate.name}: {'::'.join(('crate', *parent))}: {{{', '.join(circle)}}}")
            print("".join(f"    {place}\n" for place in places), end="")
    return min(found, 1)


def read(source: Path) -> dict[Path_, Module]:
    """The modules of a crate."""
    modules: dict[Path_, Module] = {(): Module()}
    tests: set[Path_] = set()
    files = [
        (file.relative_to(source).with_suffix("").parts, file) for file in source.glob("**/*.rs")
    ]
    # A parent before its children. A `main.rs` or a program in `bin` is a crate of its own.
    for names, file in sorted(files, key=lambda found: len(found[0]) - (found[0][-1] == "mod")):
        own = names[:-1] if names[-1] in ("mod", "lib") else names
        if names[0] in ("bin", "main") or any(own[:n] in tests for n in range(len(own) + 1)):
            continue
        text = SILENT.sub(lambda silent: blank(silent[0]), file.read_text("utf-8"))
        for item in list(items_for_tests(text)):
            if declared := re.search(r"\bmod (\w+);", text[item]):
                tests.add((*own, declared[1]))
            text = text[: item.start] + blank(text[item]) + text[item.stop :]
        read_module(modules, own, file, text)
    return modules


def read_module(modules: dict[Path_, Module], own: Path_, file: Path, text: str) -> None:
    """Adds a module, and those that are written in it; `text` is the file's, blank elsewhere."""
    module = modules.setdefault(own, Module())
    while inline := INLINE.search(text):
        end = end_of_item(text, inline.start())
        inner = blank(text[: inline.end()]) + text[inline.end() : end - 1]
        read_module(modules, (*own, inline[1]), file, inner)
        text = text[: inline.start()] + blank(text[inline.start() : end]) + text[end:]
    module.defined |= set(DEFINITION.findall(text))
    for macro in re.findall(r"#\[macro_export\]\s*macro_rules! (\w+)", text):
        modules[()].imported[macro] = ("crate", *own, macro)
    for use in USE.finditer(text):
        for path, name in expanded(re.sub(r"\s*([{},:;])\s*", r"\1", use[1])):
            module.paths.setdefault(path, place(file, text, use.start()))
            if name == "*":
                module.globs.append(path)
            else:
                module.imported[name] = path
    for named in NAMED.finditer(USE.sub(lambda use: blank(use[0]), text)):
        path = tuple(re.split(r"\s*::\s*", named[0]))
        if path not in module.paths:
            module.paths[path] = place(file, text, named.start())


def blank(text: str) -> str:
    """Blanks in place of a text."""
    return re.sub(r"[^\n]", " ", text)


def items_for_tests(text: str) -> Iterator[slice]:
    """The place of each item that is only for tests."""
    end = 0
    while marked := FOR_TESTS.search(text, end):
        end = end_of_item(text, marked.end())
        yield slice(marked.start(), end)


def end_of_item(text: str, at: int) -> int:
    """The end of the item, the field or the variant at a place."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] in "{[(") - (text[end] in ")]}")
        if depth < 0:
            return end
        if depth == 0 and text[end] in ";},":
            return end + 1
    return len(text)


def place(file: Path, text: str, at: int) -> str:
    """A line of a file."""
    return f"{file}:{text.count(chr(10), 0, at) + 1}"


def expanded(tree: str, prefix: Path_ = ()) -> Iterator[tuple[Path_, str]]:
    """Every path of a use tree, and the name that it gets; `*` for all names of a module."""
    depth, start = 0, 0
    for at, letter in enumerate(tree + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            part, start = tree[start:at], at + 1
            head, brace, inner = part.partition("{")
            head, _, renamed = head.strip().partition(" as ")
            path = prefix + tuple(step for step in head.split("::") if step)
            if brace:
                yield from expanded(inner.removesuffix("}"), path)
            elif part.strip():
                plain = path[:-1] if path[-1] in ("self", "*") else path
                yield plain, renamed or (path[-1] if path[-1] != "self" else plain[-1])


def home(
    path: Path_,
    at: Path_,
    modules: dict[Path_, Module],
    seen: set[tuple[str, Path_]],
    guessed: bool = False,
) -> Path_ | None:
    """The module that defines what `path` names in module `at`; None if none of this crate does.

    `seen` are the names that have been looked for, each with its module. A `guessed` path leads
    through a glob, which may not have the name.
    """
    for step, name in enumerate(path):
        module = modules[at]
        if name in ("crate", "super"):
            at = at[:-1] if name == "super" else ()
        elif (*at, name) in modules:
            at = (*at, name)
        elif name in module.defined:
            return at
        elif name != "self":
            if (name, at) in seen:
                return None
            seen.add((name, at))
            if name in module.imported:
                way = module.imported[name] + path[step + 1 :]
                return (home if guessed else target)(way, at, modules, seen)
            ahead = ((*glob, *path[step:]) for glob in module.globs)
            found = (home(way, at, modules, seen, guessed=True) for way in ahead)
            return next((other for other in found if other is not None), None)
    return at


def target(
    path: Path_, own: Path_, modules: dict[Path_, Module], seen: Iterable[tuple[str, Path_]] = ()
) -> Path_ | None:
    """As `home`, but a name that a macro defines counts for the module that the path leads to."""
    ends = range(len(path), 0, -1)
    found = (home(path[:end], own, modules, set(seen)) for end in ends)
    return next((module for module in found if module is not None), None)


def circles(modules: dict[Path_, Module]) -> Iterator[tuple[Path_, list[str], list[str]]]:
    """The circles among children of one module: the parent, the children, the places."""
    needs: dict[Path_, dict[str, dict[str, str]]] = {}
    for own, module in modules.items():
        for path, where in module.paths.items():
            other = target(path, own, modules)
            if other is None:
                continue
            common = 0
            while common < min(len(own), len(other)) and own[common] == other[common]:
                common += 1
            if common < min(len(own), len(other)):
                among = needs.setdefault(own[:common], {})
                among.setdefault(own[common], {}).setdefault(other[common], where)
    for parent, graph in sorted(needs.items()):
        reach = {name: reached(name, graph) for name in graph}
        rest = sorted(name for name in graph if name in reach[name])
        while rest:
            circle = [name for name in rest if name in reach[rest[0]] and rest[0] in reach[name]]
            rest = [name for name in rest if name not in circle]
            places = [
                f"{name} -> {other}: {where}"
                for name in circle
                for other, where in sorted(graph[name].items())
                if other in circle
            ]
            yield parent, circle, places


def reached(start: str, graph: dict[str, dict[str, str]]) -> set[str]:
    """Every module that one needs, directly or through others."""
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        new = set(graph.get(ahead.pop(), ())) - seen
        seen |= new
        ahead += new
    return seen


if __name__ == "__main__":
    sys.exit(main())
