"""What the shell offers after Tab: kinds, links, papers, suites and fields."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay import _engine
from forebay._engine import ScenarioError

if TYPE_CHECKING:
    from forebay.scenario import Scenario


def kinds(incomplete: str) -> list[tuple[str, str]]:
    """Kinds of disciplines, each with its summary; after a comma the next one."""
    before, comma, _ = incomplete.rpartition(",")
    found = json.loads(_engine.kinds())["kinds"]
    return [(f"{before}{comma}{each['name']}", each["summary"]) for each in found]


def controls(incomplete: str) -> list[tuple[str, str]]:
    """Congestion controls, each with its summary; after a comma the next one."""
    before, comma, _ = incomplete.rpartition(",")
    found = json.loads(_engine.kinds())["controls"]
    return [(f"{before}{comma}{each['name']}", each["summary"]) for each in found]


def everything(incomplete: str) -> list[tuple[str, str]]:
    """Whatever `forebay kinds` explains."""
    del incomplete
    catalogue = json.loads(_engine.kinds())
    return [(each["name"], each["summary"]) for group in catalogue.values() for each in group]


def links(ctx: Any, incomplete: str) -> list[str]:
    """Links of the scenario that the command line names."""
    del incomplete
    scenario = _scenario(ctx)
    try:
        return [] if scenario is None else [each["name"] for each in scenario.resolved()["links"]]
    except ScenarioError:
        return []


def papers(incomplete: str) -> list[str]:
    """Papers of the collection."""
    del incomplete
    from forebay.papers import library

    return list(library.names())


def suites(incomplete: str) -> list[str]:
    """Suites of tests."""
    del incomplete
    from forebay.suite import catalogue

    return catalogue.names()


def fields(ctx: Any, incomplete: str) -> list[str]:
    """Fields of a scenario by path."""
    return _next_steps(_paths(ctx), incomplete)


def settings(ctx: Any, incomplete: str) -> list[str]:
    """What `--set` takes: the fields of the scenario that the command line names."""
    return [
        path if path.endswith((".", "=")) else f"{path}="
        for path in _next_steps(_paths(ctx), incomplete)
    ]


def _paths(ctx: Any) -> Iterable[str]:
    scenario = _scenario(ctx)
    with contextlib.suppress(ScenarioError):
        if scenario is not None:
            return list(_of(scenario.effective(), ""))
    from forebay._reference.files import File, open_schema

    return open_schema(ctx.params.get("for_") or File.scenario).paths()


def _scenario(ctx: Any) -> Scenario | None:
    """The scenario whose file is on the command line so far."""
    from forebay.scenario import load

    # What stands before an option without its value has not been taken for the argument yet.
    for word in (ctx.params.get("scenario"), *ctx.args):
        if word is not None and Path(word).is_file():
            with contextlib.suppress(ScenarioError, OSError):
                return load(word)
    return None


def _of(value: Any, before: str) -> Iterable[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _of(inner, f"{before}.{name}" if before else name)
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for number, inner in enumerate(value):
            name = inner.get("name") if isinstance(inner, dict) else None
            yield from _of(inner, f"{before}.{name}" if name else f"{before}[{number}]")
    else:
        yield before


def _next_steps(paths: Iterable[str], incomplete: str) -> list[str]:
    """Paths that go on as typed, cut after the next step, so that a list stays short."""
    found = []
    for path in paths:
        if path.startswith(incomplete):
            end = path.find(".", len(incomplete))
            found.append(path if end < 0 else path[: end + 1])
    return list(dict.fromkeys(found))
