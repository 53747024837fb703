"""The command `forebay tune`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from forebay._cli import complete
from forebay._cli.console import command_line, say, stopped
from forebay._cli.help import Command
from forebay._cli.options import (
    as_json,
    baseline,
    count,
    jobs,
    link,
    out_option,
    scenario_file,
    settings,
)
from forebay._engine import ScenarioError
from forebay._scenario import load_with


@click.command(cls=Command)
@scenario_file
@click.option("--maximize", metavar="KEY", help="Make this measure large: a key of run --json.")
@click.option("--minimize", metavar="KEY", help="Make this measure small instead.")
@click.option(
    "--subject-to",
    metavar="BOUND",
    multiple=True,
    help="A bound: 'KEY <= VALUE' or 'KEY >= VALUE'. Repeatable.",
)
@click.option(
    "--param",
    "parameters",
    metavar="RANGE",
    multiple=True,
    help="Vary PATH=LOW..HIGH[:log] or PATH=A,B,C. Repeatable.",
)
@click.option(
    "--discipline",
    metavar="KIND",
    shell_complete=complete.kinds,
    help="Tune this kind or label instead of the link's queue.",
)
@link("Link on which the discipline is tuned.", hidden=True)
@baseline("NAME", show_default="the scenario's")
@settings
@count("--trials", default=40, says="Combinations of values to try.")
@count("--replications", "-r", least=2, default=8, says="Runs of each trial.", hidden=True)
@count(
    "--candidates",
    default=6,
    says="Number of best trials to judge again with new seeds.",
    hidden=True,
)
@count(
    "--verify",
    least=2,
    default=30,
    says="Runs of each candidate when it is judged again.",
    hidden=True,
)
@count("--seed", least=0, says="Seed of the first replication, and of the search.", hidden=True)
@out_option("Folder for the results.", "out/SCENARIO-tune")
@as_json
@jobs
def command(
    scenario: Path,
    set_: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    r"""Find parameter values that optimise a measure within bounds.

    An optimiser proposes values; the best are judged again with fresh random numbers. Every run
    is kept: after a stop the same command continues. docs/tune.md explains how values are found.

    Examples:
        forebay tune examples/branch-uplink.toml --discipline codel \
            --maximize classes.backup.goodput_bps \
            --subject-to "classes.calls.p99_delay_ms <= 300" \
            --param link.uplink.queue.target=1ms..50ms:log
    """
    # Tables and the optimiser need large libraries; the other commands start faster without.
    from forebay._cli.drawn import Bar, Terminal
    from forebay.tune.show import plain, print_outcome
    from forebay.tune.tuning import tune

    prepared = load_with(scenario, set_)
    folder = out if out is not None else Path("out") / f"{scenario.stem}-tune"
    line = command_line()
    progress = Bar()
    try:
        with progress:
            # The other options are those of the function, by the same names.
            outcome = tune(prepared, folder, progress=progress.update, command=line, **how)
    except KeyboardInterrupt:
        stopped(f"{progress.state} are kept in {folder}; the same command goes on.")
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    if as_json:
        print(json.dumps(plain(outcome, line), indent=2, ensure_ascii=False))
        return
    print_outcome(Terminal(), outcome, shlex.quote(str(scenario)), set_)
    if (picture := folder / "pareto.png").exists():
        say(f"Picture: {picture}")
    say(f"Results: {folder / 'results.json'}")
