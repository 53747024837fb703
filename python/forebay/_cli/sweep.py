"""The command `forebay sweep`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from forebay._cli.console import Bar, friendly, say, stopped
from forebay._cli.options import Jobs, Settings, argument, flag, option, out_option
from forebay._engine import ScenarioError


def command(
    study_file: Annotated[Path, argument("STUDY", "The study file, TOML or JSON.")],
    out: Annotated[
        Path | None,
        out_option("Folder of the results, also of a sweep to go on with.", "out/STUDY"),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    jobs: Jobs = None,
    cluster: Annotated[
        str | None,
        option("ADDRESS", "Run on a Dask cluster: its scheduler, such as tcp://host:8786."),
    ] = None,
    repair: Annotated[
        bool,
        flag(
            "--repair", "Set damaged result files aside and run again what they held.", hidden=True
        ),
    ] = False,
) -> None:
    """Run a study: a scenario over axes of values and disciplines.

    Every run is kept as soon as it ends. Stop it at any moment: the same command goes on where it
    was, and ends with the same results. docs/studies.md explains study files.

    Examples:
        forebay sweep examples/uplink-study.toml
        forebay sweep examples/uplink-study.toml --set scenario.duration=10s --out out/short
    """
    with friendly():
        from forebay import sweep as sweeps
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
