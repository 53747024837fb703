"""Every case in forebay, ns-2 and ns-3; writes docs/validation/peers.json.

Usage: python benches/peers/compare.py [--seeds 3] [--jobs 2] [--only GROUP] [--simulator NAME]
                                       [--output FILE]

With --only, the other groups stay as they stand in the file. With --simulator, so do the other
simulators' figures where the file has them, from as many seeds and the same version: forebay's
alone are a minute's work.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cases import CASES, EXPERIMENTS, Experiment
from peers import SIMULATORS, Case, Measured, Toolbox
from reasons import GROUPS
from render import section

import forebay
from forebay import _written

QUANTITIES = ("queue", "utilization", "loss", "once")

Summary = dict[str, dict[str, float | None]]
"""Mean and half-width of the 95 % interval of every quantity."""

Row = tuple[dict[str, Any], dict[str, Summary], dict[str, list[Future[Measured]]]]
"""What names a case, what is known of it, and its runs in the other simulators."""


def main() -> int:
    """Run what is asked for, write the section of the validation page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=GROUPS, action="append", help="may be repeated")
    parser.add_argument("--simulator", choices=SIMULATORS, help="run this one alone")
    parser.add_argument("--output", type=Path, default=Path("docs/validation/peers.json"))
    options = parser.parse_args()
    groups = options.only or list(GROUPS)
    wanted: list[tuple[Case, Experiment | None]] = [(case, None) for case in CASES]
    wanted += [(experiment.case, experiment) for experiment in EXPERIMENTS]
    results: dict[str, Any] = {}
    if options.output.exists():
        results = json.loads(options.output.read_text("utf-8"))["results"]
    with tempfile.TemporaryDirectory() as folder:
        tools = Toolbox(Path(folder))
        if len(tools.commands) < 2:
            print(
                "error: ns-2 or ns-3 is missing; apt-get install ns2 libns3-dev g++",
                file=sys.stderr,
            )
            return 2
        kept = SIMULATORS if options.simulator else ()
        known = figures(results, options.seeds, tools.versions, set(kept) - {options.simulator})
        with ThreadPoolExecutor(options.jobs) as pool:
            rows = []
            for case, experiment in wanted:
                if case.group in groups:
                    name = named(case, experiment)
                    before = known.get(key(name), {})
                    rows.append((name, before, submit(pool, tools, case, options.seeds, before)))
            found = [collect(row, number, len(rows)) for number, row in enumerate(rows, 1)]
    results |= {
        group: {
            "seeds": options.seeds,
            "versions": tools.versions,
            "rows": [row for row in found if row["group"] == group],
        }
        for group in groups
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    document = section({group: results[group] for group in GROUPS if group in results})
    options.output.write_text(_written.dump(document), "utf-8")
    return 0


def figures(
    results: Mapping[str, Any], seeds: int, versions: Mapping[str, str], kept: set[str]
) -> dict[str, dict[str, Summary]]:
    """What the file has of the simulators `kept`, by case."""
    return {
        key(row): {
            name: summary
            for name, summary in row["found"].items()
            if name in kept and result["versions"].get(name) == versions[name]
        }
        for result in results.values()
        if result["seeds"] == seeds
        for row in result["rows"]
    }


def named(case: Case, experiment: Experiment | None) -> dict[str, Any]:
    """What names a case in the file."""
    about = {} if experiment is None else {"about": experiment.reason, "change": experiment.change}
    return {"group": case.group, "options": dict(case.options)} | about


def key(row: Mapping[str, Any]) -> str:
    """The name of a row as one word."""
    parts = {name: value for name, value in row.items() if name not in ("found", "difference")}
    return json.dumps(parts, sort_keys=True)


def submit(
    pool: ThreadPoolExecutor, tools: Toolbox, case: Case, seeds: int, known: Mapping[str, Summary]
) -> dict[str, list[Future[Measured]]]:
    """Start every run of a case, but of the simulators that are `known`."""
    return {
        simulator: [pool.submit(tools.run, simulator, case, seed + 1) for seed in range(seeds)]
        for simulator in case.simulators
        if simulator not in known
    }


def collect(row: Row, number: int, total: int) -> dict[str, Any]:
    """The results of a case, once they are there."""
    name, known, futures = row
    found = known | {
        simulator: summarize([future.result() for future in runs])
        for simulator, runs in futures.items()
    }
    print(f"[{number}/{total}] {name['group']} {name['options']}", file=sys.stderr, flush=True)
    return name | {"found": {each: found[each] for each in SIMULATORS if each in found}}


def summarize(runs: list[Measured]) -> Summary:
    """Mean and half-width of the 95 % interval of every quantity over the seeds."""
    summary = {}
    for name in QUANTITIES:
        interval = forebay.interval([getattr(run, name) for run in runs])
        assert interval is not None, "there is at least one run"
        summary[name] = {"mean": interval.mean, "half_width": interval.half_width}
    return summary


if __name__ == "__main__":
    sys.exit(main())
