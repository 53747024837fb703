"""What the shell offers after Tab: kinds, links, papers, suites and fields."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from forebay import _engine
from forebay._engine import ScenarioError

if TYPE_CHECKING:
    from forebay._scenario import Scenario


def _offers(list_all: Callable[[click.Context, str], Iterable[str | tuple[str, str]]]) -> Any:
    """What click asks: the names of a list that go on as typed, some with their meaning."""

    def begun(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        pairs = (
            each if isinstance(each, tuple) else (each, None) for each in list_all(ctx, incomplete)
        )
        return [
            CompletionItem(name, help=says) for name, says in pairs if name.startswith(incomplete)
        ]

    return begun


@_offers
def kinds(_: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    """Kinds of disciplines, each with its summary; after a comma the next one."""
    return _listed("kinds", incomplete)


@_offers
def controls(_: click.Context, incomplete: str) -> Iterable[tuple[str, str]]:
    """Congestion controls, each with its summary; after a comma the next one."""
    return _listed("controls", incomplete)


@_offers
def everything(_: click.Context, __: str) -> Iterable[tuple[str, str]]:
    """Whatever `forebay kinds` explains."""
    catalogue = json.loads(_engine.kinds())
    return [(each["name"], each["summary"]) for group in catalogue.values() for each in group]


@_offers
def links(ctx: click.Context, _: str) -> Iterable[str]:
    """Links of the scenario that the command line names."""
    scenario = _scenario(ctx)
    try:
        return [] if scenario is None else [each["name"] for each in scenario.resolved()["links"]]
    except ScenarioError:
        return []


@_offers
def papers(_: click.Context, __: str) -> Iterable[str]:
    """Papers of the collection."""
    from forebay.papers import library

    return library.names()


@_offers
def suites(_: click.Context, __: str) -> Iterable[str]:
    """Suites of tests."""
    from forebay._suite import catalogue

    return catalogue.names()


@_offers
def fields(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Fields of a scenario by path."""
    return _next_steps(_paths(ctx), incomplete)


@_offers
def settings(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """What `--set` takes: the fields of the scenario that the command line names."""
    return [
        path if path.endswith((".", "=")) else f"{path}="
        for path in _next_steps(_paths(ctx), incomplete)
    ]


def _listed(group: str, incomplete: str) -> Iterable[tuple[str, str]]:
    before, comma, _ = incomplete.rpartition(",")
    found = json.loads(_engine.kinds())[group]
    return [(f"{before}{comma}{each['name']}", each["summary"]) for each in found]


def _paths(ctx: click.Context) -> Iterable[str]:
    scenario = _scenario(ctx)
    with contextlib.suppress(ScenarioError):
        if scenario is not None:
            return list(_of(scenario.effective(), ""))
    from forebay._reference.files import File, open_schema

    return open_schema(ctx.params.get("for_") or File.scenario).paths()


def _scenario(ctx: click.Context) -> Scenario | None:
    """The scenario whose file is on the command line so far."""
    from forebay._scenario import load

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
