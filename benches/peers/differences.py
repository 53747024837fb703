"""The first decision that differs, for every row that misses the goal.

Usage: python benches/peers/differences.py {linux,linux-6.12,linux-2.6} [--again]
           [--driver PROGRAM --library VERSION=PATH ...]

Each such scenario of docs/validation/NAME.json is run once more in kernel and
forebay, with traces of all packets, and what `trace_diff` finds becomes the field `difference`
of its row. Rows that have one keep it unless --again is given. The first two need what `make
virtual-linux` builds, `linux-2.6` what nsc/README.md says.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import beside
import trace_diff
from nsc import compare as nsc

from forebay import _engine, _written

sys.path.append(str(Path(__file__).resolve().parent / "linux"))
import records
from referee import SECOND, Missing, run

DOCS = Path(__file__).resolve().parents[2] / "docs" / "validation"
TOLERANCE = 1e-4
"""s by which times may differ."""
SPANS = (20, 110)
"""s that are traced: most differ early, and a long trace is read only where it must be."""
SEEDS = range(1, 4)
"""Runs that a row has in the kernel."""

Row = Mapping[str, Any]
Kernel = Callable[[Row, int, int, Path], dict[str, Any]]
"""Runs a row's scenario in the kernel, with a seed and for so many seconds, and writes its trace to
a file; gives the scenario for forebay."""


def in_linux(row: Row, seed: int, until: int, trace: Path) -> dict[str, Any]:
    """Linux in virtual time."""
    scenario = {**row["scenario"], "seed": seed, "duration": f"{until}s", "warmup": "0s"}
    _, seen = run(scenario, trace=float(until))
    records.write_traces(seen, trace.parent, until * SECOND)
    (trace.parent / "sender.csv").rename(trace)
    return scenario


def in_nsc(driver: Path, libraries: Mapping[str, Path]) -> Kernel:
    """Linux 2.6 in NSC: always the whole run, which has no seed."""

    def run_it(row: Row, _seed: int, _until: int, trace: Path) -> dict[str, Any]:
        names = ("version", "congestion", "flows", "round_trip_ms")
        case = nsc.Case(**{name: row[name] for name in names})
        tracing = trace.parent / "driver"
        tracing.write_text(f'#!/bin/sh\nexec "{driver.resolve()}" "$@" trace="{trace}"\n')
        tracing.chmod(0o755)
        nsc.in_kernel(case, tracing, libraries[case.version])
        return nsc.scenario(case)

    return run_it


def difference(
    row: Row, kernel: Kernel, name: str, seed: int, until: int
) -> dict[str, object] | None:
    """The first decision in which forebay and the kernel called `name` differ within `until` s."""
    with tempfile.TemporaryDirectory(prefix="forebay-") as place:
        folder = Path(place)
        scenario = kernel(row, seed, until, folder / "theirs.csv")
        _engine.run(json.dumps({**scenario, "tcp_trace": "ours.csv"}), place)
        theirs, ours = (trace_diff.read(folder / f"{who}.csv") for who in ("theirs", "ours"))
    flows = sorted(theirs.keys() & ours.keys())
    found = trace_diff.earliest(theirs, ours, flows, TOLERANCE)
    if found is None:
        return None
    return trace_diff.field(found, (name, "forebay"), theirs[found.flow][0].time)


def fill(
    path: Path, rows: list[dict[str, Any]], document: Any, kernel: Kernel, again: bool
) -> None:
    """Gives the rows that miss the goal their difference; writes the file after each."""
    judged = list(beside.READERS[path.stem]({path.stem: document}))
    for row, verdict in zip(rows, judged, strict=True):
        # In linux-2.6.json the distances stand under the same name.
        distances = {
            name: value
            for name, value in (row.get("difference") or {}).items()
            if name in beside.QUANTITIES
        }
        known = beside.told(row.get("difference", ""))
        if verdict.missed and known and not again:
            continue
        asked = product(SEEDS, SPANS) if verdict.missed else ()
        name = verdict.referee.split(" in ")[0]
        each = (difference(row, kernel, name, seed, span) for seed, span in asked)
        found = next((one for one in each if one), None) or {}
        row["difference"] = distances | found
        if not row["difference"]:
            del row["difference"]
        if verdict.missed:
            print(f"{verdict.scenario}: {beside.told(found)}", file=sys.stderr, flush=True)
            path.write_text(_written.dump(document), "utf-8")
    path.write_text(_written.dump(document), "utf-8")


def main() -> int:
    """Fill in what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", choices=["linux", "linux-6.12", "linux-2.6"])
    parser.add_argument("--again", action="store_true", help="also rows that have a difference")
    parser.add_argument("--driver", type=Path, help="NSC's, built")
    parser.add_argument("--library", action="append", default=[], metavar="VERSION=PATH")
    options = parser.parse_args()
    path = DOCS / f"{options.file}.json"
    document = json.loads(path.read_text("utf-8"))
    libraries = {
        version: Path(where)
        for version, _, where in (word.partition("=") for word in options.library)
    }
    if options.file != "linux-2.6":
        kernel: Kernel = in_linux
        rows = document["results"]["rows"]
    elif options.driver is None or not libraries:
        parser.error("linux-2.6 needs --driver and --library; see benches/peers/nsc/README.md")
    else:
        kernel, rows = in_nsc(options.driver, libraries), document["cases"]
    try:
        fill(path, rows, document, kernel, options.again)
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
