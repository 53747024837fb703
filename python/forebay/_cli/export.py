"""The command `forebay export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from forebay._cli.console import friendly, say
from forebay._cli.options import argument, flag, out_option
from forebay._engine import ScenarioError


def command(
    folder: Annotated[Path, argument("RESULTS", "A folder of forebay run, compare or sweep.")],
    csv: Annotated[bool, flag("--csv", "Write CSV files, for any program.")] = False,
    parquet: Annotated[
        bool, flag("--parquet", "Write Parquet files: smaller, with types.")
    ] = False,
    out: Annotated[Path | None, out_option("Folder for the tables.", "RESULTS-tables")] = None,
) -> None:
    """Write the tables of results as CSV or Parquet files.

    A run has flows, series and delays; a comparison has runs and links besides; a study has runs.
    The `tables` that a scenario asks for are added: each flow's throughput over time, and
    every transfer. docs/summary.md explains the columns.

    Examples:
        forebay export out/uplink-study --csv
        forebay export out/uplink-study --parquet --out tables
    """
    with friendly():
        from forebay._export import export

        if csv == parquet:
            raise ScenarioError("give either --csv or --parquet")
        target = out if out is not None else folder.with_name(f"{folder.name}-tables")
        for path in export(folder, target, "csv" if csv else "parquet"):
            say(f"Wrote {path}")
