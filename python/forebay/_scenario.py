"""Scenarios: read from a file, changed by path, checked by the engine."""

from __future__ import annotations

import difflib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import tomli_w

from forebay import _disk, _engine
from forebay._engine import ScenarioError
from forebay._plugins import is_python

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


if TYPE_CHECKING:
    from forebay._plugin import Discipline
    from forebay._plugin.part import Part

Queue: TypeAlias = "str | type[Discipline] | Mapping[str, Any]"
"""A kind of discipline such as `fifo` or `fifo:limit=300p`, a class of one, or a table."""

TODAY = "today"
"""In place of a discipline: the queues that the scenario has."""

plugins: list[str] = []
"""Plug-ins of the command line, absolute paths; every scenario read from a file has them."""


def with_plugins(document: dict[str, Any]) -> dict[str, Any]:
    """The document of a scenario with the plug-ins of the command line beside its own."""
    if not plugins:
        return document
    return document | {"plugins": [*document.get("plugins", []), *plugins]}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario as written: links, queues, traffic and what to compare.

    A scenario never changes; `with_` gives a changed copy. Nothing is checked before `effective` is
    called or the scenario is run.

    Example:
        >>> faster = scenario.with_("dumbbell.rate", "20Mbit").with_("traffic.calls.flows", 10)
        >>> faster.effective()["dumbbell"]["rate"], scenario.effective()["dumbbell"]["rate"]
        ('20Mbit', '10Mbit')
        >>> print(scenario.with_queue("codel").document["dumbbell"]["queue"])
        {'kind': 'codel'}
    """

    text: str
    """The scenario as JSON."""
    name: str
    """What messages call it, usually the file's name."""
    base: str
    """Folder from which relative file names inside the scenario start."""

    def __repr__(self) -> str:
        """The scenario's name and title, in a line; `document` has the whole."""
        title = self.document.get("title")
        return f"<Scenario {self.name}: {title}>" if title else f"<Scenario {self.name}>"

    @classmethod
    def of(cls, document: dict[str, Any], name: str = "scenario", base: str = ".") -> Scenario:
        """A scenario from a document of plain values, such as a parsed TOML file.

        Raises:
            ScenarioError: it holds something else, or a number that is not finite.
        """
        return cls(written(document, f"{name}: "), name, base)

    @property
    def document(self) -> dict[str, Any]:
        """The scenario as written, as a new document of plain values."""
        document: dict[str, Any] = json.loads(self.text)
        return document

    @property
    def has_plugins(self) -> bool:
        """Whether it may name plug-ins."""
        return '"plugins"' in self.text

    def with_(self, path: str, value: Any) -> Scenario:
        """A copy in which the field at `path` is `value`.

        A path is written as in messages: `link[0].queue.target`. An entry of a list whose entries
        have names may also be addressed by its name: `traffic.voice.flows`. A name that holds a
        dot stands in quotes: `traffic."g.711".flows`. Missing tables on the path are created.

        Raises:
            ScenarioError: the path cannot be followed.
        """
        return self.with_all({path: value})

    def with_all(self, fields: Mapping[str, Any]) -> Scenario:
        """A copy in which many fields are changed at once, each as `with_` does it.

        Args:
            fields: values by path, set in this order.

        Raises:
            ScenarioError: a path cannot be followed.
        """
        with named(self):
            text = _engine.with_fields(self.text, written(dict(fields)))
        return Scenario(text, self.name, self.base)

    def with_text(self, assignment: str) -> Scenario:
        """A copy changed by `path=value`, the value written as in TOML.

        A value that is not TOML is taken as a string, so that `link[0].rate=5Mbit` needs no quotes.

        Raises:
            ScenarioError: there is no `=`, or the path cannot be followed.
        """
        path, equals, text = assignment.partition("=")
        if not equals or not path.strip():
            raise ScenarioError(f'"{assignment}": expected PATH=VALUE, such as link[0].rate=5Mbit')
        return self.with_(path.strip(), value_of(text.strip()))

    def effective(self) -> dict[str, Any]:
        """The scenario with every default filled in.

        Raises:
            ScenarioError: anything in it that could not run.
        """
        with named(self):
            document: dict[str, Any] = json.loads(_engine.effective(self.text, self.base))
        return document

    def resolved(self) -> dict[str, Any]:
        """What the scenario means: its links in both directions, its traffic, its files.

        `_engine.resolve` documents the keys.

        Raises:
            ScenarioError: anything in it that is not understood.
        """
        with named(self):
            return _resolved(self.text, self.base)

    def compared_link(self, link: str | None = None) -> str:
        """The name in results of a link, or of the one on which disciplines are compared.

        Raises:
            ScenarioError: there is no such link, or there are several and none is chosen.
        """
        with named(self):
            return _engine.compared_link(self.text, self.base, link)

    def default_link(self) -> str | None:
        """Where disciplines go, for `with_queue` on a copy without the [compare] table.

        Raises:
            ScenarioError: there are several links and none is chosen.
        """
        self.compared_link()
        link: str | None = self.resolved()["default_link"]
        return link

    def with_queue(self, queue: Queue, link: str | None = None) -> Scenario:
        """A copy with another queue on a link.

        Args:
            queue: a kind of discipline, a class of one, or a table such as
                `{"kind": "codel", "target": "5ms"}`, whose kind may be a class, too.
            link: a name that results have, such as "uplink" or "uplink-reverse"; the link that the
                scenario compares unless given.

        Raises:
            ScenarioError: there is no such link, or there are several and none is chosen; or the
                class is no discipline.
        """
        table, plugin = plain(queue)
        text = self.text if plugin is None else json.dumps(_with_plugin(self.document, plugin))
        with named(self):
            text = _engine.with_queue(text, self.base, link, written(table))
        return Scenario(text, self.name, self.base)

    def with_change(
        self, at_ns: int, change: Mapping[str, Any], plugins: Sequence[str] = ()
    ) -> Scenario:
        """A copy with one more `[[change]]`, in order of time.

        Args:
            at_ns: when, in nanoseconds.
            change: `set`, `join` or `leave`, as a scenario writes it.
            plugins: all plug-ins that the copy names, if any.
        """
        document = self.document
        if plugins:
            document["plugins"] = list(plugins)
        changes: list[dict[str, Any]] = document.setdefault("change", [])
        place = len(changes)
        while place > 0 and nanoseconds(changes[place - 1]["at"]) > at_ns:
            place -= 1
        changes.insert(place, {"at": instant(at_ns), **change})
        return Scenario.of(document, self.name, self.base)

    def with_classes(self, *classes: type[Part]) -> Scenario:
        """A copy whose fields may name these classes of `forebay.Discipline` and so on.

        Raises:
            ScenarioError: one is no such class, or has no name of its own.
        """
        document = self.document
        for each in classes:
            document = _with_plugin(document, _handed(each))
        return Scenario.of(document, self.name, self.base)

    def without(self, *fields: str) -> Scenario:
        """A copy without some fields of the top level."""
        document = self.document
        for field in fields:
            document.pop(field, None)
        return Scenario.of(document, self.name, self.base)

    def bare(self) -> Scenario:
        """A copy without the tables for comparing, tuning and learning, which one run ignores."""
        return self.without("compare", "tune", "agent")

    def files(self, path: Path) -> list[Path]:
        """Every file that it reads, `path` itself first: captures, traces and plug-ins.

        Raises:
            ScenarioError: anything in it that is not understood.
        """
        return [path, *(Path(self.base, each["file"]) for each in self.resolved()["files"])]

    def libraries(self) -> list[str]:
        """Its plug-ins by their absolute paths, as a gate takes them.

        Raises:
            ScenarioError: one is in Python.
        """
        files: list[str] = self.document.get("plugins", [])
        for place, file in enumerate(files):
            if is_python(file):
                raise ScenarioError(
                    f"{self.name}: plugins[{place}]: a class in Python runs in simulations alone; "
                    "a gate takes shared libraries: write it in Rust or C (docs/extending.md)"
                )
        return [str(_disk.leads_to(Path(self.base, file))) for file in files]

    def identity(self) -> str:
        """Hash of everything that decides what runs: all but the seed and the title.

        Defaults, the contents of files and the engine's version are part of it.

        Raises:
            ScenarioError: anything in it that could not run.
        """
        with named(self):
            return _engine.identity(self.text, self.base)

    def to_toml(self) -> str:
        """The scenario as written, as TOML."""
        return to_toml(self.document)


@lru_cache(maxsize=64)
def _resolved(text: str, base: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_engine.resolve(text, base))
    return found


def resolved_link(scenario: Scenario, name: str) -> dict[str, Any]:
    """What `Scenario.resolved` says of the link that results call so."""
    links: list[dict[str, Any]] = scenario.resolved()["links"]
    return next(each for each in links if each["name"] == name)


def plain(queue: Queue) -> tuple[dict[str, Any], str | None]:
    """A queue as a scenario writes it, and the plug-in that brings its kind, if it is a class."""
    if isinstance(queue, str):
        return json.loads(_engine.labelled(queue)[1]), None
    table: dict[str, Any] = dict(queue) if isinstance(queue, Mapping) else {"kind": queue}
    owner = table.get("kind")
    if not isinstance(owner, type):
        return table, None
    plugin = _handed(owner, "discipline")
    from forebay._plugin import loading

    return table | {"kind": loading.kind_of(owner).name}, plugin


def _handed(owner: type, family: str = "") -> str:
    from forebay._plugin import loading

    try:
        return loading.handed(owner, family)
    except loading.PluginError as error:
        raise ScenarioError(str(error)) from None


def _with_plugin(document: dict[str, Any], plugin: str) -> dict[str, Any]:
    known = document.get("plugins", [])
    return document if plugin in known else document | {"plugins": [*known, plugin]}


def labelled(entry: Queue) -> tuple[str, dict[str, Any]]:
    """The label and the queue of an entry in a list of disciplines; "kernel:cake" is Linux' own.

    What is written with parameters is called by them: "fifo:limit=300p" is "fifo 300p".
    """
    if isinstance(entry, str):
        label, table = _engine.labelled(entry)
        return label, json.loads(table)
    queue: dict[str, Any] = dict(entry) if isinstance(entry, Mapping) else {"kind": entry}
    label = queue.pop("label", None)
    if label is None:
        parts = [queue.get(part) for part in ("classify", "admit", "schedule")]
        kinds = [
            str(part["kind"]) for part in parts if isinstance(part, Mapping) and "kind" in part
        ]
        label = plain(queue)[0].get("kind") or " + ".join(kinds) or "without a kind"
    return str(label), queue


class Quantity(NamedTuple):
    """A number with its unit."""

    value: float
    """In base units."""
    base_unit: str
    """bit/s, B, s or p (packets); empty for a plain number."""
    number: float
    """As written."""
    unit: str
    """As written; empty for a plain number."""


def quantity(value: Any) -> Quantity | None:
    """What a field's value says, read as the engine reads it; None if it is no quantity."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        try:
            return Quantity(float(value), "", float(value), "")
        except OverflowError:
            return None
    try:
        found = json.loads(_engine.quantity(value, None))
    except ScenarioError:
        return None
    return Quantity(found["value"], found["base_unit"], float(found["number"]), found["unit"])


def nanoseconds(text: str) -> int:
    """A time such as "100ms" in nanoseconds.

    Raises:
        ScenarioError: it is no time.
    """
    if not isinstance(text, str):
        raise ScenarioError(f'expected a time such as "100ms", got {text!r}')
    base: float = json.loads(_engine.quantity(text, "time"))["value"]
    return round(base * 1e9)


def instant(at_ns: int) -> str:
    """An instant as a scenario writes it, without loss, such as "2s" or "1500ms"."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if at_ns % size == 0:
            return f"{at_ns // size}{unit}"
    return f"{at_ns}ns"


def load(path: str | Path) -> Scenario:
    """Read a scenario file, TOML or JSON.

    Args:
        path: the file; file names in it start from its folder.

    Raises:
        ScenarioError: the file cannot be read or is not TOML.

    Example:
        >>> forebay.load("examples/lab.toml").document["duration"]
        '30s'
    """
    if not isinstance(path, str | os.PathLike):
        raise ScenarioError(
            f"expected a scenario or the name of its file, got {_shown(path)}; "
            "forebay.Scenario.of makes one of a dict"
        )
    path = Path(path)
    if not path.exists():
        raise ScenarioError(f"{path}: there is no such file{_instead(path)}")
    text = _engine.load(str(path))
    if text == "{}":
        raise ScenarioError(f"{path}: is empty; {_NEW}")
    if '"axis"' in text and "scenario" in json.loads(text):
        raise ScenarioError(f"{path}: is a study; `forebay sweep {path}` runs it")
    if plugins:
        text = json.dumps(with_plugins(json.loads(text)))
    return Scenario(text, path.name, str(path.parent))


_NEW = "`forebay new scenario` writes a scenario to start from"


def _instead(path: Path) -> str:
    """What may have been meant by the name of a file that is not there."""
    there = {each.stem: each for each in path.parent.glob("*.toml")}
    near = difflib.get_close_matches(path.stem, there, n=1)
    return f"; did you mean {there[near[0]]}?" if near else f"; {_NEW}"


def lookup(document: dict[str, Any], path: str) -> Any:
    """What stands at `path` of a document; none if nothing does.

    Raises:
        ScenarioError: it is not a path.
    """
    found = _engine.field(json.dumps(document), path)
    return None if found is None else json.loads(found)


def load_with(path: str | Path, settings: Sequence[str]) -> Scenario:
    """Read a scenario file and change fields of it, each written `PATH=VALUE`."""
    scenario = load(path)
    for setting in settings:
        scenario = scenario.with_text(setting)
    return scenario


def to_toml(document: dict[str, Any]) -> str:
    """A document of plain values as TOML; what is null is left out, as TOML has no such value."""
    return tomli_w.dumps(_without_null(document))


@contextmanager
def named(scenario: Scenario, place: str = "") -> Iterator[None]:
    """Let every `ScenarioError` inside start with the scenario's name and with `place` in it."""
    try:
        yield
    except ScenarioError as error:
        name = f"{scenario.name}: "
        raise ScenarioError(f"{name}{place}{str(error).removeprefix(name)}") from None


def value_of(text: str) -> Any:
    """The value that `text` writes in TOML, or the text itself.

    Raises:
        ScenarioError: it is nested too deeply, or a table or list with a value that scenarios
            cannot have, such as inf.
    """
    try:
        value = tomllib.loads(f"value = {text}")
    except RecursionError:
        raise ScenarioError(f'"{text[:20]}...": is nested too deeply') from None
    except ValueError:  # It is not TOML, or a number of thousands of digits.
        return text
    found = value["value"]
    if len(value) > 1 or (not _plain(found) and not isinstance(found, dict | list)):
        return text
    if not _plain(found):
        what = _strange(found) or "holds a number that is too large"
        raise ScenarioError(f'"{text[:80]}": {what}')
    return found


def _plain(value: Any) -> bool:
    """Whether JSON can hold the value.

    TOML also has dates, numbers that are not finite, and whole numbers of any length.
    """
    if isinstance(value, dict):
        return all(_plain(inner) for inner in value.values())
    if isinstance(value, list):
        return all(_plain(inner) for inner in value)
    if isinstance(value, int | float):
        return abs(value) < 1e300
    return isinstance(value, str)


def written(value: Any, place: str = "") -> str:
    """A value as JSON.

    Raises:
        ScenarioError: it holds what is no plain value, or a number that is not finite. The message
            begins with `place`.
    """
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScenarioError(place + (_strange(value) or f"is no plain value: {error}")) from None


def _strange(value: Any, path: str = "", depth: int = 100) -> str | None:
    """What JSON cannot hold in a value, with its path; None if nothing is found."""
    if isinstance(value, dict | list | tuple) and depth:
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inner:
            below = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
            if found := _strange(each, below.removeprefix("."), depth - 1):
                return found
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return f"{path}: must be a finite number, got {value}"
    if value is None or isinstance(value, str | int | float | dict | list | tuple):
        return None
    return f"{path}: must be a plain value, got {_shown(value)}"


def _shown(value: Any) -> str:
    """A value of any type, in a few words."""
    return "None" if value is None else f"{type(value).__name__} {value!r}"[:80]


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value if inner is not None]
    return value
