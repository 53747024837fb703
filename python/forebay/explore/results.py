"""What is kept of the stage: scenarios with their changes, comparisons, reports."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from forebay._engine import ScenarioError
from forebay.explore import protocol
from forebay.explore.protocol import ComparedRow
from forebay.explore.stage import Stage, said
from forebay.scenario import Scenario

if TYPE_CHECKING:
    from forebay.comparison import Comparison

RUNS = 10
"""Replications of a report, unless there is a comparison."""
Tell = Callable[[str], None]


class Results:
    """Answers `save`, `compare` and `report`; the last two in a thread of their own."""

    def __init__(self, stage: Stage, address: str) -> None:
        """What is kept of `stage`; its report is to be had at `address`."""
        self._stage = stage
        self._address = address
        self._busy = threading.Lock()
        self._comparison: Comparison | None = None
        self.page: str | None = None
        """The report, once there is one."""

    def takes(self, command: protocol.Command, tell: Tell) -> bool:
        """Whether it answers the command, through `tell`; it has begun to, then."""
        match command:
            case protocol.Save():
                self._guarded(self._save, tell)
            case protocol.Compare(runs=runs):
                self._beside(lambda: self._compare(runs, tell, "compared"), tell)
            case protocol.Report():
                self._beside(lambda: self._report(tell), tell)
            case _:
                return False
        return True

    def _guarded(self, act: Callable[[Tell], None], tell: Tell) -> None:
        try:
            act(tell)
        except (ScenarioError, ValueError, OSError) as error:
            tell(said("error", str(error)))

    def _beside(self, act: Callable[[], object], tell: Tell) -> None:
        if not self._busy.acquire(blocking=False):
            tell(said("warning", "a comparison is being run; wait for it"))
            return

        def work() -> None:
            try:
                self._guarded(lambda _: (act(), None)[1], tell)
            finally:
                self._busy.release()

        threading.Thread(target=work, name="compare", daemon=True).start()

    def _save(self, tell: Tell) -> None:
        files: list[protocol.SavedFile] = []
        for number, (label, scenario) in enumerate(self._stage.lanes()):
            path = save(label, scenario)
            files.append({"lane": number, "path": str(path), "text": scenario.to_toml()})
        tell(json.dumps({"type": "saved", "files": files}))

    def _compare(self, runs: int, tell: Tell, what: str) -> Comparison:
        from forebay import comparison
        from forebay._runs.service import Progress

        lanes = self._stage.lanes()
        labels = [label for label, _ in lanes]

        def on_progress(progress: Progress) -> None:
            told = {"type": what, "done": min(progress.fraction, 0.99)}
            rest = {"runs": runs, "lanes": labels, "rows": []} if what == "compared" else {}
            tell(json.dumps({**told, **rest} | ({"address": None} if not rest else {})))

        watched = self._stage.watched
        if watched is None:
            raise ScenarioError("there is no link on which disciplines could be compared")
        variants = tuple(
            comparison.Variant(label, _queue(scenario, watched), scenario)
            for label, scenario in lanes
        )
        first = int(lanes[0][1].document.get("seed", 1))
        empty = comparison.Comparison(lanes[0][1], watched, variants, ())
        found = comparison.run_variants(empty, range(first, first + runs), progress=on_progress)
        self._comparison = found
        if what == "compared":
            whole = {"done": 1.0, "runs": runs, "lanes": labels, "rows": _rows(found)}
            tell(json.dumps({"type": "compared", **whole}))
        return found

    def _report(self, tell: Tell) -> None:
        from forebay._report import render

        found = self._comparison
        lanes = self._stage.lanes()
        if found is None or [(each.label, each.scenario) for each in found.variants] != lanes:
            found = self._compare(RUNS, tell, "reported")
        self.page = render(found)
        tell(json.dumps({"type": "reported", "done": 1.0, "address": self._address}))


def save(label: str, scenario: Scenario) -> Path:
    """Write the scenario of a lane, beside the file that it comes from.

    A name that is taken is not used; those of no file go to the present folder.

    Raises:
        OSError: it cannot be written.
    """
    package = Path(__file__).parent
    base = Path(scenario.base).resolve()
    folder = Path.cwd() if base.is_relative_to(package) else base
    stem = scenario.name.removesuffix(".toml").removesuffix(".json")
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{stem} {label}").strip("-").lower()
    number = 1
    while True:
        path = folder / (f"{name}.toml" if number == 1 else f"{name}-{number}.toml")
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(file, "w", encoding="utf-8") as out:
            out.write(scenario.to_toml())
        return path


def _queue(scenario: Scenario, watched: str) -> dict[str, object]:
    for link in scenario.resolved()["links"]:
        if link["name"] == watched:
            return dict(link["queue"] or {"kind": "fifo"})
    raise ScenarioError(f'there is no link "{watched}"')


def _rows(found: Comparison) -> list[ComparedRow]:
    """The measures of every class that were found, each with its interval under each lane."""
    from forebay.measures import MEASURES

    rows: list[ComparedRow] = []
    for class_ in found.classes:
        for measure in MEASURES:
            intervals = [found.interval(each, class_, measure.key) for each in found.labels]
            if all(each is None for each in intervals):
                continue
            best = found.best(class_, measure)
            cells: list[protocol.ComparedCell] = []
            for label, each in zip(found.labels, intervals, strict=True):
                mean, low, high = (None,) * 3 if each is None else (each.mean, each.low, each.high)
                scaled = [
                    None if value is None else value * measure.scale for value in (mean, low, high)
                ]
                cells.append(
                    {"mean": scaled[0], "low": scaled[1], "high": scaled[2], "best": label in best}
                )
            rows.append(
                {
                    "class_name": class_,
                    "measure": f"{measure.title} ({measure.unit})",
                    "cells": cells,
                }
            )
    return rows
