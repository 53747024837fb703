"""The parameters that are tuned and the values that they may take."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay._engine import ScenarioError
from forebay._scenario import quantity, value_of

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(
    rf"(?P<low>{_NUMBER})(?P<unit>[A-Za-z/%]*)\s*\.\.\s*"
    rf"(?P<high>{_NUMBER})(?P<unit2>[A-Za-z/%]*)(?P<log>\s*:log)?"
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field of the scenario and the values that it may take."""

    path: str
    """As `Scenario.with_` takes it."""
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    """Unit that stands behind the number; a number alone if empty."""
    whole: bool = False
    """Whether only whole numbers count."""
    log: bool = False
    """Whether equal ratios are equally likely at first, instead of equal differences."""
    choices: tuple[Any, ...] = ()
    """The values, if they are not a range."""

    @property
    def distribution(self) -> BaseDistribution:
        """For the optimiser."""
        from optuna import distributions

        if self.choices:
            return distributions.CategoricalDistribution(tuple(range(len(self.choices))))
        if self.whole:
            return distributions.IntDistribution(int(self.low), int(self.high), log=self.log)
        return distributions.FloatDistribution(self.low, self.high, log=self.log)

    def value(self, drawn: float | int) -> Any:
        """The field's value for what the optimiser drew."""
        if self.choices:
            return self.choices[int(drawn)]
        number = int(drawn) if self.whole else float(f"{drawn:.6g}")
        return f"{number}{self.unit}" if self.unit else number

    def drawn(self, value: Any) -> float | int | None:
        """What the optimiser would have drawn for a field's value; none if it cannot."""
        if self.choices:
            return self.choices.index(value) if value in self.choices else None
        if isinstance(value, str) and self.unit and value.endswith(self.unit):
            try:
                value = float(value.removesuffix(self.unit))
            except ValueError:
                return None
        elif self.unit or isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not self.low <= value <= self.high or (self.whole and value != int(value)):
            return None
        return int(value) if self.whole else float(value)


def read_parameter(text: str) -> Parameter:
    """A parameter from `PATH=LOW..HIGH`, `PATH=LOW..HIGH:log` or `PATH=A,B,C`.

    Whole numbers at both ends mean whole numbers between them.
    """
    path, equals, given = (part.strip() for part in text.partition("="))
    if not equals or not path or not given:
        raise _wrong(text, "")
    match = _RANGE.fullmatch(given)
    if match is None:
        choices = [value_of(each.strip()) for each in given.split(",")]
        if len(choices) < 2 or ".." in given:
            raise _wrong(text, "")
        return Parameter(path, choices=tuple(choices))
    unit, low, high = match["unit2"], float(match["low"]), float(match["high"])
    whole = all(re.fullmatch(r"[-+]?\d+", match[end]) is not None for end in ("low", "high"))
    if match["unit"] not in ("", unit):
        high = _converted(f"{match['high']}{unit}", match["unit"], text)
        unit, whole = match["unit"], whole and high.is_integer()
    if not low < high:
        raise _wrong(text, "; the low end comes first")
    if match["log"] and low <= 0:
        raise _wrong(text, "; :log takes numbers above 0")
    return Parameter(path, low, high, unit, whole, bool(match["log"]))


def _converted(value: str, unit: str, text: str) -> float:
    """A value in another unit."""
    one, given = quantity(f"1{unit}"), quantity(value)
    if one is None or given is None or one.base_unit != given.base_unit:
        raise _wrong(text, "; both ends are of one kind, such as times")
    return float(f"{given.value / one.value:.12g}")


def grid(parameter: Parameter) -> int:
    """How many values a parameter can take, at most a million."""
    if parameter.choices:
        return len(parameter.choices)
    return int(parameter.high - parameter.low) + 1 if parameter.whole else 1_000_000


def check(parameters: Sequence[Parameter]) -> None:
    """Check that there are parameters, each once."""
    if not parameters:
        raise ScenarioError(
            "there is nothing to tune: declare fields with --param PATH=LOW..HIGH, such as --param "
            '"link[0].queue.target=1ms..50ms", or in the scenario\'s [tune] table'
        )
    paths = [parameter.path for parameter in parameters]
    for path in paths:
        if paths.count(path) > 1:
            raise ScenarioError(f"--param {path}: is declared twice")


def combinations(parameters: Sequence[Parameter]) -> float:
    """How many points there are; at least a million counts as without end."""
    count = math.prod(map(grid, parameters))
    return count if count < 1_000_000 else math.inf


def _wrong(text: str, why: str) -> ScenarioError:
    return ScenarioError(
        f'--param "{text}": expected PATH=LOW..HIGH (such as link[0].queue.limit=10p..200p, or '
        f"1..100:log for equal ratios) or PATH=A,B,C{why}"
    )
