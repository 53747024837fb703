"""The axes of a study: which fields of the scenario change, and to which values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from forebay._scenario import quantity


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a study: fields of the scenario that change together.

    Example:
        >>> axis = study.axes[0]
        >>> axis.name, axis.paths, axis.labels
        ('uplink', ('link.uplink.rate',), ('2Mbit', '8Mbit', '32Mbit'))
    """

    name: str
    """What tables and figures call it."""
    paths: tuple[str, ...]
    """The fields, as `Scenario.with_` takes them; several if they are zipped."""
    rows: tuple[tuple[Any, ...], ...]
    """A value of each field, for every step of the axis."""
    names: tuple[str, ...] = ()
    """What figures and tables call each step; the values themselves if empty."""
    disciplines: tuple[str, ...] = ()
    """Labels of the disciplines to which it applies; all if empty."""

    @property
    def document(self) -> dict[str, Any]:
        """The axis as plain values."""
        plain: dict[str, Any] = {"name": self.name, "paths": self.paths, "rows": self.rows}
        plain |= {"labels": self.names} if self.names else {}
        return plain | ({"disciplines": self.disciplines} if self.disciplines else {})

    def applies(self, discipline: str) -> bool:
        """Whether it changes what is run under a discipline."""
        return not self.disciplines or discipline in self.disciplines

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Axis:
        """The axis that `document` describes, as `Axis.document` gives it."""
        return cls(
            document["name"],
            tuple(document["paths"]),
            tuple(map(tuple, document["rows"])),
            tuple(document.get("labels", ())),
            tuple(document.get("disciplines", ())),
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
        units = {None if each is None else each.base_unit for each in found}
        if None in units or len(units) != 1:
            return None
        return tuple(each.value for each in found if each is not None)

    @property
    def unit(self) -> str:
        """Unit of `numbers`, empty for plain numbers."""
        found = quantity(self.rows[0][0])
        return "" if found is None else found.base_unit


def crossed(axes: tuple[Axis, ...]) -> list[tuple[int, ...]]:
    """Every combination of steps, the last axis changing fastest; one, empty, without axes."""
    return list(product(*(range(len(axis.rows)) for axis in axes)))


def shown(value: Any) -> str:
    """A value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
