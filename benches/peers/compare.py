"""Validation against ns-2 and ns-3: runs every case in all three, writes docs/validation/peers.*.

Usage: python benches/peers/compare.py [--seeds 5] [--jobs 2] [--only GROUP] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

from cases import CASES, EXPERIMENTS
from peers import COMMON, Case, Measured, Toolbox, machine
from render import render

import forebay

QUANTITIES = ("queue", "utilization", "loss", "once")


def main() -> int:
    """Run everything, write the JSON and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="only the cases of this group, and no experiments")
    parser.add_argument("--output", type=Path, default=Path("docs/validation"))
    options = parser.parse_args()
    cases = [case for case in CASES if options.only in (None, case.group)]
    experiments = EXPERIMENTS if options.only is None else []
    with tempfile.TemporaryDirectory() as folder:
        tools = Toolbox(Path(folder))
        if len(tools.commands) < 2:
            print(
                "error: ns-2 or ns-3 is missing; apt-get install ns2 libns3-dev g++",
                file=sys.stderr,
            )
            return 2
        with ThreadPoolExecutor(options.jobs) as pool:
            rows = [submit(pool, tools, case, options.seeds) for case in cases]
            tried = [
                (experiment, submit(pool, tools, experiment.case, options.seeds))
                for experiment in experiments
            ]
            total = len(rows) + len(tried)
            document = {
                "versions": tools.versions,
                "machine": machine(),
                "date": date.today().isoformat(),
                "seeds": options.seeds,
                "common": COMMON,
                "cases": [collect(row, number, total) for number, row in enumerate(rows)],
                "experiments": [
                    {"reason": experiment.reason, "change": experiment.change}
                    | collect(row, len(rows) + number, total)
                    for number, (experiment, row) in enumerate(tried)
                ],
            }
    options.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=1) + "\n"
    (options.output / "peers.json").write_text(text)
    (options.output / "peers.md").write_text(render(document))
    return 0


def submit(pool: ThreadPoolExecutor, tools: Toolbox, case: Case, seeds: int) -> tuple[Case, Any]:
    """Start every run of a case."""
    futures = {
        simulator: [pool.submit(tools.run, simulator, case, seed + 1) for seed in range(seeds)]
        for simulator in ("forebay", *case.peers)
    }
    return case, futures


def collect(row: tuple[Case, Any], number: int, total: int) -> dict[str, Any]:
    """The results of a case, once they are there."""
    case, futures = row
    results = {
        simulator: summarize([future.result() for future in runs])
        for simulator, runs in futures.items()
    }
    print(f"[{number + 1}/{total}] {case.group} {dict(case.options)}", file=sys.stderr)
    return {
        "group": case.group,
        "options": dict(case.options),
        "only": {simulator: dict(own) for simulator, own in case.only.items()},
        "results": results,
    }


def summarize(runs: list[Measured]) -> dict[str, dict[str, float]]:
    """Mean and half-width of the 95 % interval of every quantity over the seeds."""
    summary = {}
    for name in QUANTITIES:
        interval = forebay.interval([getattr(run, name) for run in runs])
        summary[name] = {"mean": interval.mean, "half_width": interval.half_width}
    return summary


if __name__ == "__main__":
    sys.exit(main())
