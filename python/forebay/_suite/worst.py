"""The suite `attack`: worst cases that were found, run under any discipline.

A case is the network that `forebay attack` found for one discipline, as small as it could be made.
Its harm to the traffic that was there before is measured under every discipline alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PrivateAttr

from forebay import _disk, _engine, _written, stats
from forebay._engine import ScenarioError
from forebay._report.page import Cell, Md, Page, Row, Section, Table, Text, anchor
from forebay._runs import Change
from forebay._runs.folder import claim
from forebay._scenario import Scenario, with_plugins
from forebay._suite import catalogue, tables
from forebay.attack import words
from forebay.attack.measure import MEASURES, Measure, Meter, Watching
from forebay.attack.plan import salts
from forebay.stats import Interval
from forebay.sweep import several
from forebay.tune.runs import Runs

RUNS = 8
"""Replications of each case under each discipline."""


class Case(_written.Table):
    """A file of the suite `attack`."""

    title: str
    """What it does, in a few words."""
    found: str
    """Label of the discipline for which it was found."""
    measure: str
    """The harm, as `forebay attack --measure` has it."""
    joined: list[str]
    """Entries of traffic that joined; the harm is to the others."""
    confirmed: list[str]
    """How it was confirmed."""
    about: str
    """How it comes about."""
    change: str
    """What to change."""
    better: dict[str, Any]
    """A discipline that does better here, as a scenario writes it."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Of its first run."""
    scenario: dict[str, Any]
    """The network."""
    _name: str = PrivateAttr("")

    @property
    def name(self) -> str:
        """Of its file."""
        return self._name

    @property
    def of(self) -> Measure:
        """The harm."""
        return MEASURES[self.measure]

    @property
    def run(self) -> Scenario:
        """What runs."""
        return Scenario.of(with_plugins(self.scenario), f"{self.name}.toml", str(catalogue.HOME))


@dataclass(frozen=True, slots=True)
class Judged:
    """A case under every discipline."""

    case: Case
    harms: Mapping[str, Interval | None]
    """By label; none where it cannot run or be told."""
    better: Interval | None
    """Under what does better."""


def cases(name: str) -> list[Case]:
    """Every case of a suite, in the order of its file names.

    Raises:
        ScenarioError: one is not understood.
    """
    found = []
    for path in sorted((catalogue.HOME / name).glob("*.toml")):
        if path.name == "suite.toml":
            continue
        case = _written.read(Case, _written.load(path), path.name)
        if case.measure not in MEASURES:
            raise ScenarioError(
                f'{path.name}: measure: there is no "{case.measure}"; one of {", ".join(MEASURES)}'
            )
        case._name = path.stem
        found.append(case)
    return found


def check(name: str, head: catalogue.SuiteTable, disciplines: list[str] | None) -> None:
    """Check that the cases can be read and the disciplines are there.

    Raises:
        ScenarioError: something is not understood.
    """
    cases(name)
    catalogue.check_kinds(_queues(head, disciplines))


def _queues(head: catalogue.SuiteTable, disciplines: list[str] | None) -> dict[str, dict[str, Any]]:
    labels = list(head.disciplines) if disciplines is None else disciplines
    return {label: head.disciplines.get(label, {"kind": label}) for label in labels}


def run(
    name: str,
    head: catalogue.SuiteTable,
    disciplines: list[str] | None,
    folder: Path,
    *,
    quick: bool,
    jobs: int | None,
    command: str,
    tell: several.Tell,
) -> Path:
    """Run the cases that a folder lacks, under some disciplines, and write the report."""
    queues = _queues(head, disciplines)
    labels = list(queues)
    claim(folder, "suite.json", {"suite": name, "quick": quick, "disciplines": labels}, tables.held)
    count = catalogue.QUICK_RUNS if quick else RUNS
    every, spent = cases(name), 0.0
    judged = []
    for at, case in enumerate(every):
        tell(f"{case.name}: {case.title}", at / len(every))
        found, seconds = _judged(case, queues, folder / case.name, count, jobs)
        judged.append(found)
        spent += seconds
    return _write(name, head, judged, labels, folder, command, count, spent, quick)


def _judged(
    case: Case, queues: Mapping[str, dict[str, Any]], folder: Path, count: int, jobs: int | None
) -> tuple[Judged, float]:
    base = case.run
    link = base.compared_link()
    work = Watching(Meter(base, link, case.joined))
    _disk.make_folder(folder)
    marks = {"forebay suite attack": 1, "case": base.identity()[:16]}
    seeds = range(case.seed, case.seed + count)
    spent = 0.0
    harms: list[Interval | None] = []
    with Runs(base, folder, jobs, work=work, made_for=("case", marks)) as runs:
        for queue in (*queues.values(), case.better):
            change = Change(queue, (link,))
            try:
                paths = salts(change.of(base), link)
                runs.check(change)
            except ScenarioError:
                harms.append(None)
                continue
            drawn = [
                (replace(change, values=tuple((path, seed) for path in paths)), seed)
                for seed in seeds
            ]
            rows = runs.measures(drawn)
            for row in rows:
                if "fault" in row:
                    raise ScenarioError(f"{case.name}: {row['fault']}")
            spent += sum(float(row.get("cpu_s", 0.0)) for row in rows)
            values = [row.get(case.measure) for row in rows]
            harms.append(stats.interval([None if v is None else float(v) for v in values]))
    return Judged(case, dict(zip(queues, harms, strict=False)), harms[-1]), spent


def _write(
    name: str,
    head: catalogue.SuiteTable,
    judged: Sequence[Judged],
    labels: Sequence[str],
    folder: Path,
    command: str,
    count: int,
    spent: float,
    quick: bool,
) -> Path:
    runs = sum(count * (1 + sum(h is not None for h in each.harms.values())) for each in judged)
    told = Text(
        f"`{command}`, forebay {tables.build()}: {len(judged)} cases, {runs} runs, {count} of "
        f"each discipline in each case, {spent:.0f} s of processor time."
    )
    worst = Section("The worst known network of each", [_own(judged, labels)])
    every = Section("Every case under every discipline", [Text(_READING), _every(judged, labels)])
    parts = [_case(each) for each in judged]
    kept = "Every run is kept in the journal of its case’s folder."
    more = tables.what_was_run(head.citation, command, spent, kept)
    quickly = f" **A quick run: {count} runs of each.**" * quick
    about = Md(f"{len(judged)} worst cases under {len(labels)} disciplines.{quickly}")
    page = Page(head.title, "Suite", about, [worst, every, *parts, more])
    results = {
        "suite": name,
        "version": _engine.version,
        "quick": quick,
        "cases": [
            {
                "name": each.case.name,
                "found": each.case.found,
                "measure": each.case.measure,
                "harm": {label: tables.ends(found) for label, found in each.harms.items()},
                "better": tables.ends(each.better),
            }
            for each in judged
        ],
    }
    return tables.save(page, [told, worst, every, *parts], folder, results)


_READING = (
    "Mean harm and its 95 % interval, in the unit of the case’s measure; the discipline for which "
    "a case was found is in its name. A dash: it cannot run there."
)


def _shown(case: Case, found: Interval | None) -> str:
    return words.interval(case.of, found)


def _own(judged: Sequence[Judged], labels: Sequence[str]) -> Table:
    """Of each discipline and measure the case in which it does worst, and what does best there."""
    rows: list[Row] = []
    for measure in dict.fromkeys(each.case.measure for each in judged):
        some = [each for each in judged if each.case.measure == measure]
        for label in labels:
            known = [(each, found) for each in some if (found := each.harms[label]) is not None]
            if not known:
                continue
            each, found = max(known, key=lambda pair: pair[1].mean)
            other, then = _best(each)
            rows.append(
                [
                    label,
                    Md(f"[{each.case.name}](#{anchor(_heading(each.case))})"),
                    each.case.title,
                    each.case.of.title,
                    _shown(each.case, found),
                    "" if other == label else other,
                    "" if other == label else _shown(each.case, then),
                ]
            )
    columns = ["discipline", "case", "what it is", "harm", "how much", "what does better", "then"]
    return Table(columns, rows, "Worst cases", words=4)


def _best(judged: Judged) -> tuple[str, Interval | None]:
    """What does best in a case: what it names, unless another discipline does better."""
    named = str(judged.case.better.get("kind"))
    best, least = named, judged.better
    for label, found in judged.harms.items():
        if found is not None and (least is None or found.mean < least.mean - 1e-9):
            best, least = label, found
    return best, least


def _every(judged: Sequence[Judged], labels: Sequence[str]) -> Table:
    rows: list[Row] = [
        [
            f"{each.case.name}: {each.case.of.title}",
            *(_shown(each.case, each.harms[label]) for label in labels),
        ]
        for each in judged
    ]
    return Table(["case", *labels], rows, "Every case")


def _heading(case: Case) -> str:
    return f"{case.name}: {case.title}"


def _case(each: Judged) -> Section:
    case = each.case
    confirmed = f"Confirmed: {', '.join(case.confirmed)}." if case.confirmed else "Not confirmed."
    text = (
        f"{case.about} {confirmed} Under {case.found}: {_shown(case, each.harms.get(case.found))}."
    )
    better = Cell(f"{case.change} Then: {_shown(case, each.better)}.")
    return Section(_heading(case), [Text(text), Text(str(better))])
