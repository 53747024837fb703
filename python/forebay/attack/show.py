"""What an attack found: for the terminal, as a page, and as plain values."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from forebay import _disk, _engine
from forebay._report import html, markdown
from forebay._report.page import Block, Bullets, Cell, Code, Facts, Md, Page, Section, Table, Text
from forebay._report.terminal import print_table
from forebay.attack import words
from forebay.attack.bounds import text as bounds_text
from forebay.attack.confirm import CONFIRMED, IMPOSSIBLE, NOT, SEEDS, UNSEEN, Confirmation
from forebay.attack.finds import Found
from forebay.attack.minimise import KEEP
from forebay.attack.minimise import SEEDS as SMALL_SEEDS
from forebay.attack.outcome import Outcome
from forebay.stats import Interval

harm = words.harm
_SIGNS = {CONFIRMED: "✓", IMPOSSIBLE: "–"}


def print_outcome(console: Console, outcome: Outcome, folder: Path) -> None:
    """Print the finds and what to do with them."""
    of = outcome.measure
    found = outcome.searched
    for fault in outcome.faults:
        console.print(f"[bold]Breaks the contract:[/bold] {escape(fault)}")
    console.print(
        f"{of.title} of {escape(outcome.called)}: {harm(of, outcome.calm)} as the scenario is; "
        f"{found.tried} candidates, {len(found.cells)} states, {found.cpu_s:.0f} s of processor "
        "time."
    )
    if not outcome.finds:
        if not outcome.faults:
            none = "No candidate does more harm than that: widen the bounds, or give more time."
            console.print(none)
        return
    for title, some in _parts(outcome):
        if some:
            console.print(f"\n[bold]{title}[/bold]")
            print_table(console, _table(outcome, some))
            for each in some:
                console.print(f"[bold]{each.name}[/bold]: {escape(_words(outcome, each))}")
                for against in _against(outcome, each):
                    console.print(f"  {escape(against)}", style="dim", highlight=False)
    first = shlex.quote(str(folder / "finds" / f"{outcome.finds[0].name}"))
    console.print(
        f"\nRun it:   forebay run {first}.toml\n"
        f"Watch it: forebay explore --story {first}.story.toml",
        soft_wrap=True,
        highlight=False,
    )


def plain(outcome: Outcome, command: str) -> dict[str, Any]:
    """The outcome as plain values."""
    of = outcome.measure
    return {
        "command": command,
        "version": _engine.version,
        "attacked": outcome.called,
        "measure": of.name,
        "calm": _number(outcome.calm),
        "candidates": outcome.searched.tried,
        "states": len(outcome.searched.cells),
        "cpu_seconds": round(outcome.searched.cpu_s, 2),
        "course": [[n, round(s, 2), _number(h)] for n, s, h in outcome.searched.course],
        "faults": list(outcome.faults),
        "finds": [_plain(outcome, each) for each in outcome.finds],
    }


def write(outcome: Outcome, folder: Path, command: str) -> None:
    """Write `report.html`, `summary.md` and `results.json`."""
    text = json.dumps(plain(outcome, command), indent=1, ensure_ascii=False)
    _disk.write(folder / "results.json", f"{text}\n")
    blocks = _blocks(outcome, command)
    _disk.write(folder / "summary.md", f"{markdown.render(blocks)}\n")
    lede = (
        f"{outcome.measure.title}: {harm(outcome.measure, outcome.calm)} as the scenario is. "
        f"{outcome.measure.about}"
    )
    page = Page(f"Attack on {outcome.called}", "Attack", lede, blocks)
    _disk.write(folder / "report.html", html.render(page))


def _blocks(outcome: Outcome, command: str) -> list[Block]:
    found = outcome.searched
    blocks: list[Block] = []
    if outcome.faults:
        blocks.append(Section("Breaks the contract", [Bullets(outcome.faults)], card=True))
    for title, some in _parts(outcome):
        if some:
            told = [Bullets([f"{each.name}: {_words(outcome, each)}" for each in some])]
            why = [f"{each.name}, {said}" for each in some for said in _against(outcome, each)]
            more = [Text("Not confirmed by:", small=True), Bullets(why)] if why else []
            blocks.append(Section(title, [_table(outcome, some), *told, *more], card=True))
    reading = (
        f"A find is made small as long as {100 * KEEP:.0f} % of its harm stay, beyond the harm in "
        f"the scenario as it is, by the mean of {SMALL_SEEDS} seeds. It is looked at again with "
        f"{SEEDS} fresh seeds, in another stack of TCP, and in Linux in virtual time. It is "
        "**confirmed** if in each of these that is possible at least half of that harm is there, "
        "beyond that of the same seeds without it, in the mean and in three of four seeds. *Pays* "
        "is the mean rate of all datagrams that join, as a share of the link's."
    )
    facts = [
        ("Command", Md(f"`{command}`" if command else "from Python")),
        ("forebay", _engine.version),
        ("Candidates", f"{found.tried}, of {len(found.cells)} kinds and states"),
        ("Cost", f"{found.cpu_s:.0f} s of processor time in the search's runs"),
    ]
    return [
        *blocks,
        Section("How to read this", [Text(Md(reading))]),
        Section("What was run", [Facts(facts)]),
        Section("Bounds", [Code(bounds_text(outcome.bounds))]),
    ]


def _parts(outcome: Outcome) -> list[tuple[str, list[Found]]]:
    return [
        (title.capitalize(), [each for each in outcome.finds if each.verdict == title])
        for title in (CONFIRMED, NOT, UNSEEN)
    ]


def _against(outcome: Outcome, found: Found) -> list[str]:
    """Of what does not confirm a find, why."""
    return [
        f"{again.how}: {again.why or f'{words.interval(outcome.measure, again.calm)} without it'}"
        for again in found.confirmations
        if again.verdict != CONFIRMED and (again.why or again.calm)
    ]


def _table(outcome: Outcome, some: Sequence[Found]) -> Table:
    of = outcome.measure
    hows = ("other seeds", "other stack", "Linux")
    rows: list[list[Cell | str]] = []
    for each in some:
        cells = [_cell(outcome, again) for again in each.confirmations]
        plan = each.small.plan
        rows.append(
            [
                each.name,
                harm(of, each.harm),
                harm(of, each.tried.harm.mean),
                f"{100 * plan.load:.0f} %",
                str(sum(joining.flows for joining in plan.joining)),
                *cells,
                *[Cell("–")] * (len(hows) - len(cells)),
            ]
        )
    columns = ["find", of.title, "as found", "pays", "flows", *hows]
    return Table(columns, rows, "Finds")


def _cell(outcome: Outcome, again: Confirmation) -> Cell:
    sign = _SIGNS.get(again.verdict, "✗")
    if again.found is None:
        return Cell(sign)
    return Cell(f"{words.interval(outcome.measure, again.found)} {sign}")


def _words(outcome: Outcome, each: Found) -> str:
    return words.in_short(outcome.target, each.small.plan)


def _plain(outcome: Outcome, each: Found) -> dict[str, Any]:
    plan = each.small.plan
    return {
        "name": each.name,
        "verdict": each.verdict,
        "harm": _number(each.harm),
        "as_found": _number(each.tried.harm.mean),
        "candidate": each.tried.number + 1,
        "smaller_tried": each.small.tried,
        "load": round(plan.load, 4),
        "flows": sum(joining.flows for joining in plan.joining),
        "words": words.sentences(outcome.target, plan),
        "confirmations": [
            {
                "how": again.how,
                "verdict": again.verdict,
                "harm": _ends(again.found),
                "calm": _ends(again.calm),
                "why": again.why,
            }
            for again in each.confirmations
        ],
        "scenario": f"finds/{each.name}.toml",
        "story": f"finds/{each.name}.story.toml",
    }


def _ends(found: Interval | None) -> dict[str, float | int | None] | None:
    if found is None:
        return None
    ends = {"mean": found.mean, "low": found.low, "high": found.high}
    return {name: _number(value) for name, value in ends.items()} | {"samples": found.samples}


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
