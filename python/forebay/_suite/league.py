"""What the runs of a suite of congestion controls come to: scores, and who is told apart from whom.

A score is a number a run. Over the settings of its test it is averaged, replication by replication,
so that each control has one sample a seed, and equal seeds have equal random numbers: differences
are paired. Two controls are told apart if the paired Student t test does so at 5 %, corrected by
Holm for all pairs of the score, and the difference is one that matters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from forebay import stats
from forebay._suite import runs
from forebay._suite.catalogue import Score, Suite, Test
from forebay.stats import Interval

LEVEL = 0.05
"""How often controls that are equal may be told apart, over all pairs of a score."""

Setting = tuple[tuple[int, ...], str]
"""Steps of a test's own axes, and the label of the queue."""
Samples = dict[str, list[float | None]]
"""By control, a value a replication."""


@dataclass(frozen=True)
class Line:
    """A score over all settings of its test: a line of the league table."""

    test: Test
    score: Score
    means: dict[str, Interval | None]
    """By control."""
    ranks: dict[str, int | None]
    """One more than the number of controls that are told apart from it and better."""
    same: tuple[tuple[str, str], ...]
    """Pairs that are not told apart."""

    @property
    def best(self) -> tuple[str, ...]:
        """The controls that none is better than."""
        return tuple(name for name, rank in self.ranks.items() if rank == 1)


@dataclass(frozen=True)
class Detail:
    """A score, setting by setting."""

    score: Score
    rows: tuple[tuple[str, dict[str, Interval | None]], ...]
    """A setting's title, and the means by control."""


@dataclass(frozen=True)
class Outcome:
    """All of a test that the report shows."""

    test: Test
    runs: int
    lines: tuple[Line, ...]
    details: tuple[Detail, ...]


def told_apart(
    samples: Mapping[str, Sequence[float | None]], matters: float
) -> set[frozenset[str]]:
    """The pairs whose difference is neither chance nor too small to matter.

    Args:
        samples: a value a replication, by name; the same seeds in the same order.
        matters: the least difference of means that matters.
    """
    found = []
    for first, second in combinations(samples, 2):
        pairs = zip(samples[first], samples[second], strict=True)
        differences = [a - b for a, b in pairs if a is not None and b is not None]
        if len(differences) > 1:
            mean = math.fsum(differences) / len(differences)
            found.append((_chance(differences, mean), abs(mean), frozenset((first, second))))
    apart: set[frozenset[str]] = set()
    for number, (chance, mean, pair) in enumerate(sorted(found, key=lambda each: each[0])):
        if chance * (len(found) - number) > LEVEL:
            break  # Holm 1979: the first that fails ends it.
        if mean >= matters:
            apart.add(pair)
    return apart


def _chance(differences: Sequence[float], mean: float) -> float:
    """Two-sided p-value of Student's t test that the mean is zero."""
    from scipy.special import stdtr

    count = len(differences)
    variance = math.fsum((each - mean) ** 2 for each in differences) / (count - 1)
    if variance == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return 2.0 * float(stdtr(count - 1, -abs(mean) / math.sqrt(variance / count)))


def line(test: Test, score: Score, samples: Mapping[str, Sequence[float | None]]) -> Line:
    """The line of a score, from samples that are averaged over the settings."""
    means = {name: stats.interval(values) for name, values in samples.items()}
    apart = told_apart(samples, score.matters)
    sign = 1.0 if score.better == "higher" else -1.0

    def better(one: str, other: str) -> bool:
        a, b = means[one], means[other]
        if a is None or b is None or frozenset((one, other)) not in apart:
            return False
        return sign * (a.mean - b.mean) > 0

    ranks = {
        name: None if mean is None else 1 + sum(better(other, name) for other in means)
        for name, mean in means.items()
    }
    same = [pair for pair in combinations(samples, 2) if frozenset(pair) not in apart]
    return Line(test, score, means, ranks, tuple(same))


def outcome(suite: Suite, test: Test, folder: Path) -> Outcome:
    """What a test came to, whose results are in a folder."""
    data, measured = runs.read(folder)
    lines, details = [], []
    for score in test.file.score:
        by_setting = _scored(suite, test, score, measured)
        names = [
            name for name in suite.compared if any(name in each for each in by_setting.values())
        ]
        averaged = {name: _averaged(by_setting, name) for name in names}
        lines.append(line(test, score, averaged))
        rows = [
            (_title(test, setting), {name: stats.interval(samples[name]) for name in names})
            for setting, samples in by_setting.items()
        ]
        details.append(Detail(score, tuple(rows)))
    return Outcome(test, data.runs.height, tuple(lines), tuple(details))


def _scored(
    suite: Suite, test: Test, score: Score, measured: Mapping[str, runs.Samples]
) -> dict[Setting, Samples]:
    """The score of every run, as it is shown."""
    controls = test.study.axes[0].labels
    plain: dict[Setting, Samples] = {}
    for point in test.study.points:
        setting = (point.steps[1:], point.discipline)
        scale = score.scale / (runs.rtt_ms(test.study.scenario_of(point)) if score.of_rtt else 1.0)
        values = runs.scaled(measured[point.id][score.of], scale)
        plain.setdefault(setting, {})[controls[point.steps[0]]] = values
    if score.base is not None:
        plain = _over_base(test, score, plain)
    if score.beside is not None:
        plain = _beside(test, score, plain)
    return {
        setting: {name: values for name, values in samples.items() if name in suite.compared}
        for setting, samples in plain.items()
    }


def _over_base(
    test: Test, score: Score, plain: Mapping[Setting, Samples]
) -> dict[Setting, Samples]:
    first = test.study.axes[1]
    base = first.labels.index(str(score.base))
    return {
        (steps, queue): {
            name: runs.quotients(values, plain[(base, *steps[1:]), queue][name], score.scale)
            for name, values in samples.items()
        }
        for (steps, queue), samples in plain.items()
        if steps[0] != base
    }


def _beside(test: Test, score: Score, plain: Mapping[Setting, Samples]) -> dict[Setting, Samples]:
    """Harm is that of R. Ware et al., Beyond Jain's Fairness Index, HotNets 2019, section 4."""
    beside = test.study.axes[1].labels
    found: dict[Setting, Samples] = {}
    for (steps, queue), samples in plain.items():
        own = samples[beside[steps[0]]]
        for name, values in samples.items():
            shares = runs.quotients(values, own, score.scale)
            if score.beside == "harm":
                shares = [None if share is None else score.scale - share for share in shares]
            found.setdefault((steps, queue), {})[name] = shares
    return found


def _averaged(by_setting: Mapping[Setting, Samples], name: str) -> list[float | None]:
    """One value a replication; none where a setting has none."""
    columns = [samples[name] for samples in by_setting.values()]
    averaged: list[float | None] = []
    for values in zip(*columns, strict=True):
        known = [value for value in values if value is not None]
        averaged.append(math.fsum(known) / len(known) if len(known) == len(values) else None)
    return averaged


def _title(test: Test, setting: Setting) -> str:
    steps, queue = setting
    said = runs.setting(test.study.axes[1:], steps)
    return ", ".join([*said, queue] if len(test.study.disciplines) > 1 else said)
