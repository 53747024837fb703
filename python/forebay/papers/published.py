"""Measures beside published ones, where each published number is of one run."""

from __future__ import annotations

from collections.abc import Mapping

from forebay._judge import exactly
from forebay.papers.numbers import Number, Sources
from forebay.papers.variables import Values
from forebay.stats import Interval, prediction


def larger_error(
    sources: Sources, study: str, row: Values, published: Mapping[str, float], scale: float = 1.0
) -> Interval:
    """The largest relative error of some means, in percent, with its sign.

    Args:
        sources: the results.
        study: the study.
        row: the point, as variables.
        published: the published number of each measure.
        scale: factor that brings the measures to the published unit.
    """
    errors = []
    for of, stated in published.items():
        mean = sources.mean(Number(study=study, of=of, scale=scale), row)
        errors.append(100 * (mean / stated - 1))
    return exactly(max(errors, key=abs))


def predicted(
    sources: Sources, study: str, row: Values, published: Mapping[str, float], scale: float = 1.0
) -> bool:
    """Whether all published numbers lie where one more run would, in 95 % of cases.

    Args:
        sources: the results.
        study: the study.
        row: the point, as variables.
        published: the published number of each measure.
        scale: factor that brings the measures to the published unit.
    """
    for of, stated in published.items():
        samples = sources.samples(Number(study=study, of=of, scale=scale), row)
        one = prediction(list(samples.values()))
        if one is None or one.half_width is None or abs(stated - one.mean) > one.half_width:
            return False
    return True
