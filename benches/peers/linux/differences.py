"""The first decision that differs, for every row of linux.json that misses the goal.

Usage: python benches/peers/linux/differences.py [--again] [--file docs/validation/linux.json]

Each such scenario is run once more in Linux in virtual time and in forebay, with seed 1 and traces
of all packets, and what `trace_diff` finds becomes the field `difference` of its row. Rows that
have one keep it unless --again is given. Needs what `make virtual-linux` builds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import records
from referee import SECOND, Missing, run

from forebay import _engine
from forebay.validate import beside

sys.path.append(str(Path(__file__).resolve().parents[1]))
import trace_diff

TOLERANCE = 1e-4
"""s by which times may differ."""


def difference(scenario: Mapping[str, Any], until: int) -> dict[str, object] | None:
    """The first decision of a scenario in which Linux and forebay differ, within `until` s."""
    tree = {**scenario, "seed": 1, "duration": f"{until}s", "warmup": "0s"}
    with tempfile.TemporaryDirectory(prefix="forebay-") as name:
        folder = Path(name)
        _, seen = run(tree, trace=float(until))
        records.write_traces(seen, folder, until * SECOND)
        _engine.run(json.dumps({**tree, "tcp_trace": "ours.csv"}), name)
        theirs, ours = (trace_diff.read(folder / each) for each in ("sender.csv", "ours.csv"))
    flows = sorted(theirs.keys() & ours.keys())
    found = trace_diff.earliest(theirs, ours, flows, TOLERANCE)
    if found is None:
        return None
    return trace_diff.field(found, ("Linux", "forebay"), theirs[found.flow][0].time)


def main() -> int:
    """Fill in what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="also rows that have a difference")
    parser.add_argument("--file", type=Path, default=Path("docs/validation/linux.json"))
    options = parser.parse_args()
    document = json.loads(options.file.read_text("utf-8"))
    rows = document["results"]["rows"]
    judged = list(beside.READERS["linux"]({"linux": document}))
    for row, verdict in zip(rows, judged, strict=True):
        if not verdict.missed:
            row.pop("difference", None)
            continue
        if "difference" in row and not options.again:
            continue
        try:
            # Most differ early; a long trace is read only where it must be.
            found = difference(row["scenario"], 20) or difference(row["scenario"], 110)
        except Missing as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        if found is None:
            row.pop("difference", None)
        else:
            row["difference"] = found
        print(f"{verdict.scenario}: {beside.told(found)}", file=sys.stderr, flush=True)
        # A stop loses the row in work alone.
        options.file.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
