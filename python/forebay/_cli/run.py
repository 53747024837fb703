"""The command `forebay run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from forebay._cli import complete
from forebay._cli.console import Bar, Terminal, friendly, stopped, unchanged
from forebay._cli.options import AsJson, ScenarioFile, Seed, Settings, option, out_option
from forebay._engine import ScenarioError
from forebay.scenario import load_with


def command(
    scenario: ScenarioFile,
    discipline: Annotated[
        str | None,
        option(
            "KIND",
            "Put this discipline on the link instead of its queue.",
            completes=complete.kinds,
        ),
    ] = None,
    link: Annotated[
        str | None, option("NAME", "Link that gets the discipline.", completes=complete.links)
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    threads: Annotated[
        int | None,
        option(
            "N",
            "Most threads to use, for a network of several links. The results do not change.",
            default="one for each idle core",
            minimum=1,
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[Path | None, out_option("Write tables and summary to this folder.")] = None,
) -> None:
    """Run a scenario once.

    Prints what every link, queue and class of traffic got. With --json it prints the whole
    summary, flow by flow, for other programs; docs/summary.md explains its keys.

    Examples:
        forebay run examples/branch-uplink.toml
        forebay run examples/branch-uplink.toml --discipline codel --set link[0].rate=5Mbit
        forebay run examples/branch-uplink.toml --json > run.json
    """
    with friendly():
        from forebay import _files, _terminal
        from forebay._runs import run as run_once
        from forebay._runs.folder import check_folder

        prepared = load_with(scenario, set_)
        if link is not None and discipline is None:
            raise ScenarioError("--link says where --discipline goes; give both or neither")
        if out is not None:
            check_folder(out)
        progress = Bar()
        try:
            with progress:
                result = run_once(
                    prepared,
                    seed=seed,
                    discipline=discipline,
                    link=link,
                    progress=progress.set,
                    threads=threads,
                )
        except KeyboardInterrupt:
            kept = "" if out is None else f" {unchanged(out)}"
            stopped(f"The run had not ended; nothing of it is kept.{kept}")
        if out is not None:
            _files.write(result, out)
        if as_json:
            print(json.dumps(result.summary, indent=2, ensure_ascii=False))
        else:
            _terminal.print_run(Terminal(), result.summary)
