"""The set-up that a paper does not tell: its open choices, searched jointly.

1. The studies that claims and conclusions need are run once with two seeds, to learn which of their
   points are asked for. Only these are run from then on.
2. Every set-up is judged if half of the budget allows that. If not, these are, with few seeds: the
   page's, those that differ from it in one choice, and those that the optimiser of `forebay tune`
   proposes.
3. The best set-ups, and the best for every claim that none of these satisfies, are judged again
   with seeds that the search has not seen. The best is the one that satisfies most claims then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._runs.folder import claim
from forebay.papers import library, page, run, studies
from forebay.papers.choices import Choices, SetUp
from forebay.papers.claims import parts
from forebay.papers.data import Data, Where
from forebay.papers.files import ClaimTable, StatementTable
from forebay.papers.judge import deciding, in_range, judged, verdict_of
from forebay.papers.paper import Paper, load
from forebay.sweep import Study, several
from forebay.sweep.layout import COMPLETE
from forebay.tune.proposals import Score, explore
from forebay.tune.space import Parameter

FORMAT = 1
"""Version of the record."""
FEW = (12, 6, 3)
"""Most runs of a point, if a search cannot judge every set-up with as many as the page has."""
AGAIN = 16
"""Most runs of a point when a set-up is judged again, if the page's would take an eighth of the
budget; `FEW` if these would, too."""
LEADERS = 3
"""The best set-ups, which are judged again whatever claims they satisfy."""
_LOOK = 2
"""Runs of a point to learn which are asked for."""
_MOST = 500
"""Most set-ups of a search."""
_SEED = 1

Asked = ClaimTable | StatementTable
Verdict = tuple[str, int, int, str]
"""A verdict, how many of the numbers are in range, of how many, and the reading that decides."""


@dataclass(frozen=True)
class Judged:
    """A set-up and its verdicts."""

    setup: SetUp
    verdicts: Mapping[str, Verdict]
    """Of each claim, by its id; of each conclusion, by its words."""
    claims: tuple[str, ...]
    """Ids of the claims that runs can decide."""
    refusal: str = ""
    """Why it could not run."""

    @cached_property
    def good(self) -> tuple[str, ...]:
        """The claims that hold."""
        return tuple(each for each in self.claims if self.verdict(each) == "reproduced")

    @property
    def numbers(self) -> tuple[int, int]:
        """The claims' numbers in range, and all."""
        of = [self.verdicts[each] for each in self.claims if each in self.verdicts]
        return sum(each[1] for each in of), sum(each[2] for each in of)

    def verdict(self, claim: str) -> str:
        """The verdict on a claim."""
        return self.verdicts[claim][0] if claim in self.verdicts else "not testable"


def fit(
    key: str,
    folder: Path,
    *,
    budget: float = 3600.0,
    jobs: int | None = None,
    command: str,
    tell: several.Tell = lambda _text, _share: None,
) -> dict[str, Any]:
    """Search a paper's open choices jointly, and say which claims hold under which.

    Interrupted at any moment it goes on, called again, where it was.

    Args:
        key: the paper, or the path of a folder with one.
        folder: results of the studies, and `fit.json`.
        budget: processor seconds for runs, over all calls; a set-up that has begun is finished.
        jobs: runs at a time; one a core unless given.
        command: the command line, for the record.
        tell: called about ten times a second.

    Returns:
        The record, as `fit.json` keeps it.

    Raises:
        ScenarioError: no such paper, it declares no choices, or one cannot be set.
        OSError: results could not be kept.
        KeyboardInterrupt: interrupted; every finished run is kept.
    """
    paper = load(key)
    read = needed(paper)
    choices = Choices(paper, read)
    made_for = {"paper": paper.home.name, "version": _engine.version}
    claim(folder, "set-ups.json", made_for, _words)
    search = _Search(paper, choices, read, folder, budget, jobs, tell)
    found = search.record(key if key in library.names() else paper.home.name, command)
    run.write(folder / library.FIT, found)
    return found


def needed(paper: Paper) -> dict[str, Study]:
    """The studies that claims and conclusions need, by name."""
    names = {name for each in _asked(paper) for name in paper.studies_of(each)}
    declared = [each for each in paper.file.study if each.name in names]
    return {each.name: studies.read(each, paper.home, quick=False) for each in declared}


def keep(found: Mapping[str, Any]) -> Path:
    """Keep a record with its paper, and write the paper's short page in docs/papers again.

    Raises:
        ScenarioError: this is not a source tree, or the paper has not been run in full.
    """
    docs = run.docs_folder()
    home = library.folder_of(found["paper"])
    record = library.kept(found["paper"])
    if record is None:
        raise ScenarioError(f"{found['paper']} has no full results yet; forebay paper run first")
    run.write(home / library.FIT, found)
    return page.write_short(record, docs, home)


def _words(held: Mapping[str, Any]) -> str:
    return f"set-ups of {held['paper']}, run with forebay {held['version']}"


def _asked(paper: Paper) -> list[Asked]:
    """What runs can decide."""
    claims = [each for each in paper.claims.claim if not each.not_testable]
    return [*claims, *paper.claims.conclusion]


def _id(asked: Asked) -> str:
    return asked.id if isinstance(asked, ClaimTable) else asked.words


class _Watched(Data):
    """Results that note which points are asked for."""

    points: dict[str, set[str]]

    def _filtered(self, name: str, frame: pl.DataFrame, where: Where | None) -> pl.DataFrame:
        found = super()._filtered(name, frame, where)
        self.points.setdefault(name, set()).update(found["point"])
        return found


class _Search:
    def __init__(
        self,
        paper: Paper,
        choices: Choices,
        read: Mapping[str, Study],
        folder: Path,
        budget: float,
        jobs: int | None,
        tell: several.Tell,
    ) -> None:
        self._paper = paper
        self._choices = choices
        self._asked = _asked(paper)
        self._claims = tuple(each.id for each in self._asked if isinstance(each, ClaimTable))
        self._studies = read
        self._folder = folder
        self._budget = budget
        self._jobs = jobs
        self._tell = tell
        self._tables = {each.name: each.tables for each in paper.file.study}
        self._made: dict[tuple[str, SetUp, int, int], tuple[str, Study]] = {}
        self._known: dict[tuple[str, ...], Verdict] = {}
        # One for all studies: a claim may compare their runs.
        self._fresh = max(study.most for study in read.values())
        self._replications: int | None = None
        self._anew: int | None = None

    def record(self, key: str, command: str) -> dict[str, Any]:
        """Search, and tell what was found."""
        a_run = self._look()
        fits = (each for each in (None, AGAIN, *FEW) if self._eighth(a_run, each))
        self._anew = next(fits, FEW[-1])
        every = self._search(a_run)
        tried = [each for each in every if not each.refusal]
        again = {each.setup: each for each in self._again(tried)}
        best = max(again.values(), key=self._rank)
        last = [again.get(each.setup, each) for each in tried]
        paper, choices = self._paper, self._choices
        return {
            "forebay paper fit": FORMAT,
            "paper": key,
            "version": _engine.version,
            "command": command,
            "files": library.digest(paper.home),
            "cpu_seconds": round(several.spent(self._folder), 1),
            "budget": self._budget,
            "tried": len(tried),
            "setups": choices.count,
            "refused": len(every) - len(tried),
            "again": len(again),
            "choices": [
                {
                    "name": each.name,
                    "words": each.words,
                    "options": [option.name for option in each.option],
                }
                for each in choices.tables
            ],
            "studies": [
                {
                    "name": name,
                    "points": len(study.points),
                    "page_runs": study.most,
                    "runs": self._runs(study, self._replications),
                    "seed": study.seed,
                    "again": self._runs(study, self._anew),
                    "again_seed": study.seed + self._fresh,
                }
                for name, study in self._studies.items()
            ],
            "claims": [self._of_claim(each, last, again) for each in self._claims],
            "page": self._of_setup(again.get(choices.page, last[0])),
            "best": self._of_setup(best),
        }

    def _of_claim(
        self, id_: str, tried: Sequence[Judged], again: Mapping[SetUp, Judged]
    ) -> dict[str, Any]:
        """Under how many set-ups a claim holds, and under which."""
        counts = {
            word: sum(each.verdict(id_) == verdict for each in tried)
            for word, verdict in (
                ("holds", "reproduced"),
                ("open", "not testable"),
                ("differs", "differs"),
            )
        }
        holding = [each for each in tried if id_ in each.good]
        found: dict[str, Any] = {
            "id": id_,
            **counts,
            "again": sum(id_ in each.good for each in again.values()),
        }
        if holding and len(holding) < len(tried):
            sure = [each for each in holding if each.setup in again]
            chosen = min(sure or holding, key=lambda each: len(self._choices.changed(each.setup)))
            found["with"] = self._choices.changed(chosen.setup)
            if reading := chosen.verdicts[id_][3]:
                found["reading"] = reading
            # One set-up alone says nothing about single options.
            found["only"] = {
                choice.name: [each.name for each in choice.option if each.name in under]
                for at, choice in enumerate(self._choices.tables)
                if (under := {each.setup[at] for each in holding})
                < {each.setup[at] for each in tried}
                and len(holding) > 1
            }
        return found

    def _of_setup(self, judged: Judged) -> dict[str, Any]:
        good, of = judged.numbers
        return {
            "changed": self._choices.changed(judged.setup),
            "claims": {each: judged.verdict(each) for each in self._claims},
            "numbers": {"good": good, "of": of},
            "conclusions": [
                {"words": each.words, "verdict": verdict, "good": inside, "of": count}
                for each in self._paper.claims.conclusion
                for verdict, inside, count, _ in [judged.verdicts[each.words]]
            ],
        }

    def _rank(self, judged: Judged) -> tuple[int, int, int]:
        """Better set-ups have a higher one; of equals that with fewer changes."""
        return len(judged.good), judged.numbers[0], -len(self._choices.changed(judged.setup))

    def _look(self) -> dict[str, float]:
        """Learn which points are asked for; returns processor seconds a run, by study."""
        page = self._choices.page
        plans = self._plans(page, _LOOK, 0)
        self._run(plans, "the page's studies")
        data = self._data(_Watched, plans)
        data.points = {}
        sources = self._paper.sources(data)
        for each in self._asked:
            parts(sources, self._paper.numbers(each))
        a_run = {}
        for name, (place, study) in plans.items():
            runs = len(study.points) * self._runs(study, _LOOK)
            a_run[name] = several.spent(self._folder, [place]) / runs
        self._studies = {
            name: study.narrowed(data.points[name])
            for name, study in self._studies.items()
            if name in data.points
        }
        return a_run

    def _search(self, a_run: Mapping[str, float]) -> list[Judged]:
        """Set-ups, the page's first, then those that differ from it in one choice."""
        choices = self._choices
        first = [choices.page, *choices.neighbours()]
        for self._replications in (None, *FEW):
            if self._cost(a_run, self._replications, every=True) <= self._budget / 2:
                every = [*first, *(each for each in choices.every() if each not in first)]
                return [
                    self._judged(each, 0, f"set-up {at} of {len(every)}", at / len(every) / 2)
                    for at, each in enumerate(every, 1)
                ]
        parameters = [
            Parameter(each.name, choices=tuple(option.name for option in each.option))
            for each in choices.tables
        ]
        start = [
            {
                each.path: each.choices.index(name)
                for each, name in zip(parameters, setup, strict=True)
            }
            for setup in first
        ]
        tried: list[Judged] = []

        def tries(many: Sequence[SetUp]) -> list[Judged]:
            before = len(tried)
            for setup in many:
                share = several.spent(self._folder) / self._budget
                enough = share >= (1.0 if setup in first else 0.5)
                if enough and tried and not self._finished(setup):
                    break
                tried.append(self._judged(setup, 0, f"set-up {len(tried) + 1}", min(share, 0.5)))
            return tried[before:]

        def score(judged: Judged) -> Score:
            good, of = judged.numbers
            value = len(judged.good) + good / (of + 1)
            return (None if judged.refusal else value), ()

        most = min(_MOST, choices.count)
        explore(
            parameters, start=start, most=most, seed=_SEED, maximize=True, tries=tries, score=score
        )
        return tried

    def _cost(self, a_run: Mapping[str, float], replications: int | None, *, every: bool) -> float:
        """Processor seconds of every set-up, or of one."""
        return sum(
            a_run[name]
            * len(study.points)
            * self._runs(study, replications)
            * (self._choices.variants(name, study) if every else 1)
            for name, study in self._studies.items()
        )

    def _eighth(self, a_run: Mapping[str, float], replications: int | None) -> bool:
        """Whether a set-up takes no more than an eighth of the budget."""
        return self._cost(a_run, replications, every=False) <= self._budget / 8

    def _again(self, tried: Sequence[Judged]) -> list[Judged]:
        """The best set-ups, and the best for each claim that they do not satisfy, anew."""
        ranked = sorted(tried, key=self._rank, reverse=True)
        chosen = ranked[:LEADERS]
        for id_ in self._claims:
            if not any(id_ in each.good for each in chosen):
                chosen += [each for each in ranked if id_ in each.good][:1]
        # The best is shown beside the page's set-up, with the same seeds.
        if ranked[0] is not tried[0]:
            chosen = [ranked[0], tried[0], *(each for each in chosen[1:] if each is not tried[0])]
        found: list[Judged] = []
        for at, each in enumerate(chosen):
            spent = several.spent(self._folder)
            if at > 1 and spent >= self._budget and not self._finished(each.setup, 1):
                break
            told = f"again {at + 1} of {len(chosen)}"
            found.append(self._judged(each.setup, 1, told, 0.5 + at / len(chosen) / 2))
        return found

    def _finished(self, setup: SetUp, round_: int = 0) -> bool:
        try:
            plans = self._plans(setup, *self._amount(round_))
        except ScenarioError:
            return True
        return all((self._folder / place / COMPLETE).exists() for place, _ in plans.values())

    def _judged(self, setup: SetUp, round_: int, told: str, share: float) -> Judged:
        """Run what a set-up needs, and judge it."""
        try:
            plans = self._plans(setup, *self._amount(round_))
        except ScenarioError as error:
            if len(self._choices.changed(setup)) < 2:
                raise
            return Judged(setup, {}, self._claims, str(error))
        self._run(plans, told, share)
        sources = self._paper.sources(self._data(Data, plans))
        verdicts = {}
        for each in self._asked:
            places = [plans[name][0] for name in self._paper.studies_of(each) if name in plans]
            known = (_id(each), *places)
            if known not in self._known:
                try:
                    found = parts(sources, self._paper.numbers(each))
                    self._known[known] = (
                        *(verdict_of(found), in_range(found), judged(found)),
                        deciding(found),
                    )
                except ScenarioError:  # Something was not measured, or not where it is asked for.
                    self._known[known] = "not testable", 0, 0, ""
            verdicts[_id(each)] = self._known[known]
        return Judged(setup, verdicts, self._claims)

    def _amount(self, round_: int) -> tuple[int | None, int]:
        return (self._anew, 1) if round_ else (self._replications, 0)

    def _runs(self, study: Study, replications: int | None) -> int:
        return study.most if replications is None else min(study.most, replications)

    def _plans(
        self, setup: SetUp, replications: int | None, fresh: int
    ) -> dict[str, tuple[str, Study]]:
        """The folder and the study for each study that claims need."""
        found = {}
        for name, study in self._studies.items():
            options = self._choices.touching(setup, name, study)
            at = (name, options, self._runs(study, replications), fresh)
            if at not in self._made:
                made = self._choices.study(setup, name, study)
                if replications is not None or fresh:
                    made = made.repeated(at[2], fresh * self._fresh)
                made = replace(made, name=f"{name} ({self._choices.told(setup)})")
                self._made[at] = f"{name}-{made.hash[:16]}", made
            found[name] = self._made[at]
        return found

    def _data(self, kind: type[Any], plans: Mapping[str, tuple[str, Study]]) -> Any:
        folders = {name: self._folder / place for name, (place, _) in plans.items()}
        return kind(self._tables, folders, False, self._paper.file.column, self._paper.pooled)

    def _run(self, plans: Mapping[str, tuple[str, Study]], told: str, share: float = 0.0) -> None:
        """Run what is not finished."""
        missing = {
            place: study
            for place, study in plans.values()
            if not (self._folder / place / COMPLETE).exists()
        }
        kept = {place: self._tables[name] for name, (place, _) in plans.items()}
        if missing:
            several.run(
                missing,
                self._folder,
                kept,
                self._jobs,
                lambda text, _: self._tell(f"{told}: {text}", share),
            )
