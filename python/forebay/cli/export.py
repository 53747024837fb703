"""The command `forebay export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forebay._engine import ScenarioError
from forebay.cli.console import friendly, say


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="A folder of forebay run, compare or sweep.",
            show_default=False,
        ),
    ],
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV files, for any program.")] = False,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write Parquet files: smaller, with types.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where to.", show_default="RESULTS-tables"),
    ] = None,
) -> None:
    """Write the tables of results as CSV or Parquet files.

    A run and a comparison have flows, series and delays, a comparison also runs; a study has runs.
    What a scenario's `tables` ask for comes with them: each flow's throughput over time, and
    every transfer. docs/summary.md explains the columns.

    Examples:
        forebay export out/uplink-study --csv
        forebay export out/uplink-study --parquet --out tables
    """
    with friendly():
        from forebay.export import export

        if csv == parquet:
            raise ScenarioError("give either --csv or --parquet")
        target = out if out is not None else folder.with_name(f"{folder.name}-tables")
        for path in export(folder, target, "csv" if csv else "parquet"):
            say(f"Wrote {path}")
