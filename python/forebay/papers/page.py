"""A paper's pages, from the record of a run: a short one, and a full one with figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay import _disk
from forebay._judge import PAPER, STANDARD, Bounds
from forebay._report import chart, markdown
from forebay._report.page import Block, Bullets, Figure, Heading, Section, Table, Text
from forebay._report.panel import read
from forebay._report.table import cell
from forebay.papers import attacked, fitted, library, verdicts

IMAGES = "images"
"""Folder of the figures, beside the page."""


def write(found: Mapping[str, Any], folder: Path, home: Path) -> Path:
    """Write the full page and its images to `folder`; returns the page.

    Args:
        found: the record of a run.
        folder: the page is replaced in it, and the images.
        home: the paper's folder.

    Raises:
        OSError: one cannot be written, or is what the paper's page is made of.
    """
    _disk.make_folder(folder / IMAGES)
    for name in (_name(found), *(image(found, figure) for figure in found["figures"])):
        _disk.check_output(folder / name, [home / library.WORDS])
    draw_all(found, folder)
    return _write(folder, found, blocks(found, home))


def write_short(found: Mapping[str, Any], folder: Path, home: Path) -> Path:
    """Write the page without images to `folder`: what was found; returns the page."""
    return _write(folder, found, short(found, home))


def _write(folder: Path, found: Mapping[str, Any], made: Iterable[Block]) -> Path:
    path = folder / _name(found)
    _disk.write(path, text(made))
    return path


def _name(found: Mapping[str, Any]) -> str:
    return f"{found['paper']}.md"


def draw_all(found: Mapping[str, Any], folder: Path) -> None:
    """Draw the figures of a record."""
    _disk.make_folder(folder / IMAGES)
    for figure in found["figures"]:
        panels = [read(panel) for panel in figure["panels"]]
        chart.save(panels, folder / image(found, figure), figure["caption"])


def image(found: Mapping[str, Any], figure: Mapping[str, Any]) -> str:
    """A figure's file, as the page names it."""
    return f"{IMAGES}/{found['paper']}-{figure['number'].lower().replace(' ', '-')}.svg"


def text(made: Iterable[Block]) -> str:
    """A page in Markdown."""
    return f"{markdown.render(made)}\n"


def _head(found: Mapping[str, Any], home: Path) -> Iterator[Block]:
    yield Heading(found["title"], 1)
    yield Text(found["citation"])
    if found["quick"]:
        yield Text("**A quick run: too few replications to judge by.**")
    if found["files"] != library.digest(home):
        yield Text(_CHANGED.format(paper=found["paper"]))


def short(found: Mapping[str, Any], home: Path) -> Iterator[Block]:
    """The page in short: what was found, the verdicts, and why some differ.

    Args:
        found: the record of a run.
        home: the paper's folder; what `forebay paper fit` and an attack found is kept there.
    """
    fit, attack = library.fitted(home), library.attacked(home)
    yield from _head(found, home)
    rows = [[each["id"], each["verdict"], each["words"]] for each in found["hypotheses"]]
    ours = [_table(["hypothesis of ours", "verdict", "in words"], rows)] if rows else []
    yield Section("What was found", [Text(found["found"]), *_summary(found, fit, _id), *ours])
    judged = (*found["claims"], *found["hypotheses"])
    why = [f"**{each['id']}:** {each['reason']}" for each in judged if each["reason"]]
    if why:
        yield Section("Why claims differ, or cannot be tested", [Bullets(why)])
    if fit is not None:
        yield fitted.short(fit)
    if attack is not None:
        yield attacked.section(attack)
    headings = [each["heading"] for each in found["sections"]]
    yield Section(
        "Everything else", [Text(_ELSEWHERE.format(paper=found["paper"])), Bullets(headings)]
    )


def blocks(found: Mapping[str, Any], home: Path) -> Iterator[Block]:
    """The page: what was found, the figures, the differences, then everything else.

    The arguments are those of `short`.
    """
    fit, attack = library.fitted(home), library.attacked(home)
    yield from _head(found, home)
    opening = [Text(found["found"]), *_summary(found, fit, _named), *_numbers(found)]
    yield Section("What was found", opening)
    if found["figures"]:
        yield Section(
            "Figures", [block for each in found["figures"] for block in _figure(found, each)]
        )
    if found["claims"]:
        more = [block for each in filter(_more, found["claims"]) for block in _claim(each)]
        yield Section("Claims", [Text(_RULE), *more])
    if found["hypotheses"]:
        ours = [
            block for each in found["hypotheses"] for block in _claim(each, f"> {each['words']}")
        ]
        yield Section("Our own hypotheses", [Text(_OURS), *ours])
    if fit is not None:
        yield fitted.section(fit)
    if attack is not None:
        yield attacked.section(attack)
    yield Section("Setup", [Text(found["setup"])])
    yield Section("Statistics", [Text(found["statistics"]), *_studies(found), Text(_made(found))])
    for section in found["sections"]:
        yield Section(section["heading"], list(_section(section)))


def _figure(found: Mapping[str, Any], figure: Mapping[str, Any]) -> Iterator[Block]:
    name = f"Figure {figure['number']}"
    panels = [read(panel) for panel in figure["panels"]]
    yield Heading(name)
    yield Figure(panels, name, image(found, figure))
    yield Text(f"> {figure['caption']}")
    yield Text(figure["note"])


def _section(section: Mapping[str, Any]) -> Iterator[Block]:
    yield Text(section["text"])
    if section["statements"]:
        yield Bullets([_statement(each) for each in section["statements"]])
    for each in section["tables"]:
        if each["heading"]:
            yield Heading(each["heading"])
        yield Text(each["text"])
        yield _table(each["columns"], each["rows"])


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    return Table(columns, [list(map(cell, row)) for row in rows])


def _claim(claim: Mapping[str, Any], words: str = "") -> Iterator[Block]:
    """What is not in the tables of claims and numbers; of a claim that holds, in a line.

    Hypotheses are given with their words.
    """
    yield Heading(f"{claim['id']}: {claim['verdict']}")
    yield Text(words)
    own = [part for part in claim["parts"] if part["stated"] is None]
    if own and all(part["verdict"] == "reproduced" for part in own):
        yield Text(f"{_evidence(own)}.")
    elif own:
        yield _parts(own, "expected" if words else "paper")
    if claim.get("theirs"):
        yield Text("By the numbers that the paper itself gives:")
        yield _parts(claim["theirs"], "paper's words")
    if claim["reason"]:
        yield Text(f"{'Why' if claim['verdict'] == 'differs' else 'Note'}: {claim['reason']}")


_CHANGED = (
    "**The studies have changed since this run.** Its figures are kept, and are those of the older "
    "studies and the older engine. `forebay paper run {paper}` makes today's."
)
_ELSEWHERE = (
    "The full page has every number with its interval, the setup, the statistics and the figures. "
    "It is the paper's page of the website. `forebay paper page {paper} --out DIR` writes it. It "
    "also has:"
)
_OURS = (
    "These hypotheses are ours and not the authors'. They are judged in the same way, but not "
    "counted among the claims."
)
_RULE = (
    "This section has the numbers that are not in the tables above, the range that the paper's "
    "words allow, and the reason if a claim differs. *Reproduced* means that the whole 95 % "
    "interval is in the range, *differs* that it is outside, and *not testable* neither. A number "
    "without an interval is a count over all runs, or a calculation. A claim is *reproduced with* "
    "something if it holds under one reading of the paper's words, or with another choice of what "
    "they leave open; then its numbers are those of the page's choice. *Contradicted by the "
    "paper's own numbers* means that the words do not hold for the numbers that the authors print "
    "either."
)


def _statement(found: Mapping[str, Any]) -> str:
    """A sentence with what bears it out, or struck out with what does not."""
    parts = found["parts"]
    good = [part for part in parts if part["verdict"] == "reproduced"]
    if len(good) == len(parts):
        return f"{found['words']} *({_evidence(parts)})*"
    bad = "; ".join(
        f"{_quoted(part)}, expected {_range(part['allowed'], part['unit'])}"
        for part in parts
        if part["verdict"] != "reproduced"
    )
    verdict = "does not hold" if found["verdict"] == "differs" else "is not shown"
    return f"~~{found['words']}~~ **This {verdict}**, {len(good)} of {len(parts)} numbers do: {bad}"


def _evidence(parts: Sequence[Mapping[str, Any]]) -> str:
    """A number, or how many of several lie in range."""
    good = sum(part["verdict"] == "reproduced" for part in parts)
    return _quoted(parts[0]) if len(parts) == 1 else f"{good} of {len(parts)} numbers"


def _quoted(part: Mapping[str, Any]) -> str:
    return f"{part['what'].rstrip(':')}: {_found(part)}"


def _found(part: Mapping[str, Any]) -> str:
    """A part's mean with its unit and interval."""
    unit = f" {part['unit']}" if part["unit"] else ""
    value = "unknown" if part["value"] is None else f"{cell(part['value'])}{unit}"
    span = between(part)
    return value + (f" ({span})" if span else "")


def _summary(
    found: Mapping[str, Any], fit: Mapping[str, Any] | None, called: Callable[[Any], str]
) -> Iterator[Block]:
    """What the authors conclude with its verdict, and the claims, each with its class."""
    if found["conclusions"]:
        holds = {PAPER[standing]: word for standing, word in STANDARD.items()}
        rows = [
            [each["words"], holds[each["verdict"]], _evidence(each["parts"])]
            for each in found["conclusions"]
        ]
        yield _table(["what the authors conclude", "verdict", "numbers"], rows)
    rows = [
        [called(claim), verdicts.class_of(claim, fit).told(), _inside(claim), claim["words"]]
        for claim in found["claims"]
    ]
    if rows:
        plural = {"differs": "differ"}
        said = ", ".join(
            f"{count} {name if count == 1 else plural.get(name, name)}"
            for name, count in verdicts.counts(found["claims"], fit).items()
            if count
        )
        yield Text(f"{len(rows)} claims: {said}.")
        yield _table(["claim", "verdict", "in range", "paper"], rows)


def _more(claim: Mapping[str, Any]) -> bool:
    """Whether there is more to say of a claim than the tables of claims and numbers do."""
    return bool(claim["reason"]) or any(part["stated"] is None for part in claim["parts"])


def _id(claim: Mapping[str, Any]) -> str:
    return str(claim["id"])


def _named(claim: Mapping[str, Any]) -> str:
    """A claim's id, as a link to what more is said of it."""
    return f"[{claim['id']}](#{_anchor(claim)})" if _more(claim) else _id(claim)


def _inside(claim: Mapping[str, Any]) -> str:
    """Numbers in range, of all, under the reading that fits best."""
    named = dict.fromkeys(each["reading"] for each in claim["parts"] if each.get("reading"))
    found = []
    for reading in [claim["reading"]] if claim.get("reading") else named or [""]:
        parts = [each for each in claim["parts"] if each.get("reading", "") in ("", reading)]
        found.append(verdicts.inside(parts))
    best = max(found, key=lambda counted: counted["good"] / max(counted["of"], 1))
    return f"{best['good']}/{best['of']}" if best["of"] else ""


def _numbers(found: Mapping[str, Any]) -> list[Block]:
    """Every number that the paper states, beside ours and a referee's."""
    stated = verdicts.numbers(found)
    if not stated:
        return []
    counted = verdicts.inside(stated)
    rows = []
    for part in stated:
        unit = f" {part['unit']}" if part["unit"] else ""
        paper = f"{cell(part['stated'])}{unit} ({_range(part['allowed'], '')})"
        row = [part["claim"], part["what"], paper, _measured(part), cell(part["referee"])]
        verdict = "fitted" if part.get("fitted") else part["verdict"]
        rows.append([*row, verdict, _direction(part), _value(part)])
    head = [
        "claim",
        "number",
        "paper (allowed)",
        "ours, 95 %",
        "referee",
        "verdict",
        "direction",
        "value",
    ]
    share = f"{counted['good']} of {counted['of']}"
    told = f"Numbers that the paper states: {share} are in range. {_MARKS}"
    if len(stated) > counted["of"]:
        told += f" {_FITTED}"
    if all(part["referee"] is None for part in stated):
        at = head.index("referee")
        head, rows = head[:at] + head[at + 1 :], [row[:at] + row[at + 1 :] for row in rows]
    return [Text(told), _table(head, rows)]


_MARKS = (
    "*Direction* says whether a comparison goes the way that the paper states. *Value* says "
    "whether a number in our interval rounds to the one stated; if not, how far our mean is from "
    "it."
)


_FITTED = (
    "*Fitted* means that our set-up was chosen by this number: it is no evidence, and not counted."
)


def _direction(part: Mapping[str, Any]) -> str:
    """Whether a comparison goes the way that the paper states; nothing for other numbers."""
    middle = part.get("no_effect")
    if middle is None or part["low"] is None or part["stated"] == middle:
        return ""
    side = -1 if part["stated"] < middle else 1
    ends = sorted((side * (part["low"] - middle), side * (part["high"] - middle)))
    return "same" if ends[0] > 0 else "opposite" if ends[1] < 0 else "open"


def _value(part: Mapping[str, Any]) -> str:
    """Whether our interval has a number that rounds to the one stated; if not, how far it is."""
    value, stated = part["value"], part["stated"]
    if value is None:
        return ""
    printed = Bounds.printed(repr(stated).removesuffix(".0"))
    if part["low"] <= printed.high and part["high"] >= printed.low:
        return "same"
    return f"{100 * (value - stated) / abs(stated):+.1f} %" if stated else cell(value)


def _made(found: Mapping[str, Any]) -> str:
    commit = f" ({found['commit']})" if found.get("commit") else ""
    made = f"Made by `{found['command']}` with forebay {found['version']}{commit}"
    # Not known of studies that `forebay sweep` ran.
    spent = found["cpu_seconds"]
    return made + (f"; {spent / 60:.1f} minutes of processor time." if spent else ".")


def _anchor(claim: Mapping[str, Any]) -> str:
    return f"{claim['id']}-{claim['verdict']}".lower().replace(" ", "-")


def _studies(found: Mapping[str, Any]) -> Iterator[Block]:
    rows = [
        [
            f"`{study['name']}`",
            study["title"],
            study["points"],
            _span(study["fewest"], study["most"])
            + (f", {study['rule']}" if study["rule"].startswith("until") else "")
            + ("" if study["complete"] else "; **not finished**"),
            study["seeds"][0],
        ]
        for study in found["studies"]
    ]
    if rows:
        yield _table(["study", "about", "points", "runs per point", "first seed"], rows)
        if found["missing"]:
            names = ", ".join(f"`{name}`" for name in found["missing"])
            yield Text(f"These studies have not been run yet, and are left out below: {names}.")


def _parts(parts: Sequence[Mapping[str, Any]], whose: str) -> Table:
    """Numbers of a claim with what its words allow, which the column `whose` has."""
    rows = []
    for part in parts:
        allowed = _range(part["allowed"], part["unit"])
        said = part["paper"]
        words = said if said.endswith(allowed) else ": ".join(filter(None, (said, allowed)))
        what = ": ".join(filter(None, (part.get("reading"), part["what"].rstrip(":"))))
        rows.append([what, _found(part), words, part["verdict"]])
    return Table(["number", "95 %", whose, "verdict"], rows)


def _measured(part: Mapping[str, Any]) -> str:
    """A part's mean with half of its interval, or with its ends if they are not alike."""
    mean, low, high = part["value"], part["low"], part["high"]
    if not between(part):
        return cell(mean)
    width = (high - low) / 2
    if abs(mean - (low + high) / 2) > 0.01 * width:
        return f"{cell(mean)} ({between(part)})"
    return cell({"mean": mean, "half_width": width})


def between(part: Mapping[str, Any]) -> str:
    """The interval of a part; nothing if it is not known or the number has no chance in it."""
    if part["low"] is None or not part["runs"]:
        return ""
    return f"{cell(part['low'])} to {cell(part['high'])}"


def _range(allowed: Sequence[float | None], unit: str) -> str:
    low, high = allowed
    unit = f" {unit}" if unit else ""
    if low is None:
        return "any" if high is None else f"at most {cell(high)}{unit}"
    if high is None:
        return f"at least {cell(low)}{unit}"
    return f"{cell(low)}{unit}" if low == high else f"{cell(low)} to {cell(high)}{unit}"


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
