"""Circles among the modules of each crate: `python tools/rust_circles.py`, part of `make lint`.

Two modules with the same parent must not need each other, directly or through others. A path counts
for the module where the named item is defined, however many `pub use` lie between. Code for tests
is left out. Prints the modules of each circle with the lines that close it. Exit code 1 if there
is one.

`cargo modules dependencies --acyclic` is not used: it takes a type and its own method for a circle,
and a child that names its parent, which is the usual form of a Rust module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Path_ = tuple[str, ...]
"""A module or an item by its names from the crate's root."""


@dataclass
class Module:
    """One module: the paths that it names, each with its place, and what it exports."""

    paths: list[tuple[Path_, str]] = field(default_factory=list)
    exports: dict[str, Path_] = field(default_factory=dict)
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
    texts: dict[Path_, tuple[Path, str]] = {}
    for file in sorted(source.glob("**/*.rs")):
        names = file.relative_to(source).with_suffix("").parts
        if names[0] != "bin" and names[-1] != "tests":
            own = names[:-1] if names[-1] in ("mod", "lib", "main") else names
            texts[own] = (file, without_tests(file.read_text("utf-8")))
    modules = {own: Module() for own in texts}
    for own, (file, text) in texts.items():
        module = modules[own]
        for use in re.finditer(r"(pub(?:\([a-z]+\))? )?use ([^;]+);", text):
            for path, name in expanded(re.sub(r"\s*([{},:;])\s*", r"\1", use[2])):
                absolute = resolved(path, own, modules)
                if absolute is not None:
                    module.paths.append((absolute, place(file, text, use.start())))
                    if use[1] and name == "*":
                        module.globs.append(absolute)
                    elif use[1]:
                        module.exports[name] = absolute
        for named in re.finditer(r"\b(?:crate|super|self)(?:::\w+)+", text):
            absolute = resolved(tuple(named[0].split("::")), own, modules)
            if absolute is not None:
                module.paths.append((absolute, place(file, text, named.start())))
    return modules


def without_tests(text: str) -> str:
    """The text with blanks in place of comments, and of each item that is only for tests."""

    def blank(text: str) -> str:
        return re.sub(r"[^\n]", " ", text)

    text = re.sub(r"//[^\n]*", lambda comment: blank(comment[0]), text)
    while marked := re.search(r"#\[cfg\((?:all\()?test\b[^\]]*\]", text):
        end, depth = marked.end(), 0
        while end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
            if depth == 0 and text[end - 1] in ";}":
                break
        text = text[: marked.start()] + blank(text[marked.start() : end]) + text[end:]
    return text


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


def resolved(path: Path_, own: Path_, modules: dict[Path_, Module]) -> Path_ | None:
    """The path from the crate's root; None if it leads to another crate."""
    at, first = own, path[0]
    if first == "crate":
        return path[1:]
    if first not in ("self", "super"):
        return own + path if (*own, first) in modules else None
    for step, name in enumerate(path):
        if name == "super":
            at = at[:-1]
        elif name != "self":
            return at + path[step:]
    return at


def target(path: Path_, modules: dict[Path_, Module], depth: int = 8) -> Path_:
    """The module that defines what a path names."""
    end = next(n for n in range(len(path), -1, -1) if path[:n] in modules or n == 0)
    module, rest = modules.get(path[:end], Module()), path[end:]
    if not rest or not depth:
        return path[:end]
    if rest[0] in module.exports:
        return target(module.exports[rest[0]] + rest[1:], modules, depth - 1)
    through = [glob for glob in module.globs if rest[0] in modules.get(glob, Module()).exports]
    return target(through[0] + rest, modules, depth - 1) if through else path[:end]


def circles(modules: dict[Path_, Module]) -> Iterator[tuple[Path_, list[str], list[str]]]:
    """The circles among children of one module: the parent, the children, the places."""
    needs: dict[Path_, dict[str, dict[str, str]]] = {}
    for own, module in modules.items():
        for path, where in module.paths:
            other = target(path, modules)
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
