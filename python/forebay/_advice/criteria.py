"""By what each class is judged, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forebay import stats
from forebay._advice.network import Entry, Network, number
from forebay._measures import (
    COMPLETION,
    DELAY_VARIATION,
    GAIN,
    GOODPUT,
    LOSS,
    MEASURES,
    MOS,
    QUEUE_DELAY,
    QUEUE_TAIL,
    RENDITION,
    RPM,
    STALLED,
    SWITCHES,
    TAIL_DELAY,
    VIDEO_QUALITY,
    Beside,
    Measure,
    beside_best,
    counted,
)

if TYPE_CHECKING:
    from forebay._comparison import Comparison

Samples = Mapping[str, Sequence[float | None]]
"""One value a replication for each discipline, the same seeds in the same order."""


@dataclass(frozen=True)
class Criterion:
    """A measure that decides, of a class or of the link itself."""

    subject: str
    """The class, or the link."""
    measure: Measure
    weight: float
    """The criteria of one subject weigh 1 together."""
    samples: Samples
    level: float = stats.LEVEL
    of_link: bool = False
    """Whether it is what the link's queue does to whoever else sends over it."""
    distorted: str = ""
    """Why it is kept out of the score: what else than the queue makes the value."""

    @property
    def name(self) -> str:
        """What sentences call it."""
        if self.of_link:
            return f"{self.measure.short} on {self.subject}"
        return f"{self.measure.short} of {self.subject}"

    @cached_property
    def intervals(self) -> dict[str, stats.Interval]:
        """Mean and interval of each discipline for which it was measured."""
        found = {
            label: stats.interval(values, self.level) for label, values in self.samples.items()
        }
        return {label: value for label, value in found.items() if value is not None}

    @cached_property
    def counted(self) -> dict[str, list[float | None]]:
        """The samples, and what counts where one lacks a value that another has."""
        return counted(self.samples, self.measure)

    @cached_property
    def lacking(self) -> dict[str, int]:
        """How many runs have no value, of each discipline that lacks one that another has."""
        return {
            label: list(values).count(None)
            for label, values in self.samples.items()
            if list(values) != self.counted[label]
        }

    @cached_property
    def beside(self) -> dict[str, Beside]:
        """Every discipline that was measured, beside the one with the best mean, the first."""
        return beside_best(self.samples, self.measure, self.level)

    @property
    def best(self) -> tuple[str, ...]:
        """The discipline with the best mean, then all that these runs do not find worse."""
        return tuple(label for label, each in self.beside.items() if each is not Beside.WORSE)

    def those(self, beside: Beside) -> tuple[str, ...]:
        """The disciplines that stand so beside the best."""
        return tuple(label for label, each in self.beside.items() if each is beside)

    @property
    def decided(self) -> bool:
        """Whether some discipline is worse by more than chance and enough for a user to notice."""
        return len(self.best) < len(self.samples)

    @property
    def worst(self) -> str:
        """The discipline with the worst mean, of those whose mean lacks nothing."""
        pick = min if self.measure.higher_is_better else max
        those = [label for label in self.intervals if label not in self.lacking]
        return pick(those, key=lambda label: self.intervals[label].mean, default=self.best[0])

    def pair(self, first: str, second: str) -> Criterion:
        """The same of two disciplines alone."""
        return replace(self, samples={label: self.samples[label] for label in (first, second)})

    def difference(self, first: str, second: str) -> stats.Interval | None:
        """Mean of the paired differences `first - second`."""
        return stats.paired_difference(self.samples[first], self.samples[second], self.level)


def criteria_of(comparison: Comparison, network: Network) -> tuple[Criterion, ...]:
    """The criteria of a comparison: those of each class, then that of the link.

    Voice and adaptive video are judged by their quality, transfers that end by their completion
    time, probes by their round trips, endless TCP and endpoints by their goodput, and other
    datagrams by the variation of their delay and their loss. The link is judged by what anyone else
    who sends over it would get: the time that packets wait in it, on top of the round trip, so that
    it counts as much as it lengthens that. What is distorted does not decide.

    Args:
        comparison: what was run.
        network: the link, and who sends over it.
    """
    found = [
        Criterion(class_, measure, 1 / len(measures), samples, comparison.level)
        for class_ in comparison.classes
        for measures in [_measures_of(comparison, class_)]
        for measure in measures
        if not _distortion(comparison, network, class_, measure)
        for samples in [samples_of(comparison, class_, measure)]
    ]
    waits = {label: comparison.queue_samples(label, QUEUE_DELAY.key) for label in comparison.labels}
    if measured(waits):
        found.append(of_link(comparison.link, waits, network.rtt_s, comparison.level))
    return tuple(found)


def distorted_of(comparison: Comparison, network: Network) -> tuple[Criterion, ...]:
    """The measures of each class that something else than the queue makes."""
    return tuple(
        Criterion(class_, measure, 0.0, samples, comparison.level, distorted=why)
        for class_ in comparison.classes
        for measure in MEASURES
        if (why := _distortion(comparison, network, class_, measure))
        for samples in [samples_of(comparison, class_, measure)]
        if measured(samples)
    )


def _distortion(comparison: Comparison, network: Network, class_: str, measure: Measure) -> str:
    """What but the queue makes a measure of a class; empty if nothing does."""
    kinds = {entry["kind"] for entry in _entries_of(comparison, class_)}
    if "pcap" in kinds:
        return (
            "a replayed capture sends what was recorded, however long its packets wait or how "
            "many are lost, while those who sent it would have slowed down"
        )
    if measure not in (GOODPUT, GAIN):
        return ""
    if "adaptive-video" in kinds:
        return "a player that still fills its buffer takes more than it plays"
    entries = [entry for entry in network.entries if class_of(entry.table) == class_]
    is_endless = kinds == {"bulk"} or _transports_of(comparison, class_) == {"own"}
    if is_endless and entries and _slow_start(network, entries) > measure.matters:
        return (
            f"a slow start, up to {_SLOW_START} round trips, takes more than "
            f"{100 * measure.matters:g} % of the measured time"
        )
    return ""


_SLOW_START = 10
"""Round trips in which a slow start is over, as for the hint about the warm-up."""


def _slow_start(network: Network, entries: Sequence[Entry]) -> float:
    """The share of the measured time that the latest slow start takes."""
    until = max(_latest(each.table.get("start")) + _SLOW_START * each.rtt_s for each in entries)
    span = network.duration_s - network.warmup_s
    begin = max(_latest(each.table.get("start")) for each in entries)
    return (until - max(network.warmup_s, begin)) / span if span > 0 else 0.0


def _latest(start: Any) -> float:
    """The latest start of a traffic entry's flows, in s."""
    times = start if isinstance(start, list) else [start]
    return max((number(each) or 0.0 for each in times), default=0.0)


def of_link(link: str, waits: Samples, rtt_s: float, level: float = stats.LEVEL) -> Criterion:
    """What a link does to whoever else sends over it, by the time in its queue in ms."""
    rtt_ms = 1e3 * rtt_s
    noticed = max(QUEUE_DELAY.matters_at_least, QUEUE_DELAY.matters * rtt_ms)
    measure = replace(QUEUE_DELAY, worst=-rtt_ms, matters_at_least=noticed)
    return Criterion(link, measure, 1.0, waits, level, of_link=True)


def others_of(comparison: Comparison, judged: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """The measures that do not decide, of each class and the link, without those judged."""
    taken = {(each.subject, each.measure.key) for each in judged if not each.of_link}
    found = [
        Criterion(class_, measure, 0.0, samples_of(comparison, class_, measure), comparison.level)
        for class_ in comparison.classes
        for measure in (GOODPUT, TAIL_DELAY, LOSS, RENDITION, STALLED, SWITCHES)
        if (class_, measure.key) not in taken
    ]
    for measure in (QUEUE_TAIL, LOSS):
        samples = {
            label: comparison.queue_samples(label, measure.key) for label in comparison.labels
        }
        found.append(
            Criterion(comparison.link, measure, 0.0, samples, comparison.level, of_link=True)
        )
    return tuple(each for each in found if measured(each.samples))


def class_of(entry: Mapping[str, Any]) -> str:
    """The name under which a traffic entry is reported."""
    return str(entry.get("class") or entry["name"])


def _measures_of(comparison: Comparison, class_: str) -> tuple[Measure, ...]:
    def known(measure: Measure) -> bool:
        return measured(samples_of(comparison, class_, measure))

    for quality in (MOS, VIDEO_QUALITY, RPM):
        if known(quality):
            return (quality,)
    if known(COMPLETION):
        return (COMPLETION,)
    if _transports_of(comparison, class_) in ({"tcp"}, {"own"}, {"tcp", "own"}):
        return (GOODPUT,)
    return tuple(measure for measure in (DELAY_VARIATION, LOSS) if known(measure))


def _entries_of(comparison: Comparison, class_: str) -> list[Mapping[str, Any]]:
    """The traffic entries that are reported as a class, every default filled in."""
    traffic = comparison.variants[0].effective["traffic"]
    return [entry for entry in traffic if class_of(entry) == class_]


def _transports_of(comparison: Comparison, class_: str) -> set[str]:
    """The transports of the traffic that is reported as a class."""
    traffic = comparison.variants[0].scenario.resolved()["traffic"]
    return {str(entry["transport"]) for entry in traffic if entry["class"] == class_}


def samples_of(comparison: Comparison, class_: str, measure: Measure) -> Samples:
    """A measure of a class under every discipline."""
    return {label: comparison.samples(label, class_, measure.key) for label in comparison.labels}


def measured(samples: Samples) -> bool:
    """Whether any run has it."""
    return any(value is not None for values in samples.values() for value in values)
