"""Circles among the modules of each crate: `python tools/rust_circles.py`, part of `make lint`.

Two modules with the same parent must not need each other, directly or through others. Code for
tests is left out. Exit code 1 if there is a circle that is not allowed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ALLOWED = {("sim", "engine")}
"""Crates and modules whose children may need each other: the world and what moves in it."""

Path_ = tuple[str, ...]
"""A module by its names from the crate's root."""


@dataclass
class Module:
    """One module: what it names, and what it gives on under other names."""

    paths: list[Path_] = field(default_factory=list)
    exports: dict[str, Path_] = field(default_factory=dict)


def main() -> int:
    """Check every crate."""
    found = 0
    for crate in sorted(Path("crates").iterdir()):
        modules = read(crate / "src")
        for parent, circle in circles(modules):
            if (crate.name, *parent) not in ALLOWED:
                found += 1
                print(f"{crate.name}: {'::'.join(('crate', *parent))}: {' -> '.join(circle)}")
    return min(found, 1)


def read(source: Path) -> dict[Path_, Module]:
    """The modules of a crate."""
    modules: dict[Path_, Module] = {}
    for file in sorted(source.glob("**/*.rs")):
        names = file.relative_to(source).with_suffix("").parts
        if names[0] == "bin" or names[-1] == "tests":
            continue
        own = names[:-1] if names[-1] in ("mod", "lib", "main") else names
        text = re.sub(r"#\[cfg\(test\)\].*", "", file.read_text("utf-8"), flags=re.DOTALL)
        text = re.sub(r"//[^\n]*", "", text)
        module = modules.setdefault(own, Module())
        for public, tree in re.findall(r"(pub(?:\([a-z]+\))? )?use ([^;]+);", text):
            for path, name in expanded("".join(tree.split()).replace("as", "as ")):
                absolute = resolved(path, own)
                if absolute is not None:
                    module.paths.append(absolute)
                    if public:
                        module.exports[name] = absolute
        for path in re.findall(r"\b(?:crate|super)(?:::\w+)+", text):
            if (absolute := resolved(tuple(path.split("::")), own)) is not None:
                module.paths.append(absolute)
    return modules


def expanded(tree: str, prefix: Path_ = ()) -> Iterator[tuple[Path_, str]]:
    """Every path of a use tree, and the name that it gets."""
    depth, start = 0, 0
    for at, letter in enumerate(tree + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            part, start = tree[start:at], at + 1
            head, brace, inner = part.partition("{")
            path = prefix + tuple(step for step in head.split("::") if step)
            if brace:
                yield from expanded(inner.removesuffix("}"), path)
            elif part:
                yield (path[:-1] if path[-1] == "self" else path), path[-1]


def resolved(path: Path_, own: Path_) -> Path_ | None:
    """The path from the crate's root; None if it leads to another crate."""
    at, first = own, path[0]
    if first == "crate":
        return path[1:]
    if first not in ("self", "super"):
        return None
    for step, name in enumerate(path):
        if name == "super":
            at = at[:-1]
        elif name != "self":
            return at + path[step:]
    return at


def target(path: Path_, modules: dict[Path_, Module]) -> Path_:
    """The module where what a path names is made."""
    for _ in range(8):
        end = next(n for n in range(len(path), -1, -1) if path[:n] in modules or n == 0)
        module, rest = modules.get(path[:end], Module()), path[end:]
        if not rest or rest[0] not in module.exports:
            return path[:end]
        path = module.exports[rest[0]] + rest[1:]
    return path


def circles(modules: dict[Path_, Module]) -> Iterator[tuple[Path_, list[str]]]:
    """Circles among children of one module."""
    needs: dict[Path_, dict[str, set[str]]] = {}
    for own, module in modules.items():
        for path in module.paths:
            other = target(path, modules)
            common = 0
            while common < min(len(own), len(other)) and own[common] == other[common]:
                common += 1
            if common < min(len(own), len(other)):
                among = needs.setdefault(own[:common], {})
                among.setdefault(own[common], set()).add(other[common])
    for parent, graph in sorted(needs.items()):
        if circle := cycle(graph):
            yield parent, circle


def cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """A circle of a graph, its first name again at the end; None without one."""
    for start in sorted(graph):
        trail, ways = [start], [iter(sorted(graph[start]))]
        seen = {start}
        while ways:
            step = next(ways[-1], None)
            if step is None:
                ways.pop()
                trail.pop()
            elif step == start:
                return [*trail, start]
            elif step not in seen:
                seen.add(step)
                trail.append(step)
                ways.append(iter(sorted(graph.get(step, ()))))
    return None


if __name__ == "__main__":
    sys.exit(main())
