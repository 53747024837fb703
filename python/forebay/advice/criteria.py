"""By what each class is judged, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forebay import stats
from forebay.measures import (
    COMPLETION,
    GOODPUT,
    LOSS,
    MOS,
    QUEUE_DELAY,
    TAIL_DELAY,
    Measure,
    best_of,
)

if TYPE_CHECKING:
    from forebay.comparison import Comparison

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
    def best(self) -> tuple[str, ...]:
        """The discipline with the best mean, then all that cannot be distinguished from it."""
        return best_of(self.samples, self.measure, self.level)

    @property
    def decided(self) -> bool:
        """Whether some discipline is worse by more than chance and enough for a user to notice."""
        return len(self.best) < len(self.samples)

    @property
    def worst(self) -> str:
        """The discipline with the worst mean."""
        pick = min if self.measure.higher_is_better else max
        return pick(self.intervals, key=lambda label: self.intervals[label].mean)

    def difference(self, first: str, second: str) -> stats.Interval | None:
        """Mean of the paired differences `first - second`."""
        return stats.paired_difference(self.samples[first], self.samples[second], self.level)


def criteria_of(comparison: Comparison, rtt_s: float) -> tuple[Criterion, ...]:
    """The criteria of a comparison: those of each class, then that of the link.

    Voice is judged by its quality, transfers that end by their completion time, adaptive video and
    endless TCP by their goodput, and other datagrams by their delay and their loss. The link is
    judged by what anyone else who sends over it would get: the time that packets wait in it, on top
    of the round trip, so that it counts as much as it lengthens that.

    Args:
        comparison: what was run.
        rtt_s: round trip without queues of those who send over the link.
    """
    found = [
        Criterion(class_, measure, 1 / len(measures), samples, comparison.level)
        for class_ in comparison.classes
        for measures in [_measures_of(comparison, class_)]
        for measure in measures
        for samples in [samples_of(comparison, class_, measure)]
    ]
    waits = {label: comparison.queue_samples(label, QUEUE_DELAY.key) for label in comparison.labels}
    if measured(waits):
        found.append(of_link(comparison.link, waits, rtt_s, comparison.level))
    return tuple(found)


def of_link(link: str, waits: Samples, rtt_s: float, level: float = stats.LEVEL) -> Criterion:
    """What a link does to whoever else sends over it, by the time in its queue in ms."""
    rtt_ms = 1e3 * rtt_s
    noticed = max(QUEUE_DELAY.matters_at_least, QUEUE_DELAY.matters * rtt_ms)
    measure = replace(QUEUE_DELAY, worst=-rtt_ms, matters_at_least=noticed)
    return Criterion(link, measure, 1.0, waits, level, of_link=True)


def others_of(comparison: Comparison, criteria: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """The measures that do not decide: goodput, delay and loss of each class, loss on the link."""
    judged = {(each.subject, each.measure.key) for each in criteria if not each.of_link}
    found = [
        Criterion(class_, measure, 0.0, samples_of(comparison, class_, measure), comparison.level)
        for class_ in comparison.classes
        for measure in (GOODPUT, TAIL_DELAY, LOSS)
        if (class_, measure.key) not in judged
    ]
    lost = {label: comparison.queue_samples(label, LOSS.key) for label in comparison.labels}
    found.append(
        Criterion(comparison.link, LOSS, 0.0, lost, comparison.level, of_link=True),
    )
    return tuple(each for each in found if measured(each.samples))


def class_of(entry: Mapping[str, Any]) -> str:
    """The name under which a traffic entry is reported."""
    return str(entry.get("class") or entry["name"])


def _measures_of(comparison: Comparison, class_: str) -> tuple[Measure, ...]:
    def known(measure: Measure) -> bool:
        return measured(samples_of(comparison, class_, measure))

    traffic = comparison.variants[0].effective["traffic"]
    entries = [entry for entry in traffic if class_of(entry) == class_]
    if known(MOS):
        return (MOS,)
    # A segment of a worse quality is complete sooner.
    if entries and all(entry["kind"] == "adaptive-video" for entry in entries):
        return (GOODPUT,)
    if known(COMPLETION):
        return (COMPLETION,)
    if entries and all("tcp" in entry for entry in entries):
        return (GOODPUT,)
    return tuple(measure for measure in (TAIL_DELAY, LOSS) if known(measure))


def samples_of(comparison: Comparison, class_: str, measure: Measure) -> Samples:
    """A measure of a class under every discipline."""
    return {label: comparison.samples(label, class_, measure.key) for label in comparison.labels}


def measured(samples: Samples) -> bool:
    """Whether any run has it."""
    return any(value is not None for values in samples.values() for value in values)
