"""The axes of a study: which fields of the scenario change, and to which values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from forebay._engine import ScenarioError


class StudyError(ScenarioError):
    """A study that cannot run or go on; the message names the place and the remedy."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a study: fields of the scenario that change together."""

    name: str
    """What tables and figures call it."""
    paths: tuple[str, ...]
    """The fields, as `Scenario.with_` takes them; several if they are zipped."""
    rows: tuple[tuple[Any, ...], ...]
    """A value of each field, for every step of the axis."""
    names: tuple[str, ...] = ()
    """What figures and tables call each step; the values themselves if empty."""

    @property
    def document(self) -> dict[str, Any]:
        """The axis as plain values."""
        plain = {"name": self.name, "paths": self.paths, "rows": self.rows}
        return plain | ({"labels": self.names} if self.names else {})

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Axis:
        """The axis that `document` describes, as `Axis.document` gives it."""
        return cls(
            document["name"],
            tuple(document["paths"]),
            tuple(map(tuple, document["rows"])),
            tuple(document.get("labels", ())),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the results that hold its values, one a field."""
        return (self.name,) if len(self.paths) == 1 else self.paths

    @property
    def labels(self) -> tuple[str, ...]:
        """Each step as text."""
        if self.names:
            return self.names
        return tuple(", ".join(shown(value) for value in row) for row in self.rows)

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """Each step in base units (bit/s, bytes, seconds) if all are quantities of one kind."""
        plain = len(self.paths) == 1 and not self.names
        found = [quantity(row[0]) for row in self.rows] if plain else [None]
        kinds = {None if each is None else each[1] for each in found}
        if None in kinds or len(kinds) != 1:
            return None
        return tuple(each[0] for each in found if each is not None)

    @property
    def unit(self) -> str:
        """Unit of `numbers`, empty for plain numbers."""
        found = quantity(self.rows[0][0])
        return "" if found is None else found[1]


def read_axes(entries: Any, name: str) -> tuple[Axis, ...]:
    """The axes that a study's `axis` list describes.

    Raises:
        StudyError: anything in it that is not understood.
    """
    if not isinstance(entries, list):
        raise StudyError(f"{name}: axis: expected a list, written as [[axis]] tables")
    axes = tuple(_axis(entry, f"{name}: axis[{at}]") for at, entry in enumerate(entries))
    seen: set[str] = set()
    for at, axis in enumerate(axes):
        for each in {*axis.paths, *axis.columns}:
            if each in seen:
                raise StudyError(f'{name}: axis[{at}]: "{each}" is an axis already')
            seen.add(each)
    return axes


def crossed(axes: tuple[Axis, ...]) -> list[tuple[int, ...]]:
    """Every combination of steps, the last axis changing fastest; one, empty, without axes."""
    return list(product(*(range(len(axis.rows)) for axis in axes)))


def shown(value: Any) -> str:
    """A value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


_UNITS: dict[str, tuple[float, str]] = {
    "": (1.0, ""),
    "p": (1.0, "p"),
    **{"bit": (1.0, "bit/s"), "kbit": (1e3, "bit/s"), "Mbit": (1e6, "bit/s")},
    **{"Gbit": (1e9, "bit/s"), "b/s": (1.0, "bit/s"), "kb/s": (1e3, "bit/s")},
    **{"Mb/s": (1e6, "bit/s"), "Gb/s": (1e9, "bit/s"), "bit/s": (1.0, "bit/s")},
    **{"kbit/s": (1e3, "bit/s"), "Mbit/s": (1e6, "bit/s"), "Gbit/s": (1e9, "bit/s")},
    **{"B": (1.0, "B"), "KB": (1e3, "B"), "kB": (1e3, "B"), "MB": (1e6, "B"), "GB": (1e9, "B")},
    **{"KiB": (1024.0, "B"), "MiB": (1024.0**2, "B"), "GiB": (1024.0**3, "B")},
    **{"ns": (1e-9, "s"), "us": (1e-6, "s"), "ms": (1e-3, "s"), "s": (1.0, "s")},
    **{"min": (60.0, "s"), "h": (3600.0, "s")},
}
_QUANTITY = re.compile(r"\s*([-+0-9._]+(?:e[-+]?\d+)?)\s*([A-Za-z/]*)\s*")


def quantity(value: Any) -> tuple[float, str] | None:
    """A value in base units and the base unit; none if it is not a number or a unit string."""
    split = _split(value)
    if split is None or split[1] not in _UNITS:
        return None
    scale, unit = _UNITS[split[1]]
    return split[0] * scale, unit


def _split(value: Any) -> tuple[float, str] | None:
    """Number and unit as written."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        return float(match[1].replace("_", "")), match[2]
    except ValueError:
        return None


def _axis(entry: Any, place: str) -> Axis:
    if not isinstance(entry, Mapping):
        raise StudyError(f"{place}: expected a table with path and values")
    known = {"name", "path", "values", "range", "paths", "rows", "labels"}
    unknown = sorted(set(entry) - known)
    if unknown:
        raise StudyError(
            f'{place}: unknown field "{unknown[0]}"; one of {", ".join(sorted(known))}'
        )
    if ("path" in entry) == ("paths" in entry):
        raise StudyError(
            f'{place}: give path = "link[0].rate" with values or range, '
            'or paths = ["...", "..."] with rows'
        )
    axis = _zipped(entry, place) if "paths" in entry else _single(entry, place)
    labels = entry.get("labels")
    if labels is None:
        return axis
    if (
        not isinstance(labels, list)
        or len(labels) != len({*map(str, labels)})
        or len(labels) != len(axis.rows)
    ):
        raise StudyError(f"{place}.labels: expected {len(axis.rows)} different names")
    return replace(axis, names=tuple(map(str, labels)))


def _single(entry: Mapping[str, Any], place: str) -> Axis:
    path = entry["path"]
    if not isinstance(path, str):
        raise StudyError(f'{place}.path: expected a path such as "link[0].rate"')
    if ("values" in entry) == ("range" in entry):
        raise StudyError(f"{place}: give either values or range")
    if "range" in entry:
        values = _range(entry["range"], f"{place}.range")
    else:
        values = entry["values"]
        if not isinstance(values, list) or not values:
            raise StudyError(f"{place}.values: expected a list with at least one value")
    return Axis(str(entry.get("name", path)), (path,), _distinct(((v,) for v in values), place))


def _zipped(entry: Mapping[str, Any], place: str) -> Axis:
    paths, rows = entry["paths"], entry.get("rows")
    if not (isinstance(paths, list) and len(paths) > 1 and all(isinstance(p, str) for p in paths)):
        raise StudyError(f"{place}.paths: expected a list of at least two paths")
    if not isinstance(rows, list) or not rows:
        raise StudyError(f"{place}.rows: expected a list of rows, each with a value for every path")
    for at, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(paths):
            raise StudyError(f"{place}.rows[{at}]: expected {len(paths)} values, one for each path")
    name = str(entry.get("name", ", ".join(paths)))
    return Axis(name, tuple(paths), _distinct((tuple(row) for row in rows), place))


def _distinct(rows: Any, place: str) -> tuple[tuple[Any, ...], ...]:
    found: dict[str, tuple[Any, ...]] = {}
    for row in rows:
        key = json.dumps(row)
        if key in found:
            raise StudyError(f"{place}: {', '.join(map(shown, row))} is there twice")
        found[key] = row
    return tuple(found.values())


_MOST_STEPS = 100_000


def _range(table: Any, place: str) -> list[Any]:
    """The values of a range, in the unit in which its ends are written."""
    if not isinstance(table, Mapping) or not {"from", "to"} <= set(table):
        raise StudyError(f'{place}: expected a table such as {{ from = "1Mbit", to = "10Mbit", '
                         "count = 4 }")  # fmt: skip
    unknown = sorted(set(table) - {"from", "to", "step", "count", "scale"})
    if unknown:
        raise StudyError(f'{place}: unknown field "{unknown[0]}"')
    start, end = _split(table["from"]), _split(table["to"])
    if start is None or end is None or start[1] != end[1]:
        raise StudyError(f"{place}: from and to must be numbers in the same unit")
    first, unit, last = *start, end[0]
    logarithmic = table.get("scale", "linear") == "log"
    if table.get("scale", "linear") not in ("linear", "log"):
        raise StudyError(f'{place}.scale: expected "linear" or "log"')
    if ("step" in table) == ("count" in table):
        raise StudyError(f"{place}: give either step or count")
    if last <= first or (logarithmic and first <= 0):
        raise StudyError(f"{place}: to must be above from" + (", and from above 0" * logarithmic))
    if "step" in table:
        numbers = _stepped(first, last, unit, table["step"], logarithmic, f"{place}.step")
    else:
        numbers = _counted(first, last, table["count"], logarithmic, f"{place}.count")
    whole = all(isinstance(table[end], int) for end in ("from", "to"))
    return [_written(number, unit, whole and not unit) for number in numbers]


def _stepped(
    first: float, last: float, unit: str, step: Any, logarithmic: bool, place: str
) -> list[float]:
    if logarithmic:
        raise StudyError(f"{place}: a logarithmic range is given by its count")
    size = _split(step)
    if size is None or size[1] != unit or size[0] <= 0:
        raise StudyError(f"{place}: expected a number above 0 in the unit of from and to")
    steps = math.floor((last - first) / size[0] * (1 + 1e-12) + 1e-9)
    if steps >= _MOST_STEPS:
        raise StudyError(f"{place}: gives more than {_MOST_STEPS} values")
    return [first + size[0] * at for at in range(steps + 1)]


def _counted(first: float, last: float, count: Any, logarithmic: bool, place: str) -> list[float]:
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= _MOST_STEPS:
        raise StudyError(f"{place}: expected a whole number from 2 to {_MOST_STEPS}")
    if logarithmic:
        factor = math.log(last / first)
        return [first * math.exp(factor * at / (count - 1)) for at in range(count)]
    return [first + (last - first) * at / (count - 1) for at in range(count)]


def _written(number: float, unit: str, whole: bool) -> Any:
    """The number as a scenario writes it, to six digits, so that it reads well."""
    rounded = float(f"{number:.6g}")
    if unit:
        return f"{number:.6g}{unit}" if "e" not in f"{number:.6g}" else f"{rounded:.0f}{unit}"
    return int(rounded) if whole and rounded.is_integer() else rounded
