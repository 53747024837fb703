"""The command `forebay tune`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

from forebay._cli import complete
from forebay._cli.console import Bar, Terminal, command_line, friendly, say, stopped
from forebay._cli.options import AsJson, Jobs, ScenarioFile, Settings, option, out_option
from forebay._engine import ScenarioError
from forebay.scenario import load_with


def command(
    scenario: ScenarioFile,
    maximize: Annotated[
        str | None, option("KEY", "Make this measure large: a key of run --json.")
    ] = None,
    minimize: Annotated[str | None, option("KEY", "Make this measure small instead.")] = None,
    subject_to: Annotated[
        list[str],
        option("BOUND", "A bound: 'KEY <= VALUE' or 'KEY >= VALUE'. Repeatable.", "--subject-to"),
    ] = [],  # noqa: B006 - read only
    param: Annotated[
        list[str],
        option("RANGE", "Vary PATH=LOW..HIGH[:log] or PATH=A,B,C. Repeatable.", "--param"),
    ] = [],  # noqa: B006 - read only
    discipline: Annotated[
        str | None,
        option(
            "NAME", "Tune this kind or label instead of the link's queue.", completes=complete.kinds
        ),
    ] = None,
    link: Annotated[
        str | None,
        option(
            "NAME", "Link on which the discipline is tuned.", completes=complete.links, hidden=True
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        option(
            "NAME",
            "Give gain and efficiency relative to this discipline.",
            default="the scenario's",
            hidden=True,
        ),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    trials: Annotated[int, option("N", "Combinations of values to try.", minimum=1)] = 40,
    replications: Annotated[
        int, option("N", "Runs of each trial.", "--replications", "-r", minimum=2, hidden=True)
    ] = 8,
    candidates: Annotated[
        int,
        option("N", "Number of best trials to judge again with new seeds.", minimum=1, hidden=True),
    ] = 6,
    verify: Annotated[
        int, option("N", "Runs of each candidate when it is judged again.", minimum=2, hidden=True)
    ] = 30,
    seed: Annotated[
        int | None,
        option("N", "Seed of the first replication, and of the search.", minimum=0, hidden=True),
    ] = None,
    out: Annotated[Path | None, out_option("Folder for the results.", "out/SCENARIO-tune")] = None,
    as_json: AsJson = False,
    jobs: Jobs = None,
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
    with friendly():
        # Tables and the optimiser need large libraries; the other commands start faster without.
        from forebay.tune.show import plain, print_outcome
        from forebay.tune.tuning import tune

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
        print_outcome(Terminal(), outcome, shlex.quote(str(scenario)), set_)
        say(f"Picture: {folder / 'pareto.png'}\nResults: {folder / 'results.json'}")
