"""Tables of runs as frames of polars, and as files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from forebay import _disk
from forebay._engine import ScenarioError

Table: TypeAlias = "tuple[str, Mapping[str, str], Mapping[str, bytes]]"
"""A name, labels, and columns of numbers as the engine keeps them."""

_COLUMNS = (
    "flow",
    "time_s",
    "mean_packets",
    "max_packets",
    "mean_bytes",
    "dropped",
    "marked",
    "throughput_bps",
    "completed",
    "delay_ms",
    "count",
    "start_s",
    "bytes",
    "end_s",
    "duration_s",
)

_WHOLE = {"flow_series": ("flow",), "transfers": ("flow", "bytes")}
"""Columns of whole numbers in the tables that are made on request, where nan is no number."""

_EMPTY: dict[str, pl.Schema] = {
    "queue": pl.Schema({"link": pl.String, "time_s": pl.Float64, "mean_packets": pl.Float64}),
    "class": pl.Schema({"class": pl.String, "time_s": pl.Float64, "throughput_bps": pl.Float64}),
    "delay": pl.Schema({"class": pl.String, "delay_ms": pl.Float64, "count": pl.Float64}),
    "queue_delay": pl.Schema({"link": pl.String, "delay_ms": pl.Float64, "count": pl.Float64}),
}

_FLOWS = pl.Schema(
    {
        "id": pl.Int64,
        "traffic": pl.String,
        "class": pl.String,
        "goodput_bps": pl.Float64,
        "delivered_bytes": pl.Int64,
        "retransmissions": pl.Int64,
        "timeouts": pl.Int64,
        "loss": pl.Float64,
        "mean_delay_ms": pl.Float64,
        "mean_wait_ms": pl.Float64,
        "completed": pl.Int64,
        "completion_s": pl.Float64,
        "r_factor": pl.Float64,
        "mos": pl.Float64,
        "qoe_bps": pl.Float64,
        "rendition_bps": pl.Float64,
        "stall_ratio": pl.Float64,
        "stalls": pl.Int64,
        "switches": pl.Int64,
        "initial_loading_s": pl.Float64,
    }
)


def empty(name: str) -> pl.DataFrame:
    """A table of no rows."""
    return pl.DataFrame(schema=_EMPTY[name])


def of_flows(flows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The flows of a summary."""
    return pl.DataFrame(flows, schema=_FLOWS, strict=False)


def of(made: Sequence[Table]) -> dict[str, pl.DataFrame]:
    """The engine's tables, those of one name stacked with their labels as columns."""
    # A network has thousands of tables of the same columns: they become one frame at once.
    forms: dict[_Form, list[tuple[int, Table]]] = {}
    for place, (name, labels, columns) in enumerate(made):
        form = _Form(name, tuple(sorted(labels)), tuple(sorted(columns, key=_order)))
        forms.setdefault(form, []).append((place, (name, labels, columns)))
    parts: dict[str, list[pl.DataFrame]] = {}
    for form, tables in forms.items():
        parts.setdefault(form.name, []).append(_stacked(form, tables))
    return {
        name: pl.concat(frames, how="diagonal").sort(_PLACE, maintain_order=True).drop(_PLACE)
        for name, frames in parts.items()
    }


_PLACE = "place"
"""Column of the engine's order of tables."""


class _Form(NamedTuple):
    """What tables have in common that can be stacked: the names of what they hold."""

    name: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]


def _stacked(form: _Form, tables: Sequence[tuple[int, Table]]) -> pl.DataFrame:
    """Tables of one form, one below the other, with their labels and places beside them."""
    numbers = pl.DataFrame(
        {
            key: np.concatenate([np.frombuffer(columns[key], "<f8") for _, (*_, columns) in tables])
            for key in form.columns
        }
    )
    if whole := _WHOLE.get(form.name):
        numbers = numbers.fill_nan(None).with_columns(pl.col(*whole).cast(pl.Int64))
    rows = [len(columns[form.columns[0]]) // 8 for _, (*_, columns) in tables]
    which = np.repeat(np.arange(len(tables)), rows)
    labels = [
        pl.Series(key, [labels[key] for _, (_, labels, _) in tables], pl.String)[which]
        for key in form.labels
    ]
    places = pl.Series(_PLACE, np.array([place for place, _ in tables])[which])
    return numbers.select(*labels, pl.all(), places)


def _order(column: str) -> tuple[int, str]:
    """Places the usual columns first, in their usual order, then a discipline's variables."""
    return (_COLUMNS.index(column) if column in _COLUMNS else len(_COLUMNS), column)


def parquet(table: pl.DataFrame) -> bytes:
    """A table as a file of Parquet."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, statistics=False)
    return buffer.getvalue()


def read_parquet(path: Path) -> pl.DataFrame:
    """A table from a file of Parquet."""
    content = _disk.read(path, _disk.OWN_LARGEST)
    try:
        return pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError as error:
        raise ScenarioError(f"{path}: is damaged ({error}); write it again") from None
