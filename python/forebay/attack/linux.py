"""Runs of a plan in Linux in virtual time, which are kept as those of the simulator are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay._runs.folder import claim
from forebay._runs.journal import Kept
from forebay._runs.result import Result
from forebay._runs.task import Record
from forebay._scenario import Scenario, lookup
from forebay.attack.measure import Meter, Run, others
from forebay.attack.plan import Plan, Target, parted


class Runs(Kept):
    """Runs in a folder, each run once and kept."""

    def __init__(self, target: Target, folder: Path) -> None:
        """For a scenario that is attacked, in a folder that is new or was begun earlier.

        Raises:
            LabError: there is no kernel.
        """
        from forebay.lab.virtual.kernel import found

        self._target = target
        self._meter = Meter(target.base, target.link)
        self._kernel = found()
        marks = {"forebay attack": 1, "kernel": self._kernel.folder.name}
        claim(folder, "linux.json", marks, lambda _: "runs of another kernel")
        super().__init__(folder)
        self._known = {(each.id, each.replication): each.measures for each in self._journal.records}

    def harms(self, plan: Plan, table: Any, seeds: Sequence[int]) -> list[Mapping[str, float]]:
        """Every harm of a plan under a queue, a mapping a seed.

        Raises:
            LabError: the guest failed.
            ScenarioError: it cannot run there.
        """
        from forebay.lab import virtual

        target = self._target
        scenario = target.change(plan, table, apart=True).of(target.base)
        name = scenario.identity()[:16]
        missing = [seed for seed in seeds if (name, seed) not in self._known]
        at_once = os.cpu_count() or 1
        for first in range(0, len(missing), at_once):
            some = missing[first : first + at_once]
            results = virtual.run_all(scenario, some, kernel=self._kernel)
            records = [
                Record(name, seed, str(result.summary["fingerprint"]), self._measured(plan, result))
                for seed, result in zip(some, results, strict=True)
            ]
            self._journal.append(records)
            self._known |= {(each.id, each.replication): each.measures for each in records}
        return [
            {key: float(value) for key, value in self._known[name, seed].items()} for seed in seeds
        ]

    def _measured(self, plan: Plan, result: Result) -> dict[str, float | str]:
        series = {
            str(name): rows["throughput_bps"].to_list()
            for (name,), rows in result.classes.partition_by("class", as_dict=True).items()
        }
        duration_s = float(result.summary["duration_s"])
        run = Run(others(self._target, plan), duration_s, result.summary, series)
        return {**self._meter.measures(run)}


QDISCS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "fifo": ("pfifo", ("limit",)),
    "codel": ("codel", ("limit", "target", "interval", "ecn")),
    "fq-codel": ("fq_codel", ("limit", "target", "interval", "ecn")),
    "pie": ("pie", ("limit", "target", "ecn")),
    "fq-pie": ("fq_pie", ("limit", "target", "ecn")),
    "cake": ("cake", ()),
}
"""The kernel's own discipline of a kind, and the parameters that tc is told."""


def queue(target: Target, given: Any) -> tuple[Any, str]:
    """What the virtual kernel queues with, and how to call it.

    The kernel's own discipline, if it has one and nothing is set that tc is not told; otherwise
    forebay's, under the kernel's TCP.
    """
    table, box = parted(given)
    base = target.base if table is None else target.base.with_queue(table, target.link)
    found = _queue_of(base, target)
    kind = str(found.get("kind"))
    usual = _queue_of(target.base.with_queue(kind, target.link), target) if kind in QDISCS else {}
    name, told = QDISCS.get(kind, ("", ()))
    if (
        box is not None
        or not name
        or any(usual.get(key) != value for key, value in found.items() if key not in told)
    ):
        more = "" if box is None else f" behind {box['kind']}"
        return given, f"forebay's {kind}{more}"
    options = []
    for key in told:
        value = found[key]
        if key == "ecn":
            options += ["ecn"] if value else ["noecn"] if name != "pie" else []
        else:
            options.append(f"{key} {str(value).removesuffix('p') if key == 'limit' else value}")
    options = [each for each in options if each != "noecn" or name != "fq_pie"]
    table = {"kind": "kernel", "qdisc": name}
    return table | ({"options": " ".join(options)} if options else {}), f"Linux' {name}"


def _queue_of(base: Scenario, target: Target) -> dict[str, Any]:
    found = base.effective()
    links = {each["name"]: each for each in base.resolved()["links"]}
    table: dict[str, Any] = lookup(found, links[target.link]["queue_path"]) or {}
    return table
