"""What suites there are: a folder each, with `suite.toml` and a file for every test."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from forebay import _engine, sweep
from forebay._engine import ScenarioError
from forebay.sweep.axes import quantity
from forebay.sweep.plan import Study

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOME = Path(str(resources.files("forebay.suite")))
QUICK_RUNS = 3
"""Replications of a quick run; the fewest that have an ellipse."""


@dataclass(frozen=True, slots=True)
class Trade:
    """A graph of goodput over queueing delay, for one class of traffic."""

    class_: str
    propagation_ms: float
    """One-way propagation delay of its path, which is no queueing delay."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of two measures."""

    title: str
    of: str
    over: str


@dataclass(frozen=True, slots=True)
class Test:
    """One test: a study under every discipline, and what to show of it."""

    name: str
    """Of its file and of the folder of its results."""
    section: str
    title: str
    requirement: str
    """How strongly the standard asks for it."""
    about: str
    study: Study
    trades: tuple[Trade, ...]
    ratios: tuple[Ratio, ...]
    evolution: str | None
    """The step of the first axis whose runs are drawn over time; they span the steps before."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A set of tests."""

    name: str
    title: str
    citation: str
    quick: bool
    tests: tuple[Test, ...]


def names() -> list[str]:
    """The suites that there are."""
    return sorted(path.parent.name for path in HOME.glob("*/suite.toml"))


def load(name: str, disciplines: Sequence[str] | None = None, quick: bool = False) -> Suite:
    """A suite.

    Args:
        name: one of `names()`.
        disciplines: kinds to test; the suite's own unless given. Those that the suite names have
            its parameters, others their defaults; all have the buffer of each test.
        quick: few replications, for a look.

    Raises:
        ScenarioError: there is no such suite or discipline, or a test that could not run.
    """
    if name not in names():
        raise ScenarioError(f'there is no suite "{name}"; one of {", ".join(names())}')
    folder = HOME / name
    header = _read(folder / "suite.toml")
    known = header["disciplines"]
    named = list(known) if disciplines is None else disciplines
    _check(named)
    chosen = {kind: known.get(kind, {"kind": kind}) for kind in named}
    files = sorted(folder.glob("[0-9]*.toml"), key=lambda path: _numbers(path.stem))
    tests = tuple(_test(path, chosen, quick) for path in files)
    return Suite(name, header["title"], header["citation"], quick, tests)


def _check(disciplines: Sequence[str]) -> None:
    """Refuse what is no kind, or has no `limit` to take the buffer of a test."""
    kinds = {
        kind["name"]: any(each["name"] == "limit" for each in kind["parameters"])
        for kind in json.loads(_engine.kinds())["kinds"]
    }
    testable = ", ".join(name for name, limited in kinds.items() if limited)
    if not disciplines:
        raise ScenarioError(f"no disciplines are named; choose among {testable}")
    for name in disciplines:
        if name not in kinds:
            raise ScenarioError(f'there is no discipline "{name}"; choose among {testable}')
        if not kinds[name]:
            raise ScenarioError(
                f'discipline "{name}" has no `limit` and cannot take the buffer that a test gives '
                f"to all; choose among {testable}"
            )


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _numbers(name: str) -> tuple[list[int], str]:
    """Sections in order: 8.2 before 8.2.5 before 10.2."""
    section, _, rest = name.partition("-")
    return [int(each) for each in section.split(".")], rest


def _test(path: Path, disciplines: Mapping[str, Mapping[str, Any]], quick: bool) -> Test:
    found = _read(path)
    document = found["study"]
    overrides = found.get("overrides", {})
    limit = _limit(document)
    document["disciplines"] = [
        {"label": label, "limit": limit, **queue, **overrides.get(label, {})}
        for label, queue in disciplines.items()
    ]
    if quick:
        document["replications"] = QUICK_RUNS
    study = replace(sweep.read(document, path.name, path.parent), title=found["title"])
    return Test(
        path.stem,
        found["section"],
        found["title"],
        found["requirement"],
        found["about"],
        study,
        tuple(Trade(each["class"], _ms(each["propagation"])) for each in found["trade"]),
        tuple(Ratio(**each) for each in found.get("ratio", [])),
        found.get("evolution"),
    )


def _limit(document: Mapping[str, Any]) -> str:
    """The buffer of a test (RFC 7928, section 3.2): that of the queue which disciplines replace."""
    scenario = document["scenario"]
    links = [scenario["dumbbell"]] if "dumbbell" in scenario else scenario["link"]
    return str(next(link["queue"]["limit"] for link in links if "queue" in link))


def _ms(text: str) -> float:
    found = quantity(text)
    assert found is not None and found[1] == "s", text
    return 1e3 * found[0]


def anchor(test: Test) -> str:
    """A name for links to a test."""
    return re.sub(r"[^a-z0-9]+", "-", test.name.lower())
