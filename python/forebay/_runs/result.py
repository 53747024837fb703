"""What one run measured: a summary and tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._scenario import Scenario, named

if TYPE_CHECKING:
    import polars as pl

    from forebay._engine import Cancel, Output
    from forebay._plugin.process import Finished

ON_REQUEST = ("flow_series", "transfers")
"""Tables that the engine makes only for a scenario whose `tables` name them."""


class _Tables(Mapping[str, "pl.DataFrame"]):
    """The engine's tables by name, made when one is first asked for: that takes libraries."""

    def __init__(self, output: Output | Finished) -> None:
        self._output: Output | Finished | None = output

    @cached_property
    def _frames(self) -> Mapping[str, pl.DataFrame]:
        from forebay._runs import frames

        assert self._output is not None
        made = frames.of(self._output.tables())
        self._output = None
        return made

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __reduce__(self) -> tuple[type, tuple[dict[str, pl.DataFrame]]]:
        return dict, (dict(self),)


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
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What programs of a lab said and wrote, by its place in a folder of results."""

    @classmethod
    def of(cls, output: Output | Finished) -> Result:
        """The result in the engine's output."""
        return cls(json.loads(output.summary), _Tables(output))

    def __repr__(self) -> str:
        """What was run, in a line; `summary` and the tables have what was measured."""
        about = self.summary
        return (
            f"<Result of {about['duration_s']:g} s with seed {about['seed']}: "
            f"classes {', '.join(about['classes'])}; links {', '.join(about['links'])}>"
        )

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
        from forebay._runs import frames

        return frames.of_flows(self.summary["flows"])

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

    def rows(self, table: str, of: str) -> Mapping[str, Sequence[Any]]:
        """The rows of a table that belong to a link or a class, as columns.

        Args:
            table: its name, such as "queue", "class" or "delay".
            of: name of the link or the class.
        """
        found = self._table(table)
        label = "link" if table.startswith("queue") else "class"
        columns: dict[str, list[Any]] = found.filter(found[label] == of).to_dict(as_series=False)
        return columns

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
        from forebay._runs import frames

        table = self.tables.get(name)
        return frames.empty(name) if table is None else table


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
        from forebay._plugin import process

        return process.run(scenario.text, scenario.base, cancel, progress)


def flattened(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, keys joined by dots; lists are left out."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            flat |= flattened(inner, f"{prefix}{key}.")
        elif not isinstance(inner, list):
            flat[prefix + key] = inner
    return flat
