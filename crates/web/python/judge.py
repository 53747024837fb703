"""Comparisons in a page: the package itself says what is run, judges it and writes the report.

`js/python.js` calls `begin` and `finish`; in between, the page's workers run the tasks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay import _comparison, _files
from forebay._comparison import Comparison
from forebay._explore import compared
from forebay._runs import Result, Task
from forebay._scenario import Scenario

COLUMNS = {"queue": "link", "class": "class", "delay": "class"}
"""The tables that a report draws, and whose rows they have."""


@dataclass(frozen=True, repr=False)
class Received(Result):
    """The measurements of a run in a worker, whose tables are lists."""

    def rows(self, table: str, of: str) -> Mapping[str, Sequence[Any]]:
        """As `Result.rows`."""
        found: Sequence[Any] = self.tables  # type: ignore[assignment]
        of_it = (each[2] for each in found if each[0] == table and each[1][COLUMNS[table]] == of)
        return next(of_it, {})


class Work:
    """A comparison that has begun."""

    def __init__(self, prepared: Comparison, seeds: range) -> None:
        """The comparison without its runs, and the seeds of these."""
        self.prepared = prepared
        self.tasks: list[Task] = _comparison.tasks_of(prepared, seeds)
        self.seeds = seeds

    def plain(self) -> dict[str, Any]:
        """What the page is to run, in this order."""
        return {
            "labels": self.prepared.labels,
            "link": self.prepared.link,
            "replications": len(self.seeds),
            "tasks": [
                {
                    "scenario": task.scenario.document,
                    "tables": list(COLUMNS) if task.replication == 1 else ["delay"],
                }
                for task in self.tasks
            ],
        }


work: Work | None = None


def begin(asked: str) -> str:
    """What is to be run (JSON), for a scenario or for the lanes of a stage.

    Args:
        asked: JSON: `scenario`, `name`, and optionally `link`, `disciplines`, `replications`; or
            `lanes` (label and scenario of each), `watched` and `runs`.

    Raises:
        ScenarioError: it cannot be compared.
    """
    global work
    wanted = json.loads(asked)
    if "lanes" in wanted:
        lanes = [(label, Scenario.of(tree, wanted["name"], "")) for label, tree in wanted["lanes"]]
        work = Work(*compared.of_lanes(lanes, wanted["watched"], wanted["runs"]))
    else:
        scenario = Scenario.of(wanted["scenario"], wanted["name"], "")
        link, chosen = wanted.get("link"), wanted.get("disciplines")
        disciplines, baseline = _comparison.against_today(scenario, link, chosen)
        prepared, seeds = _comparison.prepare(
            scenario, disciplines, wanted.get("replications"), link, baseline=baseline
        )
        work = Work(prepared, seeds)
    return json.dumps(work.plain())


def finish(results: Sequence[str]) -> str:
    """What was found (JSON): `summary` as in `summary.json`, `message` for explore, `report`.

    Args:
        results: of each task, in order, the engine's answer: `summary` and `tables`.
    """
    from forebay._compared.report import render

    assert work is not None
    read = [json.loads(each) for each in results]
    made = [Received(each["summary"], each["tables"]) for each in read]
    found = _comparison.with_results(work.prepared, work.tasks, made)
    return json.dumps(
        {
            "summary": _files.summary(found),
            "message": compared.message(found),
            "report": render(found),
        }
    )


def lanes(asked: str) -> str:
    """The disciplines (JSON) that are shown side by side of a scenario: `scenario` and `name`.

    Raises:
        ScenarioError: it cannot run.
    """
    wanted = json.loads(asked)
    return json.dumps(_comparison.usual(Scenario.of(wanted["scenario"], wanted["name"], "")))
