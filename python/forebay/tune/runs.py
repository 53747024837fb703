"""Runs that are kept: a folder of finished runs by what was run and its seed.

A folder holds `tune.json` (what it is), `journal` (finished runs, see `forebay._runs.journal`),
`lock` (held by the command that writes), and what was found. A run is known by the identity of its
scenario, so that runs serve any goal and any parameters, and none is taken for another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay._runs.folder import claim
from forebay._runs.journal import Kept
from forebay._runs.pool import Work
from forebay._runs.service import run_all
from forebay._runs.task import Change, Record, Task, record_of
from forebay._scenario import Scenario
from forebay.sweep.study import refuse_captures


class Runs(Kept):
    """Runs of variations of one scenario, each run once and kept."""

    def __init__(
        self,
        base: Scenario,
        folder: Path,
        jobs: int | None = None,
        *,
        work: Work[Record] = record_of,
        made_for: tuple[str, Mapping[str, Any]] = ("tune", {"forebay tune": 2}),
    ) -> None:
        """Open a folder, new or begun earlier.

        Args:
            base: what is varied.
            folder: where runs are kept.
            jobs: runs at a time; one a core unless given.
            work: what is done with each.
            made_for: the command whose folder it is, and what its runs are of.
        """
        self._base = base.without("seed")
        self._jobs = jobs
        self._ids: dict[Scenario, str] = {}
        self._work = work
        name, marks = made_for
        claim(folder, f"{name}.json", marks, lambda _: f"runs of another forebay {name}")
        super().__init__(folder)
        self._known = {(each.id, each.replication): each for each in self._journal.records}

    def check(self, change: Change) -> None:
        """Check that the changed scenario can run."""
        self.identity(change)

    def effective(self, change: Change) -> dict[str, object]:
        """The changed scenario with every default filled in."""
        return change.of(self._base).effective()

    def measures(
        self,
        wanted: Sequence[tuple[Change, int]],
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[dict[str, float | str]]:
        """The measures of changed scenarios with seeds; what is not known yet is run and kept."""
        keys = [(self.identity(change), seed) for change, seed in wanted]
        missing = {
            key: Task(*key, key[1], self._base, change)
            for key, (change, _) in zip(keys, wanted, strict=True)
            if key not in self._known
        }
        known = len(set(keys)) - len(missing)
        run_all(
            list(missing.values()),
            self._work,
            jobs=self._jobs,
            tell=lambda now: progress(known + now.finished),
            note=self._keep,
        )
        return [self._known[key].measures for key in keys]

    def _keep(self, records: Sequence[Record]) -> None:
        self._journal.append(records)
        self._known |= {(record.id, record.replication): record for record in records}

    def identity(self, change: Change) -> str:
        """Of what a change makes of the scenario, whatever the seed."""
        changed = change.of(self._base)
        if changed not in self._ids:
            refuse_captures(changed)
            self._ids[changed] = changed.identity()[:16]
        return self._ids[changed]
