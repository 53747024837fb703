"""Points of the studies, and the measures that tables, figures and sentences share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from forebay.papers import Data, Panel, Part, Table
from forebay.papers.data import Where
from forebay.papers.points import line, texts

TEXT = texts(Path(__file__).parent)
DELAY = "99th percentile of one-way delay, ms"
UNMARKED = {"traffic.game.dscp": "DF", "traffic.game.rate": "24kbit"}
OFTEN = {"traffic.game.dscp": "DF", "traffic.game.rate": "96kbit"}
MARKED = {"traffic.game.dscp": "NQB", "traffic.flood.rate": "1kbit"}
FLOOD = {"traffic.flood.dscp": "NQB", "traffic.flood.rate": "8Mbit"}
L4S_FLOOD = {"traffic.flood.ecn": "ect1", "traffic.flood.rate": "8Mbit"}
HONEST = {"traffic.greedy.rate": "1kbit", "traffic.greedy.dscp": "DF"}
GREEDY = {"traffic.greedy.rate": "8Mbit", "traffic.greedy.dscp": "DF"}
DISGUISED = {"traffic.greedy.rate": "8Mbit", "traffic.greedy.dscp": "NQB"}
ALWAYS: Where = {}
"""The one case of a study that has no others."""
SHORT = {"traffic.high.on": "500ms"}
LONG = {"traffic.high.on": "10s"}

Column = tuple[str, Where, float]
"""A measure, the case in which it is taken, and the factor that brings it to its unit."""


def of(who: str, case: Where, key: str = "discipline") -> Where:
    """A variant in a case."""
    return {key: who, **case}


def compared(
    data: Data,
    study: str,
    variants: Sequence[str],
    columns: Mapping[str, Column],
    differences: Mapping[str, Column],
    key: str = "discipline",
) -> list[Table]:
    """A row a variant: measures, and paired differences from the first one that is the old idea's.

    Args:
        data: the results.
        study: the study.
        variants: the rows; the first is what the others are compared with.
        columns: means.
        differences: of each variant and the first.
        key: the column that names the variant.
    """
    first, rows = variants[0], []
    for who in variants:
        row: list[object] = [who]
        for measure, case, scale in columns.values():
            row.append(data.interval(study, measure, of(who, case, key), scale=scale))
        for measure, case, scale in differences.values():
            pair = of(who, case, key), of(first, case, key)
            row.append("" if who == first else data.difference(study, measure, *pair, scale=scale))
        rows.append(row)
    head = [f"{name} minus {first}" for name in differences]
    return [Table(["", *columns, *head], rows)]


def bars(
    data: Data,
    study: str,
    variants: Sequence[str],
    title: str,
    unit: str,
    cases: Mapping[str, Column],
    key: str = "discipline",
) -> Panel:
    """A bar a variant for each case."""
    drawn = [
        line(
            name,
            list(variants),
            [data.interval(study, measure, of(who, case, key), scale=scale) for who in variants],
            "bars",
        )
        for name, (measure, case, scale) in cases.items()
    ]
    return Panel(title, "", unit, drawn)


def rests(what: str, found: object, low: float = -math.inf, high: float = math.inf,
          unit: str = "") -> Part:  # fmt: skip
    """A number on which a sentence rests, and the range that bears it out."""
    return Part(what, "", found, low, high, unit)  # type: ignore[arg-type]
