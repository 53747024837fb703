"""Points that an optimiser proposes: optuna's tree-structured Parzen estimator.

Its random numbers depend on the seed and the point's number alone, so that a search whose runs are
kept retraces its steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from forebay.tune.goal import UNMEASURED
from forebay.tune.space import Parameter, combinations

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import Trial

_TOGETHER = 4
"""Points that are proposed before the next are judged; not by the number of cores, so that a search
does not depend on it."""
_FIRST = 12
"""Points that look around before the optimiser trusts what it saw."""

Point = tuple[Any, ...]
"""A value of each parameter."""
Score = tuple[float | None, Sequence[float]]
"""What is optimised, none if it is not known, and how far each bound is broken."""
Given = TypeVar("Given")


def explore(
    parameters: Sequence[Parameter],
    *,
    start: Sequence[Mapping[str, float | int]],
    most: int,
    seed: int,
    maximize: bool,
    tries: Callable[[Sequence[Point]], Sequence[Given]],
    score: Callable[[Given], Score],
) -> dict[Point, Given]:
    """Distinct points, in the order in which they were proposed, and what was found there.

    Args:
        parameters: what varies.
        start: where it begins, as `Parameter.drawn` gives it by path.
        most: points to try.
        seed: of the search.
        maximize: whether a large score is wanted.
        tries: what is found at some points; the search ends if it gives fewer.
        score: of what was found.
    """
    study = _study(maximize)
    for drawn in start:
        study.enqueue_trial(dict(drawn))
    found: dict[Point, Given] = {}
    left = min(most, combinations(parameters))
    number, asked = 0, 0
    # What was tried already costs nothing, but must not go on for ever.
    while len(found) < left and asked < 4 * most:
        batch: list[tuple[Trial, Point]] = []
        for _ in range(_TOGETHER):
            study.sampler = _sampler(seed, number)
            trial = study.ask({each.path: each.distribution for each in parameters})
            number += 1
            values = tuple(each.value(trial.params[each.path]) for each in parameters)
            batch.append((trial, values))
        fresh = list(dict.fromkeys(values for _, values in batch if values not in found))
        fresh = fresh[: int(left) - len(found)] if left < float("inf") else fresh
        tried = tries(fresh)
        found |= zip(fresh, tried, strict=False)
        if len(tried) < len(fresh):
            break
        for trial, values in batch:
            if values in found:
                _tell(study, trial, *score(found[values]))
        asked += len(batch)
    return found


def _study(maximize: bool) -> Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(direction="maximize" if maximize else "minimize")


def _sampler(seed: int, number: int) -> Any:
    from optuna.samplers import TPESampler

    with warnings.catch_warnings():
        # Constraints are called experimental since 2021.
        warnings.simplefilter("ignore")
        return TPESampler(
            n_startup_trials=_FIRST,
            multivariate=True,
            constant_liar=True,
            constraints_func=lambda trial: trial.user_attrs["excess"],
            seed=(seed * 1_000_003 + number) % 2**32,
        )


def _tell(study: Study, trial: Trial, value: float | None, excess: Sequence[float]) -> None:
    if value is None:
        # Told as far beyond the bounds, so that the optimiser keeps away.
        trial.set_user_attr("excess", [UNMEASURED])
        study.tell(trial, 0.0)
    else:
        trial.set_user_attr("excess", list(excess) or [0.0])
        study.tell(trial, value)
