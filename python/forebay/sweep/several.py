"""Several studies as one piece of work, each in a folder of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from forebay import _disk
from forebay._runs.service import Progress
from forebay.sweep import control
from forebay.sweep.study import Study

Tell = Callable[[str, float], None]
"""Called with what runs, and the share of the work that is done."""
_SPENT = "spent.json"


def run(
    studies: Mapping[str, Study],
    folder: Path,
    kept: Mapping[str, Sequence[str]],
    jobs: int | None,
    tell: Tell,
    replications: int | None = None,
) -> None:
    """Run what studies still lack, one after another.

    Args:
        studies: by the names of their folders.
        folder: where these are.
        kept: tables of every run to keep beside its summary (see `forebay.sweep.tables`).
        jobs: runs at a time; one a core unless given.
        tell: called about ten times a second.
        replications: runs of each point, from the first, whose tables are kept; all unless given.
    """
    weights = {name: _weight(study) for name, study in studies.items()}
    whole, done = sum(weights.values()), 0.0
    for name, study in studies.items():
        begun = time.process_time()
        try:
            control.run(
                study,
                folder / name,
                tables=kept.get(name, ()),
                first=replications,
                jobs=jobs,
                progress=_share(tell, name, done, weights[name] / whole),
            )
        finally:
            times = _times(folder)
            times[name] = times.get(name, 0.0) + time.process_time() - begun
            _disk.write(folder / _SPENT, (json.dumps(times) + "\n"))
        done += weights[name] / whole


def spent(folder: Path, names: Iterable[str] | None = None) -> float:
    """Processor seconds that studies took, over all calls; those of a folder unless named."""
    times = _times(folder)
    return sum(times.get(name, 0.0) for name in (times if names is None else names))


def _share(tell: Tell, name: str, before: float, part: float) -> Callable[[Progress], None]:
    """Tells of a study whose work is a part of the whole."""
    return lambda now: tell(
        f"{name}: {now.finished} of {now.runs} runs", before + part * now.fraction
    )


def _weight(study: Study) -> float:
    """Simulated time of a study, as far as it is known before it runs."""
    runs = study.until.at_least if study.until is not None else study.most
    length: float = study.scenario_of(study.points[0]).resolved()["duration_s"]
    return len(study.points) * runs * length


def _times(folder: Path) -> dict[str, float]:
    content = _disk.read_if_any(folder / _SPENT)
    found: dict[str, float] = {} if content is None else json.loads(content)
    return found
