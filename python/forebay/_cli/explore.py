"""The command `forebay explore`."""

from __future__ import annotations

import errno
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from forebay._cli.console import say
from forebay._cli.help import Command
from forebay._cli.options import PATH, Whole, disciplines, link, names, settings
from forebay._engine import ScenarioError
from forebay._scenario import load_with


@click.command(cls=Command)
@click.argument(
    "scenario",
    metavar="[SCENARIO]",
    required=False,
    type=PATH,
    help="The scenario file, TOML or JSON.",
)
@disciplines("Disciplines side by side.", show_default="today's queue and a contrast")
@link("Link whose queue is shown.")
@click.option(
    "--story",
    metavar="NAME",
    help="Guided story to begin with, such as bufferbloat; or the file of one.",
)
@settings
@click.option(
    "--port",
    metavar="N",
    type=Whole(0, 65535),
    default=0,
    show_default="a free one",
    help="Port of the page.",
)
@click.option("--no-browser", is_flag=True, help="Only print the page's address.")
def command(
    scenario: Path | None,
    disciplines: str | None,
    link: str | None,
    story: str | None,
    set_: tuple[str, ...],
    port: int,
    no_browser: bool,
) -> None:
    """Watch a scenario live, in the browser.

    Shows the packets in the queue and on the links, under several disciplines side by side, at any
    speed, and lets you change rates, delays, queues and traffic while it runs. What you changed can
    be saved as a scenario that forebay run repeats. Without a scenario a guided story begins.

    Examples:
        forebay explore
        forebay explore examples/branch-uplink.toml
        forebay explore examples/branch-uplink.toml --disciplines fifo,fq-codel,cq-aqm
    """
    # The server needs libraries that help and completion do without.
    from forebay._explore import browser, stories
    from forebay._explore.server import run
    from forebay._explore.stage import Stage

    if scenario is not None and story is not None:
        raise ScenarioError("--story has a scenario of its own; give one of the two")
    if scenario is None:
        told = stories.load(story or stories.names()[0])
        stage = Stage(told.run, told.lanes_of(1), told.link, story=told)
        story = told.name
    else:
        stage = Stage(load_with(scenario, set_), names(disciplines), link, plays=True)

    with ExitStack() as until_end:

        def ready(address: str) -> None:
            say(f"{address}\nCtrl-C ends it.")
            if no_browser:
                return
            try:
                until_end.enter_context(browser.shown(address))
            except OSError as error:
                say(f"The browser cannot be opened: {error}; open the address.", err=True)

        try:
            # Ctrl-C is how it ends.
            with suppress(KeyboardInterrupt):
                run(stage, port, ready=ready, story=story)
        except OSError as error:
            reason = "another program uses it"
            if error.errno != errno.EADDRINUSE:
                reason = str(error.strerror)
            raise ScenarioError(
                f"--port: {port} cannot be used: {reason}; choose another one, or leave it out"
            ) from None
