"""Claims and sentences: the numbers that they come to, and the texts that quote numbers."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from forebay.papers.files import Allowed, Said
from forebay.papers.judge import Part
from forebay.papers.numbers import Number, Sources, like, within
from forebay.papers.variables import Values, all_filled, amount, filled
from forebay.stats import Interval

_OWN = set(Allowed.model_fields) - {"for_", "what", "study", "studies"}
"""Fields that a row of variables may give."""


def parts(
    sources: Sources, numbers: Sequence[Allowed], studies: Container[str] | None = None
) -> list[Part]:
    """What a claim comes to: a part for each number and combination of its variables.

    With `studies`, only those whose study is one of them.
    """
    return [
        part
        for number in numbers
        for values in sources.rows(number.for_, number, {})
        if studies is None or filled(number.study, values) in studies
        for part in _part(sources, number, values)
    ]


def _part(sources: Sources, number: Allowed, values: Values) -> list[Part]:
    """A number at one combination; nothing if none of its points was run."""
    own = {name: value for name, value in values.items() if name in _OWN}
    own["stated"] = amount(own.get("stated", number.stated), values)
    one = number.model_copy(update=own)
    count = len(sources.rows(one.over, one, values)) - (one.take in ("rises", "falls"))
    if not count:
        return []
    values = {**values, "count": count}
    return [
        Part(
            filled(one.what, values),
            filled(one.paper, values),
            sources.interval(one, values),
            one.bounds(count),
            one.unit,
            own["stated"],
            _referee(sources, one, values),
            one.reading,
            _no_effect(one),
            one.fitted,
        )
    ]


def _no_effect(number: Number) -> float | None:
    """What a comparison comes to if nothing differs; none for other numbers."""
    if number.take in ("above", "below", "between", "rises", "falls"):
        return None
    if any(each is not None for each in (number.less, number.change, number.minus)):
        return 0.0
    return None if number.times is None and number.per is None else number.scale


def _referee(sources: Sources, number: Allowed, values: Values) -> float | None:
    """What another program gives."""
    referee = number.referee
    if not isinstance(referee, Number):
        return referee
    if referee.lookup:
        referee = like(referee, number, ("of", "over", "take", "scale"))
        values = {**values, **all_filled(number.at, values)}
    measured = sources.interval(within(referee, number.study), values)
    return None if measured is None else measured.mean


class _Spoken(Interval):
    """A number in a text: `{name:.1f}` is its mean, `{name.low:.1f}` an end."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return format(self.mean, spec)


def told(sources: Sources, words: str, said: Mapping[str, Said], study: str = "") -> str:
    """A text with the numbers that it quotes."""
    if not said:
        return words
    return words.format_map(
        {name: _spoken(sources, within(each, study)) for name, each in said.items()}
    )


def _spoken(sources: Sources, said: Said) -> Any:
    if said.for_ is not None:
        rows = ((row, sources.interval(said, row)) for row in sources.rows(said.for_, said, {}))
        return said.between.join(
            quoted(said.text, {**row, "count": len(sources.rows(said.over, said, row))}, found)
            for row, found in rows
            if found is not None
        )
    found: Any = sources.interval(said)
    if found is None:
        return "unknown"
    return found if isinstance(found, str) else _Spoken(found.mean, found.half_width, found.samples)


def quoted(text: str, values: Values, found: Interval) -> str:
    """A text with variables, and with the mean and the ends of a number."""
    known = {**values, "mean": found.mean, "low": found.low, "high": found.high}
    return str(filled(text, known))
