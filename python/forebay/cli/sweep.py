"""The command `forebay sweep`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from forebay._engine import ScenarioError
from forebay.cli.console import Bar, friendly, stopped
from forebay.cli.options import Jobs


def command(
    study_file: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="The study file, TOML or JSON.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where the results go, or where an earlier sweep of the study left them.",
            show_default="out/ and the study's name",
        ),
    ] = None,
    jobs: Jobs = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on the Dask cluster whose scheduler is there, such as tcp://host:8786.",
            show_default=False,
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Set damaged files of results aside and make their runs anew; all others stay.",
        ),
    ] = False,
) -> None:
    """Run a study: a scenario over axes of values, under several disciplines, many times.

    Every run is kept as soon as it ends. Stopped or killed at any moment, the same command goes on
    where it was, and ends with the same results as without.

    Example: forebay sweep examples/uplink-study.toml
    """
    with friendly():
        from forebay import sweep as sweeps
        from forebay.runs import cluster as dask

        study = sweeps.load(study_file)
        folder = out if out is not None else Path("out") / study_file.stem
        if cluster is not None and jobs is not None:
            raise ScenarioError("--jobs is for this machine; a cluster's workers have their own")
        progress = Bar()
        try:
            with progress, dask.connected(cluster) as client:
                total = sweeps.run(
                    study,
                    folder,
                    jobs=jobs,
                    client=client,
                    repair=repair,
                    progress=progress.update,
                )
        except KeyboardInterrupt:
            stopped(f"{progress.state} are kept in {folder}; the same command goes on.")
        print(f"{total.finished} runs of {len(study.points)} points: {folder}")
        print(f"Report: forebay report {shlex.quote(str(folder))}")
