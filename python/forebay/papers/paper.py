"""A paper: the files of its folder `paper.toml`, `claims.toml`, `words.md` and `measures.py`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import polars as pl

from forebay import _disk, _written
from forebay._engine import ScenarioError
from forebay.papers import library
from forebay.papers.claims import parts
from forebay.papers.data import Data
from forebay.papers.files import (
    Allowed,
    ClaimsFile,
    ClaimTable,
    FigureTable,
    PaperFile,
    SectionTable,
    StatementTable,
    StudyTable,
)
from forebay.papers.judge import Part
from forebay.papers.numbers import Call, Number, Sources, within
from forebay.papers.variables import Factors


@dataclass(frozen=True)
class Paper:
    """A paper's files, read."""

    home: Path
    """The folder."""
    file: PaperFile
    """What is run and drawn."""
    claims: ClaimsFile
    """What is judged."""
    words: Mapping[str, str]
    """The texts of its page, by their headings."""
    calls: Mapping[str, Call]
    """Functions of `measures.py`, by name."""
    rows: Mapping[str, Factors]
    """Rows of variables, by name."""

    @property
    def pooled(self) -> dict[str, list[str]]:
        """Columns of each study whose values are runs of one point."""
        return {each.name: each.pooled for each in self.file.study}

    def sources(self, data: Data) -> Sources:
        """What its numbers are made of."""
        return Sources(data, self.file.measure, self.calls, self.rows, judge=self._judged)

    def _judged(self, sources: Sources, id_: str) -> list[Part]:
        """What a claim comes to under a setting; what it did not run says nothing about it."""
        return parts(sources, self.numbers(self.claim(id_)), sources.setting.studies)

    def text(self, heading: str) -> str:
        """The text under a heading of `words.md`.

        Raises:
            ScenarioError: there is no such heading.
        """
        if heading not in self.words:
            near = _written.nearest(heading, list(self.words))
            raise ScenarioError(f'{self.home / library.WORDS}: no heading "{heading}"{near}')
        return self.words[heading]

    def claim(self, id_: str) -> ClaimTable:
        """A claim by its id.

        Raises:
            ScenarioError: there is none.
        """
        by_id = {each.id: each for each in self.claims.claim}
        if id_ not in by_id:
            raise ScenarioError(f'there is no claim "{id_}"{_written.nearest(id_, list(by_id))}')
        return by_id[id_]

    def numbers(self, asking: ClaimTable | StatementTable) -> list[Allowed]:
        """What a claim or a sentence rests on: its own numbers, and those of other claims.

        Raises:
            ScenarioError: there is no such claim, or it has fewer numbers.
        """
        found = [within(each, asking.study) for each in asking.number]
        for id_, which in asking.claims.items() if isinstance(asking, StatementTable) else ():
            theirs = self.numbers(self.claim(id_))
            if not all(0 < each <= len(theirs) for each in which):
                raise ScenarioError(
                    f'"{asking.words}": {id_} has {len(theirs)} numbers, counted from 1'
                )
            found += [theirs[each - 1] for each in which or range(1, len(theirs) + 1)]
        return found

    def needed(self, figure: str | None) -> list[StudyTable]:
        """The studies of a figure, or all."""
        if figure is None:
            return self.file.study
        wanted = {
            name
            for each in self.file.figure
            if each.number == figure
            for name in self.studies_of(each)
        }
        return [study for study in self.file.study if study.name in wanted]

    def studies_of(self, asking: Asking) -> list[str]:
        """The studies that a part of the page needs.

        A name with variables stands for every study of its form, unless the part lists its studies.

        Raises:
            ScenarioError: it names a study that there is not.
        """
        known = [each.name for each in self.file.study]
        found = dict.fromkeys(asking.studies)
        for name in self._named_by(asking):
            if "{" not in name:
                found[name] = None
            elif not asking.studies:
                form = re.compile(_VARIABLE.sub(".*", re.escape(name)))
                found |= dict.fromkeys(filter(form.fullmatch, known))
        found.pop("", None)
        if missing := set(found) - set(known):
            place = self.home / "paper.toml"
            raise ScenarioError(f'{place}: {_called(asking)}: there is no study "{min(missing)}"')
        return list(found)

    def _named_by(self, asking: Asking) -> Iterator[str]:
        """The studies that numbers name."""
        if isinstance(asking, ClaimTable | StatementTable):
            yield from _studies(self.numbers(asking))
        elif isinstance(asking, FigureTable):
            for panel in asking.panel:
                yield from _studies(panel.curve, panel.study or asking.study)
        else:
            for sentence in asking.statement:
                yield from self.studies_of(sentence)
            for table in asking.table:
                yield from _studies(table.column, table.study)
                for id_ in table.claims:
                    judged = _studies(self.numbers(self.claim(id_)))
                    yield from (table.studies.get(name, name) for name in judged)


Asking = ClaimTable | StatementTable | FigureTable | SectionTable
"""A part of the page that needs studies."""
_VARIABLE = re.compile(r"\\\{.*?\\\}")
"""A variable in braces, in a text of which special characters are escaped."""


def _studies(numbers: Sequence[Number], study: str = "") -> Iterator[str]:
    """The studies that numbers name, or else the one around them."""
    for each in numbers:
        if not each.lookup:
            yield each.study or study
        for other in (each.minus, each.per):
            if other is not None:
                yield other.study


def _called(asking: Asking) -> str:
    """What messages call a part of the page."""
    if isinstance(asking, ClaimTable):
        return f"claim {asking.id}"
    if isinstance(asking, FigureTable):
        return f"figure {asking.number}"
    return f'section "{asking.heading}"' if isinstance(asking, SectionTable) else asking.words


def texts(path: Path) -> dict[str, str]:
    """The texts of a Markdown file by the headings above them.

    Raises:
        ScenarioError: a heading has no text.
    """
    found = {}
    for part in re.split(r"(?m)^(?=# )", path.read_text("utf-8")):
        head, _, text = part.partition("\n")
        if head.startswith("# "):
            heading = head[2:].strip()
            if not text.strip():
                raise ScenarioError(f'{path}: the heading "{heading}" has no text; write one')
            found[heading] = text.strip()
    return found


def load(key: str) -> Paper:
    """A paper's files.

    Raises:
        ScenarioError: there is no such paper, or its files have a slip.
        OSError: one cannot be read.
    """
    folder = library.folder_of(key)
    package = "forebay_paper_" + re.sub(r"\W", "_", folder.name)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]  # Another copy of the paper may have been loaded.
    spec = ModuleSpec(package, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    sys.modules[package] = module_from_spec(spec)
    own = (folder / "measures.py").is_file()
    return read(folder, import_module(f"{package}.measures") if own else None)


def read(home: Path, measures: ModuleType | None) -> Paper:
    """A paper from the files of its folder.

    Args:
        home: the folder.
        measures: its module `measures.py`, if it has one.

    Raises:
        ScenarioError: a file is not understood, or a study, a claim or a text that it names is
            missing.
        OSError: one cannot be read.
    """
    place = home / "paper.toml"
    file = _written.read(PaperFile, _written.load(place), str(place))
    judged, place = ClaimsFile(), home / "claims.toml"
    if place.exists():
        judged = _written.read(ClaimsFile, _written.load(place), str(place))
    calls: dict[str, Call] = {}
    if measures is not None:
        for name, value in vars(measures).items():
            if callable(value) and getattr(value, "__module__", "") == measures.__name__:
                calls[name] = value
    rows: dict[str, Factors] = dict(file.rows)
    for table in _disk.files(home, ".csv"):
        try:
            rows[table.name] = pl.read_csv(table, infer_schema_length=None).to_dicts()
        except pl.exceptions.PolarsError as error:
            raise ScenarioError(f"{table}: {error}") from None
    paper = Paper(home, file, judged, texts(home / library.WORDS), calls, rows)
    _check(paper)
    return paper


def _check(paper: Paper) -> None:
    """Find slips before anything runs."""
    for heading in ("citation", "found", "setup", "statistics"):
        paper.text(heading)
    file, judged = paper.file, (*paper.claims.claim, *paper.claims.hypothesis)
    askings: list[Asking] = [*judged, *paper.claims.conclusion, *file.figure, *file.section]
    for asking in askings:
        paper.studies_of(asking)
    for kind, names in (
        ("study", [each.name for each in file.study]),
        ("figure", [each.number for each in file.figure]),
        ("claim", [each.id for each in judged]),
    ):
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ScenarioError(f'{paper.home}: two are called {kind} "{min(twice)}"')
