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

SetUp = tuple[str, ...]
"""The name of an option of each choice."""
Pinned = dict[str, dict[str, Any]]
"""By label of a discipline, fields and their values."""


class Choices:
    """The choices of a paper, checked against the studies that its claims need."""

    def __init__(self, paper: Paper, studies: Mapping[str, Study]) -> None:
        """Choices of a paper.

        Raises:
            ScenarioError: there are none, one names what there is not, or an option cannot be set.
        """
        self._place = str(paper.home / "paper.toml")
        self.tables = paper.file.choice
        if not self.tables:
            raise ScenarioError(
                f"{self._place}: declares no choices; forebay paper fit needs [[choice]] tables "
                "(docs/papers/README.md)"
            )
        self._check_names(studies)
        for setup in (self.page, *self.neighbours()):
            for name, study in studies.items():
                with _named(self._where(setup, name)):
                    _try(study, self.pinned(setup, name, study))

    @property
    def page(self) -> SetUp:
        """The set-up of the paper's page."""
        return tuple(each.option[0].name for each in self.tables)

    @property
    def count(self) -> int:
        """How many set-ups there are."""
        return math.prod(len(each.option) for each in self.tables)

    def every(self) -> Iterator[SetUp]:
        """All set-ups, those of the page first."""
        return product(*([option.name for option in each.option] for each in self.tables))

    def neighbours(self) -> list[SetUp]:
        """The set-ups that differ from the page in one choice."""
        page = self.page
        return [
            (*page[:at], option.name, *page[at + 1 :])
            for at, each in enumerate(self.tables)
            for option in each.option[1:]
        ]

    def changed(self, setup: SetUp) -> dict[str, str]:
        """The options that differ from the page, by choice."""
        pairs = zip(self.tables, setup, self.page, strict=True)
        return {each.name: option for each, option, page in pairs if option != page}

    def variants(self, name: str, study: Study) -> int:
        """Under how many combinations of options a study differs."""
        return math.prod(
            len(each.option)
            for each in self.tables
            if any(_fields(each, option, name, study) for option in each.option)
        )

    def pinned(self, setup: SetUp, name: str, study: Study) -> Pinned:
        """What a set-up sets in a study."""
        found: Pinned = {}
        for choice, chosen in zip(self.tables, setup, strict=True):
            option = next(each for each in choice.option if each.name == chosen)
            for label, fields in _fields(choice, option, name, study).items():
                if twice := found.setdefault(label, {}).keys() & fields:
                    raise ScenarioError(f"two choices set {min(twice)}")
                found[label] |= fields
        return found

    def study(self, setup: SetUp, name: str, study: Study) -> Study:
        """A study under a set-up.

        Raises:
            ScenarioError: it cannot run so, or points that claims compare are then the same.
        """
        with _named(self._where(setup, name)):
            made = study.pin(self.pinned(setup, name, study))
            _ = made.points
            return made

    def told(self, setup: SetUp) -> str:
        """A set-up in words, by what it changes."""
        changed = [f"{name}: {option}" for name, option in self.changed(setup).items()]
        return "; ".join(changed) or "the page's set-up"

    def _where(self, setup: SetUp, study: str) -> str:
        return f'{self._place}: {self.told(setup)}: study "{study}"'

    def _check_names(self, studies: Mapping[str, Study]) -> None:
        names = [each.name for each in self.tables]
        labels = {label for each in studies.values() for label, _ in each.disciplines}
        for choice in self.tables:
            options = [each.name for each in choice.option]
            for kind, many in (("choice", names), ("option", options)):
                if twice := {each for each in many if many.count(each) > 1}:
                    raise ScenarioError(
                        f'{self._place}: choice "{choice.name}": two are called '
                        f'{kind} "{min(twice)}"'
                    )
            for option in choice.option:
                for kind, given, known in (
                    ("study that claims need", [*choice.studies, *option.studies], studies),
                    ("discipline", option.disciplines, labels),
                ):
                    if missing := [each for each in given if each not in known]:
                        raise ScenarioError(
                            f'{self._place}: choice "{choice.name}", option "{option.name}": there '
                            f'is no {kind} "{missing[0]}"'
                            f"{_written.nearest(missing[0], sorted(known))}"
                        )


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Errors of a study under a set-up say which one."""
    try:
        yield
    except ScenarioError as error:
        why = str(error)
        if "are the same scenario" in why:
            why = f"the option sets what claims vary; leave the study out with studies: {why}"
        raise ScenarioError(f"{place}: {why}") from None


def _fields(choice: ChoiceTable, option: OptionTable, name: str, study: Study) -> Pinned:
    """What an option sets in a study, by discipline."""
    here = not choice.studies or name in choice.studies
    common = {**(option.set if here else {}), **option.studies.get(name, {})}
    own = option.disciplines if here else {}
    found = {label: {**common, **own.get(label, {})} for label, _ in study.disciplines}
    return {label: values for label, values in found.items() if values}


def _try(study: Study, pinned: Pinned) -> None:
    """Check that a study's first point can run under each discipline."""
    made = study.pin(pinned)
    for label in pinned:
        made.change([0] * len(made.axes), label).of(made.base).identity()
