"""A study: a base scenario, axes, disciplines and how often each point is run."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from forebay import scenario
from forebay.result import compared_link, labelled, single, with_queue
from forebay.scenario import Scenario, named
from forebay.sweep.axes import Axis, StudyError, crossed, read_axes, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMAT = 1
"""Version of the files of a study; a folder of another version is refused."""

_FIELDS = {
    "title",
    "scenario",
    "axis",
    "disciplines",
    "link",
    "replications",
    "until",
    "keys",
    "seed",
    "baseline",
    "efficiency",
}


@dataclass(frozen=True, slots=True)
class Until:
    """Replicate until an interval is narrow enough."""

    key: str
    """Column of the results."""
    half_width: float
    """Half-width of the 95 % interval that is asked for, in the key's unit or as a share."""
    relative: bool
    """Whether `half_width` is a share of the mean."""
    at_least: int
    at_most: int


@dataclass(frozen=True, slots=True)
class Point:
    """A combination of axis values under one discipline."""

    id: str
    """Hash of the scenario with every default filled in, without its seed."""
    setting: int
    """Number of the combination of axis values, from 0."""
    steps: tuple[int, ...]
    """Step on each axis."""
    discipline: str


@dataclass(frozen=True)
class Study:
    """What a sweep runs. Equal studies have equal hashes."""

    name: str
    title: str
    base: Scenario
    axes: tuple[Axis, ...]
    disciplines: tuple[tuple[str, dict[str, Any] | None], ...]
    """Label and queue; a single one without a queue runs the scenario's own."""
    links: tuple[str | None, ...]
    """Which links get the disciplines; None is the dumbbell's."""
    replications: int | None
    """Runs of every point; none if `until` decides."""
    until: Until | None
    keys: tuple[str, ...]
    """Patterns of the measures that are kept; all if empty."""
    seed: int
    """Of the first replication; the following ones count up from it, under every discipline."""
    document: dict[str, Any] = field(repr=False)
    """Everything that the results depend on, as plain values."""

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every point, checked: settings in order, each under every discipline in order.

        Raises:
            StudyError: two points are one scenario.
            ScenarioError: a point that could not run.
        """
        points: list[Point] = []
        seen: dict[str, Point] = {}
        for number, steps in enumerate(crossed(self.axes)):
            for label, _ in self.disciplines:
                place = self.describe(steps, label)
                with named(self.base, f"{place}: "):
                    effective = self.scenario_of(steps, label).effective()
                _refuse_captures(effective, self.name)
                effective.pop("seed", None)
                point = Point(_digest(effective)[:16], number, steps, label)
                if point.id in seen:
                    other = self.describe(seen[point.id].steps, seen[point.id].discipline)
                    raise StudyError(
                        f"{self.name}: {place} and {other} are the same scenario; take one out"
                    )
                seen[point.id] = point
                points.append(point)
        return tuple(points)

    @property
    def hash(self) -> str:
        """Hash of everything that the results depend on, but for the engine."""
        return _digest(self.document)

    @property
    def most(self) -> int:
        """The most replications that a point can get."""
        if self.until is not None:
            return self.until.at_most
        assert self.replications is not None
        return self.replications

    @property
    def long_run(self) -> bool:
        """Whether every point is a single run, whose intervals come from batch means."""
        return self.replications == 1

    def scenario_of(self, steps: Sequence[int], discipline: str) -> Scenario:
        """The scenario of a point, with the seed of the base."""
        changed = self.base
        queue = dict(self.disciplines)[discipline]
        if queue is not None:
            for link in self.links:
                changed = with_queue(changed, link, queue)
        for path, value in self.values(steps).items():
            changed = changed.with_(path, value)
        return changed

    def values(self, steps: Sequence[int]) -> dict[str, Any]:
        """What each field is set to."""
        return {
            path: value
            for axis, step in zip(self.axes, steps, strict=True)
            for path, value in zip(axis.paths, axis.rows[step], strict=True)
        }

    def describe(self, steps: Sequence[int], discipline: str) -> str:
        """A point in words, for messages."""
        parts = [f"{path} = {shown(value)}" for path, value in self.values(steps).items()]
        return ", ".join([*parts, f'discipline "{discipline}"'])


def load(path: str | Path) -> Study:
    """Read a study file (TOML, or JSON). File names in it start from its folder.

    Raises:
        StudyError: anything in it that is not understood.
        ScenarioError: its scenario cannot be read.
        OSError: it cannot be read.
    """
    path = Path(path)
    text = path.read_text(encoding="utf-8")
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        raise StudyError(f"{path}: {error}") from None
    return read(document, path.name, path.parent)


def read(document: Mapping[str, Any], name: str = "study", base: str | Path = ".") -> Study:
    """A study from a document of plain values, such as a parsed TOML file.

    Args:
        document: the study.
        name: what messages call it.
        base: folder from which file names in it start.

    Raises:
        StudyError: anything in it that is not understood.
        ScenarioError: its scenario cannot be read or run.
    """
    unknown = sorted(set(document) - _FIELDS)
    if unknown:
        raise StudyError(
            f'{name}: unknown field "{unknown[0]}"; one of {", ".join(sorted(_FIELDS))}'
        )
    written = _scenario(document.get("scenario"), name, Path(base))
    first = single(written)
    disciplines = _disciplines(document, name)
    links: tuple[str | None, ...] = _links(document, name)
    if disciplines[0][1] is not None and not links:
        links = (compared_link(written),)
    axes = read_axes(document.get("axis", []), name)
    taken = {"point", "discipline", "replication", "seed", "version", "fingerprint"}
    for axis in axes:
        for column in taken & set(axis.columns):
            raise StudyError(
                f'{name}: axis: "{column}" is a column of its own; choose another name'
            )
    replications, until = _replications(document, name)
    keys = document.get("keys", [])
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise StudyError(f'{name}: keys: expected a list such as ["classes.*.p99_delay_ms"]')
    seed = document.get("seed", first.document.get("seed", 1))
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise StudyError(f"{name}: seed: expected a whole number from 0")
    depends = {
        "scenario": {key: value for key, value in first.document.items() if key != "seed"},
        "files": inputs(first, axes),
        "axes": [axis.document for axis in axes],
        "disciplines": [[label, queue] for label, queue in disciplines],
        "link": links[0] if len(links) == 1 else list(links) or None,
        "replications": document.get("replications") if until is None else None,
        "until": document.get("until"),
        "keys": keys,
        "seed": seed,
    }
    depends |= _relative(document, name, [label for label, _ in disciplines])
    return Study(
        name,
        str(document.get("title") or first.document.get("title") or Path(name).stem),
        _unseeded(first),
        axes,
        disciplines,
        links,
        replications,
        until,
        (*keys, until.key) if keys and until is not None else tuple(keys),
        seed,
        json.loads(json.dumps(depends)),
    )


def _relative(
    document: Mapping[str, Any], name: str, labels: Sequence[str]
) -> dict[str, str | list[str]]:
    """Beside what gain and efficiency are given, if anything."""
    baseline, classes = document.get("baseline"), document.get("efficiency", [])
    if not isinstance(classes, list) or not all(isinstance(each, str) for each in classes):
        raise StudyError(f'{name}: efficiency: expected a list of classes such as ["downloads"]')
    if baseline is None:
        if classes:
            raise StudyError(f"{name}: efficiency: is beside a baseline; give one")
        return {}
    if baseline not in labels:
        raise StudyError(
            f'{name}: baseline: no discipline is called "{baseline}"; one of {", ".join(labels)}'
        )
    return {"baseline": baseline, "efficiency": classes}


def _unseeded(base: Scenario) -> Scenario:
    document = base.document
    document.pop("seed", None)
    return Scenario.of(document, base.name, base.base)


def _scenario(given: Any, name: str, base: Path) -> Scenario:
    if isinstance(given, str):
        return scenario.load(base / given)
    if isinstance(given, Mapping):
        return Scenario.of(dict(given), f"{name}: scenario", str(base))
    raise StudyError(
        f'{name}: scenario: expected the name of a scenario file, such as "base.toml", or a table'
    )


def _disciplines(
    document: Mapping[str, Any], name: str
) -> tuple[tuple[str, dict[str, Any] | None], ...]:
    given = document.get("disciplines")
    if given is None:
        if "link" in document:
            raise StudyError(f"{name}: link: says where disciplines go; give both or neither")
        return (("as written", None),)
    if not isinstance(given, list) or not given:
        raise StudyError(f'{name}: disciplines: expected a list such as ["fifo", "codel"]')
    found: dict[str, dict[str, Any] | None] = {}
    for at, entry in enumerate(given):
        if not isinstance(entry, str | Mapping):
            raise StudyError(f"{name}: disciplines[{at}]: expected a kind or a queue's table")
        label, queue = labelled(entry)
        if label in found:
            raise StudyError(
                f'{name}: disciplines[{at}]: two are called "{label}"; '
                'give one a name of its own with label = "..."'
            )
        found[label] = queue
    return tuple(found.items())


def _links(document: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = document.get("link", [])
    links = [given] if isinstance(given, str) else given
    if not isinstance(links, list) or not all(isinstance(link, str) for link in links):
        raise StudyError(f"{name}: link: expected the name of a link, or a list of names")
    return tuple(links)


def _replications(document: Mapping[str, Any], name: str) -> tuple[int | None, Until | None]:
    if ("replications" in document) == ("until" in document):
        raise StudyError(
            f"{name}: give replications = 20, or until = "
            '{ key = "classes.voice.p99_delay_ms", half_width = "5%", at_most = 100 }'
        )
    if "replications" in document:
        return _whole(document["replications"], 1, f"{name}: replications"), None
    table, place = document["until"], f"{name}: until"
    known = ("key", "half_width", "at_least", "at_most")
    if not isinstance(table, Mapping) or not {"key", "half_width", "at_most"} <= set(table):
        raise StudyError(f"{place}: expected a table with key, half_width and at_most")
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise StudyError(f'{place}: unknown field "{unknown[0]}"; one of {", ".join(known)}')
    at_least = _whole(table.get("at_least", 5), 2, f"{place}.at_least")
    at_most = _whole(table["at_most"], at_least, f"{place}.at_most")
    width, relative = table["half_width"], False
    if isinstance(width, str) and width.strip().endswith("%"):
        relative = True
        try:
            width = float(width.strip()[:-1]) / 100
        except ValueError:
            width = None
    if isinstance(width, bool) or not isinstance(width, int | float) or not width > 0:
        raise StudyError(
            f'{place}.half_width: expected a share of the mean such as "5%", '
            "or a number above 0 in the key's unit"
        )
    return None, Until(str(table["key"]), float(width), relative, at_least, at_most)


def _whole(value: Any, least: int, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise StudyError(f"{place}: expected a whole number, at least {least}")
    return value


def inputs(base: Scenario, axes: Sequence[Axis] = ()) -> dict[str, str]:
    """The hash of every file that a scenario reads, also with the values of axes."""
    found: dict[str, str] = {}

    def look(value: Any, key: str) -> None:
        if isinstance(value, Mapping):
            for inner, each in value.items():
                look(each, inner)
        elif isinstance(value, list):
            for each in value:
                look(each, key)
        elif key in ("file", "trace") and isinstance(value, str):
            path = Path(base.base) / value
            if path.is_file():
                found[value] = hashlib.sha256(path.read_bytes()).hexdigest()

    look(base.document, "")
    for axis in axes:
        for at, each in enumerate(axis.paths):
            look([row[at] for row in axis.rows], each.rpartition(".")[2])
    return found


def _refuse_captures(effective: dict[str, Any], name: str) -> None:
    for link in effective.get("link") or []:
        if link.get("pcap"):
            raise StudyError(
                f"{name}: scenario: link.{link['name']}.pcap: all runs of a sweep would write to "
                "one file; take it out and record a single run with forebay run"
            )


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
