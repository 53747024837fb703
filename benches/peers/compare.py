"""Every case in forebay, ns-2 and ns-3; writes docs/validation/peers.json.

Usage: python benches/peers/compare.py [--seeds 3] [--jobs 2] [--only GROUP] [--output FILE]

With --only, the other groups stay as they stand in the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cases import CASES, EXPERIMENTS, Experiment
from peers import Case, Measured, Toolbox
from reasons import GROUPS
from render import section

import forebay

QUANTITIES = ("queue", "utilization", "loss", "once")

Row = tuple[Case, Experiment | None, dict[str, list[Future[Measured]]]]
"""A case, the experiment that it belongs to, and its runs in every simulator."""


def main() -> int:
    """Run what is asked for, write the section of the validation page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=GROUPS, action="append", help="may be repeated")
    parser.add_argument("--output", type=Path, default=Path("docs/validation/peers.json"))
    options = parser.parse_args()
    groups = options.only or list(GROUPS)
    wanted: list[tuple[Case, Experiment | None]] = [(case, None) for case in CASES]
    wanted += [(experiment.case, experiment) for experiment in EXPERIMENTS]
    with tempfile.TemporaryDirectory() as folder:
        tools = Toolbox(Path(folder))
        if len(tools.commands) < 2:
            print(
                "error: ns-2 or ns-3 is missing; apt-get install ns2 libns3-dev g++",
                file=sys.stderr,
            )
            return 2
        with ThreadPoolExecutor(options.jobs) as pool:
            rows = [
                (case, experiment, submit(pool, tools, case, options.seeds))
                for case, experiment in wanted
                if case.group in groups
            ]
            found = [collect(row, number, len(rows)) for number, row in enumerate(rows, 1)]
    results = {
        group: {
            "seeds": options.seeds,
            "versions": tools.versions,
            "rows": [row for row in found if row["group"] == group],
        }
        for group in groups
    }
    if options.output.exists():
        results = json.loads(options.output.read_text("utf-8"))["results"] | results
    options.output.parent.mkdir(parents=True, exist_ok=True)
    document = section({group: results[group] for group in GROUPS if group in results})
    options.output.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return 0


def submit(
    pool: ThreadPoolExecutor, tools: Toolbox, case: Case, seeds: int
) -> dict[str, list[Future[Measured]]]:
    """Start every run of a case."""
    return {
        simulator: [pool.submit(tools.run, simulator, case, seed + 1) for seed in range(seeds)]
        for simulator in case.simulators
    }


def collect(row: Row, number: int, total: int) -> dict[str, Any]:
    """The results of a case, once they are there."""
    case, experiment, futures = row
    found = {
        simulator: summarize([future.result() for future in runs])
        for simulator, runs in futures.items()
    }
    print(f"[{number}/{total}] {case.group} {dict(case.options)}", file=sys.stderr, flush=True)
    about = {} if experiment is None else {"about": experiment.reason, "change": experiment.change}
    return {"group": case.group, "options": dict(case.options)} | about | {"found": found}


def summarize(runs: list[Measured]) -> dict[str, dict[str, float | None]]:
    """Mean and half-width of the 95 % interval of every quantity over the seeds."""
    summary = {}
    for name in QUANTITIES:
        interval = forebay.interval([getattr(run, name) for run in runs])
        assert interval is not None, "there is at least one run"
        summary[name] = {"mean": interval.mean, "half_width": interval.half_width}
    return summary


if __name__ == "__main__":
    sys.exit(main())
