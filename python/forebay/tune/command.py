"""The command `forebay tune`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from forebay._engine import ScenarioError
from forebay.console import Bar, command_line, friendly, stopped
from forebay.options import AsJson, Jobs, ScenarioFile, Settings
from forebay.scenario import load_with
from forebay.tune.search import Tuning
from forebay.tune.show import plain, print_outcome
from forebay.tune.tuning import tune


def command(
    scenario: ScenarioFile,
    maximize: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="The measure to make large: a key that forebay run --json prints, its steps "
            "joined by dots, such as classes.web.goodput_bps; or efficiency, or classes.web.gain, "
            "beside a baseline.",
            show_default=False,
        ),
    ] = None,
    minimize: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The measure to make small, instead.", show_default=False),
    ] = None,
    subject_to: Annotated[
        list[str],
        typer.Option(
            "--subject-to",
            metavar="'KEY <= VALUE'",
            help="A bound that must hold, in the key's unit; >= too. May be given repeatedly.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - read only
    param: Annotated[
        list[str],
        typer.Option(
            "--param",
            metavar="PATH=LOW..HIGH",
            help="A field to tune and its range, such as link[0].queue.target=1ms..50ms; whole "
            "numbers if both ends are; LOW..HIGH:log for equal ratios; A,B,C for a choice. May be "
            "given repeatedly. [default: the scenario's \\[tune] table]",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - read only
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Tune this kind, or this label of the scenario's list, in place of the link's "
            "own queue.",
            show_default=False,
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The link that gets disciplines.", show_default=False),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The discipline beside which gain and efficiency are given.",
            show_default="the scenario's",
        ),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    trials: Annotated[
        int, typer.Option(help="Points that the search tries.", min=1)
    ] = Tuning.trials,
    replications: Annotated[
        int, typer.Option("--replications", "-r", help="Runs of each trial.", min=2)
    ] = Tuning.replications,
    candidates: Annotated[
        int, typer.Option(help="Best trials that are judged again with fresh seeds.", min=1)
    ] = Tuning.candidates,
    verify: Annotated[
        int, typer.Option(help="Runs of each of these; more give narrower intervals.", min=2)
    ] = Tuning.verify,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the first replication, and of the search.", min=0),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where runs are kept, and what was found: results.json and pareto.png.",
            show_default="out/, the scenario's name and -tune",
        ),
    ] = None,
    as_json: AsJson = False,
    jobs: Jobs = None,
) -> None:
    """Find the values of a scenario's parameters that make a measure best within bounds.

    An optimiser proposes points; all are run with the same random numbers. The best are run again
    with fresh ones, and only those runs decide, so that what is chosen is not luck. They are shown
    beside the scenario as it is written and the disciplines that it compares.

    Every run is kept as soon as it ends: stopped at any moment, the same command goes on where it
    was, and another goal or range uses the runs that there are.

    Example: forebay tune examples/branch-uplink.toml --maximize classes.backup.goodput_bps
    --subject-to "classes.calls.p99_delay_ms <= 300" --discipline codel --param
    link.uplink.queue.target=1ms..50ms:log
    """
    with friendly():
        prepared = load_with(scenario, set_)
        folder = out if out is not None else Path("out") / f"{scenario.stem}-tune"
        line = command_line()
        progress = Bar()
        try:
            with progress:
                outcome = tune(
                    prepared,
                    folder,
                    maximize=maximize,
                    minimize=minimize,
                    subject_to=subject_to,
                    parameters=param,
                    discipline=discipline,
                    link=link,
                    baseline=baseline,
                    jobs=jobs,
                    progress=progress.update,
                    command=line,
                    trials=trials,
                    replications=replications,
                    candidates=candidates,
                    verify=verify,
                    seed=seed,
                )
        except KeyboardInterrupt:
            stopped(f"{progress.state} are kept in {folder}; the same command goes on.")
        except ValueError as error:
            raise ScenarioError(str(error)) from None
        if as_json:
            print(json.dumps(plain(outcome, line), indent=2, ensure_ascii=False))
            return
        print_outcome(Console(), outcome, shlex.quote(str(scenario)), set_)
        print(f"Picture: {folder / 'pareto.png'}\nResults: {folder / 'results.json'}")
