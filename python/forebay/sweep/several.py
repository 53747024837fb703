"""Several studies as one piece of work, each in a folder of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from forebay.parallel import Progress
from forebay.sweep import control, tables
from forebay.sweep.axes import quantity
from forebay.sweep.plan import Study

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

    Raises:
        ScenarioError: a study that could not run, or not in its folder.
        OSError: results could not be kept.
        KeyboardInterrupt: interrupted; every finished run is kept.
    """
    weights = {name: _weight(study) for name, study in studies.items()}
    whole, done = sum(weights.values()), 0.0
    for name, study in studies.items():
        # Runs whose tables are kept are run twice.
        again = min(replications or study.most, study.most) if kept.get(name) else 0
        part = weights[name] / whole * study.most / (study.most + again)
        begun = time.process_time()
        try:
            told = _share(tell, name, done, part)
            control.run(study, folder / name, jobs=jobs, progress=told)
            if kept.get(name):
                left = weights[name] / whole - part
                told = _share(tell, f"{name}, tables", done + part, left)
                tables.keep(
                    study,
                    folder / name,
                    kept[name],
                    jobs=jobs,
                    progress=told,
                    replications=replications,
                )
        finally:
            times = _times(folder)
            times[name] = times.get(name, 0.0) + time.process_time() - begun
            fresh = folder / f".{_SPENT}.partial"
            fresh.write_text(json.dumps(times) + "\n", "utf-8")
            fresh.rename(folder / _SPENT)
        done += weights[name] / whole


def spent(folder: Path, names: Iterable[str]) -> float:
    """Processor seconds that studies took, over all calls."""
    times = _times(folder)
    return sum(times.get(name, 0.0) for name in names)


def _share(tell: Tell, name: str, before: float, part: float) -> Callable[[Progress], None]:
    """Tells of a study whose work is a part of the whole."""
    return lambda now: tell(
        f"{name}: {now.finished} of {now.runs} runs", before + part * now.fraction
    )


def _weight(study: Study) -> float:
    """Simulated time of a study, as far as it is known before it runs."""
    runs = study.until.at_least if study.until is not None else study.most
    length = quantity(study.base.document.get("duration"))
    return len(study.points) * runs * (length[0] if length is not None else 1.0)


def _times(folder: Path) -> dict[str, float]:
    try:
        found: dict[str, float] = json.loads((folder / _SPENT).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return found
