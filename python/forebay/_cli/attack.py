"""The command `forebay attack`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from forebay._cli import complete
from forebay._cli.console import command_line, say, stopped
from forebay._cli.help import Command
from forebay._cli.options import (
    Number,
    as_json,
    count,
    jobs,
    link,
    out_option,
    path_option,
    scenario_file,
    settings,
)
from forebay._scenario import load_with

_MEASURES = ("starvation", "p99", "loss", "utilization", "unfairness", "stall", "regret")


@click.command(cls=Command)
@scenario_file
@click.option(
    "--discipline",
    metavar="KIND",
    shell_complete=complete.kinds,
    help="Attack this instead of the link's queue.",
)
@click.option(
    "--against",
    metavar="KIND",
    shell_complete=complete.kinds,
    help="A rival: harm counts only as far as the rival suffers less.",
)
@click.option(
    "--control",
    metavar="CONTROL",
    shell_complete=complete.controls,
    help="Attack this congestion control, in all transfers.",
)
@click.option(
    "--box",
    metavar="KIND",
    help="Attack this box; the rival is the queue without it.",
)
@click.option(
    "--measure",
    metavar="HARM",
    type=click.Choice(_MEASURES),
    default="starvation",
    show_default="starvation",
    help=f"What counts: {', '.join(_MEASURES)}.",
)
@click.option(
    "--minutes",
    metavar="N",
    type=Number(0, min_open=True),
    default=1.0,
    show_default="1",
    help="Processor minutes for the search.",
)
@path_option("--bounds", "FILE", "What the attack may do; as bounds.toml has it.")
@count("--finds", default=3, says="Finds to make small and confirm, at most.", hidden=True)
@click.option("--no-confirm", is_flag=True, help="Do not look at finds again.", hidden=True)
@link("Link that is attacked.", hidden=True)
@settings
@count("--seed", least=0, default=1, says="Seed of the search and its runs.", hidden=True)
@out_option("Folder for the results.", "out/SCENARIO-attack")
@as_json
@jobs
def command(
    scenario: Path,
    set_: tuple[str, ...],
    bounds: Path | None,
    minutes: float,
    no_confirm: bool,
    out: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    r"""Search for the network in which a discipline does worst.

    Traffic joins the scenario's own, and its path changes, within bounds. Finds are made small,
    saved, and confirmed elsewhere. Every run is kept. docs/attack.md explains the measures.

    Examples:
        forebay attack examples/lab.toml --discipline cake --against fq-codel
        forebay --plugin mine.py attack examples/lab.toml --discipline mine
    """
    from forebay._cli.drawn import Bar, Terminal
    from forebay.attack import show
    from forebay.attack.attacking import attack
    from forebay.attack.bounds import for_measure, read, text

    prepared = load_with(scenario, set_)
    limits = read(bounds)
    searched = for_measure(limits, how["measure"])
    folder = out if out is not None else Path("out") / f"{scenario.stem}-attack"
    line = command_line()
    bar = Bar()
    if not as_json:
        say(text(searched))
    try:
        with bar:
            outcome = attack(
                prepared,
                folder,
                bounds=limits,
                seconds=60 * minutes,
                confirm=not no_confirm,
                told=bar.say,
                command=line,
                **how,
            )
    except KeyboardInterrupt:
        stopped(f"Every run that had ended is kept in {folder}; the same command goes on.")
    if as_json:
        print(json.dumps(show.plain(outcome, line), indent=2, ensure_ascii=False))
        return
    show.print_outcome(Terminal(), outcome, folder)
    say(f"Report: {folder / 'report.html'}")
