"""The command `forebay sweep`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from forebay._cli.console import say, stopped
from forebay._cli.help import Command
from forebay._cli.options import PATH, jobs, out_option, settings
from forebay._engine import ScenarioError


@click.command(cls=Command)
@click.argument("study_file", metavar="STUDY", type=PATH, help="The study file, TOML or JSON.")
@out_option("Folder for the results; a stopped sweep goes on there.", "out/STUDY")
@settings
@jobs
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on the Dask cluster of this scheduler, such as tcp://host:8786.",
)
@click.option(
    "--repair",
    is_flag=True,
    help="Set damaged result files aside and repeat their runs.",
    hidden=True,
)
def command(
    study_file: Path,
    out: Path | None,
    set_: tuple[str, ...],
    jobs: int | None,
    cluster: str | None,
    repair: bool,
) -> None:
    """Run a study: a scenario over axes of values and disciplines.

    Every run is kept as soon as it ends. You can stop at any moment: the same command continues,
    and ends with the same results. docs/studies.md explains study files.

    Examples:
        forebay sweep examples/uplink-study.toml
        forebay sweep examples/uplink-study.toml --set scenario.duration=10s --out out/short
    """
    from forebay import sweep as sweeps
    from forebay._cli.drawn import Bar
    from forebay._runs import cluster as dask

    study = sweeps.load(study_file, set_)
    folder = out if out is not None else Path("out") / study_file.stem
    if cluster is not None and jobs is not None:
        raise ScenarioError("--jobs is for this machine; a cluster's workers have their own")
    progress = Bar()
    try:
        with progress, dask.connected(cluster) as client:
            total = sweeps.run(
                study, folder, jobs=jobs, client=client, repair=repair, progress=progress.update
            )
    except KeyboardInterrupt:
        stopped(f"{progress.state} are kept in {folder}; the same command goes on.")
    say(f"{total.finished} runs of {len(study.points)} points: {folder}")
    say(f"Report: forebay report {shlex.quote(str(folder))}")
