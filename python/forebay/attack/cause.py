"""Why packets waited, or were lost, at an instant of a run: each cause shown by a rerun.

1. The run is repeated, and the queue is looked at around the instant. If it had risen since the
   seconds before, the *rise* is to be explained, otherwise its *level*.
2. Everything that may be the cause is taken away alone, and the run repeated with the same seed:
   each entry of traffic, each step of a link's course, each `[[change]]`, each parameter of the
   queue that is not at its default. The random streams of all others stay the same.
3. A cause is *shown* if at least half of the rise (or level) goes with it. If several are, the
   answer is what is least usual: a change of the network, then what began with the rise, then a
   parameter, then traffic that does not react to congestion, then more room in the queue than
   `ROOM_S`, then transfers.
4. Other disciplines are put on the link, to tell what would have prevented it.

A rise is judged against the seconds before it in the same rerun. So a download that always fills a
queue is not taken for the cause of a burst that comes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from forebay._engine import ScenarioError
from forebay._runs import Result, Task
from forebay._runs.service import run_all
from forebay._runs.task import result_of
from forebay._scenario import Scenario, lookup, nanoseconds, quantity, resolved_link
from forebay.attack.plan import DATAGRAMS, time

Of = Literal["delay", "loss"]
"""What is asked about: the time that packets wait, or packets that are dropped."""

SHOWN = 0.5
"""Share of the rise or level that must go with a cause."""
_WINDOW_S = 0.1
"""Half of the time around the instant that is looked at, in seconds."""
_BEFORE_S = 5.0
"""Time before a rise with which it is compared, in seconds."""
_LEAD_S = 2.0
"""Time before a rise from which steps and changes may be its cause, in seconds."""
_RISES = 0.5
"""Share of what is seen that must have come since, to be a rise."""
_POINTS = 2000
"""Points of the series."""
OTHERS = ("fifo", "codel", "fq-codel", "cake")
"""Disciplines that may have prevented it."""

ROOM_S = 0.1
"""Room of a queue beyond which its size is tried as a cause, in seconds of the link's rate: a long
round trip's worth (C. Villamizar, C. Song, ACM CCR 24(5), 1994)."""
Kind = Literal["change", "step", "begun", "parameter", "unresponsive", "room", "traffic"]
_ORDER: Sequence[Kind] = (
    *("change", "step", "begun", "parameter", "unresponsive", "room", "traffic"),
)
"""What is least usual first."""


@dataclass(frozen=True, slots=True)
class Without:
    """The run without something that may be the cause."""

    what: str
    """What was taken away, in words."""
    kind: Kind
    name: str
    """The entry's name, the link's, or the parameter's."""
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of it without something."""

    without: Without
    seen: float
    """Delay in ms or packets lost around the instant."""
    relief: float
    """Share of the rise or level that went; 1: all of it."""
    refused: str = ""
    """Why it could not run."""

    @property
    def shown(self) -> bool:
        """Whether it is shown to be a cause."""
        return self.relief >= SHOWN


@dataclass(frozen=True, slots=True)
class Answer:
    """Why it was so.

    Example:
        >>> answer = attack.why(scenario, at="10s", discipline="fifo")
        >>> answer.cause.without.name
        'limit'
    """

    link: str
    """The link that is asked about."""
    queue: str
    """Its discipline."""
    of: Of
    """What is asked about."""
    at_s: float
    """The instant in seconds."""
    seen: float
    """Delay in ms or packets lost around the instant."""
    before: float
    """The same in the seconds before, for as long a time."""
    began_s: float
    """When the rise began, in seconds."""
    rise: bool
    """Whether a rise is explained, or a level."""
    decision: str
    """What the discipline did around the instant, by its own variables."""
    flows: Sequence[tuple[str, float]]
    """Entries of traffic by their share of what arrived around the instant."""
    tried: Sequence[Tried]
    """Every rerun, the most relief first."""
    others: Sequence[tuple[str, float]]
    """Other disciplines, and what was seen under them."""

    @property
    def cause(self) -> Tried | None:
        """The answer; none if nothing is shown."""
        shown = [each for each in self.tried if each.shown]
        return min(
            shown, key=lambda each: (_ORDER.index(each.without.kind), -each.relief), default=None
        )

    @property
    def also(self) -> list[Tried]:
        """Others that are shown: without them it would not have been so either."""
        return [each for each in self.tried if each.shown and each is not self.cause]


def why(
    scenario: Scenario,
    *,
    at: str,
    of: Of = "delay",
    discipline: Any = None,
    link: str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    told: Callable[[float], None] = lambda _: None,
) -> Answer:
    """Explain what a queue did at an instant of a run.

    Args:
        scenario: the run.
        at: the instant, such as "12.4s".
        of: "delay", or "loss".
        discipline: in place of the link's queue.
        link: the link; the compared one unless given.
        seed: in place of the scenario's.
        jobs: runs at a time; one a core unless given.
        told: called with the share that is done.

    Raises:
        ScenarioError: the run cannot be, there is no such instant, or nothing waited or was lost.

    Example:
        >>> answer = attack.why(scenario, at="10s", discipline="fifo")
        >>> answer.seen > 100
        True
    """
    name = scenario.compared_link(link)
    base = scenario.bare()
    if discipline is not None:
        base = base.with_queue(discipline, name)
    if seed is not None:
        base = base.with_("seed", seed)
    resolved = base.resolved()
    duration = float(resolved["duration_s"])
    try:
        at_s = nanoseconds(at) / 1e9
    except ScenarioError as error:
        raise ScenarioError(f"--at: {error}") from None
    if not 0 < at_s <= duration:
        raise ScenarioError(f"--at {at}: must be within the run, above 0s to {time(duration)}")
    base = base.with_("sample", time(max(1e-3, duration / _POINTS)))
    [first] = run_all([_task(base)], result_of, jobs=1)
    look = _Look(first, name, of, at_s, resolved_link(base, name))
    if look.seen <= 0:
        what = "no packet waits" if of == "delay" else "no packet is lost"
        raise ScenarioError(
            f"--at {at}: {what} in {name} then; the queue is asked about, not the way"
        )
    since_s = max(0.0, look.began_s - _LEAD_S) if look.rise else 0.0
    candidates = list(_candidates(base, name, since_s, look.began_s, at_s))
    swaps = [(kind, base.with_queue(kind, name)) for kind in OTHERS if kind != look.kind]
    runs = [each.scenario for each in candidates] + [each for _, each in swaps]
    refused = [_refusal(each) for each in runs]
    tasks = [_task(each) for each, no in zip(runs, refused, strict=True) if not no]
    results = iter(run_all(tasks, result_of, jobs=jobs, tell=lambda now: told(now.fraction)))
    found = [None if no else next(results) for no in refused]
    tried = [
        _tried(each, look, result, no)
        for each, result, no in zip(candidates, found, refused, strict=False)
    ]
    others = [
        (kind, look.again(result)[0])
        for (kind, _), result in zip(swaps, found[len(candidates) :], strict=True)
        if result is not None
    ]
    return Answer(
        name,
        look.kind,
        of,
        at_s,
        look.seen,
        look.before,
        look.began_s,
        look.rise,
        look.decision(),
        _arrivals(first, at_s),
        sorted(tried, key=lambda each: -each.relief),
        others,
    )


def _task(scenario: Scenario) -> Task:
    return Task(scenario.name, 1, int(scenario.document.get("seed", 1)), scenario)


def _refusal(scenario: Scenario) -> str:
    try:
        scenario.effective()
    except ScenarioError as error:
        return str(error)
    return ""


def _tried(each: Without, look: _Look, result: Result | None, refused: str) -> Tried:
    if result is None:
        return Tried(each, 0.0, 0.0, refused)
    seen, before = look.again(result)
    if look.rise:
        relief = 1 - max(0.0, seen - before) / (look.seen - look.before)
        # What only lets another level rise as far is no cause, and neither is what lowers all.
        relief = min(relief, (look.seen - seen) / (look.seen - look.before))
    else:
        relief = 1 - seen / look.seen
    return Tried(each, seen, relief)


class _Look:
    """What was seen around an instant, and what reruns are compared by."""

    def __init__(
        self, result: Result, link: str, of: Of, at_s: float, place: Mapping[str, Any]
    ) -> None:
        self._link, self._of, self._at_s = link, of, at_s
        self.kind = str(result.summary["queues"][link]["kind"])
        self._rate = place["rate_bps"]
        self._rows = self._series(result)
        self.seen = self._around(self._rows)
        self.began_s = self._began()
        self.before = self._earlier(self._rows)
        self.rise = self.seen - self.before >= _RISES * self.seen

    def again(self, result: Result) -> tuple[float, float]:
        """What is seen around the instant in another run, and before."""
        rows = self._series(result)
        return self._around(rows), self._earlier(rows)

    def decision(self) -> str:
        """What the discipline did, in words."""
        near = self._rows.filter((pl.col("time_s") - self._at_s).abs() <= _WINDOW_S)
        dropped, marked = near["dropped"].sum(), near["marked"].sum()
        usual = {"link", "time_s", "mean_packets", "max_packets", "mean_bytes", "dropped", "marked"}
        own = [
            f"{name.replace('_', ' ')} {value:.4g}"
            for name in near.columns
            if name not in (*usual, "seen") and (value := near[name].mean()) is not None
            and isinstance(value, float) and value == value
        ]  # fmt: skip
        text = f"{self.kind} drops {dropped:.0f} packets and marks {marked:.0f}"
        return f"{text}; its {', '.join(own)}" if own else text

    def _series(self, result: Result) -> pl.DataFrame:
        rows = result.queue.filter(pl.col("link") == self._link)
        if self._of == "loss":
            return rows.with_columns(seen=pl.col("dropped"))
        # A queue's delay, as the time in which its bytes leave at what the link carries then.
        rate = float(self._rate or result.summary["links"][self._link]["capacity_bps"])
        return rows.with_columns(seen=8e3 * pl.col("mean_bytes") / rate)

    def _around(self, rows: pl.DataFrame) -> float:
        near = rows.filter((pl.col("time_s") - self._at_s).abs() <= _WINDOW_S)["seen"]
        value = near.sum() if self._of == "loss" else near.mean()
        return float(value or 0.0)  # type: ignore[arg-type]

    def _earlier(self, rows: pl.DataFrame) -> float:
        end = self.began_s
        part = rows.filter(pl.col("time_s").is_between(end - _BEFORE_S, end))["seen"]
        if part.is_empty():
            return 0.0
        if self._of == "loss":
            step = float(self._rows["time_s"][0])
            return float(part.mean() or 0.0) * 2 * _WINDOW_S / step  # type: ignore[arg-type]
        return float(part.median() or 0.0)  # type: ignore[arg-type]

    def _began(self) -> float:
        """When what is seen at the instant began to rise.

        That is the last time before it at which the queue was as short as it usually was earlier,
        or a quarter of the way from there to what is seen.
        """
        until = self._rows.filter(pl.col("time_s") <= self._at_s + 1e-9)
        usual = float(until["seen"].median() or 0.0)  # type: ignore[arg-type]
        peak = self.seen
        if self._of == "loss":
            calm = until.filter(pl.col("seen") == 0)
            return float(calm["time_s"][-1]) if calm.height else 0.0
        if peak <= usual * 1.5:
            return max(0.0, self._at_s - _WINDOW_S)
        low = usual + 0.25 * (peak - usual)
        calm = until.filter(pl.col("seen") <= low)
        return float(calm["time_s"][-1]) if calm.height else 0.0


def _candidates(
    base: Scenario, link: str, since_s: float, began_s: float, at_s: float
) -> Sequence[Without]:
    """Everything that may be the cause, with the scenario without it."""
    return [
        *_changes(base, since_s, at_s),
        *_courses(base, since_s, at_s),
        *_parameters(base, link),
        *_traffic(base, link, began_s, at_s),
    ]


def _changes(base: Scenario, since_s: float, at_s: float) -> list[Without]:
    every = base.document.get("change") or []
    found = []
    for number, each in enumerate(every):
        if not since_s <= nanoseconds(each["at"]) / 1e9 <= at_s:
            continue
        rest = every[:number] + every[number + 1 :]
        what = next((f"{key} {each[key]}" for key in ("set", "join", "leave") if key in each), "")
        found.append(
            Without(
                f"the change at {each['at']} ({what})",
                "change",
                f"change[{number}]",
                base.with_("change", rest) if rest else base.without("change"),
            )
        )
    return found


def _courses(base: Scenario, since_s: float, at_s: float) -> list[Without]:
    """Steps of links' courses before the instant: without them, the value before lasts."""
    found = []
    effective = base.effective()
    for each in base.resolved()["links"]:
        for field in ("rate", "delay", "loss"):
            path = f"{each['path']}.{field}"
            course = lookup(effective, path)
            written = lookup(base.document, path)
            if not isinstance(written, dict) or not isinstance(course, dict):
                continue
            if "steps" not in written:
                mean = (written.get("draw") or [None])[0]
                if mean is not None:
                    changed = base.with_(path, mean)
                    what = f"the course of {each['name']}'s {field}"
                    found.append(Without(what, "step", each["name"], changed))
                continue
            steps = _expanded(written["steps"], written.get("period"), at_s)
            past = [step for step in steps if nanoseconds(step[0]) / 1e9 <= at_s]
            if len(past) < 2 or nanoseconds(past[-1][0]) / 1e9 < since_s:
                continue
            kept = past[:-1]
            changed = base.with_(path, {"steps": kept} if len(kept) > 1 else kept[0][1])
            what = f"the step of {each['name']}'s {field} to {past[-1][1]} at {past[-1][0]}"
            found.append(Without(what, "step", each["name"], changed))
    return found


def _expanded(steps: Sequence[Any], period: str | None, until_s: float) -> list[list[Any]]:
    """The steps of a course up to an instant, those of its repetitions included."""
    if period is None:
        return [list(each) for each in steps]
    length = nanoseconds(period) / 1e9
    return [
        [time(turn * length + nanoseconds(each[0]) / 1e9), each[1]]
        for turn in range(int(until_s // length) + 1)
        for each in steps
    ]


def _parameters(base: Scenario, link: str) -> list[Without]:
    """Parameters of the link's queue that are written and not at their default."""
    place = resolved_link(base, link)["queue_path"]
    written = lookup(base.document, place) or {}
    kind = written.get("kind")
    if not isinstance(kind, str):
        return []
    effective = lookup(base.effective(), place) or {}
    usual = lookup(base.with_queue(kind, link).effective(), place) or {}
    found = []
    for name in written:
        if name == "kind" or effective.get(name) == usual.get(name) or name not in usual:
            continue
        queue = {key: value for key, value in written.items() if key != name}
        what = f"{name} = {written[name]} ({usual[name]} by default)"
        found.append(Without(what, "parameter", name, base.with_queue(queue, link)))
    limit = quantity(effective.get("limit"))
    rate = _fastest(base, link)
    if limit is not None and limit.base_unit == "p" and rate:
        fewer = max(2, round(ROOM_S * rate / 12_000))
        if fewer < limit.value:
            what = f"room for {effective['limit']}; with {fewer}p, {1e3 * ROOM_S:g} ms of the link"
            changed = base.with_queue({**written, "limit": f"{fewer}p"}, link)
            found.append(Without(what, "room", "limit", changed))
    if sum(each.kind == "parameter" for each in found) > 1:
        names = ", ".join(each.name for each in found if each.kind == "parameter")
        queue = {key: each for key, each in written.items() if key not in names.split(", ")}
        what = f"{names}, all at their defaults"
        found.append(Without(what, "parameter", "all parameters", base.with_queue(queue, link)))
    return found


def _fastest(base: Scenario, link: str) -> float:
    """The highest rate of a link in bit/s; 0 if it is not known."""
    place = resolved_link(base, link)
    if place["rate_bps"] is not None:
        return float(place["rate_bps"])
    course = lookup(base.effective(), f"{place['path']}.rate")
    steps = course.get("steps", []) if isinstance(course, dict) else []
    rates = [quantity(step[1]) for step in steps]
    return max((rate.value for rate in rates if rate is not None), default=0.0)


def _traffic(base: Scenario, link: str, began_s: float, at_s: float) -> list[Without]:
    found = []
    effective = base.effective()["traffic"]
    for number, (entry, whole) in enumerate(
        zip(base.resolved()["traffic"], effective, strict=True)
    ):
        start = whole.get("start") or "0s"
        begins = min(map(nanoseconds, start if isinstance(start, list) else [start])) / 1e9
        if link not in entry["links"] or begins > at_s:
            continue
        document = base.document
        del document["traffic"][number]
        if not document["traffic"]:
            document["traffic"] = [
                {"name": "nobody", "kind": "cbr", "rate": "1kbit", "from": entry["from"],
                 "to": entry["to"]}
            ]  # fmt: skip
        kind: Kind = (
            "unresponsive"
            if whole["kind"] in DATAGRAMS and _heavy(base, whole, link)
            else "traffic"
        )
        if began_s - _LEAD_S / 2 <= begins <= at_s and begins > 0.5:
            kind = "begun"
        flows = f"{entry['flows']} flows" if entry["flows"] > 1 else "one flow"
        what = f"{entry['name']} ({whole['kind']}, {flows}, from {time(begins)})"
        found.append(
            Without(what, kind, entry["name"], Scenario.of(document, base.name, base.base))
        )
    return found


def _heavy(base: Scenario, entry: Mapping[str, Any], link: str) -> bool:
    """Whether datagrams of an entry may fill a tenth of the link."""
    rate = quantity(entry.get("rate"))
    capacity = resolved_link(base, link)["rate_bps"]
    if rate is None or not capacity:
        return True
    return rate.value * int(entry.get("flows", 1)) >= 0.1 * float(capacity)


def _arrivals(result: Result, at_s: float) -> list[tuple[str, float]]:
    """Classes of traffic by their share of what arrived around the instant."""
    rows = result.classes.filter((pl.col("time_s") - at_s).abs() <= 2 * _WINDOW_S)
    sums = rows.group_by("class").agg(pl.col("throughput_bps").sum())
    whole = float(sums["throughput_bps"].sum() or 0.0)
    shares = [
        (str(name), float(rate) / whole) for name, rate in sums.iter_rows() if whole and rate > 0
    ]
    return sorted(shares, key=lambda each: -each[1])
