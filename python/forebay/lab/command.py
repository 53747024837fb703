"""The command `forebay lab`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from forebay.console import Bar, friendly, stopped
from forebay.lab.agreement import Agreement
from forebay.options import AsJson, ScenarioFile, Seed, Settings
from forebay.stats import Interval


def gate(context: typer.Context) -> None:
    """Shape and queue real traffic: `forebay-gate`, a program of its own, with these arguments.

    It is taken from the source tree (`make gate`) or from the PATH, and needs no Python.

    Example: forebay gate check examples/gate/uplink.toml
    """
    with friendly():
        from forebay.lab.gates import program

        found = program()
        os.execv(found, [found.name, *context.args])


def lab(
    scenario: ScenarioFile,
    against_sim: Annotated[
        bool,
        typer.Option("--against-sim", help="Simulate the scenario too, and show both."),
    ] = False,
    replications: Annotated[
        int,
        typer.Option("--replications", "-r", help="Runs, each with other random numbers.", min=1),
    ] = 1,
    congestion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Linux' name of the congestion control of all TCP flows, such as bbr, instead of "
            "the scenario's.",
        ),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="PROGRAM",
            help="The program forebay-gate.",
            show_default="target/release/forebay-gate, or on the PATH",
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write tables and summary of the (last) run there."
        ),
    ] = None,
) -> None:
    """Run a scenario on real packets: Linux hosts in namespaces, a gate for every link.

    Needs Linux and root. Bulk traffic is iperf3 over the kernel's TCP, other transfers and
    datagrams are sent by the scenario's own sources, in real time. The summary has the keys of
    `forebay run`.

    Example: sudo forebay lab examples/lab.toml --against-sim
    """
    with friendly():
        from forebay import files, terminal
        from forebay.lab import against_simulation, run
        from forebay.runs.folder import check_folder
        from forebay.scenario import load_with

        chosen = load_with(scenario, set_)
        if out is not None:
            check_folder(out)
        bar = Bar()
        try:
            with bar:
                if against_sim or replications > 1:
                    found = against_simulation(
                        chosen,
                        seed=seed,
                        replications=replications,
                        congestion=congestion,
                        gate=gate,
                        progress=bar.set,
                    )
                    result = found.live[-1]
                else:
                    found = None
                    result = run(
                        chosen, seed=seed, congestion=congestion, gate=gate, progress=bar.set
                    )
        except KeyboardInterrupt:
            stopped("The lab has been taken away; nothing of the run is kept.")
        if out is not None:
            files.write(result, out)
        if as_json:
            data = result.summary if found is None else as_data(found)
            print(json.dumps(data, indent=2, ensure_ascii=False))
        elif found is None:
            terminal.print_run(Console(), result.summary)
        else:
            Console().print(side_by_side(found))


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
