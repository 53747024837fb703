"""The command `forebay lab`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.table import Table

from forebay._cli.console import Bar, Terminal, friendly, stopped
from forebay._cli.options import AsJson, ScenarioFile, Seed, Settings, flag, option, out_option

if TYPE_CHECKING:
    from forebay.lab.agreement import Agreement
    from forebay.stats import Interval


def command(
    scenario: ScenarioFile,
    against_sim: Annotated[
        bool, flag("--against-sim", "Also simulate the scenario, and compare.")
    ] = False,
    replications: Annotated[
        int, option("N", "Runs, each with another seed.", "--replications", "-r", minimum=1)
    ] = 1,
    congestion: Annotated[
        str | None,
        option(
            "NAME",
            "Congestion control of all TCP flows by its Linux name, such as bbr.",
            default="the scenario's",
        ),
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    gate: Annotated[
        Path | None,
        option(
            "PROGRAM",
            "The program forebay-gate.",
            default="target/release/forebay-gate, or on the PATH",
            hidden=True,
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, out_option("Write tables and summary of the last run here.")
    ] = None,
) -> None:
    """Run a scenario on real packets, in Linux network namespaces.

    Needs Linux and root. Every link is a forebay-gate, and TCP is the kernel's. Runs in real time;
    the results have the keys of forebay run. docs/lab.md explains what it can do.

    Examples:
        sudo forebay lab examples/lab.toml
        sudo forebay lab examples/lab.toml --against-sim -r 3
    """
    with friendly():
        from forebay import _files, _terminal
        from forebay._runs.folder import check_folder
        from forebay.lab import against_simulation, run
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
            _files.write(result, out)
        if as_json:
            data = result.summary if found is None else as_data(found)
            print(json.dumps(data, indent=2, ensure_ascii=False))
        elif found is None:
            _terminal.print_run(Terminal(), result.summary)
        else:
            Terminal().print(side_by_side(found))


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
