"""Set-ups: an option of each choice that a paper leaves open, and the studies under them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any

from forebay import _written
from forebay._engine import ScenarioError
from forebay.papers.files import ChoiceTable, OptionTable
from forebay.papers.paper import Paper
from forebay.sweep import Study
from forebay.sweep.axes import crossed
from forebay.sweep.study import place

SetUp = tuple[str, ...]
"""The name of an option of each choice."""


class Choices:
    """The choices of a paper, checked against the studies that its claims need."""

    def __init__(self, paper: Paper, studies: Mapping[str, Study]) -> None:
        """Choices of a paper.

        Raises:
            ScenarioError: there are none, one names what there is not, or an option cannot be set.
        """
        self._place = str(paper.home / "paper.toml")
        self._calls = paper.calls
        self.tables = paper.file.choice
        if not self.tables:
            raise ScenarioError(
                f"{self._place}: declares no choices; forebay paper fit needs [[choice]] tables "
                "(docs/papers/README.md)"
            )
        self._check_names(studies)
        for name, study in studies.items():
            self._check_fields(name, study)
        for setup in (self.page, *self.neighbours()):
            for name, study in studies.items():
                with self._named(setup, name):
                    made = self._pinned(setup, name, study)
                    for label in made.pinned:
                        made.change([0] * len(made.axes), label).of(made.base).identity()

    @property
    def page(self) -> SetUp:
        """The set-up of the paper's page."""
        return tuple(each.option[0].name for each in self.tables)

    @property
    def count(self) -> int:
        """How many set-ups there are."""
        return math.prod(len(each.option) for each in self.tables)

    def every(self) -> Iterator[SetUp]:
        """All set-ups, the page's first."""
        return product(*([option.name for option in each.option] for each in self.tables))

    def neighbours(self) -> list[SetUp]:
        """The set-ups that differ from the page's in one choice."""
        page = self.page
        return [
            (*page[:at], option.name, *page[at + 1 :])
            for at, each in enumerate(self.tables)
            for option in each.option[1:]
        ]

    def changed(self, setup: SetUp) -> dict[str, str]:
        """The options that differ from the page's, by choice."""
        pairs = zip(self.tables, setup, self.page, strict=True)
        return {each.name: option for each, option, page in pairs if option != page}

    def variants(self, name: str, study: Study) -> int:
        """Under how many combinations of options a study differs."""
        return math.prod(
            len(each.option)
            for each in self.tables
            if any(_touches(each, option, name, study) for option in each.option)
        )

    def touching(self, setup: SetUp, name: str, study: Study) -> SetUp:
        """The options of a set-up that change a study, each with its choice."""
        return tuple(
            f"{choice.name}: {option.name}"
            for choice, option in self._chosen(setup)
            if _touches(choice, option, name, study)
        )

    def study(self, setup: SetUp, name: str, study: Study) -> Study:
        """A study under a set-up.

        Raises:
            ScenarioError: it cannot run so, or points that claims compare are then the same.
        """
        with self._named(setup, name):
            made = self._pinned(setup, name, study)
            _ = made.points
            return made

    def told(self, setup: SetUp) -> str:
        """A set-up in words, by what it changes."""
        changed = [f"{name}: {option}" for name, option in self.changed(setup).items()]
        return "; ".join(changed) or "the page's set-up"

    def _chosen(self, setup: SetUp) -> Iterator[tuple[ChoiceTable, OptionTable]]:
        for choice, chosen in zip(self.tables, setup, strict=True):
            yield choice, next(each for each in choice.option if each.name == chosen)

    def _pinned(self, setup: SetUp, name: str, study: Study) -> Study:
        """A study with what a set-up sets in it."""
        pinned: dict[str, dict[str, Any]] = {}
        placed: dict[str, dict[str, Any]] = {}
        for choice, option in self._chosen(setup):
            for label, fields in _fields(choice, option, name, study).items():
                pinned.setdefault(label, {}).update(fields)
            if not option.call or not _here(choice, name):
                continue
            for at, values in _points(study).items():
                placed.setdefault(at, {}).update(self._calls[option.call](values))
        return study.pin(pinned, placed) if pinned or placed else study

    def _check_fields(self, name: str, study: Study) -> None:
        """Check that no two choices set the same field."""
        setters: dict[str, str] = {}
        for choice in self.tables:
            for option in choice.option:
                fields = {
                    path for each in _fields(choice, option, name, study).values() for path in each
                }
                if option.call and _here(choice, name):
                    for values in _points(study).values():
                        fields |= set(self._calls[option.call](values))
                for path in fields:
                    if setters.setdefault(path, choice.name) != choice.name:
                        raise ScenarioError(
                            f'{self._place}: choice "{choice.name}", option "{option.name}": study '
                            f'"{name}": choice "{setters[path]}" sets {path} too'
                        )

    def _check_names(self, studies: Mapping[str, Study]) -> None:
        labels = {label for each in studies.values() for label, _ in each.disciplines}
        for choice in self.tables:
            for kind, twice in (
                ("choice", [each.name for each in self.tables]),
                ("option", [each.name for each in choice.option]),
            ):
                if len(set(twice)) < len(twice):
                    raise ScenarioError(
                        f'{self._place}: choice "{choice.name}": two are called {kind} '
                        f'"{max(twice, key=twice.count)}"'
                    )
            for option in choice.option:
                for kind, given, known in (
                    ("study that claims need", [*choice.studies, *option.studies], studies),
                    ("discipline", option.disciplines, labels),
                    ("function of measures.py", filter(None, [option.call]), self._calls),
                ):
                    if missing := [each for each in given if each not in known]:
                        raise ScenarioError(
                            f'{self._place}: choice "{choice.name}", option "{option.name}": there '
                            f'is no {kind} "{missing[0]}"'
                            f"{_written.nearest(missing[0], sorted(known))}"
                        )

    @contextmanager
    def _named(self, setup: SetUp, study: str) -> Iterator[None]:
        """Errors of a study under a set-up say which one."""
        try:
            yield
        except ScenarioError as error:
            why = str(error)
            if "are the same scenario" in why:
                why = f"an option sets what claims vary; leave the study out by `studies`: {why}"
            place = f'{self._place}: {self.told(setup)}: study "{study}"'
            raise ScenarioError(f"{place}: {why}") from None


def _here(choice: ChoiceTable, study: str) -> bool:
    return not choice.studies or study in choice.studies


def _fields(
    choice: ChoiceTable, option: OptionTable, name: str, study: Study
) -> dict[str, dict[str, Any]]:
    """What an option sets at every point of a study, by discipline."""
    here = _here(choice, name)
    common = {**(option.set if here else {}), **option.studies.get(name, {})}
    own = option.disciplines if here else {}
    found = {label: {**common, **own.get(label, {})} for label, _ in study.disciplines}
    return {label: values for label, values in found.items() if values}


def _touches(choice: ChoiceTable, option: OptionTable, name: str, study: Study) -> bool:
    return bool(_fields(choice, option, name, study) or (option.call and _here(choice, name)))


def _points(study: Study) -> dict[str, Mapping[str, Any]]:
    """The values of the axes at every point."""
    labels = [label for label, _ in study.disciplines]
    every = (study.values(steps, label) for steps in crossed(study.axes) for label in labels)
    return {place(values): values for values in every}
