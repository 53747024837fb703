"""A study: a base scenario, axes, disciplines and how often each point is run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from forebay import _disk, _engine, _written
from forebay import _scenario as scenario
from forebay._engine import ScenarioError
from forebay._runs.task import Change, Keep, Task
from forebay._scenario import Scenario, labelled, named, plugins, with_plugins
from forebay.sweep.axes import Axis, crossed, shown
from forebay.sweep.file import StudyTable

FORMAT = 2
"""Version of the files of a study; a folder of another version is refused."""

_SCENARIO = "scenario."
"""What the paths of settings of a study's scenario start with."""


@dataclass(frozen=True, slots=True)
class Until:
    """Replicate until an interval is narrow enough.

    Example:
        >>> study.until.key, study.until.half_width, study.until.relative
        ('classes.call.p99_delay_ms', 0.1, True)
    """

    key: str
    """Column of the results."""
    half_width: float
    """Half-width of the 95 % interval that is asked for, in the key's unit or as a share."""
    relative: bool
    """Whether `half_width` is a share of the mean."""
    at_least: int
    """Fewest replications of a point."""
    at_most: int
    """Most replications of a point."""


@dataclass(frozen=True, slots=True)
class Point:
    """A combination of axis values under one discipline."""

    id: str
    """Identity of the scenario (see `Scenario.identity`), shortened."""
    setting: int
    """Number of the combination of axis values, from 0."""
    steps: tuple[int, ...]
    """Step on each axis."""
    discipline: str


@dataclass(frozen=True)
class Study:
    """What a sweep runs. Equal studies have equal hashes.

    Example:
        >>> study.title, len(study.points)
        ('A call beside downloads', 18)
    """

    name: str
    """What messages call it, usually the file's name."""
    title: str
    """What its report is called."""
    base: Scenario
    """Without a seed."""
    axes: tuple[Axis, ...]
    """Its dimensions; every combination of their steps is a setting."""
    disciplines: tuple[tuple[str, dict[str, Any] | None], ...]
    """Label and queue; a single one without a queue runs the scenario's own."""
    links: tuple[str | None, ...]
    """Which links get the disciplines; None is the one that the scenario compares."""
    replications: int | None
    """Runs of every point; none if `until` decides."""
    until: Until | None
    """When a point has been run often enough; none if `replications` decides."""
    keys: tuple[str, ...]
    """Patterns of the measures that are kept; all if empty."""
    seed: int
    """Of the first replication; the following ones count up from it, under every discipline."""
    asked: dict[str, Any] = field(repr=False)
    """Everything that the study's file asks for, as plain values."""
    pinned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By discipline, fields that are set at every point, after the queue and the axes; or before
    the axes if these set a field within."""
    placed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields that are set at one point too, by its axis values (see `place`)."""

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Every point, checked: settings in order, each under every discipline in order.

        Raises:
            ScenarioError: two points are one scenario, or a point could not run.
        """
        points: list[Point] = []
        seen: dict[str, Point] = {}
        for number, steps in enumerate(crossed(self.axes)):
            for label, _ in self.disciplines:
                if not self._differs(steps, label):
                    continue  # It is run once, at the first step.
                place = self.describe(steps, label)
                with named(self.base, f"{place}: "):
                    changed = self.change(steps, label).of(self.base)
                    refuse_captures(changed)
                    point = Point(changed.identity()[:16], number, steps, label)
                if point.id in seen:
                    other = self.describe(seen[point.id].steps, seen[point.id].discipline)
                    raise ScenarioError(
                        f"{self.name}: {place} and {other} are the same scenario; take one out"
                    )
                seen[point.id] = point
                points.append(point)
        return tuple(points)

    @cached_property
    def document(self) -> dict[str, Any]:
        """Everything that the results depend on, but for the engine, as plain values.

        Raises:
            ScenarioError: a point could not run.
        """
        files: dict[str, str] = {}
        discipline = self.disciplines[0][0]
        for steps in crossed(self.axes):
            # What one axis reads does not depend on the others.
            if sum(map(bool, steps)) <= 1 and self._differs(steps, discipline):
                with named(self.base, f"{self.describe(steps, discipline)}: "):
                    changed = self.change(steps, discipline).of(self.base)
                    read = changed.resolved()["files"]
                for file in read:
                    content = _disk.read(Path(self.base.base) / file["file"], _disk.OWN_LARGEST)
                    files[file["file"]] = hashlib.sha256(content).hexdigest()
        return self.asked | {"files": files}

    @property
    def hash(self) -> str:
        """Hash of everything that the results depend on, but for the engine."""
        text = json.dumps(self.document, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

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

    def change(self, steps: Sequence[int], discipline: str) -> Change:
        """What differs from the base at a point."""
        queue = dict(self.disciplines)[discipline]
        axes = self.values(steps, discipline)
        pinned = {**self.pinned.get(discipline, {}), **self.placed.get(place(axes), {})}
        # Of a table that is pinned, an axis still sets its fields.
        around = [path for path in pinned if any(each.startswith(f"{path}.") for each in axes)]
        values = {path: (axes | pinned)[path] for path in (*around, *axes, *pinned)}
        return Change(queue, self.links, tuple(values.items()))

    def pin(
        self, pinned: Mapping[str, Mapping[str, Any]], placed: Mapping[str, Mapping[str, Any]]
    ) -> Study:
        """The study with fields set at every point, by discipline, and at single points.

        The columns of the results keep the values of the axes.
        """
        given = {"pinned": dict(pinned), "placed": dict(placed)}
        asked = self.asked | {name: values for name, values in given.items() if values}
        return replace(self, pinned=pinned, placed=placed, asked=asked)

    def repeated(self, replications: int, skip: int = 0) -> Study:
        """The study with so many runs of each point, whose seeds begin after the first `skip`."""
        asked = self.asked | {
            "replications": replications,
            "until": None,
            "seed": self.seed + skip,
        }
        return replace(
            self, replications=replications, until=None, seed=self.seed + skip, asked=asked
        )

    def narrowed(self, ids: Collection[str]) -> Study:
        """The study with only those steps of its axes, and disciplines, at which points are.

        Args:
            ids: identities of the points.
        """
        points = [each for each in self.points if each.id in ids]
        axes = []
        for at, axis in enumerate(self.axes):
            steps = sorted({each.steps[at] for each in points if axis.applies(each.discipline)})
            rows = tuple(axis.rows[step] for step in steps or (0,))
            names = tuple(axis.names[step] for step in steps or (0,)) if axis.names else ()
            axes.append(replace(axis, rows=rows, names=names))
        labels = {each.discipline for each in points} | {self.asked.get("baseline")}
        disciplines = tuple(each for each in self.disciplines if each[0] in labels)
        asked = self.asked | {
            "axes": json.loads(json.dumps([axis.document for axis in axes])),
            "disciplines": [[label, queue] for label, queue in disciplines],
        }
        return replace(self, axes=tuple(axes), disciplines=disciplines, asked=asked)

    def scenario_of(self, point: Point) -> Scenario:
        """The scenario of a point, without a seed."""
        return self.change(point.steps, point.discipline).of(self.base)

    def task(self, point: Point, replication: int, tables: Sequence[str] = ()) -> Task:
        """A run of a point; replications count from 1."""
        return Task(
            point.id,
            replication,
            self.seed + replication - 1,
            self.base,
            self.change(point.steps, point.discipline),
            Keep(self.keys, tuple(tables), self.long_run),
        )

    def values(self, steps: Sequence[int], discipline: str) -> dict[str, Any]:
        """What each field is set to under a discipline."""
        return {
            path: value
            for axis, step in zip(self.axes, steps, strict=True)
            if axis.applies(discipline)
            for path, value in zip(axis.paths, axis.rows[step], strict=True)
        }

    def _differs(self, steps: Sequence[int], discipline: str) -> bool:
        """Whether a discipline notices these steps: every axis that was moved applies to it."""
        return all(
            step == 0 or axis.applies(discipline)
            for axis, step in zip(self.axes, steps, strict=True)
        )

    def describe(self, steps: Sequence[int], discipline: str) -> str:
        """A point in words, for messages."""
        parts = [
            f"{path} = {shown(value)}" for path, value in self.values(steps, discipline).items()
        ]
        return ", ".join([*parts, f'discipline "{discipline}"'])


def place(values: Mapping[str, Any]) -> str:
    """A point by the values of its axes."""
    return json.dumps(values, sort_keys=True)


def load(path: str | Path, settings: Sequence[str] = ()) -> Study:
    """Read a study file (TOML, or JSON). File names in it start from its folder.

    Args:
        path: the file.
        settings: fields to change, each written `PATH=VALUE`: `scenario.duration=10s`.

    Raises:
        ScenarioError: anything in it that is not understood, or its scenario cannot be read.
        OSError: it cannot be read.

    Example:
        >>> short = sweep.load("examples/uplink-study.toml", ["scenario.duration=6s"])
        >>> short.base.document["duration"]
        '6s'
    """
    path = Path(path)
    document = _written.load(path)
    inside = [each for each in settings if each.startswith(_SCENARIO)]
    for setting in settings:
        if setting not in inside:
            document = Scenario.of(document, path.name).with_text(setting).document
    inside = [each.removeprefix(_SCENARIO) for each in inside]
    return read(document, path.name, path.parent, inside)


def read(
    document: Mapping[str, Any],
    name: str = "study",
    base: str | Path = ".",
    settings: Sequence[str] = (),
) -> Study:
    """A study from a document of plain values, such as a parsed TOML file.

    Args:
        document: the study.
        name: what messages call it.
        base: folder from which file names in it start.
        settings: fields of its scenario to change, each written `PATH=VALUE`.

    Raises:
        ScenarioError: anything in it that is not understood, its scenario cannot be read, or an
            axis sets what is to be changed.

    Example:
        >>> flows = {"name": "flows", "path": "traffic.downloads.flows", "values": [1, 2, 4]}
        >>> whole = {"replications": 2, "axis": [flows], "scenario": scenario.bare().document}
        >>> len(sweep.read(whole).points)
        3
    """
    if "scenario" not in document and not {"traffic", "duration"}.isdisjoint(document):
        raise ScenarioError(
            f"{name}: is a scenario; a study names one and the values to try, such as "
            "examples/uplink-study.toml"
        )
    table = _written.read(StudyTable, document, name)
    axes = tuple(each.axis() for each in table.axis)
    whole = _scenario(table.scenario, name, Path(base))
    for setting in settings:
        path = setting.partition("=")[0].strip()
        if any(f"{path}.".startswith(f"{each}.") for axis in axes for each in axis.paths):
            raise ScenarioError(
                f"{name}: --set {path}: an axis of this study sets it; change its values in the "
                "study, or in a copy of the paper's folder (docs/papers/README.md)"
            )
        whole = whole.with_text(setting)
    disciplines = _disciplines(table, name)
    links: tuple[str | None, ...] = table.links
    if table.disciplines is not None and not links:
        links = (whole.default_link(),)
    first = whole.bare()
    seed = table.seed if table.seed is not None else first.document.get("seed", 1)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ScenarioError(f"{name}: scenario.seed: must be a whole number from 0")
    until = None
    if table.until is not None:
        asked = table.until
        until = Until(asked.key, *asked.width, asked.at_least, asked.at_most)
    labels = [label for label, _ in disciplines]
    if table.baseline is not None and table.baseline not in labels:
        raise ScenarioError(
            f'{name}: baseline: no discipline is called "{table.baseline}"; '
            f"one of {', '.join(labels)}"
        )
    for number, axis in enumerate(axes):
        for label in axis.disciplines:
            if label not in labels:
                raise ScenarioError(
                    f'{name}: axis[{number}].disciplines: no discipline is called "{label}"; '
                    f"one of {', '.join(labels)}"
                )
    document = {
        "scenario": first.without("seed").document,
        "axes": [axis.document for axis in axes],
        "disciplines": [[label, queue] for label, queue in disciplines],
        "link": links[0] if len(links) == 1 else list(links) or None,
        "replications": table.replications,
        "until": document.get("until"),
        "keys": table.keys,
        "seed": seed,
    }
    if table.baseline is not None:
        document |= {"baseline": table.baseline, "efficiency": table.efficiency}
    return Study(
        name,
        str(table.title or first.document.get("title") or Path(name).stem),
        first.without("seed"),
        axes,
        disciplines,
        links,
        table.replications,
        until,
        (*table.keys, until.key) if table.keys and until is not None else tuple(table.keys),
        seed,
        json.loads(json.dumps(document)),
    )


def refuse_captures(changed: Scenario) -> None:
    """Refuse a scenario that writes captures, which all of its runs would write to."""
    for link in changed.resolved()["links"]:
        if link["pcap"] is not None:
            raise ScenarioError(
                f"{link['path']}.pcap: all runs would write to one file; take it out and record a "
                "single run with forebay run"
            )


def schema() -> dict[str, Any]:
    """The JSON Schema of a study file; a scenario in it has the scenario's own."""
    whole: dict[str, Any] = StudyTable.model_json_schema()
    scenario_schema = json.loads(_engine.schema(plugins))
    whole["properties"]["scenario"]["anyOf"][1] = {"$ref": "#/$defs/Scenario"}
    whole.setdefault("$defs", {}).update(scenario_schema.pop("$defs", {}))
    whole["$defs"]["Scenario"] = scenario_schema
    return whole


def _scenario(given: str | dict[str, Any], name: str, base: Path) -> Scenario:
    if isinstance(given, str):
        return scenario.load(base / given)
    return Scenario.of(with_plugins(given), f"{name}: scenario", str(base))


def _disciplines(table: StudyTable, name: str) -> tuple[tuple[str, dict[str, Any] | None], ...]:
    if table.disciplines is None:
        return ((scenario.TODAY, None),)
    found: dict[str, dict[str, Any] | None] = {}
    for at, entry in enumerate(table.disciplines):
        label, queue = labelled(entry)
        if label in found:
            raise ScenarioError(
                f'{name}: disciplines[{at}]: two are called "{label}"; '
                'give one a name of its own with label = "..."'
            )
        found[label] = queue
    return tuple(found.items())
