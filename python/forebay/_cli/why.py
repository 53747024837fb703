"""The command `forebay why`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forebay._cli import complete
from forebay._cli.console import stopped
from forebay._cli.help import Command
from forebay._cli.options import as_json, jobs, link, scenario_file, seed, settings
from forebay._scenario import load_with


@click.command(cls=Command)
@scenario_file
@click.option("--at", metavar="TIME", required=True, help="The instant of the run, such as 12.4s.")
@click.option(
    "--of",
    type=click.Choice(("delay", "loss")),
    default="delay",
    help="What to explain: the time that packets wait, or packets that are dropped.",
)
@click.option(
    "--discipline",
    metavar="KIND",
    shell_complete=complete.kinds,
    help="Put this discipline on the link instead of its queue.",
)
@link("Link whose queue is asked about.")
@settings
@seed
@as_json
@jobs
def command(
    scenario: Path,
    at: str,
    of: str,
    discipline: str | None,
    link: str | None,
    set_: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    jobs: int | None,
) -> None:
    """Explain why packets waited, or were lost, at an instant of a run.

    Everything that may be the cause is taken away alone, and the run repeated with the same seed:
    traffic, steps of a link's rate, changes, parameters. The answer says what was tried.

    Examples:
        forebay why examples/branch-uplink.toml --at 12.4s
        forebay why examples/lab.toml --at 20s --of loss --discipline pie
    """
    from forebay._cli.drawn import Bar, Terminal
    from forebay.attack import because
    from forebay.attack.cause import why

    prepared = load_with(scenario, set_)
    bar = Bar()
    try:
        with bar:
            answer = why(
                prepared,
                at=at,
                of=of,  # type: ignore[arg-type]
                discipline=discipline,
                link=link,
                seed=seed,
                jobs=jobs,
                told=bar.set,
            )
    except KeyboardInterrupt:
        stopped("The reruns had not ended; nothing of them is kept.")
    if as_json:
        print(json.dumps(because.plain(answer), indent=2, ensure_ascii=False))
    else:
        because.print_answer(Terminal(), answer)
