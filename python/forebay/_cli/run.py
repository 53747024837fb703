"""The command `forebay run`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forebay._cli import complete
from forebay._cli.console import stopped, unchanged
from forebay._cli.help import Command
from forebay._cli.options import as_json, count, link, out_option, scenario_file, seed, settings
from forebay._engine import ScenarioError
from forebay._scenario import load_with


@click.command(cls=Command)
@scenario_file
@click.option(
    "--discipline",
    metavar="KIND",
    shell_complete=complete.kinds,
    help="Put this discipline on the link instead of its queue.",
)
@link("Link that gets the discipline.")
@settings
@seed
@count(
    "--threads",
    show_default="one for each idle core",
    says="Most threads to use, for a network of several links. The results do not change.",
)
@as_json
@out_option("Write tables and summary to this folder.")
def command(
    scenario: Path,
    discipline: str | None,
    link: str | None,
    set_: tuple[str, ...],
    seed: int | None,
    threads: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run a scenario once.

    Prints what every link, queue and class of traffic got. With --json it prints the whole
    summary, flow by flow, for other programs; docs/summary.md explains its keys.

    Examples:
        forebay run examples/branch-uplink.toml
        forebay run examples/branch-uplink.toml --discipline codel --set link[0].rate=5Mbit
        forebay run examples/branch-uplink.toml --json > run.json
    """
    from forebay import _files, _terminal
    from forebay._cli.drawn import Bar, Terminal
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
