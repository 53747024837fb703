"""Numbers and intervals as the texts of cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from forebay._report.page import Cell


def number(mean: float, half: float | None = None, decimals: int | None = None) -> Cell:
    """A mean and the half-width of its interval, never as powers of ten.

    Args:
        mean: the number.
        half: half of its interval, if it has one.
        decimals: how many to show; as many as are known unless given.
    """
    if decimals is None:
        known = max(abs(mean) * 1e-3, half * 0.1) if half else abs(mean) * 5e-3
        known = known or 1.0
        decimals = min(9, max(0, -math.floor(math.log10(known))))
        if half is not None:
            # Rounded up, so that what is shown covers at least the interval.
            half = math.ceil(half * 10**decimals - 1e-6) / 10**decimals
    return Cell(f"{mean:.{decimals}f}", "" if half is None else f"±{half:.{decimals}f}")


def short(value: Any, digits: int = 5) -> Any:
    """Numbers with so many digits, in lists and tables as well."""
    if isinstance(value, Mapping):
        return {name: short(each, digits) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [short(each, digits) for each in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def cell(value: Any, digits: int = 4) -> str:
    """A value of any kind: numbers with some digits, and intervals as mean ± half-width.

    A half-width below the mean's last digit is rounded up to it; one that is nothing but the
    rounding of floating-point numbers is left out.
    """
    if value is None:
        return ""
    if isinstance(value, Mapping):
        if "lower" in value:
            return f"{cell(value['mean'])} ({cell(value['lower'])} to {cell(value['upper'])})"
        mean, width = value["mean"], value["half_width"]
        if not width or width < 1e-9 * abs(mean):
            return cell(mean)
        last = 10.0 ** (math.floor(math.log10(abs(mean))) - 3) if mean else 0.0
        return f"{cell(mean)} ± {max(width, last):.2g}"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def fewer(samples: float | None, runs: float | None) -> str:
    """On how many runs a number rests, such as "(5 runs)", if others have no value; else empty."""
    if samples is None or runs is None or samples >= runs:
        return ""
    return f"({samples:.0f} run{'' if samples == 1 else 's'})"
