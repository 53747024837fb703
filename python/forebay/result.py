"""One run of a scenario and its tables."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from forebay import _engine
from forebay._engine import Cancel, ScenarioError
from forebay.scenario import Scenario, named

if TYPE_CHECKING:
    from forebay._engine import Output

_COLUMNS = (
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
)

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
    }
)


@dataclass(frozen=True)
class Result:
    """What one run measured. Units stand in the names of the columns."""

    summary: dict[str, Any]
    """Totals of the run; the keys are documented in `docs/summary.md`."""
    tables: Mapping[str, pl.DataFrame]
    """Every table of the engine by its name."""

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

    @property
    def fingerprint(self) -> str:
        """Hash of everything that happened; equal for equal scenarios and seeds."""
        return str(self.summary["fingerprint"])

    def write(self, folder: str | Path) -> Path:
        """Write tables and summary to `folder`, whole or not at all.

        A folder that an earlier run or comparison wrote is replaced.

        Raises:
            FileExistsError: the folder holds something else.
        """
        from forebay.storage import Content, write_folder

        files: dict[str, Content] = {
            "flows.parquet": self.flows,
            "series.parquet": pl.concat([self.queue, self.classes], how="diagonal"),
            "delays.parquet": pl.concat([self.delay, self.queue_delay], how="diagonal"),
            "summary.json": {"forebay": self.summary["version"]} | self.summary,
        }
        return write_folder(Path(folder), files)

    def _table(self, name: str) -> pl.DataFrame:
        table = self.tables.get(name)
        return pl.DataFrame(schema=_EMPTY[name]) if table is None else table


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    discipline: str | Mapping[str, Any] | None = None,
    link: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a scenario once.

    Args:
        scenario: what to run.
        seed: instead of the scenario's own.
        discipline: instead of the queue on `link`: a kind, or a table such as
            `{"kind": "codel", "target": "5ms"}`.
        link: which link gets `discipline`; the compared link unless given.
        progress: called a few times a second, from another thread, with the fraction of
            simulated time that has passed.

    Raises:
        ScenarioError: anything in the scenario that could not run.
        KeyboardInterrupt: interrupted; the run has stopped.
    """
    prepared = single(scenario)
    if seed is not None:
        prepared = prepared.with_("seed", seed)
    if discipline is not None:
        prepared = with_queue(prepared, link or compared_link(scenario), discipline)
    elif link is not None:
        raise ValueError("link says where discipline goes, and no discipline is given")
    cancel = Cancel()
    outcome: list[Result | BaseException] = []

    def work() -> None:
        try:
            outcome.append(execute(prepared, cancel, progress))
        except BaseException as error:
            outcome.append(error)

    # A signal reaches only the main thread, and only while that thread is not in the engine.
    thread = threading.Thread(target=work, name="forebay-run")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    except BaseException:
        cancel.set()
        thread.join()
        raise
    [result] = outcome
    if isinstance(result, BaseException):
        raise result
    return result


def execute(
    scenario: Scenario, cancel: Cancel | None, progress: Callable[[float], None] | None
) -> Result:
    """Run in the calling thread, which cannot be interrupted but through `cancel`."""
    with named(scenario):
        output = _engine.run(scenario.text, scenario.base, cancel, progress)
    return Result(json.loads(output.summary), frames(output))


def single(scenario: Scenario) -> Scenario:
    """The scenario without what to compare and tune, which means nothing to one run."""
    document = scenario.document
    document.pop("compare", None)
    document.pop("tune", None)
    return Scenario.of(document, scenario.name, scenario.base)


def compared_link(scenario: Scenario) -> str | None:
    """Name of the link on which disciplines are compared; None for the dumbbell's.

    Raises:
        ScenarioError: there are several links and none is chosen.
    """
    document = scenario.document
    chosen = _table_at(document, "compare").get("link")
    if chosen is not None:
        return str(chosen)
    links = _links(document)
    if "dumbbell" in document:
        return None
    if len(links) == 1:
        return str(links[0].get("name", "0"))
    if not links:
        raise ScenarioError(f"{scenario.name}: link: there is none; add a [[link]] or a [dumbbell]")
    names = ", ".join(f'"{link.get("name")}"' for link in links)
    raise ScenarioError(
        f"{scenario.name}: compare.link: say on which link to put the disciplines, one of {names}"
    )


def with_queue(
    scenario: Scenario, link: str | None, discipline: str | Mapping[str, Any]
) -> Scenario:
    """The scenario with `discipline` as the queue of `link` (None for the dumbbell's).

    `<name>-reverse` is the reverse direction of a link.

    Raises:
        ScenarioError: there is no such link.
    """
    queue = {"kind": discipline} if isinstance(discipline, str) else dict(discipline)
    document = scenario.document
    links = _links(document)
    for number, entry in enumerate(links):
        if link is not None and entry.get("name") == link:
            return scenario.with_(f"link[{number}].queue", queue)
        if link == f"{entry.get('name')}-reverse":
            return scenario.with_(f"link[{number}].reverse.queue", queue)
    if "dumbbell" in document and link in (None, "bottleneck"):
        return scenario.with_("dumbbell.queue", queue)
    if "dumbbell" in document and link == "bottleneck-reverse":
        return scenario.with_("dumbbell.reverse.queue", queue)
    if len(links) == 1 and "name" not in links[0]:
        return scenario.with_("link[0].queue", queue)
    names = [str(entry.get("name")) for entry in links]
    if "dumbbell" in document:
        names.append("bottleneck")
    known = ", ".join(f'"{name}"' for name in names)
    raise ScenarioError(f'{scenario.name}: no link is called "{link}"; one of {known}')


def _links(document: dict[str, Any]) -> list[dict[str, Any]]:
    links = document.get("link", [])
    return [entry for entry in links if isinstance(entry, dict)] if isinstance(links, list) else []


def _table_at(document: dict[str, Any], key: str) -> dict[str, Any]:
    table = document.get(key)
    return table if isinstance(table, dict) else {}


def _order(column: str) -> tuple[int, str]:
    """Places the usual columns first, in their usual order, then a discipline's variables."""
    return (_COLUMNS.index(column) if column in _COLUMNS else len(_COLUMNS), column)


def frames(output: Output) -> dict[str, pl.DataFrame]:
    """The engine's tables, those of one name stacked with their labels as columns."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for name, labels, columns in output.tables():
        numbers = pl.DataFrame(
            {key: np.frombuffer(columns[key], "<f8") for key in sorted(columns, key=_order)}
        )
        labelled = numbers.select(
            *(pl.lit(value, pl.String).alias(key) for key, value in labels.items()), pl.all()
        )
        parts.setdefault(name, []).append(labelled)
    return {name: pl.concat(frames, how="diagonal") for name, frames in parts.items()}


def labelled(entry: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A discipline's label and its queue."""
    if isinstance(entry, str):
        return entry, {"kind": entry}
    queue = dict(entry)
    label = queue.pop("label", None)
    if label is None:
        parts = ("classify", "admit", "schedule")
        label = queue.get("kind") or " + ".join(
            str((queue.get(part) or {}).get("kind")) for part in parts
        )
    return str(label), queue


def flattened(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, keys joined by dots; lists are left out."""
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            flat |= flattened(inner, f"{prefix}{key}.")
        elif not isinstance(inner, list):
            flat[prefix + key] = inner
    return flat
