"""What a connection sent and heard in one run, with the variables of its congestion control."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._scenario import Scenario

Numbers = NDArray[np.float64]


class State(IntEnum):
    """BBR.state, in the order in which traces count it."""

    STARTUP = 0
    DRAIN = 1
    DOWN = 2
    CRUISE = 3
    REFILL = 4
    UP = 5
    PROBE_RTT = 6


PROBE_BW = frozenset((State.DOWN, State.CRUISE, State.REFILL, State.UP))


class SilentControl(ScenarioError):
    """A congestion control whose states no trace tells."""


@dataclass(frozen=True)
class Stay:
    """A time in one state."""

    state: State
    first: int
    """The first row of the trace that has it."""
    last: int
    """The last row that has it."""


class Trace:
    """A connection's trace. A row's variables are those after all rows before it."""

    def __init__(self, table: pl.DataFrame, summary: dict[str, Any]) -> None:
        """A trace of these rows."""
        self.summary = summary
        self._table = table
        self.time = self["time_s"]
        self.recovery = table["recovery"].to_numpy()
        """The sender's phase of recovery, as the trace calls it."""
        state = self["state"]
        ends = np.flatnonzero(np.diff(state)).tolist()
        bounds = zip([-1, *ends], [*ends, len(state) - 1], strict=True)
        self.stays = [Stay(State(int(state[last])), first + 1, last) for first, last in bounds]

    def __getitem__(self, name: str) -> Numbers:
        """A variable, or a column of the trace, row by row."""
        return self._table[name].to_numpy()

    def at(self, name: str, row: int) -> float:
        """A variable in one row."""
        return float(self[name][row])

    def of(self, state: State, after: float = 0.0) -> Iterator[Stay]:
        """The times in a state that begin after an instant, those that had not ended left out."""
        for stay in self.stays[:-1]:
            if stay.state == state and self.time[stay.first] >= after:
                yield stay

    def first(self, state: State, after: float = 0.0) -> Stay:
        """The first of them.

        Raises:
            ScenarioError: there is none.
        """
        found = next(self.of(state, after), None)
        if found is None:
            raise ScenarioError(f"the connection has no whole {state.name} after {after:g} s")
        return found

    def follows(self, stay: Stay) -> State:
        """The state that follows."""
        return self.stays[self.stays.index(stay) + 1].state

    def began(self, stay: Stay) -> float:
        """When it began: with the acknowledgment before the first row that has it."""
        return float(self.time[stay.first - 1])

    def left(self, stay: Stay) -> float:
        """When it was left: with the last row that has it."""
        return float(self.time[stay.last])

    def written(self, until: float) -> int:
        """Payload bytes that have been sent for the first time until an instant."""
        rows = (self.time <= until) & (self["is_data"] > 0) & (self["len"] > 0)
        ends = (self["seq"] + self["len"])[rows]
        return int(ends.max(initial=1)) - 1

    def acknowledged(self, begin: float, end: float) -> float:
        """Payload bytes a second that were acknowledged in a span."""
        rows = (self["is_data"] == 0) & (self.time >= begin) & (self.time <= end)
        acks = self["ack"][rows]
        return float(acks.max() - acks.min()) / (end - begin)

    def retransmitted(self, begin: float, end: float) -> float:
        """Share of the segments sent in a span that had been sent before."""
        data = (self["is_data"] > 0) & (self["len"] > 0)
        ends, times = (self["seq"] + self["len"])[data], self.time[data]
        again = ends <= np.concatenate([[0.0], np.maximum.accumulate(ends)[:-1]])
        inside = (times >= begin) & (times <= end)
        return float(again[inside].mean())


def run(document: dict[str, Any]) -> Trace:
    """Run a scenario of one connection, traced.

    Raises:
        ScenarioError: it cannot run, or its congestion control tells nothing of itself.
    """
    with tempfile.TemporaryDirectory(prefix="forebay-") as folder:
        scenario = Scenario.of(document | {"tcp_trace": "trace.csv"}, "case", folder)
        output = _engine.run(scenario.text, scenario.base)
        return Trace(_read(Path(folder) / "trace.csv"), json.loads(output.summary))


def _read(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, infer_schema=False)
    first = table["control"][0]
    if first is None or "state=" not in first:
        raise SilentControl("the congestion control does not report its states")
    names = [each.partition("=")[0] for each in first.split(";")]
    values = table["control"].str.replace_all(r"[a-z_]+=", "").str.split(";")
    own = values.list.to_struct(fields=names).struct.unnest().cast(pl.Float64)
    return pl.concat(
        [
            table.select(
                pl.col("time_s", "seq", "ack", "len").cast(pl.Float64),
                pl.col("state").alias("recovery"),
                (pl.col("dir") == "data").cast(pl.Float64).alias("is_data"),
            ),
            own,
        ],
        how="horizontal",
    )
