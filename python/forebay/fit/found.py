"""What is found of a link: estimates with intervals, or why they cannot be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from forebay._scenario import Scenario
from forebay.fit.candidates import Judged
from forebay.fit.course import Course
from forebay.fit.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantity of the link.

    Example:
        >>> found.estimates["rate"].decided, round(found.estimates["rate"].value / 1e6)
        (True, 4)
    """

    name: str
    """What it is."""
    unit: str
    """`bit/s`, `s`, `B` or empty for a share."""
    value: float | None
    """None if the measurement does not tell."""
    low: float | None = None
    """Lower end of the 95 % interval, or what it is at least."""
    high: float | None = None
    """Upper end, or what it is at most."""
    why: str = ""
    """Why it cannot be told, and which measurement would tell."""
    course: Course = ()
    """If it changes: from when on, in s, it has which value; then `value` is the mean over the
    load, and `low` and `high` are the least and the largest."""

    @property
    def decided(self) -> bool:
        """Whether it can be told."""
        return self.value is not None


@dataclass(frozen=True, slots=True)
class Discipline:
    """Which discipline stands at the bottleneck.

    Example:
        >>> found.discipline.kind
        'fifo'
    """

    kind: str | None
    """None if the measurement does not tell."""
    weights: dict[str, float]
    """Probability of each kind that was tried."""
    misfit: float
    """How far the best one's runs are from the measurement: about 1 if it explains all."""
    why: str = ""
    """Why it cannot be told, and which measurement would tell; or why others act as it does."""
    alike: tuple[str, ...] = ()
    """Those that it can be, the likeliest first: one if it is named, unless the others would act
    as it does; none if all may be."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was found.

    Example:
        >>> found.scenario.document["link"][0]["rate"]
        '4Mbit'
    """

    measurement: Measurement
    """What was read."""
    estimates: dict[str, Estimate]
    """`rate`, `rtt`, `buffer`, `loss` and `cross`, by name."""
    discipline: Discipline
    """Which discipline it is."""
    judged: tuple[Judged, ...]
    """Candidates, the best first."""
    scenario: Scenario | None
    """What `forebay compare`, `explore` and `lab --virtual` run; None without any load."""
    again: Measurement | None
    """The scenario, measured as the link was."""
    folder: Path | None
    """Where runs are kept."""
