"""The record of a paper's run: everything that its page says, as plain values.

It is small (claims, figures' points, counts), is kept with the paper, and is all that
`forebay paper list` and `forebay paper page` read.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from forebay import _engine
from forebay._engine import ScenarioError
from forebay._report.panel import plain
from forebay._report.table import short
from forebay.papers import drawn, library, tables
from forebay.papers.claims import parts, told
from forebay.papers.data import Data, NotRun
from forebay.papers.files import ClaimTable, FigureTable, SectionTable, StatementTable
from forebay.papers.judge import Part, deciding, verdict_of
from forebay.papers.numbers import Sources
from forebay.papers.paper import Asking, Paper
from forebay.sweep import Study

FORMAT = 1
"""Version of the record."""
DIGITS = 6
"""Significant digits of its numbers."""
UNDECIDED = "An interval contains an end of the range that the paper's words allow."
"""Why a claim is not testable, if runs are not the reason."""


def record(
    paper: Paper,
    studies: Mapping[str, Study],
    data: Data,
    *,
    key: str,
    command: str,
    cpu_seconds: float,
    figure: str | None,
) -> dict[str, Any]:
    """Judge and draw what the finished studies allow.

    Args:
        paper: the declaration.
        studies: the studies that have run, by name.
        data: their results.
        key: the paper's.
        command: the command line.
        cpu_seconds: processor time that the runs took.
        figure: the only figure that is wanted, if there is one.
    """
    file, judged, sources = paper.file, paper.claims, paper.sources(data)

    def missing(asking: Asking) -> list[str]:
        return [name for name in paper.studies_of(asking) if name not in studies]

    def verdicts(asked: Sequence[ClaimTable]) -> list[dict[str, Any]]:
        return [
            _claim(paper, each, sources, missing(each))
            for each in asked
            if figure is None or not missing(each)
        ]

    whole = figure is None
    complete = set(studies) == {each.name for each in file.study}
    found: dict[str, Any] = {
        "forebay paper": FORMAT,
        "paper": key,
        "title": file.title,
        "citation": paper.text("citation"),
        "version": _engine.version,
        **({"commit": _engine.commit} if _engine.commit else {}),
        "command": command,
        "quick": data.quick,
        "files": library.digest(paper.home),
        "cpu_seconds": cpu_seconds,
        "setup": paper.text("setup"),
        "statistics": paper.text("statistics"),
        "studies": [_study(name, study, data) for name, study in studies.items()],
        "missing": [each.name for each in paper.needed(figure) if each.name not in studies],
        "claims": verdicts(judged.claim),
        "hypotheses": verdicts(judged.hypothesis),
        "figures": [
            _figure(each, sources)
            for each in file.figure
            if figure in (None, each.number) and not missing(each)
        ],
        "sections": [
            _section(paper, each, sources) for each in file.section if whole and not missing(each)
        ],
        "conclusions": [
            _statement(paper, each, sources)
            for each in judged.conclusion
            if whole and not missing(each)
        ],
        "found": _found(paper, sources) if complete else "",
    }
    plain: dict[str, Any] = _plain(found)
    return plain


def retold(paper: Paper, found: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the texts of the paper's folder as they are now.

    Texts that quote results stay as they are.
    """
    file, judged = paper.file, (*paper.claims.claim, *paper.claims.hypothesis)
    by_id = {each.id: each for each in judged}
    figures = {each.number: each for each in file.figure}
    sections = {each.heading: each for each in file.section}
    return dict(found) | {
        "title": file.title,
        "citation": paper.text("citation"),
        "setup": paper.text("setup"),
        "statistics": paper.text("statistics"),
        "found": found["found"] if file.said or not found["found"] else paper.text("found"),
        "claims": [_retold_claim(by_id[each["id"]], each) for each in found["claims"]],
        "hypotheses": [_retold_claim(by_id[each["id"]], each) for each in found["hypotheses"]],
        "figures": [
            each
            | {"caption": figures[each["number"]].caption, "note": figures[each["number"]].note}
            for each in found["figures"]
        ],
        "sections": [
            _retold_section(paper, sections[each["heading"]], each) for each in found["sections"]
        ],
        "conclusions": [
            {**each, "words": now.words}
            for each, now in zip(found["conclusions"], paper.claims.conclusion, strict=True)
        ],
    }


def _retold_claim(claim: ClaimTable, found: Mapping[str, Any]) -> dict[str, Any]:
    now = dict(found) | {"words": claim.words}
    if found["verdict"] == "differs" and not claim.said:
        now["reason"] = claim.reason
    return now


def _retold_section(
    paper: Paper, section: SectionTable, found: Mapping[str, Any]
) -> dict[str, Any]:
    said = zip(section.statement, found["statements"], strict=True)
    return dict(found) | {
        "text": paper.words.get(section.heading, ""),
        "statements": [
            each if statement.said else {**each, "words": statement.words}
            for statement, each in said
        ],
    }


def _study(name: str, study: Study, data: Data) -> dict[str, Any]:
    # A point that an axis does not apply to stands beside each of its steps.
    runs = data.study(name).runs.unique(["point", "replication"])
    samples = runs.group_by("point").len()["len"]
    until = study.until
    width = "" if until is None else f"{until.half_width * 100:g} %" if until.relative else ""
    return {
        "name": name,
        "title": study.title,
        "hash": study.hash[:16],
        "points": len(study.points),
        "runs": runs.height,
        "fewest": samples.min(),
        "most": samples.max(),
        "complete": data.study(name).complete,
        "seeds": [study.seed, study.seed + study.most - 1],
        "rule": f"{study.replications} runs a point"
        if until is None
        else f"until the 95 % half-width of {until.key} is {width or until.half_width}, "
        f"{until.at_least} to {until.at_most} runs",
    }


def _figure(figure: FigureTable, sources: Sources) -> dict[str, Any]:
    with _named(f"figure {figure.number}"):
        panels = drawn.panels(sources, figure)
    return {
        "number": figure.number,
        "caption": figure.caption,
        "note": figure.note,
        "panels": [short(plain(panel)) for panel in panels],
    }


def _claim(
    paper: Paper, claim: ClaimTable, sources: Sources, missing: Sequence[str]
) -> dict[str, Any]:
    why = f"{', '.join(missing)} has not been run" if missing else claim.not_testable
    with _named(f"claim {claim.id}"):
        found = [] if why else parts(sources, paper.numbers(claim))
        verdict = "not testable" if why else verdict_of(found)
        theirs = [] if why else parts(sources, claim.theirs)
    reading = deciding(found) if found else ""
    reason = why
    if not why and (verdict != "reproduced" or reading):
        reason = _reason(claim, sources)
        if verdict == "not testable":
            reason = f"{UNDECIDED} {reason}".strip()
    return {
        "id": claim.id,
        "words": claim.words,
        "verdict": verdict,
        "reason": reason,
        "parts": [_part(part) for part in found],
        **({"reading": reading} if reading else {}),
        **({"theirs": [_part(part) for part in theirs]} if theirs else {}),
    }


def _reason(claim: ClaimTable, sources: Sources) -> str:
    """Why a claim differs. This may depend on more studies than the verdict."""
    try:
        return told(sources, claim.reason, claim.said, claim.study)
    except NotRun as error:
        return f"{error}, on which the reason depends."


def _found(paper: Paper, sources: Sources) -> str:
    with _named("found"):
        return told(sources, paper.text("found"), paper.file.said)


def _statement(paper: Paper, statement: StatementTable, sources: Sources) -> dict[str, Any]:
    with _named(f'"{statement.words}"'):
        found = parts(sources, paper.numbers(statement))
        return {
            "words": told(sources, statement.words, statement.said, statement.study),
            "verdict": verdict_of(found),
            "parts": [_part(part) for part in found],
        }


def _part(part: Part) -> dict[str, Any]:
    found = part.found
    return {
        "what": part.what,
        "paper": part.paper,
        "unit": part.unit,
        "value": None if found is None else found.mean,
        "low": None if found is None else found.low,
        "high": None if found is None else found.high,
        "runs": None if found is None else found.samples,
        "allowed": [part.bounds.low, part.bounds.high],
        "stated": part.stated,
        "referee": part.referee,
        "verdict": part.verdict,
        **({"reading": part.reading} if part.reading else {}),
        **({} if part.no_effect is None else {"no_effect": part.no_effect}),
        **({"fitted": True} if part.fitted else {}),
    }


def _section(paper: Paper, section: SectionTable, sources: Sources) -> dict[str, Any]:
    with _named(f'section "{section.heading}"'):
        made = [one for each in section.table for one in tables.made(paper, sources, each)]
        return {
            "heading": section.heading,
            "text": paper.words.get(section.heading, ""),
            "tables": [dataclasses.asdict(table) for table in made],
            "statements": [_statement(paper, each, sources) for each in section.statement],
        }


def _plain(value: Any) -> Any:
    """The value as JSON can hold it; what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Errors of a paper's function say which one it is."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(f"{place}: {error}") from None
