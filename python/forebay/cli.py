"""The `forebay` command."""

from __future__ import annotations

import json
import shlex
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from forebay import _engine
from forebay._engine import ScenarioError
from forebay.compare_command import check, compare, unchanged
from forebay.console import Bar, command_line, friendly, stopped
from forebay.lab.command import gate, lab
from forebay.new_discipline.command import discipline
from forebay.options import AsJson, Jobs, ScenarioFile, Seed, Settings
from forebay.papers.command import app as papers
from forebay.scenario import load_with, plugins
from forebay.suite.command import suite
from forebay.tune.command import command as tune


class Written(str, Enum):
    """Kinds of files that people write."""

    scenario = "scenario"
    study = "study"
    suite = "suite"
    test = "test"


app = typer.Typer(
    name="forebay",
    help="A laboratory for packet queues: what every class of user gets from a congested link "
    "under different queue disciplines.",
    epilog="Start with: forebay compare examples/branch-uplink.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
)

app.add_typer(papers, name="paper")
app.command()(suite)
app.command()(lab)
# Also --help is for the program.
app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)(gate)
app.command("tune")(tune)
new = typer.Typer(help="Write the beginning of something of your own.", rich_markup_mode=None)
app.add_typer(new, name="new")
new.callback()(lambda: None)
new.command("discipline")(discipline)
app.command()(compare)
app.command()(check)


@app.command()
def run(
    scenario: ScenarioFile,
    discipline: Annotated[
        str | None, typer.Option(metavar="KIND", help="The queue to put on the link.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="The link that gets --discipline.", metavar="NAME")
    ] = None,
    set_: Settings = [],  # noqa: B006 - read only
    seed: Seed = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write tables and summary there."),
    ] = None,
) -> None:
    """Run a scenario once.

    Prints what every link, queue and class of traffic got. With --json it prints the whole
    summary, flow by flow, for other programs; its keys stay stable.

    Example: forebay run examples/branch-uplink.toml --discipline codel --set link[0].rate=5Mbit
    """
    with friendly():
        from forebay import files, terminal
        from forebay.runs import run as run_once
        from forebay.runs.folder import check_folder

        prepared = load_with(scenario, set_)
        if link is not None and discipline is None:
            raise ScenarioError("--link says where --discipline goes; give both or neither")
        if out is not None:
            check_folder(out)
        progress = Bar()
        try:
            with progress:
                result = run_once(
                    prepared, seed=seed, discipline=discipline, link=link, progress=progress.set
                )
        except KeyboardInterrupt:
            kept = "" if out is None else f" {unchanged(out)}"
            stopped(f"The run had not ended; nothing of it is kept.{kept}")
        if out is not None:
            files.write(result, out)
        if as_json:
            print(json.dumps(result.summary, indent=2, ensure_ascii=False))
        else:
            terminal.print_run(Console(), result.summary)


@app.command()
def sweep(
    study_file: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="The study file, TOML or JSON.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Where the results go, or where an earlier sweep of the study left them.",
            show_default="out/ and the study's name",
        ),
    ] = None,
    jobs: Jobs = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on the Dask cluster whose scheduler is there, such as tcp://host:8786.",
            show_default=False,
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Set damaged files of results aside and make their runs anew; all others stay.",
        ),
    ] = False,
) -> None:
    """Run a study: a scenario over axes of values, under several disciplines, many times.

    Every run is kept as soon as it ends. Stopped or killed at any moment, the same command goes on
    where it was, and ends with the same results as without.

    Example: forebay sweep examples/uplink-study.toml
    """
    with friendly():
        from forebay import sweep as sweeps
        from forebay.runs import cluster as dask

        study = sweeps.load(study_file)
        folder = out if out is not None else Path("out") / study_file.stem
        if cluster is not None and jobs is not None:
            raise ScenarioError("--jobs is for this machine; a cluster's workers have their own")
        progress = Bar()
        try:
            with progress, dask.connected(cluster) as client:
                total = sweeps.run(
                    study,
                    folder,
                    jobs=jobs,
                    client=client,
                    repair=repair,
                    progress=progress.update,
                )
        except KeyboardInterrupt:
            stopped(f"{progress.state} are kept in {folder}; the same command goes on.")
        print(f"{total.finished} runs of {len(study.points)} points: {folder}")
        print(f"Report: forebay report {shlex.quote(str(folder))}")


@app.command()
def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The results of forebay sweep.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The report.", show_default="report.html in DIR"
        ),
    ] = None,
) -> None:
    """Write the report of a study: one HTML file that needs no network.

    Small multiples over the axes, intervals, paired differences between disciplines and
    trade-offs. It may be written while the sweep is still running.

    Example: forebay report out/uplink-study
    """
    with friendly():
        from forebay import sweep as sweeps
        from forebay.sweep.report import write

        print(f"Report: {write(sweeps.results(folder), out)}")


@app.command()
def kinds(
    kind: Annotated[
        str | None, typer.Argument(help="One of them, to see its parameters.", show_default=False)
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Check the disciplines of a plug-in by the conformance suite."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the queue disciplines, traffic sources and profiles, or explain one of them.

    Examples: forebay kinds codel; forebay kinds --check libmine.so
    """
    with friendly():
        from forebay import terminal

        if check is not None:
            faults = _engine.check_plugin(str(check))
            for name, fault in faults:
                print(f"{name}: {fault or 'keeps every contract'}")
            if any(fault is not None for _, fault in faults):
                raise typer.Exit(1)
            return

        catalogue: dict[str, Any] = json.loads(_engine.kinds(plugins))
        found = [
            (group, entry)
            for group in terminal.GROUPS
            for entry in catalogue[group]
            if kind is None or entry["name"] == kind
        ]
        if not found:
            names = ", ".join(entry["name"] for entry in catalogue["kinds"])
            raise ScenarioError(f'there is no kind "{kind}"; the disciplines are {names}')
        if as_json:
            shown = catalogue if kind is None else [{"group": g} | entry for g, entry in found]
            print(json.dumps(shown, indent=2, ensure_ascii=False))
        elif kind is None:
            terminal.print_kinds(Console(), catalogue)
            print("forebay kinds NAME explains one of them with all its parameters.")
        else:
            for number, (group, entry) in enumerate(found):
                if number:
                    print()
                terminal.print_kind(Console(), entry, group)


@app.command()
def schema(
    for_: Annotated[
        Written,
        typer.Option("--for", help="The kind of file.", show_default="scenario"),
    ] = Written.scenario,
) -> None:
    """Print the JSON Schema of a kind of file, for editors that complete and check as you type.

    Example: forebay schema --for study
    """
    with friendly():
        found: dict[str, Any]
        if for_ is Written.scenario:
            found = json.loads(_engine.schema(plugins))
        elif for_ is Written.study:
            from forebay.sweep import study

            found = study.schema()
        else:
            from forebay.suite import catalogue

            found = catalogue.schema(for_ is Written.suite)
        print(json.dumps(found, indent=2, ensure_ascii=False))


@app.command()
def replay(
    recording: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A recording of forebay-gate.", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Give the recorded traffic of a gate to the simulator's queue, and compare the verdicts.

    Every packet must be queued, dropped, marked and sent as it was on the real link. Exit code 1 if
    anything differs.

    Example: forebay replay recording/forward.rec
    """
    with friendly():
        found = json.loads(_engine.replay(str(recording), plugins))
        if as_json:
            print(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            dropped = sum(found["dropped"].values())
            print(
                f"{found['kind']}: {found['calls']} calls in {found['span_s']:.3f} s: "
                f"{found['offered']} packets offered, {found['sent']} sent, {dropped} dropped, "
                f"{found['marked']} marked"
            )
            if found["truncated"]:
                print("The recording ends within a call.")
            difference = found["difference"]
            print(f"The first difference: {difference}" if difference else "All is the same.")
        if found["difference"]:
            raise typer.Exit(1)


@app.command()
def validate(
    quick: Annotated[
        bool, typer.Option("--quick", help="Only the fast checks: less than a minute.")
    ] = False,
    only: Annotated[
        list[str],
        typer.Option(
            "--only",
            metavar="NAME",
            help="One check or family (queues, schedulers, tcp), or replications: how well these "
            "use the cores. May be given repeatedly.",
        ),
    ] = [],  # noqa: B006 - read only
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the JSON there, too.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Check the simulator against queueing theory and the formulas of TCP.

    Exit code 1 if anything differs. What is compared and how verdicts come about stands in
    docs/validation.md.

    Example: forebay validate --only mm1-0.6
    """
    with friendly():
        from forebay.validate import command

        with Bar() as bar:
            record = command.execute(
                quick=quick, only=only, jobs=jobs, line=command_line(), progress=bar.set
            )
        if out is not None:
            out.write_text(json.dumps(record.section, indent=1, ensure_ascii=False) + "\n", "utf-8")
        if as_json:
            print(json.dumps(record.section, indent=2, ensure_ascii=False))
        else:
            record.print(Console())
        if not record.passed:
            raise typer.Exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"forebay {_engine.version}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="A shared library with disciplines of your own, beside those that the scenario "
            "names; stands before the command. Repeatable.",
        ),
    ] = [],  # noqa: B006 - read only
) -> None:
    del version
    plugins[:] = [str(path.resolve()) for path in plugin]


def main() -> None:
    """Run the command line."""
    app()
