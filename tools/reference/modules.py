"""The reference pages of the Python package: what its docstrings say, with types and examples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

SOURCES = Path(__file__).parents[2] / "python"
"""The folder of the package."""
MODULES = [
    "forebay",
    "forebay.sweep",
    "forebay.tune",
    "forebay.fit",
    "forebay.attack",
    "forebay.stats",
    "forebay.steady",
    "forebay.chart",
    "forebay.testing",
    "forebay.lab",
    "forebay.lab.virtual",
    "forebay.gym",
]
"""Modules for users' programs, in the order of the pages."""
_SETTING = """\
>>> import forebay
>>> scenario = forebay.load("examples/lab.toml")
"""
_MORE = {
    "forebay.attack": """\
>>> found = attack.attack(scenario, "out/attack", discipline="codel",
...     measure="p99", seconds=1, finds=1, confirm=False)
""",
    "forebay.fit": """\
>>> found = fit.fit(["examples/home.pcap.gz"], "out/home-fit")
""",
    "forebay.sweep": """\
>>> study = sweep.load("examples/uplink-study.toml", ["scenario.duration=6s", "until.at_most=5"])
>>> runs = sweep.run(study, "out/study")
""",
}
_LEFT_OUT = {"self", "cls"}
_PUBLIC = """\
What these pages describe is public: a module's `__all__` has its names. Modules whose names begin \
with an underscore are private, and so are the files inside a public package: they can change with \
any version."""


def modules() -> list[str]:
    """Those that there are."""
    paths = [(name, SOURCES / name.replace(".", "/")) for name in MODULES]
    return [name for name, path in paths if path.is_dir() or path.with_suffix(".py").is_file()]


def file_of(module: str) -> str:
    """The page of a module."""
    return "-".join(["python", *module.split(".")[1:]]) + ".md"


def public(module: str) -> dict[str, griffe.Object]:
    """What a module offers, by name."""
    loaded = _load(module)
    return {name: _target(loaded[name]) for name in exports(module)}


def exports(module: str) -> list[str]:
    """The names of its `__all__`."""
    return [str(name) for name in _load(module).exports or ()]


def members(owner: griffe.Object) -> dict[str, griffe.Object]:
    """What a class offers, by name."""
    if not isinstance(owner, griffe.Class):
        return {}
    found = {name: _target(each) for name, each in owner.members.items() if name[0] != "_"}
    return {name: each for name, each in found.items() if not _of_base(each)}


def _of_base(each: griffe.Object) -> bool:
    """Whether a base of the class says what an attribute is for: it is set here, and no more."""
    if each.docstring or not isinstance(each, griffe.Attribute):
        return False
    return not _type(each) or each.labels == {"class-attribute"}


def python_page(module: str) -> str:
    """The page of a module, in Markdown."""
    loaded = _load(module)
    lines = [f"# `{module}`", "", "(`make docs` generates this page from the docstrings.)", ""]
    lines += _sections(loaded)
    if module == "forebay":
        others = [f"[{each}]({file_of(each)})" for each in modules()[1:]]
        lines += ["", f"Other modules: {', '.join(others)}.", "", _PUBLIC]
    lines += [
        "",
        "Every example begins with:",
        "",
        "```pycon",
        *setting(module).splitlines(),
        "```",
    ]
    for name, each in sorted(public(module).items(), key=lambda pair: pair[0].lower()):
        lines += ["", f"## `{name}`", "", *_entry(name, each)]
    return "\n".join(lines).rstrip() + "\n"


def setting(module: str) -> str:
    """What stands before every example of a module."""
    _, _, inner = module.partition(".")
    imported = f"from forebay import {inner.split('.')[0]}\n" if inner else ""
    return _SETTING + (f">>> {imported}" if imported else "") + _MORE.get(module, "")


def _load(module: str) -> griffe.Object:
    package, _, inner = module.partition(".")
    loaded = _package(package)
    return _target(loaded[inner] if inner else loaded)


@cache
def _package(name: str) -> griffe.Object:
    # All of a package is read, whatever is asked for. The compiled engine speaks by its stubs.
    found = griffe.load(
        name, search_paths=[SOURCES], docstring_parser="google", allow_inspection=False
    )
    return _target(found)


def _target(each: griffe.Object | griffe.Alias) -> griffe.Object:
    return each.final_target if isinstance(each, griffe.Alias) else each


def _entry(name: str, each: griffe.Object) -> Iterator[str]:
    if isinstance(each, griffe.Function):
        yield from ["```py", _signature(name, each), "```", ""]
    yield from _sections(each)
    made = each.members.get("__init__")
    if isinstance(made, griffe.Function) and made.docstring:
        yield from ["", "```py", _signature(name, made).removesuffix(" -> None"), "```", ""]
        yield from _sections(made)
    within = members(each)
    attributes = [(key, one) for key, one in within.items() if isinstance(one, griffe.Attribute)]
    if attributes:
        yield from ["", "| Attribute | Type | Meaning |", "|---|---|---|"]
        for key, attribute in attributes:
            about = attribute.docstring.value if attribute.docstring else ""
            yield f"| `{key}` | {_code(_type(attribute))} | {_cell(about)} |"
    for key, one in within.items():
        if isinstance(one, griffe.Function):
            yield from ["", f"### `{name}.{key}`", "", "```py", _signature(key, one), "```", ""]
            yield from _sections(one)


def _signature(name: str, function: griffe.Function) -> str:
    """A function's head, a parameter a line if it is long."""
    words, star = [], False
    for each in function.parameters:
        if each.name in _LEFT_OUT:
            continue
        if each.kind is griffe.ParameterKind.keyword_only and not star:
            star = True
            words.append("*")
        prefix = {"variadic positional": "*", "variadic keyword": "**"}.get(_kind(each), "")
        star = star or prefix == "*"
        text = f"{prefix}{each.name}"
        if each.annotation is not None:
            text += f": {each.annotation}"
        if each.default is not None and not prefix:
            text += f" = {each.default}"
        words.append(text)
    returned = f" -> {function.returns}" if function.returns is not None else ""
    line = f"{name}({', '.join(words)}){returned}"
    if len(line) <= 88:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){returned}"])


def _kind(parameter: griffe.Parameter) -> str:
    return parameter.kind.value if parameter.kind is not None else ""


def _sections(each: griffe.Object) -> Iterator[str]:
    """What a docstring says."""
    for number, section in enumerate(each.docstring.parsed if each.docstring else ()):
        if number:
            yield ""
        if isinstance(section, griffe.DocstringSectionText):
            yield from _text(section.value)
        elif isinstance(section, griffe.DocstringSectionAdmonition):
            yield from _text(section.value.contents)
        elif isinstance(section, griffe.DocstringSectionParameters):
            yield from ["| Parameter | Type | Meaning |", "|---|---|---|"]
            for one in section.value:
                annotation = "" if one.annotation is None else str(one.annotation)
                yield f"| `{one.name}` | {_code(annotation)} | {_cell(one.description)} |"
        elif isinstance(section, griffe.DocstringSectionReturns):
            yield "Returns: " + " ".join(_cell(one.description) for one in section.value)
        elif isinstance(section, griffe.DocstringSectionRaises):
            yield "Raises:"
            yield ""
            for error in section.value:
                yield f"- `{error.annotation}`: {_cell(error.description)}"


def _text(value: str) -> Iterator[str]:
    """Text in which examples are blocks of code."""
    inside, indent = False, 0
    for line in value.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            inside, indent = True, len(line) - len(line.lstrip())
            yield "```pycon"
        elif inside and not line.strip():
            inside = False
            yield "```"
        # What a test does not run, as it needs root, is an example nonetheless.
        yield (line[indent:] if inside else line).removesuffix("  # doctest: +SKIP")
    if inside:
        yield "```"


def _type(each: griffe.Object) -> str:
    annotation = getattr(each, "annotation", None)
    return "" if annotation is None else str(annotation)


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
