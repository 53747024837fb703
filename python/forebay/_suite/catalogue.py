"""What suites there are: a folder each, with `suite.toml` and a file for every test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from forebay import _engine, _written, sweep
from forebay._allows import Allows
from forebay._engine import ScenarioError
from forebay._judge import Bounds
from forebay._scenario import plugins, quantity
from forebay._suite import candidates
from forebay.sweep import Study

HOME = Path(str(resources.files("forebay._suite")))
QUICK_RUNS = 3
"""Replications of a quick run; the fewest that have an ellipse."""


class Trade(_written.Table):
    """A graph of goodput over queueing delay, for one class of traffic."""

    class_: Annotated[str, Field(alias="class")]
    """The class."""
    propagation: str
    """One-way propagation delay of its path, which is no queueing delay, such as "50ms"."""

    @property
    def propagation_ms(self) -> float:
        """The propagation delay in milliseconds."""
        found = quantity(self.propagation)
        if found is None or found.base_unit != "s":
            raise ScenarioError(f'trade: propagation: expected a time, got "{self.propagation}"')
        return 1e3 * found.value


class Ratio(_written.Table):
    """A quotient of two measures."""

    title: str
    """What it is called."""
    of: str
    """The measure above the line."""
    over: str
    """The measure below the line."""


class Score(_written.Table):
    """What a test of congestion controls judges them by: a line of the league table."""

    title: str
    """What it is called."""
    of: str
    """The measure, a key of `forebay run --json`."""
    unit: str = ""
    """Unit in which it is shown."""
    scale: float = 1.0
    """Shown value for a value of 1."""
    decimals: Annotated[int, Field(ge=0, le=4)] = 1
    """Decimals that are shown."""
    better: Literal["higher", "lower"]
    """Which way is better."""
    matters: Annotated[float, Field(gt=0)]
    """The least difference that matters to anybody, in the unit in which it is shown."""
    of_rtt: bool = False
    """Whether a time in ms is shown as a share of the base round-trip time of its dumbbell."""
    base: str | None = None
    """The step of the test's first axis whose runs all others are divided by."""
    beside: Literal["share", "harm"] | None = None
    """Whether it is taken as a share of what is measured where the control that the test's first
    axis names, the other flow's own, is the one under test; harm is what is missing to all."""


class Check(Allows):
    """What a standard asks, as a number within bounds, or without bounds a number to be shown."""

    section: str
    """Where it is asked, such as "RFC 9332, 1.4"."""
    asks: str
    """What is asked, and how strongly."""
    title: str
    """What the number is called."""
    of: str
    """The measure, a key of `forebay run --json`."""
    over: str | None = None
    """A measure that it is divided by."""
    base: str | None = None
    """The step of the test's first axis whose run with the same seed it is divided by."""
    per_flow: bool = False
    """Whether the sums of two classes are divided by their numbers of flows."""
    per_round: bool = False
    """Whether a count is divided by the base round trips in the measured time."""
    queueing: bool = False
    """Whether the way of a packet of 1500 B over an empty dumbbell is taken off a delay in ms."""
    unit: str = ""
    """Unit in which it is shown."""
    scale: float = 1.0
    """Shown value for a value of 1."""
    decimals: Annotated[int, Field(ge=0, le=4)] = 2
    """Decimals that are shown."""
    packets: int | None = None
    """Where a packet of 1500 B takes longer than `at_most` ms on the bottleneck, the time of so
    many of them is allowed instead."""
    own: bool = False
    """Whether the bounds are ours, since the standard gives none."""
    only: list[str] = Field(default_factory=list)
    """The steps of the test's first axis that it is about; all of them unless given."""
    every: bool = False
    """Whether they are for every single run rather than for the mean."""
    applies: str | None = None
    """A measure that is above zero where this is asked."""
    absent: str = ""
    """What it means that it is not, for the reader."""

    @property
    def bounds(self) -> Bounds:
        """What is allowed: anything if it is not judged."""
        given = self.allowed()
        if len(given) > 1:
            raise ScenarioError(f"{self.title}: give one of within, at_least and at_most, exactly")
        return given[0] if given else Bounds()


class SuiteTable(_written.Table):
    """The file `suite.toml` of a suite."""

    title: str
    """What the suite is called."""
    citation: str
    """The standard or paper that it follows."""
    compares: Literal["disciplines", "controls", "behaviour", "requirements", "worst"] = (
        "disciplines"
    )
    """What is tested: queue disciplines, congestion controls against each other, one congestion
    control's behaviour, case by case, queue disciplines by what a standard requires, or by worst
    cases."""
    disciplines: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Queue tables by label: what is tested unless told otherwise, with the parameters that each
    one's source recommends."""
    references: list[str] = Field(default_factory=list)
    """Congestion controls that are run whichever are tested, since scores refer to them."""


class TestTable(_written.Table):
    """The file of one test of a suite."""

    section: str
    """Section of the standard."""
    title: str
    """What the test is called."""
    requirement: str
    """How strongly the standard asks for it."""
    about: str
    """What it is about."""
    study: dict[str, Any]
    """A study (see `forebay schema --for study`), without disciplines if they are tested."""
    candidates: list[str] = Field(default_factory=list)
    """Traffic entries that use the congestion control under test."""
    score: list[Score] = Field(default_factory=list)
    """What congestion controls are judged by."""
    check: list[Check] = Field(default_factory=list)
    """What the standard asks, as numbers within bounds."""
    trade: list[Trade] = Field(default_factory=list)
    """Graphs of goodput over queueing delay."""
    ratio: list[Ratio] = Field(default_factory=list)
    """Quotients that the test shows."""
    evolution: str | None = None
    """The step of the first axis whose runs are drawn over time."""
    overrides: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Fields of disciplines, by label, that are others in this test."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test: a study under everything that is compared, and what to show of it."""

    name: str
    """Of its file and of the folder of its results."""
    file: TestTable
    study: Study


@dataclass(frozen=True, slots=True)
class Suite:
    """A set of tests."""

    name: str
    file: SuiteTable
    quick: bool
    tests: tuple[Test, ...]
    compared: tuple[str, ...]
    """Labels of the disciplines, or the congestion controls, that are tested."""


def names() -> list[str]:
    """The suites that there are."""
    return sorted(path.parent.name for path in HOME.glob("*/suite.toml"))


def header(name: str) -> SuiteTable:
    """What `suite.toml` of a suite says."""
    if name not in names():
        raise ScenarioError(f'there is no suite "{name}"; one of {", ".join(names())}')
    return _written.read(
        SuiteTable, _written.load(HOME / name / "suite.toml"), f"{name}/suite.toml"
    )


def load(
    name: str,
    disciplines: Sequence[str] | None = None,
    quick: bool = False,
    controls: Sequence[str] | None = None,
) -> Suite:
    """A suite.

    Args:
        name: one of `names()`.
        disciplines: kinds to test; the suite's own unless given. Those that the suite names have
            its parameters, others their defaults; all have the buffer of each test.
        quick: few replications, for a look.
        controls: congestion controls to test; every one that is registered unless given.
    """
    head = header(name)
    if disciplines is not None and head.compares == "controls":
        raise ScenarioError(f"{name} tests congestion controls; leave --disciplines out")
    if controls is not None and head.compares != "controls":
        raise ScenarioError(f"{name} tests queue disciplines; leave --controls out")
    files = sorted((HOME / name).glob("[0-9]*.toml"), key=lambda path: _numbers(path.stem))
    if head.compares == "controls":
        compared = candidates.named(controls)
        run = list(dict.fromkeys([*head.references, *compared]))
        tests = tuple(_control_test(path, run, quick) for path in files)
    else:
        compared = list(head.disciplines) if disciplines is None else list(disciplines)
        chosen = {kind: head.disciplines.get(kind, {"kind": kind}) for kind in compared}
        buffers = _buffers(chosen, needed=head.compares == "disciplines")
        tests = tuple(_test(path, chosen, buffers, quick) for path in files)
    return Suite(name, head, quick, tests, tuple(dict.fromkeys(compared)))


def schema(header: bool) -> dict[str, Any]:
    """The JSON Schema of `suite.toml`, or of the file of a test."""
    return (SuiteTable if header else TestTable).model_json_schema()


def check_kinds(chosen: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse what is no kind.

    Raises:
        ScenarioError: there is none of a name, or none is named.
    """
    _buffers(chosen, needed=False)


def _buffers(chosen: Mapping[str, Mapping[str, Any]], needed: bool) -> dict[str, bool]:
    """Whether each has a `limit` to take the buffer of a test; refuse what is no kind."""
    kinds = {
        kind["name"]: any(each["name"] == "limit" for each in kind["parameters"])
        for kind in json.loads(_engine.kinds(plugins))["kinds"]
    }
    testable = ", ".join(name for name, limited in kinds.items() if limited or not needed)
    if not chosen:
        raise ScenarioError(f"no disciplines are named; choose among {testable}")
    for queue in chosen.values():
        name = queue["kind"]
        if name not in kinds:
            raise ScenarioError(f'there is no discipline "{name}"; choose among {testable}')
        if needed and not kinds[name]:
            raise ScenarioError(
                f'discipline "{name}" has no `limit` and cannot take the buffer that a test gives '
                f"to all; choose among {testable}"
            )
    return {label: kinds[queue["kind"]] for label, queue in chosen.items()}


def _numbers(name: str) -> tuple[list[int], str]:
    """Sections in order: 8.2 before 8.2.5 before 10.2."""
    section, _, rest = name.partition("-")
    return [int(each) for each in section.split(".")], rest


def _control_test(path: Path, controls: Sequence[str], quick: bool) -> Test:
    table = _written.read(TestTable, _written.load(path), path.name)
    own = table.study.get("axis", [])
    axis = candidates.axis(table.candidates, controls, table.study["scenario"].get("tcp", {}))
    return _made(path, table, {**table.study, "axis": [axis, *own]}, quick)


def _test(
    path: Path,
    disciplines: Mapping[str, Mapping[str, Any]],
    buffers: Mapping[str, bool],
    quick: bool,
) -> Test:
    table = _written.read(TestTable, _written.load(path), path.name)
    document = dict(table.study)
    bare = {key: value for key, value in document.items() if key != "link"}
    limit = _limit(sweep.read(bare, path.name, path.parent))
    document["disciplines"] = [
        {"label": label}
        | ({"limit": limit} if buffers[label] else {})
        | {**queue, **table.overrides.get(label, {})}
        for label, queue in disciplines.items()
    ]
    return _made(path, table, document, quick)


def _made(path: Path, table: TestTable, document: dict[str, Any], quick: bool) -> Test:
    if quick:
        document["replications"] = QUICK_RUNS
    study = replace(sweep.read(document, path.name, path.parent), title=table.title)
    return Test(path.stem, table, study)


def _limit(study: Study) -> str:
    """The buffer of a test (RFC 7928, section 3.2): that of the queue which disciplines replace."""
    queues = [link["queue"] for link in study.base.resolved()["links"]]
    return str(next(queue["limit"] for queue in queues if queue is not None))
