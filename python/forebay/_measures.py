"""The measures of a class of traffic: names, units and which way is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from forebay import stats
from forebay.stats import Interval


@dataclass(frozen=True, slots=True)
class Measure:
    """One number that a run gives for a class of traffic."""

    key: str
    """Key in the summary, in the unit that the key names."""
    title: str
    short: str
    """For narrow tables and inside sentences."""
    unit: str
    """Unit in which it is shown."""
    scale: float
    """Shown value for a value of 1 in the summary."""
    decimals: int
    """Decimals beyond which nobody cares."""
    higher_is_better: bool
    matters: float
    """Relative difference below which no user would notice."""
    matters_at_least: float
    """Smallest difference that matters however small the values are, in the summary's unit."""
    worst: float = 0.0
    """The value from which ratios are counted."""
    explained: str = ""
    """What it is, for those who do not know; empty where the title says it."""
    missing: str = ""
    """Why a run has no value, in words; empty where nothing needs to be said."""

    def least_noticed(self, best: float) -> float:
        """The largest difference from `best` that no user would notice, in the summary's unit."""
        return max(self.matters * abs(best), self.matters_at_least)

    def difference_matters(self, value: float, best: float) -> bool:
        """Whether a user would notice `value` instead of `best`."""
        return abs(value - best) > self.least_noticed(best)


GOODPUT = Measure("goodput_bps", "Goodput", "goodput", "kb/s", 1e-3, 1, True, 0.02, 0.0)
MEDIAN_DELAY = Measure("p50_delay_ms", "Median delay", "p50 delay", "ms", 1.0, 1, False, 0.05, 1.0)
TAIL_DELAY = Measure(
    "p99_delay_ms",
    "99th percentile delay",
    "p99 delay",
    "ms",
    1.0,
    1,
    False,
    0.05,
    2.0,
    explained="99 of 100 packets arrived within this time",
)
LOSS = Measure("loss", "Loss", "loss", "%", 100.0, 2, False, 0.05, 0.001)
COMPLETION = Measure(
    "mean_completion_s",
    "Mean completion time",
    "completion time",
    "s",
    1.0,
    2,
    False,
    0.05,
    0.01,
    missing="nothing completed",
)
MOS = Measure(
    "mos",
    "Voice quality (MOS)",
    "MOS",
    "1 to 4.5",
    1.0,
    2,
    True,
    0.0,
    0.1,
    worst=1.0,
    explained="mean opinion score, voice quality by the E-model (ITU-T G.107): 4.3 is very good, "
    "4.0 good; below 3.6 many callers complain, below 2.6 it cannot be used",
)
DELAY_VARIATION = Measure(
    "p99_delay_variation_ms",
    "99th percentile delay variation",
    "p99 delay variation",
    "ms",
    1.0,
    1,
    False,
    0.05,
    2.0,
    explained="how much later than the fastest packet 99 of 100 packets arrived at most "
    "(RFC 5481, section 4.2)",
)
VIDEO_QUALITY = Measure(
    "qoe_bps",
    "Video quality (linear QoE)",
    "video quality",
    "kb/s",
    1e-3,
    0,
    True,
    0.05,
    100e3,
    explained="the mean of the played rates, less every change of rate, less 3000 kb/s of a "
    "segment for each second without a picture (Yin et al., SIGCOMM 2015); a steady picture has "
    "its rate, and below 0 hardly anybody watches",
)
RENDITION = Measure(
    "rendition_bps", "Played rate of the video", "played rate", "kb/s", 1e-3, 0, True, 0.05, 50e3
)
STALLED = Measure(
    "stall_ratio", "Time without a picture", "stalled", "%", 100.0, 2, False, 0.05, 0.002
)
SWITCHES = Measure(
    "switches", "Changes of the played rate", "switches", "in a run", 1.0, 1, False, 0.05, 1.0
)
RPM = Measure(
    "rpm",
    "Responsiveness under load",
    "responsiveness",
    "RPM",
    1.0,
    0,
    True,
    0.05,
    10.0,
    explained="round trips per minute of a new connection (draft-ietf-ippm-responsiveness-09, "
    "foreign probes without TLS): 6000 is very good, 1000 good, 300 and less poor",
)
QUEUE_DELAY = Measure(
    "mean_delay_ms", "Mean time in the queue", "queueing delay", "ms", 1.0, 1, False, 0.05, 10.0
)
"""Of a link's queue rather than of a class, as the next."""
QUEUE_TAIL = Measure(
    "p99_delay_ms",
    "99th percentile time in the queue",
    "p99 queueing delay",
    "ms",
    1.0,
    1,
    False,
    0.05,
    10.0,
)

GAIN = Measure(
    "gain",
    "Gain, times the baseline's goodput",
    "gain",
    "x",
    1.0,
    3,
    True,
    0.02,
    0.0,
    explained="goodput of the class divided by what it had under the baseline",
)

MEASURES = (
    GOODPUT,
    GAIN,
    MEDIAN_DELAY,
    TAIL_DELAY,
    DELAY_VARIATION,
    LOSS,
    COMPLETION,
    MOS,
    VIDEO_QUALITY,
    RENDITION,
    STALLED,
    SWITCHES,
    RPM,
)
"""In the order in which they are shown."""

DISTORTED = "†"
"""Beside what is kept out of the score, because something else than the queue makes it."""

ABSENT = "–"
"""Shown in place of what was not measured."""


class Beside(Enum):
    """How a value is beside the best; the words are those of every sentence about it."""

    BEST = "best"
    SMALL = "too small to notice"
    """The difference is too small for a user to notice, whatever chance does."""
    OPEN = "cannot be told apart with these runs"
    """A difference that a user would notice, or none: more runs must decide."""
    WORSE = "worse"
    """By more than chance, and enough for a user to notice."""


MARKED = (
    f"* best, or its difference to the best is {Beside.SMALL.value}; ~ it and the best "
    f"{Beside.OPEN.value}."
)
"""What the marks of a table mean."""


def counted(
    samples: Mapping[str, Sequence[float | None]], measure: Measure
) -> dict[str, list[float | None]]:
    """The samples with what counts where one lacks a value that another has in its replication.

    That is twice as bad as what the worst by its mean has there: who completes only what is easy
    must not seem fast. Where none has a value, there is nothing to count.
    """
    means = {
        name: value.mean
        for name, values in samples.items()
        if (value := stats.interval(values)) is not None
    }
    worst_first = sorted(means, key=lambda name: means[name], reverse=not measure.higher_is_better)

    def missing(place: int) -> float | None:
        for name in worst_first:
            value = samples[name][place]
            if value is not None:
                halved = measure.higher_is_better and means[name] > measure.worst
                return measure.worst + (value - measure.worst) * (0.5 if halved else 2.0)
        return None

    return {
        name: [missing(place) if value is None else value for place, value in enumerate(values)]
        for name, values in samples.items()
    }


def beside_best(
    samples: Mapping[str, Sequence[float | None]], measure: Measure, level: float = stats.LEVEL
) -> dict[str, Beside]:
    """Every name that was measured, beside the one with the best mean, which comes first.

    Means and differences are of what `counted` gives. A difference is too small to notice if the
    means differ by no more than `Measure.least_noticed`, and either chance does not explain that or
    the whole interval of the paired difference is as small. Otherwise two cannot be told apart if
    the interval holds zero.

    Args:
        samples: one value a replication for each name; None where it was not measured.
        measure: says which way is better and what matters.
        level: confidence level of the interval.
    """
    complete = counted(samples, measure)
    means = {
        name: value.mean
        for name, values in complete.items()
        if any(each is not None for each in samples[name])
        and (value := stats.interval(values, level)) is not None
    }
    if not means:
        return {}
    first = (max if measure.higher_is_better else min)(means, key=lambda name: means[name])
    least = measure.least_noticed(means[first])

    def beside(name: str) -> Beside:
        difference = stats.paired_difference(complete[name], complete[first], level)
        assert difference is not None, "every name has a value wherever one has"
        small = abs(means[name] - means[first]) <= least
        half = difference.half_width or 0.0
        if difference.half_width is None or difference.excludes_zero:
            return Beside.SMALL if small else Beside.WORSE
        return Beside.SMALL if abs(difference.mean) + half <= least else Beside.OPEN

    rest = {name: beside(name) for name in means if name != first}
    return {first: Beside.BEST} | rest


def best_of(
    samples: Mapping[str, Sequence[float | None]], measure: Measure, level: float = stats.LEVEL
) -> tuple[str, ...]:
    """The name with the best mean, then all that `beside_best` does not find worse.

    Returns:
        Nothing if nothing was measured.
    """
    found = beside_best(samples, measure, level)
    return tuple(name for name, each in found.items() if each is not Beside.WORSE)


def shown_in(measure: Measure, largest: float) -> Measure:
    """The measure in the unit that suits values up to `largest` (in the summary's unit)."""
    if measure is GOODPUT and largest >= 1e8:
        return replace(measure, unit="Mb/s", scale=1e-6)
    return measure


def text(interval: Interval | None, measure: Measure) -> str:
    """The mean and the half-width of its interval in the measure's unit, such as `8.31 ±0.12`."""
    if interval is None:
        return ABSENT
    mean = interval.mean * measure.scale
    decimals = min(_decimals(mean, 3), measure.decimals)
    if not interval.half_width:
        return _fixed(mean, decimals) + ("" if interval.half_width is None else " ±0")
    half = interval.half_width * measure.scale
    decimals = min(_decimals(half, 2), _decimals(mean, 4) if mean else 9, measure.decimals)
    # Rounded up, so that what is shown covers at least the interval.
    half = math.ceil(round(half * 10**decimals, 6)) / 10**decimals
    return f"{_fixed(mean, decimals)} ±{_fixed(half, decimals)}"


def largest(values: Iterable[Interval | None]) -> float:
    """The largest mean; 0 if there is none."""
    return max((value.mean for value in values if value is not None), default=0.0)


def _decimals(value: float, digits: int) -> int:
    """Decimals that show `digits` significant digits of `value`, none for large values."""
    if value == 0.0:
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def _fixed(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}"
