"""The command `forebay export`."""

from __future__ import annotations

from pathlib import Path

import click

from forebay._cli.console import say
from forebay._cli.help import Command
from forebay._cli.options import PATH, out_option
from forebay._engine import ScenarioError


@click.command(cls=Command)
@click.argument(
    "folder", metavar="RESULTS", type=PATH, help="A folder of forebay run, compare or sweep."
)
@click.option("--csv", is_flag=True, help="Write CSV files, for any program.")
@click.option("--parquet", is_flag=True, help="Write Parquet files: smaller, with types.")
@out_option("Folder for the tables.", "RESULTS-tables")
def command(folder: Path, csv: bool, parquet: bool, out: Path | None) -> None:
    """Write the tables of results as CSV or Parquet files.

    A run has flows, series and delays; a comparison has runs and links besides; a study has runs.
    The `tables` that a scenario asks for are added: each flow's throughput over time, and
    every transfer. docs/summary.md explains the columns.

    Examples:
        forebay export out/uplink-study --csv
        forebay export out/uplink-study --parquet --out tables
    """
    from forebay._export import export

    if csv == parquet:
        raise ScenarioError("give either --csv or --parquet")
    target = out if out is not None else folder.with_name(f"{folder.name}-tables")
    for path in export(folder, target, "csv" if csv else "parquet"):
        say(f"Wrote {path}")
