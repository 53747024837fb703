"""The command `forebay lab`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from forebay._cli import complete
from forebay._cli.console import Bar, Terminal, command_line, friendly, say, stopped
from forebay._cli.options import (
    AsJson,
    ScenarioFile,
    Seed,
    Settings,
    flag,
    names,
    option,
    out_option,
)

if TYPE_CHECKING:
    from forebay.lab.agreement import Agreement
    from forebay.lab.virtual.kernel import Kernel
    from forebay.stats import Interval


def command(
    scenario: ScenarioFile,
    against_sim: Annotated[
        bool, flag("--against-sim", "Also simulate the scenario, and compare.")
    ] = False,
    disciplines: Annotated[
        str | None,
        option(
            "A,B,...",
            "Disciplines to compare; kernel:NAME is Linux's own.",
            completes=complete.kinds,
        ),
    ] = None,
    link: Annotated[
        str | None,
        option(
            "NAME",
            "Link that gets the disciplines.",
            default="the scenario's",
            completes=complete.links,
            hidden=True,
        ),
    ] = None,
    replications: Annotated[
        int, option("N", "Runs, each with another seed.", "--replications", "-r", minimum=1)
    ] = 1,
    congestion: Annotated[
        str | None,
        option(
            "NAME",
            "Linux's congestion control.",
            default="the scenario's",
        ),
    ] = None,
    virtual: Annotated[
        bool,
        flag("--virtual", "Run in virtual time: reproducible, without root."),
    ] = False,
    kernel: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Folder of that kernel.",
            default="the user's cache",
        ),
    ] = None,
    pcap: Annotated[
        Path | None,
        option("DIR", "With --virtual: write captures of hosts and links here."),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    gate: Annotated[
        Path | None,
        option(
            "PROGRAM",
            "The program forebay-gate, with --virtual libforebay_gate.so.",
            default="target/release, or on the PATH",
            hidden=True,
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, out_option("Write tables and summary of the last run here.")
    ] = None,
) -> None:
    """Run a scenario on real packets, in Linux network namespaces.

    Every link is a gate, and Linux sends the traffic: live, as root, or with --virtual in a
    kernel of its own, which the first use builds (docs/lab.md).

    Examples:
        forebay lab examples/lab.toml --virtual --against-sim -r 3
        forebay lab examples/lab.toml --virtual --disciplines cake,kernel:cake -r 3
        sudo forebay lab examples/lab.toml
    """
    with friendly():
        from forebay import _files, _terminal
        from forebay._runs.folder import check_folder
        from forebay.lab import against_simulation, compare, run
        from forebay.lab.virtual import run as run_virtual
        from forebay.scenario import load_with

        chosen = load_with(scenario, set_)
        if pcap is not None and not virtual:
            raise ValueError(
                "--pcap: needs --virtual; live, capture with tcpdump in the namespaces"
            )
        if disciplines is not None and (against_sim or as_json):
            other = "--against-sim" if against_sim else "--json"
            raise ValueError(
                f"{other}: cannot be combined with --disciplines; leave one of them out"
            )
        if link is not None and disciplines is None:
            raise ValueError("--link: needs --disciplines, which the link gets")
        if out is not None:
            check_folder(out)
        bar = Bar()
        try:
            with bar:
                found_kernel = a_kernel(kernel, bar) if virtual else None
                how: dict[str, Any] = {
                    "seed": seed,
                    "congestion": congestion,
                    "gate": gate,
                    "progress": bar.set,
                }
                in_kernel = how | {"kernel": found_kernel, "captures": pcap}
                found: Agreement | None = None
                if disciplines is not None:
                    compared = compare(
                        chosen,
                        names(disciplines) or [],
                        link=link,
                        replications=replications,
                        command=command_line(),
                        **in_kernel,
                    )
                elif against_sim or replications > 1:
                    found = against_simulation(chosen, replications=replications, **in_kernel)
                    result = found.live[-1]
                elif virtual:
                    result = run_virtual(chosen, **in_kernel)
                else:
                    result = run(chosen, **how)
        except KeyboardInterrupt:
            stopped("The lab has been taken away; nothing of the run is kept.")
        if disciplines is not None:
            if out is not None:
                _files.write(compared, out)
            _terminal.print_comparison(Terminal(), compared)
            return
        if out is not None:
            _files.write(result, out)
        if as_json:
            data = result.summary if found is None else as_data(found)
            print(json.dumps(data, indent=2, ensure_ascii=False))
        elif found is None:
            _terminal.print_run(Terminal(), result.summary)
        else:
            Terminal().print(side_by_side(found))


def a_kernel(folder: Path | None, bar: Bar) -> Kernel:
    """The kernel for virtual labs; built if there is none."""
    from forebay.lab.virtual.kernel import BUILDS, build, cache, find

    into = folder or cache()
    doing = ""

    def told(what: str) -> None:
        nonlocal doing
        doing = what
        bar.say(what, 0.0)

    kernel = find(folder)
    if kernel is None:
        say(f"{BUILDS} In {into}.", err=True)
        kernel = build(into, say=told, progress=lambda part: bar.say(doing, part))
    return kernel


def side_by_side(found: Agreement) -> Table:
    """Live and simulated runs as a table."""
    table = Table(title="On real packets and simulated", title_justify="left")
    table.add_column("")
    table.add_column("")
    for heading in ("live", "simulated", "difference"):
        table.add_column(heading, justify="right")
    last = None
    for row in found.rows():
        share = row.difference
        table.add_row(
            row.where if row.where != last else "",
            f"{row.what}, {row.unit}",
            _text(row.live),
            _text(row.simulated),
            "" if share is None else f"{share:+.1%}",
        )
        last = row.where
    return table


def as_data(found: Agreement) -> dict[str, object]:
    """Live and simulated runs as plain values."""

    def plain(interval: Interval | None) -> dict[str, float | None] | None:
        if interval is None:
            return None
        return {"mean": interval.mean, "half_width": interval.half_width}

    rows = [
        {
            "where": row.where,
            "what": row.what,
            "unit": row.unit,
            "live": plain(row.live),
            "simulated": plain(row.simulated),
        }
        for row in found.rows()
    ]
    return {
        "title": found.live[0].summary["title"],
        "replications": len(found.live),
        "seeds": [result.summary["seed"] for result in found.live],
        "rows": rows,
    }


def _text(interval: Interval | None) -> str:
    if interval is None:
        return ""
    half = interval.half_width
    return f"{interval.mean:.4g}" + ("" if half is None else f" ±{half:.2g}")
