"""What an attack may do: the bounds of its search, which a file can narrow.

They are the same whatever is attacked, so that a search is not told what to find.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from forebay import _disk, _written
from forebay._engine import ScenarioError
from forebay._scenario import quantity, to_toml, value_of
from forebay.tune.space import Parameter, read_parameter

NONE = "none"
"""A part that attacks do without."""


class Bounds(_written.Table):
    """Bounds of an attack. A range is "LOW..HIGH", with ":log" if equal ratios are equally likely.

    A single value fixes a field; "none" takes it out of the search.

    Example:
        >>> attack.Bounds(delay="20ms", loss="none").joining
        3
    """

    delay: str = "1ms..150ms:log"
    """Propagation delay of the link, one way, in place of the scenario's."""
    slow: str = "0.05..0.9"
    """Share of its rate to which the link slows down, again and again."""
    slow_every: str = "200ms..10s:log"
    """Time from one slow time to the next."""
    slow_part: str = "0.1..0.9"
    """Share of that time in which the link is slow."""
    loss: str = "0.0001..0.01:log"
    """Share of packets that are lost on the wire at random."""
    reorder: str = "0.001..0.1:log"
    """Share of packets that are held back on the wire, so that later ones arrive first."""
    reorder_delay: str = "1ms..50ms:log"
    """Time for which they are held back."""
    cut: str = "5ms..1s:log"
    """Time for which the wire loses every packet, again and again, at most half of the time."""
    cut_every: str = "200ms..10s:log"
    """Time from one such time to the next."""
    joining: int = Field(default=3, ge=0, le=8)
    """Entries of traffic that may join the scenario's own; 0 to 8."""
    kinds: list[Literal["bulk", "files", "cbr", "poisson", "on-off"]] = Field(
        default=["bulk", "files", "cbr", "poisson", "on-off"]
    )
    """Their kinds: endless and repeated transfers over TCP, and datagrams at a constant rate, at
    random, and in pulses."""
    flows: str = "1..16:log"
    """Flows of an entry."""
    start: str = "0..0.7"
    """When it starts, as a share of the duration; half of the entries start as early as they may
    and last as long."""
    length: str = "0.05..1"
    """How long it lasts, as a share of what is left."""
    way: str = "1ms..150ms:log"
    """Propagation delay of the way of its packets to the link; "none": no more than the
    scenario's own."""
    rate: str = "0.02..2:log"
    """Rate of all datagrams of an entry while they are sent, as a share of the link's."""
    size: str = "64B..1500B:log"
    """Length of its datagrams."""
    on: str = "5ms..2s:log"
    """Length of a pulse."""
    off: str = "5ms..5s:log"
    """Time between two pulses."""
    file: str = "2KB..5MB:log"
    """Size of a transfer."""
    pause: str = "1ms..5s:log"
    """Time between two transfers of a flow."""
    controls: list[str] = Field(default=["new-reno", "cubic", "bbr"], min_length=1)
    """Congestion controls of its transfers."""
    ecn: list[Literal["not-ect", "ect0", "ect1"]] = Field(
        default=["not-ect", "ect0", "ect1"], min_length=1
    )
    """ECN codepoints of its datagrams; with others than "not-ect", transfers may negotiate ECN."""
    load: str = "2"
    """Largest mean rate of all datagrams that join, as a share of the link's."""
    parameters: dict[str, str] = Field(default={})
    """Fields of the scenario that vary as well, by path, such as "dumbbell.queue.target", each a
    range as for forebay tune."""


@dataclass(frozen=True, slots=True)
class Gene:
    """A number of a candidate and what it may be."""

    name: str
    parameter: Parameter

    def value(self, share: float) -> Any:
        """The value at a share, 0 to 1, of its range: a number in base units, or a choice."""
        of = self.parameter
        if of.choices:
            return of.choices[min(int(share * len(of.choices)), len(of.choices) - 1)]
        low, high = of.low, of.high
        if of.log:
            found = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        else:
            found = low + share * (high - low)
        return max(of.low, min(of.high, round(found))) if of.whole else found


PATH = ("delay", "slow", "loss", "reorder", "cut")
"""Parts of the path that an attack may leave as they are."""
_TIMES = (
    *("delay", "slow_every", "reorder_delay", "cut", "cut_every", "way", "on", "off", "pause"),
)
_WITHIN = {
    "slow": (0.0, 1.0),
    "slow_part": (0.0, 1.0),
    "loss": (0.0, 1.0),
    "reorder": (0.0, 1.0),
    "start": (0.0, 0.95),
    "length": (0.01, 1.0),
    "size": (28.0, math.inf),
}
"""Shares, and between what they must be; a datagram has headers of 28 B."""


def read(path: Path | None) -> Bounds:
    """The bounds of a file, or the usual ones; checked.

    Raises:
        ScenarioError: anything in it that is not understood.
    """
    if path is None:
        return Bounds()
    bounds = _written.read(Bounds, _written.load(path), path.name)
    try:
        dict(ranges(bounds))
        largest(bounds)
    except ScenarioError as error:
        raise ScenarioError(f"{path.name}: {error}") from None
    return bounds


def for_measure(bounds: Bounds, measure: str) -> Bounds:
    """The bounds without what does the harm itself: a loss on the wire is none of a queue's."""
    if measure != "loss":
        return bounds
    return bounds.model_copy(update={"loss": NONE, "cut": NONE})


def keep(bounds: Bounds, path: Path) -> None:
    """Write bounds to a file, unless it has them; other bounds that a user wrote there stay.

    Raises:
        ScenarioError: the file has others.
    """
    if path.exists() and _disk.read_text(path) != text(Bounds()):
        if read(path) != bounds:
            raise ScenarioError(
                f"{path}: has other bounds than this attack; name it with --bounds, or choose "
                "another folder with --out"
            )
        return
    _disk.write(path, text(bounds))


def text(bounds: Bounds) -> str:
    """Bounds as a file, with what each field means above it."""
    lines = ["# What an attack may do. Narrow it, and give it to forebay attack --bounds FILE."]
    for name, field in Bounds.model_fields.items():
        about = " ".join((field.description or "").split())
        lines += [f"# {about}", to_toml({name: getattr(bounds, name)}).strip()]
    return "\n".join(lines) + "\n"


def ranges(bounds: Bounds) -> Iterator[tuple[str, Parameter]]:
    """The range of every field that has one and is not left out, by its name, in base units."""
    for name in Bounds.model_fields:
        given = getattr(bounds, name)
        if not isinstance(given, str) or given == NONE or name == "load":
            continue
        found = _parameter(name, given)
        unit = "s" if name in _TIMES else "B" if name in ("size", "file") else ""
        for end in found.choices or (found.low, found.high):
            read = quantity(f"{end}{found.unit}" if found.unit else end)
            if read is None or read.base_unit != unit:
                what = {"s": 'times such as "5ms"', "B": 'sizes such as "64B"'}.get(unit, "numbers")
                raise ScenarioError(f'{name}: expected {what}, got "{given}"')
        low, high = _WITHIN.get(name, (0.0, math.inf))
        found = _base(found)
        ends = found.choices or (found.low, found.high)
        if (
            min(ends) < low
            or max(ends) > high
            or (low == 0.0 and min(ends) <= 0 and name != "start")
        ):
            allowed = f"above {low:g}" if low == 0.0 and name != "start" else f"at least {low:g}"
            top = "" if math.isinf(high) else f" and at most {high:g}"
            raise ScenarioError(f'{name}: must be {allowed}{top}, got "{given}"')
        yield name, found
    for path, given in bounds.parameters.items():
        yield path, _range(path, given)


def largest(bounds: Bounds) -> float:
    """The largest mean rate of all datagrams that join, as a share of the link's."""
    try:
        found = float(bounds.load)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 100:
        raise ScenarioError(f'load: must be a number from 0 to 100, got "{bounds.load}"')
    return found


def _parameter(name: str, given: str) -> Parameter:
    if ".." in given or "," in given:
        return _range(name, given)
    return Parameter(name, choices=(value_of(given),))


def _range(name: str, given: str) -> Parameter:
    try:
        return read_parameter(f"{name}={given}")
    except ScenarioError:
        raise ScenarioError(
            f'{name}: expected "LOW..HIGH", the low end first and both of one kind, with :log for '
            f'equal ratios, or "A,B,C"; got "{given}"'
        ) from None


def _base(found: Parameter) -> Parameter:
    """The same range in base units."""
    if found.choices:
        values = [quantity(each) for each in found.choices]
        return Parameter(found.path, choices=tuple(each.value for each in values if each))
    one = quantity(f"1{found.unit}") if found.unit else None
    scale = one.value if one else 1.0
    whole = found.whole and scale == 1.0
    return Parameter(
        found.path, found.low * scale, found.high * scale, "", whole and not found.unit, found.log
    )
