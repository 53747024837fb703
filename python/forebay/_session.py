"""Runs step by step: advance to an instant, look, change a parameter, go on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._runs import Result
from forebay._runs.service import prepared
from forebay._scenario import Queue, Scenario, named, nanoseconds

_FLOWS = pl.Schema(
    {
        "id": pl.Int64,
        "traffic": pl.String,
        "delivered_bytes": pl.Int64,
        "dropped": pl.Int64,
        "marked": pl.Int64,
        "connections": pl.Int64,
        "cwnd_bytes": pl.Int64,
        "in_flight_bytes": pl.Int64,
        "srtt_ms": pl.Float64,
    }
)


@dataclass(frozen=True, slots=True)
class QueueNow:
    """A link and its queue at an instant. Counts begin when the warm-up ends, and at the start."""

    kind: str
    """The discipline."""
    packets: int
    """Packets that wait; the one in transmission is not counted."""
    bytes: int
    """Their bytes, link overhead excluded."""
    rate_bps: int
    """The link's rate in bit/s, or the mean rate of a trace."""
    sent_packets: int
    sent_bytes: int
    """Bytes sent, link overhead included."""
    dropped: int
    """Packets that the queue dropped."""
    marked: int
    """Packets that it marked."""
    variables: dict[str, float]
    """The discipline's own variables, such as `drop_probability`."""


class Session:
    """A run in progress, as `forebay.open` starts it.

    If nothing is changed, the run ends with the fingerprint of a plain run, wherever it stopped in
    between. A session can be used in a `with` statement, whose end closes a run that has not ended.

    Example:
        >>> session = forebay.open(scenario, discipline="fifo")
        >>> before = session.advance_to("10s").queues["bottleneck"].packets
        >>> after = session.set_queue("codel").advance("5s").queues["bottleneck"].packets
        >>> before > after
        True
        >>> session.finish().summary["duration_s"]
        30.0
    """

    def __init__(self, scenario: Scenario, link: str | None = None) -> None:
        """Begin a run of `scenario`; `set_queue` is for `link` unless it says otherwise."""
        self._recorded = scenario
        self._link = link
        self._last: Scenario | None = None
        with named(scenario):
            self._run = _engine.open(scenario.text, scenario.base)

    def __enter__(self) -> Session:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to tidy up: the run goes with its last reference."""

    @property
    def scenario(self) -> Scenario:
        """The scenario as it now is."""
        if self._last is not None:
            return self._last
        return Scenario(self._run.scenario(), self._recorded.name, self._recorded.base)

    @property
    def recorded(self) -> Scenario:
        """The scenario with every change that was made, as `[[change]]`.

        A run of it has the same fingerprint as this one.
        """
        return self._recorded

    @property
    def now_s(self) -> float:
        """Simulated time in seconds."""
        return self._run.times()[0] / 1e9

    @property
    def complete(self) -> bool:
        """Whether the scenario's end is reached."""
        now, end = self._run.times()
        return now >= end

    def advance(self, span: str) -> Session:
        """Continue for a span of simulated time, such as "100ms", at most to the scenario's end.

        Raises:
            ScenarioError: `span` is not a time, or a plug-in broke the contract.
        """
        return self._advance(self._run.times()[0] + nanoseconds(span))

    def advance_to(self, instant: str) -> Session:
        """Continue to an instant of simulated time, such as "10s", at most to the scenario's end.

        Raises:
            ScenarioError: it is not a time, or is in the past; or a plug-in broke the contract.
        """
        until = nanoseconds(instant)
        now = self._run.times()[0]
        if until < now:
            raise ScenarioError(f'"{instant}" is over: it is {now / 1e9:g} s')
        return self._advance(until)

    @property
    def queues(self) -> dict[str, QueueNow]:
        """Every link and its queue as they are now, by the link's name in results."""
        links = json.loads(self._run.links())
        return {name: QueueNow(**seen) for name, seen in links.items()}

    @property
    def flows(self) -> pl.DataFrame:
        """A row for each flow as it is now.

        Columns `id` and `traffic`, as in results; `delivered_bytes` (of payload), `dropped` and
        `marked` (packets), counted as in `queues`; `connections` that are open, their
        `cwnd_bytes` and `in_flight_bytes` in all, and the mean of their smoothed round-trip
        times, `srtt_ms`; null without an open connection, or a sample.
        """
        text, names = self._run.flows()
        rows = [
            each | {"id": number, "traffic": names[each["traffic"]]}
            for number, each in enumerate(json.loads(text))
        ]
        return pl.DataFrame(rows, schema=_FLOWS)

    def set(self, path: str, value: Any) -> Session:
        """Change a field of the scenario, by its path, from now on.

        The constant rate, delay and loss of a link may change, and its queue. A transmission in
        progress ends as planned. If anything in a queue changes, it is replaced: arrivals join the
        new one, and packets in the old one leave first.

        Args:
            path: as in `Scenario.with_`, such as `link[0].queue.target` or `dumbbell.rate`.
            value: as a scenario writes it.

        Raises:
            ScenarioError: the field cannot change during a run, or not to this value; then nothing
                has changed.
        """
        return self._change(set={path: value})

    def set_queue(self, queue: Queue, link: str | None = None) -> Session:
        """Put another queue on a link from now on, like `set`.

        Args:
            queue: a kind, a class, or a table of a kind and its parameters.
            link: its name in results; the link of `open`, or the compared one, unless given.

        Raises:
            ScenarioError: as `set`.
        """
        now = self.scenario
        changed = now.with_queue(queue, link or self._link)
        plugins = changed.document.get("plugins", [])
        links = zip(now.resolved()["links"], changed.resolved()["links"], strict=True)
        queues = {new["queue_path"]: new["queue"] for old, new in links if old != new}
        return self._change(plugins, set=queues) if queues else self

    def join(self, traffic: Mapping[str, Any]) -> Session:
        """Add a traffic entry from now on.

        Args:
            traffic: as a scenario's [[traffic]]; its name must not be taken.

        Raises:
            ScenarioError: it cannot run; then nothing has changed.
        """
        return self._change(join=dict(traffic))

    def leave(self, traffic: str) -> Session:
        """Stop a traffic entry; the rest of its transfers is not sent.

        Raises:
            ScenarioError: none has this name.
        """
        return self._change(leave=traffic)

    def finish(self) -> Result:
        """Continue to the end of the scenario, and end the session.

        Raises:
            ScenarioError: a plug-in broke the contract.
        """
        self._advance(self._run.times()[1])
        self._last = self.scenario
        return Result.of(self._run.finish())

    def _advance(self, until: int) -> Session:
        # A few milliseconds at a time, as Ctrl-C is heard in between.
        with named(self._recorded):
            while not self._run.advance(until):
                pass
        return self

    def _change(self, plugins: Sequence[str] = (), **change: Any) -> Session:
        recorded = self._recorded.with_change(self._run.instant(), change, plugins)
        with named(self._recorded):
            self._run.change(recorded.text)
        self._recorded = recorded
        return self


def open(  # noqa: A001 - as in forebay.open
    scenario: Scenario,
    *,
    seed: int | None = None,
    discipline: Queue | None = None,
    link: str | None = None,
) -> Session:
    """Start a run that you advance step by step.

    Args:
        scenario: what to run.
        seed: instead of the scenario's own.
        discipline: instead of the queue on `link`, as for `forebay.run`.
        link: which link gets `discipline`; the compared link unless given.

    Raises:
        ScenarioError: anything in the scenario that could not run.
        ValueError: there is a link and no discipline.

    Example:
        >>> session = forebay.open(scenario, discipline="codel")
        >>> session.advance_to("20s").queues["bottleneck"].packets > 0
        True
        >>> changed = session.set_queue({"kind": "codel", "target": "15ms"})
        >>> result = session.finish()
    """
    compared = (scenario.document.get("compare") or {}).get("link")
    return Session(prepared(scenario, seed, discipline, link), link or compared)
