"""Variables: texts and numbers of a paper's files that hold them in braces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from forebay._engine import ScenarioError

Values = Mapping[str, Any]
"""Variables by name."""
Factors = dict[str, Any] | list[dict[str, Any]] | str
"""Rows of variables: a list of them, or the name of some in `[rows]`, or of a file of the paper
such as `table.csv`, or every combination of the values of some variables.

A combination names for each variable a value, a list of values, or "all": the values of a column
that were run. A list may also hold tables, which give several variables at once. `rows` names rows
(or several of them) to combine with, and `call` a function of `measures.py` that gives some. What
has a variable twice is kept if both values are equal: so rows are chosen, and get more variables. A
text that is a variable in braces is its value. In a quick run, and where claims are judged under
another choice, what was not run is left out."""

_ALONE = re.compile(r"\{([^{}]+)\}")
"""A lone variable, which may be a column of any name."""
DECIMAL = re.compile(r"(?<![\w.\"])(\d+\.\d+)(?![\w.\"])")
"""A number that SQL would take for a decimal of few digits."""


def filled(text: Any, values: Values) -> Any:
    """A text with its variables; anything else, and a lone variable's value, as it is.

    Raises:
        ScenarioError: it names a variable that there is not.
    """
    if not isinstance(text, str) or "{" not in text:
        return text
    if (alone := _ALONE.fullmatch(text)) and alone[1] in values:
        return values[alone[1]]
    try:
        return text.format_map(values)
    except (KeyError, IndexError) as error:
        raise ScenarioError(f'"{text}" names {error}, which is not given') from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ScenarioError(f'"{text}": {error}') from None


def all_filled(table: Values, values: Values) -> dict[str, Any]:
    """A table whose values are texts with variables."""
    return {name: filled(v, values) for name, v in table.items()}


def known(row: Values, values: Values) -> dict[str, Any]:
    """A row with the values of the lone variables that it names, as far as they are known."""
    found = dict(row)
    for name, text in row.items():
        if isinstance(text, str) and (alone := _ALONE.fullmatch(text)) and alone[1] in values:
            found[name] = values[alone[1]]
    return found


def amount(written: float | str | None, values: Values) -> float | None:
    """A number, or an expression of numbers and variables in braces; none if a lone one has none.

    Raises:
        ScenarioError: it is not understood, or names a variable that there is not.
    """
    found = filled(written, values)
    if not isinstance(found, str):
        return None if found is None else float(found)
    try:
        return float(pl.select(pl.sql_expr(DECIMAL.sub(r"\1e0", found))).item())
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise ScenarioError(f'"{found}" is not a number: {error}') from None
