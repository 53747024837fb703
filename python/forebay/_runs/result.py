"""What one run measured: a summary and tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from forebay import _engine
from forebay._engine import ScenarioError
from forebay.scenario import Scenario, named

if TYPE_CHECKING:
    from forebay._engine import Cancel, Output
    from forebay.plugin.process import Finished

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

_EMPTY: dict[str, pl.Schema] = {
    "queue": pl.Schema({"link": pl.String, "time_s": pl.Float64, "mean_packets": pl.Float64}),
    "class": pl.Schema({"class": pl.String, "time_s": pl.Float64, "throughput_bps": pl.Float64}),
    "delay": pl.Schema({"class": pl.String, "delay_ms": pl.Float64, "count": pl.Float64}),
    "queue_delay": pl.Schema({"link": pl.String, "delay_ms": pl.Float64, "count": pl.Float64}),
}

ON_REQUEST = ("flow_series", "transfers")
"""Tables that the engine makes only for a scenario whose `tables` name them."""

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
    }
)


@dataclass(frozen=True)
class Result:
    """The measurements of one run. Names of columns end in their unit.

    Example:
        >>> result = forebay.run(scenario, seed=7)
        >>> sorted(result.summary["classes"])
        ['calls', 'downloads', 'files']
        >>> result.flows.height
        11
        >>> result.queue.columns[:2]
        ['link', 'time_s']
    """

    summary: dict[str, Any]
    """Totals of the run; the keys are documented in `docs/summary.md`."""
    tables: Mapping[str, pl.DataFrame]
    """Every table of the engine by its name."""

    @classmethod
    def of(cls, output: Output | Finished) -> Result:
        """The result in the engine's output."""
        return cls(json.loads(output.summary), _frames(output))

    @property
    def threads(self) -> int:
        """Threads that the run took."""
        # A run on real packets has no cost.
        taken: int = self.summary.get("cost", {}).get("threads", 1)
        return taken

    @cached_property
    def queue(self) -> pl.DataFrame:
        """Queue length over time: a row for each link and interval of time.

        Columns `link`, `time_s`, `mean_packets`, `max_packets`, `mean_bytes`, `dropped`,
        `marked`, and the discipline's own variables.
        """
        return self._table("queue")

    @cached_property
    def classes(self) -> pl.DataFrame:
        """Throughput over time: columns `class`, `time_s`, `throughput_bps`."""
        return self._table("class")

    @cached_property
    def delay(self) -> pl.DataFrame:
        """Histogram of one-way delay: columns `class`, `delay_ms`, `count` of packets."""
        return self._table("delay")

    @cached_property
    def queue_delay(self) -> pl.DataFrame:
        """Histogram of the time in a queue: columns `link`, `delay_ms`, `count` of packets."""
        return self._table("queue_delay")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row for each flow: goodput, retransmissions, timeouts, loss, delay, completion time."""
        return pl.DataFrame(self.summary["flows"], schema=_FLOWS, strict=False)

    @cached_property
    def flow_series(self) -> pl.DataFrame:
        """Throughput of each flow over time: a row for each flow and interval.

        Columns `class`, `traffic`, `flow` (its `id` in `flows`), `time_s`, `throughput_bps`.

        Raises:
            ScenarioError: the scenario's `tables` do not ask for it.
        """
        return self._requested("flow_series")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """A row for each transfer over TCP, of an entry of traffic in order of their starts.

        Columns `class`, `traffic`, `flow` (its `id` in `flows`), `start_s`, `bytes` (null: without
        end), `end_s` and `duration_s` (null: not ended in the run, or given up).

        Raises:
            ScenarioError: the scenario's `tables` do not ask for it.
        """
        return self._requested("transfers")

    @property
    def fingerprint(self) -> str:
        """Hash of everything that happened; equal for equal scenarios and seeds."""
        return str(self.summary["fingerprint"])

    def _requested(self, name: str) -> pl.DataFrame:
        if name not in self.tables:
            raise ScenarioError(
                f'{name} was not kept; ask for it with tables = ["{name}"] in the scenario'
            )
        return self.tables[name]

    def _table(self, name: str) -> pl.DataFrame:
        table = self.tables.get(name)
        return pl.DataFrame(schema=_EMPTY[name]) if table is None else table


TABLES: Mapping[str, Callable[[Result], pl.DataFrame]] = {
    "queue": lambda result: result.queue,
    "class": lambda result: result.classes,
    "delay": lambda result: result.delay,
    "queue_delay": lambda result: result.queue_delay,
    "flows": lambda result: result.flows,
    "flow_series": lambda result: result.flow_series,
    "transfers": lambda result: result.transfers,
}
"""The tables of a run by the names that studies give them."""


def run_engine(
    scenario: Scenario,
    cancel: Cancel | None = None,
    progress: Callable[[float], None] | None = None,
    threads: int = 1,
) -> Output | Finished:
    """Run a scenario in the calling thread, which can be interrupted only through `cancel`.

    The engine may take others beside it, `threads` in all. Of several runs at a time with parts in
    Python, one runs here and the others in processes.

    Raises:
        ScenarioError: anything in the scenario that could not run.
        Cancelled: `cancel` was set.
    """
    with named(scenario):
        if not scenario.has_plugins:
            return _engine.run(scenario.text, scenario.base, cancel, progress, threads)
        from forebay.plugin import process

        return process.run(scenario.text, scenario.base, cancel, progress)


def flattened(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, keys joined by dots; lists are left out."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            flat |= flattened(inner, f"{prefix}{key}.")
        elif not isinstance(inner, list):
            flat[prefix + key] = inner
    return flat


def _frames(output: Output | Finished) -> dict[str, pl.DataFrame]:
    """The engine's tables, those of one name stacked with their labels as columns."""
    # A network has thousands of tables of the same columns: they become one frame at once.
    forms: dict[_Form, list[tuple[int, _Table]]] = {}
    for place, (name, labels, columns) in enumerate(output.tables()):
        form = _Form(name, tuple(sorted(labels)), tuple(sorted(columns, key=_order)))
        forms.setdefault(form, []).append((place, (name, labels, columns)))
    parts: dict[str, list[pl.DataFrame]] = {}
    for form, tables in forms.items():
        parts.setdefault(form.name, []).append(_stacked(form, tables))
    return {
        name: pl.concat(frames, how="diagonal").sort(_PLACE, maintain_order=True).drop(_PLACE)
        for name, frames in parts.items()
    }


_Table: TypeAlias = "tuple[str, Mapping[str, str], Mapping[str, bytes]]"

_PLACE = "place"
"""Column of the engine's order of tables."""


class _Form(NamedTuple):
    """What tables have in common that can be stacked: the names of what they hold."""

    name: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]


def _stacked(form: _Form, tables: Sequence[tuple[int, _Table]]) -> pl.DataFrame:
    """Tables of one form, one below the other, with their labels and places beside them."""
    numbers = pl.DataFrame(
        {
            key: np.concatenate([np.frombuffer(columns[key], "<f8") for _, (*_, columns) in tables])
            for key in form.columns
        }
    )
    if form.name in ON_REQUEST:
        whole = pl.col("flow", "bytes") if form.name == "transfers" else pl.col("flow")
        numbers = numbers.fill_nan(None).with_columns(whole.cast(pl.Int64))
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
