"""The command `forebay lab`."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forebay._cli.console import command_line, say, stopped
from forebay._cli.help import Command
from forebay._cli.options import (
    as_json,
    count,
    disciplines,
    link,
    names,
    out_option,
    path_option,
    scenario_file,
    seed,
    settings,
)
from forebay._engine import ScenarioError

if TYPE_CHECKING:
    from rich.table import Table

    from forebay._cli.drawn import Bar
    from forebay._runs import Result
    from forebay.lab.agreement import Agreement
    from forebay.lab.virtual.kernel import Kernel
    from forebay.stats import Interval


@click.command(cls=Command)
@scenario_file
@click.option("--against-sim", is_flag=True, help="Also simulate the scenario, and compare.")
@disciplines("Disciplines to compare; kernel:NAME is Linux's own.")
@link("Link that gets the disciplines.", show_default="the scenario's", hidden=True)
@count("--replications", "-r", default=1, says="Runs, each with another seed.")
@click.option(
    "--congestion",
    metavar="NAME",
    show_default="the scenario's",
    help="Linux's congestion control.",
)
@click.option("--virtual", is_flag=True, help="Run in virtual time: reproducible, without root.")
@click.option(
    "--kernel",
    metavar="VERSION",
    default="6.1",
    help="6.1, 6.12, or the folder of a kernel.",
)
@click.option(
    "--run",
    "programs",
    multiple=True,
    metavar="'HOST: COMMAND'",
    help="With --virtual: a program on a host. Repeatable.",
)
@path_option(
    "--root", "DIR", "Files of the hosts of programs.", show_default="the machine's", hidden=True
)
@path_option("--pcap", "DIR", "With --virtual: write captures here.", hidden=True)
@settings
@seed
@path_option(
    "--gate",
    "PROGRAM",
    "The program forebay-gate, with --virtual libforebay_gate.so.",
    show_default="target/release, or on the PATH",
    hidden=True,
)
@as_json
@out_option("Write tables and summary of the last run here.")
def command(
    scenario: Path,
    against_sim: bool,
    disciplines: str | None,
    link: str | None,
    replications: int,
    congestion: str | None,
    virtual: bool,
    kernel: str,
    programs: tuple[str, ...],
    root: Path | None,
    pcap: Path | None,
    set_: tuple[str, ...],
    seed: int | None,
    gate: Path | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Run a scenario on real packets, in Linux network namespaces.

    Every link is a gate, and Linux sends the traffic: live, as root, or with --virtual in a
    kernel of its own, which the first use builds (docs/lab.md).

    Examples:
        forebay lab examples/lab.toml --virtual --disciplines cake,kernel:cake -r 3
        forebay lab examples/lab.toml --virtual --run 'left: ping -c 3 right'
        sudo "$(command -v forebay)" lab examples/lab.toml
    """
    from forebay import _files, _terminal
    from forebay._cli.drawn import Bar, Terminal
    from forebay._runs.folder import check_folder
    from forebay._scenario import load_with
    from forebay.lab import against_simulation, compare, run
    from forebay.lab.virtual import run as run_virtual

    chosen = load_with(scenario, set_)
    if pcap is not None and not virtual:
        raise ScenarioError("--pcap: needs --virtual; live, capture with tcpdump in the namespaces")
    if (programs or root is not None) and not virtual:
        raise ScenarioError(f"{'--run' if programs else '--root'}: needs --virtual")
    if programs:
        several = {
            "--against-sim": against_sim,
            "-r": replications > 1,
            "--disciplines": disciplines,
        }
        for other in (name for name, given in several.items() if given):
            raise ScenarioError(f"{other}: cannot be combined with --run; run once for each")
    if disciplines is not None and (against_sim or as_json):
        other = "--against-sim" if against_sim else "--json"
        raise ScenarioError(
            f"{other}: cannot be combined with --disciplines; leave one of them out"
        )
    if link is not None and disciplines is None:
        raise ScenarioError("--link: needs --disciplines, which the link gets")
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
                result = run_virtual(chosen, programs=programs, root=root, **in_kernel)
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
        print_programs(result)
    else:
        Terminal().print(side_by_side(found))


def a_kernel(asked: str, bar: Bar) -> Kernel:
    """The kernel for virtual labs, a version or a folder; built if there is none."""
    from forebay.lab.virtual.kernel import USUAL, VERSIONS, build, by_tenths, cache, find, intent

    folder = None if asked in VERSIONS else Path(asked)
    if folder and re.fullmatch(r"[\d.]+", asked) and not folder.exists():
        versions = " and ".join(VERSIONS)
        raise ScenarioError(
            f"--kernel: there is no {asked}; there are {versions}, or folders of them"
        )
    version = USUAL if folder else asked
    kernel = find(folder, version=version)
    if kernel is None:
        into = folder or cache(version)
        say(f"{intent(version)} In {into}.", err=True)
        told = bar.say if bar.shown else by_tenths(partial(say, err=True))
        kernel = build(into, version=version, told=told)
    return kernel


_MOST_LINES = 20


def print_programs(result: Result) -> None:
    """What became of programs, and the last lines of what each said."""
    for number, program in enumerate(result.summary.get("programs", []), 1):
        end = f"{program['end_s']:.6g} s"
        became = f"stopped at the end, {end}" if program["stopped"] else f"ended at {end}"
        say(f"\n{program['host']}: {program['command']}")
        say(f"  {became}; exit code {program['exit_code']}")
        for name, content in result.files.items():
            if not name.startswith(f"programs/{number}-"):
                continue
            lines = content.decode("utf-8", "replace").splitlines()
            if (more := len(lines) - _MOST_LINES) > 0:
                say(f"  {name.rpartition('.')[2]}: {more} lines more above")
            for line in lines[-_MOST_LINES:]:
                say(f"  {line}")


def side_by_side(found: Agreement) -> Table:
    """Runs on real packets and simulated ones as a table."""
    from rich.table import Table

    table = Table(title="On real packets and simulated", title_justify="left")
    table.add_column("")
    table.add_column("")
    for heading in ("measured", "simulated", "difference"):
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
