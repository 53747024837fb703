"""Comparing disciplines: variants times replications with common random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forebay import _relative, stats
from forebay._engine import ScenarioError
from forebay._measures import GAIN, GOODPUT, Beside, Measure, beside_best
from forebay._runs import Result, Task, Tell, result_of, run_all
from forebay._runs.result import ON_REQUEST, flattened
from forebay._scenario import (
    TODAY,
    Queue,
    Scenario,
    labelled,
    lookup,
    named,
    plain,
    resolved_link,
)

if TYPE_CHECKING:
    import polars as pl

DEFAULT_REPLICATIONS = 10
"""Replications if neither the caller nor the scenario says how many."""

MOST_LINKS = 200
"""Directions of links up to which each has columns of its own in the table of runs."""

BY_TAIL_DROP = ("fifo", "prio", "drr", "wrr", "ncq", "tail-drop", "shared-tail-drop")
"""Disciplines and admissions that drop when there is no more room, and not before."""

EVERY_LINK = "*"
"""In place of a link's name: every link that has a queue."""


@dataclass(frozen=True)
class Variant:
    """One of the disciplines that are compared.

    Example:
        >>> found = forebay.compare(scenario, disciplines=[{"label": "short", "kind": "fifo",
        ...     "limit": "20p"}], replications=1)
        >>> found.variants[0].label, found.variants[0].queue
        ('short', {'kind': 'fifo', 'limit': '20p'})
    """

    label: str
    """What tables and figures call it."""
    queue: dict[str, Any]
    """The queue as a scenario writes it."""
    scenario: Scenario
    """The whole scenario with this queue."""

    @cached_property
    def effective(self) -> dict[str, Any]:
        """The scenario with this queue and every default filled in."""
        return self.scenario.effective()


@dataclass(frozen=True, slots=True)
class Run:
    """One replication of one variant.

    Example:
        >>> found = forebay.compare(scenario, disciplines=["fifo"], replications=2, seed=5)
        >>> [(run.discipline, run.replication, run.seed) for run in found.runs]
        [('fifo', 1, 5), ('fifo', 2, 6)]
    """

    discipline: str
    """Label of its variant."""
    replication: int
    """From 1."""
    seed: int
    """Of all its random numbers."""
    result: Result
    """What it measured."""


@dataclass(frozen=True)
class Comparison:
    """All runs of a comparison, and their statistics.

    Replication *r* has the same seed under every discipline, so that all of them face the same
    traffic and differences can be taken replication by replication.

    Example:
        >>> found = forebay.compare(scenario, disciplines=["fifo", "codel"], replications=3)
        >>> found.labels
        ('fifo', 'codel')
        >>> delay = found.interval("codel", "calls", "p99_delay_ms")
        >>> delay.low < delay.mean < delay.high
        True
        >>> found.difference("fifo", "codel", "calls", "p99_delay_ms").excludes_zero
        True
    """

    scenario: Scenario
    """What was run, as it was given."""
    link: str
    """The link that carried the disciplines; of several, the one whose measures are shown."""
    variants: tuple[Variant, ...]
    """The disciplines, in the order in which they were given."""
    runs: tuple[Run, ...]
    """In order of variant, then replication."""
    level: float = stats.LEVEL
    """Confidence level of every interval."""
    baseline: str | None = None
    """The discipline beside which gain and system efficiency are given."""
    efficient: tuple[str, ...] = ()
    """Classes whose flows make system efficiency; all if empty."""
    command: str | None = field(default=None)
    """The command that made it, for the report."""
    everywhere: bool = False
    """Whether every link that has a queue carried the disciplines."""

    def __repr__(self) -> str:
        """What was compared, in a line; `summary` and the tables have what was measured."""
        return (
            f"<Comparison of {', '.join(self.labels)} on {self.link}: "
            f"{len(self.runs) // max(1, len(self.variants))} replications>"
        )

    @property
    def title(self) -> str:
        """The scenario's title, or its file's name."""
        return str(self.runs[0].result.summary.get("title") or self.scenario.name)

    @property
    def labels(self) -> tuple[str, ...]:
        """The disciplines, in the order in which they were given."""
        return tuple(variant.label for variant in self.variants)

    @property
    def today(self) -> dict[str, Any] | None:
        """The link's own queue as the scenario writes it, if it is among the disciplines."""
        return next((each.queue for each in self.variants if each.label == TODAY), None)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of traffic, in the scenario's order."""
        names: dict[str, None] = {}
        for run in self.runs:
            names.update(dict.fromkeys(run.result.summary["classes"]))
        return tuple(names)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each replication."""
        return tuple(run.seed for run in self.runs_of(self.labels[0]))

    @property
    def plugins(self) -> list[dict[str, Any]]:
        """The plug-ins that any run loaded: `file` and `sha256` of each."""
        found = [each for run in self.runs for each in run.result.summary.get("plugins", [])]
        return list({(each["file"], each["sha256"]): each for each in found}.values())

    def runs_of(self, label: str) -> tuple[Run, ...]:
        """The replications of one discipline."""
        return tuple(run for run in self.runs if run.discipline == label)

    def samples(self, label: str, class_: str, key: str) -> list[float | None]:
        """A measure of a class, one value for each replication; None where it was not measured.

        `gain` is measured if there is a baseline.
        """
        if key == GAIN.key:
            return self._relative(label, [class_])
        return [
            run.result.summary["classes"].get(class_, {}).get(key) for run in self.runs_of(label)
        ]

    def interval(self, label: str, class_: str, key: str) -> stats.Interval | None:
        """Mean over the replications of a measure of a class, in the unit that `key` names."""
        return stats.interval(self.samples(label, class_, key), self.level)

    def difference(self, first: str, second: str, class_: str, key: str) -> stats.Interval | None:
        """Mean of the paired differences `first - second` of a measure of a class."""
        return stats.paired_difference(
            self.samples(first, class_, key), self.samples(second, class_, key), self.level
        )

    def queue_samples(self, label: str, key: str) -> list[float | None]:
        """A measure of the compared queue, one value for each replication."""
        runs = self.runs_of(label)
        return [run.result.summary["queues"][self.link].get(key) for run in runs]

    def queue_interval(self, label: str, key: str) -> stats.Interval | None:
        """Mean over the replications of a measure of the compared queue."""
        return stats.interval(self.queue_samples(label, key), self.level)

    def efficiency(self, label: str) -> stats.Interval | None:
        """System efficiency: mean goodput over flows, as a share of the baseline's."""
        return stats.interval(self._relative(label, self.efficient or self.classes), self.level)

    def utilization(self, label: str) -> stats.Interval | None:
        """Share of the compared link's capacity that was used."""
        runs = self.runs_of(label)
        return stats.interval(
            [run.result.summary["links"][self.link].get("utilization") for run in runs], self.level
        )

    def beside(self, class_: str, measure: Measure) -> dict[str, Beside]:
        """Every discipline beside the best one for a class by one measure.

        See `forebay._measures.beside_best`.
        """
        samples = {label: self.samples(label, class_, measure.key) for label in self.labels}
        return beside_best(samples, measure, self.level)

    def best(self, class_: str, measure: Measure) -> tuple[str, ...]:
        """The best discipline for a class by one measure, and all that may be as good.

        See `forebay._measures.best_of`.
        """
        found = self.beside(class_, measure)
        return tuple(label for label, each in found.items() if each is not Beside.WORSE)

    @cached_property
    def runs_table(self) -> pl.DataFrame:
        """A row for each run; columns are the keys of its summary, joined by dots.

        Of many links it has the shown one alone; `links` has all.
        """
        rows = []
        for run in self.runs:
            summary = run.result.summary
            if len(summary["links"]) > MOST_LINKS:
                shown = {
                    part: {self.link: summary[part][self.link]} for part in ("links", "queues")
                }
                summary = summary | shown
            rows.append(_key(run) | flattened(summary))
        table = _table(rows)
        if self.baseline is None:
            return table
        return _relative.relative(table, ["replication"], self.baseline, self.efficient)

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row for each direction of a link of each run, with its keys and its queue's."""
        rows = [
            _key(run) | {"link": name} | link | flattened(run.result.summary["queues"][name])
            for run in self.runs
            for name, link in run.result.summary["links"].items()
        ]
        return _table(rows)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row for each flow of each run."""
        return self._stacked(lambda result: [result.flows])

    @cached_property
    def series(self) -> pl.DataFrame:
        """Queues and throughput over time of every run; a row belongs to a link or to a class."""
        return self._stacked(lambda result: [result.queue, result.classes])

    @cached_property
    def delays(self) -> pl.DataFrame:
        """Histograms of delay of every run: of a class, one way; of a link, in its queue."""
        return self._stacked(lambda result: [result.delay, result.queue_delay])

    @cached_property
    def requested(self) -> dict[str, pl.DataFrame]:
        """The tables that the scenario asks for, of every run."""
        kept = [name for name in ON_REQUEST if all(name in run.result.tables for run in self.runs)]
        return {name: self._requested(name) for name in kept}

    def _requested(self, name: str) -> pl.DataFrame:
        return self._stacked(lambda result: [result.tables[name]])

    def _relative(self, label: str, classes: Sequence[str]) -> list[float | None]:
        """The goodput of classes over that under the baseline, one value a replication."""
        if self.baseline is None:
            return [None] * len(self.runs_of(label))
        own, base = (
            [self.samples(each, class_, GOODPUT.key) for class_ in classes]
            for each in (label, self.baseline)
        )
        return _relative.ratios(own, base)

    def _stacked(self, tables: Callable[[Result], list[pl.DataFrame]]) -> pl.DataFrame:
        import polars as pl

        frames: list[pl.DataFrame] = []
        for run in self.runs:
            key = [pl.lit(value).alias(name) for name, value in _key(run).items()]
            frames.extend(table.select(*key, pl.all()) for table in tables(run.result))
        return pl.concat(frames, how="diagonal")


def compare(
    scenario: Scenario,
    *,
    disciplines: Sequence[Queue] | None = None,
    replications: int | None = None,
    link: str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Tell | None = None,
    command: str | None = None,
    baseline: str | None = None,
    carry_out: Callable[[Sequence[Task]], Sequence[Result]] | None = None,
) -> Comparison:
    """Run a scenario under several disciplines, several times each, on all cores.

    Args:
        scenario: what to run; its `[compare]` table gives what the arguments leave out.
        disciplines: kinds, classes, labels of the scenario's list, or tables such as
            `{"label": "short", "kind": "codel", "target": "2ms"}`.
        replications: how often each is run; each replication has a seed of its own.
        link: the link that gets the disciplines; "*" for every link that has a queue. What is
            shown of a link is then that of the one that is used most.
        seed: of the first replication; the following ones count up from it.
        jobs: runs at a time; one a core unless given.
        progress: called from this thread, about ten times a second.
        command: what to call the command in the report.
        baseline: the discipline beside which gain and system efficiency are given.
        carry_out: what runs the tasks; the simulator unless given.

    Raises:
        ScenarioError: anything that could not run; found before the first run starts.
        KeyboardInterrupt: interrupted; every run has stopped.

    Example:
        >>> found = forebay.compare(scenario, disciplines=["fifo", "codel"], replications=3)
        >>> found.seeds
        (1, 2, 3)
        >>> found.utilization("codel").mean > 0.9
        True
    """
    prepared, seeds = prepare(scenario, disciplines, replications, link, seed, command, baseline)
    return run_variants(prepared, seeds, jobs=jobs, progress=progress, carry_out=carry_out)


def prepare(
    scenario: Scenario,
    disciplines: Sequence[Queue] | None = None,
    replications: int | None = None,
    link: str | None = None,
    seed: int | None = None,
    command: str | None = None,
    baseline: str | None = None,
) -> tuple[Comparison, range]:
    """A comparison without its runs, and their seeds; arguments and errors as of `compare`."""
    checked = scenario.effective()
    settings = checked.get("compare") or {}
    where = scenario.compared_link(link)
    variants = variants_of(scenario, link, disciplines)
    count = replications if replications is not None else settings.get("replications")
    count = DEFAULT_REPLICATIONS if count is None else int(count)
    if count < 1:
        raise ScenarioError(f"{scenario.name}: compare.replications: must be at least 1")
    first = int(seed if seed is not None else checked.get("seed", 1))
    labels = [variant.label for variant in variants]
    if baseline is None and (disciplines is None or settings.get("baseline") in labels):
        baseline = settings.get("baseline")
    if baseline is not None and baseline not in labels:
        raise ScenarioError(
            f'{scenario.name}: compare.baseline: no discipline is called "{baseline}"; '
            f"one of {', '.join(labels)}"
        )
    efficient = tuple(settings.get("efficiency") or ())
    _check_classes(scenario, efficient)
    prepared = Comparison(
        scenario,
        where,
        variants,
        (),
        command=command,
        baseline=baseline,
        efficient=efficient,
        everywhere=compares_every_link(scenario, link),
    )
    return prepared, range(first, first + count)


def run_variants(
    comparison: Comparison,
    seeds: range,
    *,
    jobs: int | None = None,
    progress: Tell | None = None,
    carry_out: Callable[[Sequence[Task]], Sequence[Result]] | None = None,
) -> Comparison:
    """A comparison without runs, with them."""
    tasks = tasks_of(comparison, seeds)
    if carry_out is not None:
        results = carry_out(tasks)
    else:
        results = run_all(tasks, result_of, jobs=jobs, tell=progress)
    return with_results(comparison, tasks, results)


def tasks_of(comparison: Comparison, seeds: range) -> list[Task]:
    """The runs of a comparison.

    They are in order of replication, so that a progress bar sees every discipline's cost early.
    """
    return [
        Task(variant.label, number, seed, variant.scenario)
        for number, seed in enumerate(seeds, start=1)
        for variant in comparison.variants
    ]


def with_results(
    comparison: Comparison, tasks: Sequence[Task], results: Sequence[Result]
) -> Comparison:
    """A comparison with what became of its tasks."""
    runs = tuple(
        Run(label, task.replication, task.seed, result)
        for label in comparison.labels
        for task, result in zip(tasks, results, strict=True)
        if task.id == label
    )
    with_runs = replace(comparison, runs=runs)
    if not comparison.everywhere:
        return with_runs
    return replace(with_runs, link=_busiest_link(comparison.scenario, runs))


def _busiest_link(scenario: Scenario, runs: Sequence[Run]) -> str:
    """Of the links with a queue the one that is used most, to a thousandth, and then drops most."""
    links = scenario.resolved()["links"]
    queued: list[str] = [link["name"] for link in links if link["queue"] is not None]

    summaries = [run.result.summary for run in runs]

    def load(name: str) -> tuple[float, int]:
        used = sum(summary["links"][name]["utilization"] for summary in summaries)
        dropped = sum(summary["queues"][name]["dropped"] for summary in summaries)
        return round(used / len(runs), 3), dropped

    return max(queued, key=load)


def _check_classes(scenario: Scenario, wanted: Sequence[str]) -> None:
    known = list(dict.fromkeys(entry["class"] for entry in scenario.resolved()["traffic"]))
    for class_ in wanted:
        if class_ not in known:
            raise ScenarioError(
                f'{scenario.name}: compare.efficiency: no class is called "{class_}"; '
                f"one of {', '.join(known)}"
            )


def compares_every_link(scenario: Scenario, link: str | None) -> bool:
    """Whether every link with a queue gets the disciplines; `link` is as for `compare`."""
    return (link or (scenario.document.get("compare") or {}).get("link")) == EVERY_LINK


def variants_of(
    scenario: Scenario, link: str | None, chosen: Sequence[Queue] | None
) -> tuple[Variant, ...]:
    """The disciplines to compare, each checked."""
    listed = (scenario.document.get("compare") or {}).get("disciplines") or []
    known = dict(labelled(entry) for entry in listed)
    entries: list[tuple[str, dict[str, Any]]] = []
    for entry in listed if chosen is None else chosen:
        if chosen is not None and isinstance(entry, str) and entry in known:
            entries.append((entry, known[entry]))
        else:
            entries.append(labelled(entry))
    compared = scenario.compared_link(link)
    if not entries:
        raise ScenarioError(
            f"{scenario.name}: compare.disciplines: there is none to compare; "
            'add a list such as ["fifo", "codel"], or name them (on the command line: '
            "--disciplines fifo,codel)"
        )
    variants: list[Variant] = []
    for label, queue in entries:
        if any(label == other.label for other in variants):
            raise ScenarioError(
                f'{scenario.name}: compare.disciplines: two are called "{label}"; '
                'give one a name of its own with label = "..."'
            )
        with named(scenario, f'discipline "{label}": '):
            if queue == {"kind": TODAY}:
                written = written_queue(scenario, compared)
                variant = Variant(label, written, scenario.bare())
            else:
                if is_by_host(queue) and compares_every_link(scenario, link):
                    raise ScenarioError(
                        f"tells hosts by their {queue['classify'].get('of')}, which suits one "
                        "direction; name a link (on the command line: --link NAME)"
                    )
                changed = scenario.with_queue(queue, link).bare()
                variant = Variant(label, plain(queue)[0], changed)
            # Everything that could not run is found before the first run begins.
            _ = variant.effective
        variants.append(variant)
    return tuple(variants)


def is_by_host(queue: Mapping[str, Any]) -> bool:
    """Whether a queue, as it is written, tells hosts apart by number, as that of a twin does."""
    classify = queue.get("classify")
    return isinstance(classify, dict) and classify.get("kind") == "host"


def written_queue(scenario: Scenario, name: str) -> dict[str, Any]:
    """The queue of a link as it is written, or the one that it has by default."""
    link = resolved_link(scenario, name)
    if link["queue"] is None:
        raise ScenarioError(f"{name} has no queue; write one in the scenario")
    queue: dict[str, Any] = lookup(scenario.document, link["queue_path"]) or link["queue"]
    return queue


def beside_today(
    scenario: Scenario, link: str | None = None, chosen: Sequence[Queue] | None = None
) -> dict[str, Queue]:
    """The link's own queue as `TODAY`, then the disciplines that are others.

    Args:
        scenario: whose disciplines are taken unless some are chosen.
        link: as for `compare`.
        chosen: disciplines instead of the scenario's list.

    Returns:
        Entries for `compare` by the names that were given. A discipline that is the same as the
        link's own is `TODAY`; a FIFO is called by its length.
    """
    variants = variants_of(scenario, link, chosen)
    found: dict[str, Queue] = {}
    own = None
    if resolved_link(scenario, scenario.compared_link(link))["queue"] is not None:
        found[TODAY], own = TODAY, scenario.bare().identity()
    for each in variants:
        label = each.label
        if label == each.queue.get("kind") == "fifo":
            queue = resolved_link(each.scenario, scenario.compared_link(link))["queue"]
            label = f"fifo {queue['limit']}"
        same = each.scenario.identity() == own
        found[each.label] = TODAY if same else {"label": label, **each.queue}
    return found


def entries(lanes: Mapping[str, Queue]) -> list[Queue]:
    """What `compare` takes of what `beside_today` found: each lane once."""
    return [each for name, each in lanes.items() if each != TODAY or name == TODAY]


def against_today(
    scenario: Scenario,
    link: str | None = None,
    chosen: Sequence[Queue] | None = None,
    baseline: str | None = None,
) -> tuple[list[Queue], str | None]:
    """What `forebay compare` compares: the disciplines for `compare`, and its baseline.

    Args:
        scenario: whose disciplines are taken unless some are chosen.
        link: as for `compare`.
        chosen: disciplines instead of the scenario's list.
        baseline: a label; the scenario's, if its discipline is compared, unless given.
    """
    lanes = beside_today(scenario, link, chosen)
    beside = baseline or (scenario.document.get("compare") or {}).get("baseline")
    if beside in lanes:
        beside = labelled(lanes[beside])[0]
    elif baseline is None:
        beside = None
    return entries(lanes), beside


def contrast(scenario: Scenario, link: str | None = None) -> list[Queue]:
    """Two lanes to watch: today's queue, and the first other that is not tail drop."""
    listed = (scenario.document.get("compare") or {}).get("disciplines")
    lanes = beside_today(scenario, link, None if listed else ["fq-codel"])
    others = [each for each in lanes.values() if isinstance(each, Mapping)]
    others.sort(key=lambda each: each.get("kind") in BY_TAIL_DROP)
    found: list[Queue] = [TODAY] if TODAY in lanes else []
    return [*found, *others][:2]


def usual(scenario: Scenario, link: str | None = None) -> list[Queue]:
    """Today's queue of the watched link beside a contrast."""
    if not scenario.resolved()["links"]:
        return []
    try:
        link = scenario.compared_link(link)
    except ScenarioError:
        if link is not None:
            raise
        link = str(scenario.resolved()["links"][0]["name"])
    return contrast(scenario, link)


def _table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.from_dicts(rows, infer_schema_length=None)


def _key(run: Run) -> dict[str, Any]:
    return {"discipline": run.discipline, "replication": run.replication, "seed": run.seed}
