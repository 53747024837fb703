"""The command `forebay watch`."""

from __future__ import annotations

import sys
from typing import Annotated

from forebay._cli import complete
from forebay._cli.console import Terminal, friendly
from forebay._cli.options import ScenarioFile, Seed, Settings, names, option
from forebay._engine import ScenarioError
from forebay.scenario import load_with


def command(
    scenario: ScenarioFile,
    disciplines: Annotated[
        str | None,
        option(
            "A,B,...",
            "Disciplines side by side, instead of the scenario's own queue.",
            completes=complete.kinds,
        ),
    ] = None,
    link: Annotated[
        str | None, option("NAME", "Link whose queue is shown.", completes=complete.links)
    ] = None,
    speed: Annotated[
        float,
        option("FACTOR", "Simulated seconds per real second; 0: as fast as possible.", minimum=0),
    ] = 1.0,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
) -> None:
    """Watch a scenario in the terminal.

    Shows the queue of a link and its series while the scenario runs, for one discipline or for
    several side by side. Keys pause it, go on step by step and change the speed.

    Examples:
        forebay watch examples/branch-uplink.toml
        forebay watch examples/branch-uplink.toml --disciplines fifo,codel,fq-codel
        forebay watch examples/cellular.toml --speed 0.1
    """
    with friendly():
        from forebay.comparison import variants_of
        from forebay.watch import FASTEST, SLOWEST, Watch, show

        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise ScenarioError("watch draws in a terminal; forebay run prints what was measured")
        if speed and not SLOWEST <= speed <= FASTEST:
            raise ScenarioError(f"--speed: must be 0, or {SLOWEST:g} to {FASTEST:g}, got {speed:g}")
        prepared = load_with(scenario, set_)
        watched = prepared.compared_link(link)
        chosen = names(disciplines)
        if chosen is None:
            links = prepared.resolved()["links"]
            own = next(each["queue"] for each in links if each["name"] == watched)
            chosen = [own or "fifo"]
        watch = Watch(variants_of(prepared, link, chosen), watched, seed)
        watch.speed = speed or None
        show(watch, Terminal())
