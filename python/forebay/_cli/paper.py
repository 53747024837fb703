"""The commands `forebay paper`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

from forebay._cli import complete
from forebay._cli.console import command_line, say, stopped
from forebay._cli.help import Command, Group
from forebay._cli.options import Number, as_json, jobs, out_option, settings
from forebay._engine import ScenarioError

LEVELS = {"conclusions": "conclusions\nthat hold", "numbers": "numbers\nin range"}

UNEXPLAINED = 1
"""Exit code if a claim differs and the paper's folder does not say why, or a sentence of its
discussion does not hold."""

key = click.argument(
    "key",
    metavar="KEY",
    shell_complete=complete.papers,
    help="The paper (see forebay paper list), or a folder with one.",
)


@click.group(cls=Group, help="Reproduce published papers: figures, and verdicts on claims.")
def command() -> None:
    """Commands on papers."""


@command.command("list", cls=Command)
@as_json
def list_(as_json: bool) -> None:
    """List the papers, and how many of their claims were reproduced.

    Examples:
        forebay paper list
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from forebay._cli.drawn import Terminal
    from forebay.papers import library, verdicts

    states = [_state(key) for key in library.names()]
    if as_json:
        print(json.dumps(states, indent=2, ensure_ascii=False))
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("paper", no_wrap=True)
    heads = ("claims\nreproduced", "with a\nchoice", "contradicted\nby paper")
    for name in (*LEVELS.values(), *heads):
        table.add_column(name, justify="right")
    for each in states:
        claims = each["claims"] or {}
        good, chosen, contradicted = (
            claims.get(name, 0) for name in ("reproduced", verdicts.WITH, verdicts.CONTRADICTED)
        )
        cells = [_of(each.get(level)) for level in LEVELS]
        cells.append(_of({"good": good, "of": sum(claims.values())}))
        cells += [str(count or "") for count in (chosen, contradicted)]
        table.add_row(each["paper"], *cells)
    console = Terminal()
    console.print(table)
    titles = Table(box=None, show_header=False, pad_edge=False)
    for each in states:
        titles.add_row(each["paper"], escape(each["title"]))
    console.print("\nWhat they are:", titles, sep="\n")
    console.print("\nWhen they were last run in full:")
    for state in dict.fromkeys(each["state"] for each in states):
        those = ", ".join(each["paper"] for each in states if each["state"] == state)
        console.print(f"  {escape(state)}: {those}", style="dim", highlight=False)


@command.command("run", cls=Command)
@key
@click.option(
    "--figure", metavar="N", help="Only this figure, and the claims that its runs decide."
)
@click.option(
    "--quick",
    is_flag=True,
    help="A quick look: fewer and shorter runs, kept in a folder of their own.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="Run nothing: draw and judge what the finished runs allow.",
    hidden=True,
)
@settings
@out_option("Folder for the results; a stopped run goes on there.", "out/papers/KEY")
@click.option(
    "--page",
    is_flag=True,
    help="Keep the results with the paper and write its page in docs/papers.",
    hidden=True,
)
@as_json
@jobs
def run_(
    key: str,
    figure: str | None,
    quick: bool,
    set_: tuple[str, ...],
    out: Path | None,
    page: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Run a paper's studies, draw its figures and judge its claims.

    Every run is kept as soon as it ends. You can stop at any moment: the same command continues.
    Exit code 1 if, in a full run, a claim differs and no reason is given, or the numbers
    contradict a sentence of the page.

    Examples:
        forebay paper run cp-aqm --quick
        forebay paper run cp-aqm --figure 3 --quick
        forebay paper run ./my-copy-of-cp-aqm --quick
    """
    from forebay._cli.drawn import Bar
    from forebay.papers import library, run, verdicts

    if page and (quick or figure is not None or set_):
        raise ScenarioError("--page keeps full results; leave out --quick, --figure and --set")
    if page and key not in library.names():
        raise ScenarioError("--page is for the papers that forebay paper list shows")
    if page:
        run.docs_folder()
    folder = out if out is not None else run.folder_for(key, quick, "-changed" if set_ else "")
    bar = Bar()
    try:
        with bar:
            found = run.run(
                key,
                folder,
                figure=figure,
                quick=quick,
                settings=set_,
                command=command_line(),
                tell=bar.say,
                **how,
            )
    except KeyboardInterrupt:
        stopped(f"Every run that had ended is kept in {folder}; the same command goes on.")
    written = run.keep(found) if page else None
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _print(found)
        if set_:
            say("The scenarios were changed by --set; the claims are about the unchanged ones.")
        say(f"Figures: {folder / 'images'}")
        if figure is None:
            say(f"Page: {written or folder / f'{key}.md'}")
    if not (quick or set_) and (verdicts.unexplained(found) or verdicts.unsupported(found)):
        raise Exit(UNEXPLAINED)


@command.command("fit", cls=Command)
@key
@click.option(
    "--budget",
    metavar="SECONDS",
    type=Number(1),
    default=3600.0,
    show_default="3600",
    help="Processor time for runs; a set-up that has begun is finished.",
)
@out_option("Folder for the results; a stopped search goes on there.", "out/papers/KEY-fit")
@click.option(
    "--page",
    is_flag=True,
    help="Keep the result with the paper and write its page in docs/papers.",
    hidden=True,
)
@as_json
@jobs
def fit_(key: str, out: Path | None, page: bool, as_json: bool, **how: Any) -> None:
    """Search what a paper leaves open, for set-ups that satisfy its claims.

    The open choices are declared in the paper's folder, with the values that its words allow. They
    are searched jointly. Every run is kept: after a stop the same command continues, and with a
    larger budget it tries more set-ups.

    Examples:
        forebay paper fit aspq
        forebay paper fit cp-aqm --budget 600
    """
    from forebay._cli.drawn import Bar, Terminal
    from forebay._report.terminal import print_table
    from forebay.papers import fit, fitted, library, run

    if page and key not in library.names():
        raise ScenarioError("--page is for the papers that forebay paper list shows")
    if page:
        run.docs_folder()
    folder = out if out is not None else run.folder_for(key, quick=False, suffix="-fit")
    bar = Bar()
    try:
        with bar:
            found = fit.fit(key, folder, command=command_line(), tell=bar.say, **how)
    except KeyboardInterrupt:
        stopped(f"Every run that had ended is kept in {folder}; the same command goes on.")
    written = fit.keep(found) if page else None
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = Terminal()
    print_table(console, fitted.counts(found))
    for text in fitted.texts(found):
        console.print(f"\n{text}", markup=False, highlight=False)
    say(f"Results: {folder / library.FIT}")
    if written is not None:
        say(f"Page: {written}")


@command.command("page", cls=Command)
@click.argument(
    "keys",
    metavar="KEY...",
    nargs=-1,
    shell_complete=complete.papers,
    help="The papers (see forebay paper list); all unless given.",
)
@out_option("Folder for the full pages and their figures.", "none")
def page_(keys: tuple[str, ...], out: Path | None) -> None:
    """Write the pages of papers from the results kept with them, without runs.

    With --out, these are the full pages, with figures. Without it, the short pages in docs/papers
    are written again, and the results take over texts of the papers' folders that have changed.

    Examples:
        forebay paper page cp-aqm --out /tmp
    """
    from forebay.papers import library, page, run

    for key in keys or library.names():
        found, home = run.retold(key), library.folder_of(key)
        print(run.keep(found) if out is None else page.write(found, out, home))


def _of(counted: Mapping[str, int] | None) -> str:
    return f"{counted['good']} of {counted['of']}" if counted and counted["of"] else ""


def _state(key: str) -> dict[str, Any]:
    from forebay.papers import library, verdicts

    found, home = library.kept(key), library.folder_of(key)
    if found is None:
        title = library.title(key)
        return {"paper": key, "title": title, "claims": None, "state": "not run in full"}
    state = f"forebay {found['version']}"
    if library.digest(home) != found["files"]:
        state += ", its studies have changed since"
    unfinished = [study["name"] for study in found["studies"] if not study["complete"]]
    if unfinished := [*unfinished, *found["missing"]]:
        state += f", not finished: {', '.join(unfinished)}"
    if missing := verdicts.unexplained(found):
        state += f", unexplained: {', '.join(missing)}"
    if failing := verdicts.unsupported(found):
        state += f", {len(failing)} sentences of its discussion not borne out"
    return {
        "paper": key,
        "title": found["title"],
        "conclusions": verdicts.inside(found["conclusions"]),
        "numbers": verdicts.inside(verdicts.numbers(found)),
        "claims": verdicts.counts(found["claims"], library.fitted(home)),
        "judged": found["claims"],
        "state": state,
    }


def _print(found: Mapping[str, Any]) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    from forebay._cli.drawn import Terminal
    from forebay._report.table import cell
    from forebay.papers import verdicts
    from forebay.papers.page import between

    console = Terminal()
    for study in found["studies"]:
        few, most = study["fewest"], study["most"]
        each = str(few) if few == most else f"{few} to {most}"
        console.print(
            f"{study['name']}: {study['points']} points, {each} replications a point", style="dim"
        )
    if found["quick"]:
        console.print(
            "A quick run: too few replications to judge by. The verdicts only show how a full run "
            "is judged.",
            style="yellow",
        )
    judged = [*found["claims"], *found["hypotheses"]]
    for claim in judged:
        verdict = claim["verdict"]
        style = {"reproduced": "green", "differs": "bold red"}.get(verdict, "yellow")
        console.print(f"\n[bold]{claim['id']}[/] [{style}]{verdict}[/]: {escape(claim['words'])}")
        for part in claim["parts"]:
            ours = f"{cell(part['value'])} {part['unit']}".strip()
            span = f" ({between(part)})" if between(part) else ""
            line = (
                f"- {part['verdict']}: {part['what']}. Paper: {part['paper']}. Here: {ours}{span}"
            )
            console.print(Padding(escape(line), (0, 0, 0, 2)))
    console.print()
    classes = verdicts.counts(judged).items()
    counts = ", ".join(f"{count} {name}" for name, count in classes if count)
    if not judged:
        counts = "No claim is judged by these runs"
    console.print(f"{counts}; {found['cpu_seconds']:.0f} s of processor time.")
    if found["quick"]:
        return
    for name in verdicts.unexplained(found):
        console.print(f"{name} differs, and no reason is given", style="bold red")
    for words in verdicts.unsupported(found):
        console.print(f"Not borne out: {escape(words)}", style="bold red")
