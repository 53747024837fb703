"""The command `forebay fit`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forebay._cli.console import say, stopped
from forebay._cli.help import Command
from forebay._cli.options import PATH, as_json, jobs, out_option
from forebay._engine import ScenarioError


@click.command(cls=Command)
@click.argument(
    "files",
    metavar="MEASUREMENT...",
    nargs=-1,
    type=PATH,
    help="A capture, Flent's data file, or files that were made at the same time.",
)
@click.option("--measure", is_flag=True, help="Print the commands of a measurement that decides.")
@out_option("Folder for the scenario, the report and the runs.", "out/MEASUREMENT-fit")
@as_json
@jobs
def command(
    files: tuple[Path, ...], measure: bool, out: Path | None, as_json: bool, jobs: int | None
) -> None:
    r"""Find the link behind a measurement, as a scenario.

    Reads captures of one end (pcap, pcapng), Flent's files, irtt's JSON, ping -D beside
    iperf3 --json, and captures of forebay lab. Finds rate, round trip, buffer, discipline and
    others' traffic with intervals, or says which measurement would decide. Runs are kept: after a
    stop the same command continues. docs/fit.md tells how well it does.

    Examples:
        forebay fit --measure
        forebay fit examples/home.pcap.gz
        forebay fit ping.txt iperf3.json --out out/home
    """
    from forebay.fit.measure import COMMANDS

    if measure:
        click.echo(COMMANDS, nl=False)
        return
    if not files:
        raise ScenarioError("name a measurement; forebay fit --measure prints how to make one")
    # The engine's tables and the report need large libraries; help starts faster without.
    from forebay._cli.drawn import Bar, Terminal
    from forebay.fit import fit
    from forebay.fit.show import plain, print_found

    name = files[0].name.partition(".")[0] or "link"
    folder = out if out is not None else Path("out") / f"{name}-fit"
    progress = Bar()
    try:
        with progress:
            found = fit(files, folder, jobs=jobs, progress=progress.say)
    except KeyboardInterrupt:
        stopped(f"the runs that had ended are kept in {folder}; the same command goes on.")
    if as_json:
        print(json.dumps(plain(found), indent=2, ensure_ascii=False))
        return
    print_found(Terminal(), found)
    say(f"Report: {folder / 'report.html'}")
    if found.scenario is not None:
        say(f"Scenario: {folder / 'scenario.toml'}\nTry it: forebay compare {folder}/scenario.toml")
