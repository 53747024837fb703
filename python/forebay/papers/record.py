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
from forebay.papers.data import Data, NotRun
from forebay.papers.declare import Claim, Conclusion, Figure, Paper, Section, Statement
from forebay.papers.judge import NotTestable, Part, Verdict, verdict_of
from forebay.report.panel import plain
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

    def missing(each: Figure | Claim | Conclusion | Section) -> list[str]:
        return [name for name in each.studies if name not in studies]

    found: dict[str, Any] = {
        "forebay paper": FORMAT,
        "paper": key,
        "title": paper.title,
        "citation": paper.citation,
        "version": _engine.version,
        "command": command,
        "quick": data.quick,
        "cpu_seconds": cpu_seconds,
        "setup": paper.setup,
        "statistics": paper.statistics,
        "studies": [_study(name, study, data) for name, study in studies.items()],
        "missing": [each.name for each in paper.needed(figure) if each.name not in studies],
        "claims": [
            _claim(each, data, missing(each))
            for each in paper.claims
            if figure is None or not missing(each)
        ],
        "hypotheses": [
            _claim(each, data, missing(each))
            for each in paper.hypotheses
            if figure is None or not missing(each)
        ],
        "figures": [
            _figure(each, data)
            for each in paper.figures
            if figure in (None, each.number) and not missing(each)
        ],
        "sections": [
            _section(each, data) for each in paper.sections if figure is None and not missing(each)
        ],
        "conclusions": [
            _conclusion(each, data)
            for each in paper.conclusions
            if figure is None and not missing(each)
        ],
        "found": _found(paper, data)
        if set(studies) == {each.name for each in paper.studies}
        else "",
    }
    plain: dict[str, Any] = _plain(found)
    return plain


def retold(paper: Paper, found: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the texts of the paper's folder as they are now.

    Texts that are functions of the results stay as they are.
    """
    judged = {each.id: each for each in (*paper.claims, *paper.hypotheses)}
    figures = {each.number: each for each in paper.figures}
    sections = {each.heading: each for each in paper.sections}
    return dict(found) | {
        "title": paper.title,
        "citation": paper.citation,
        "setup": paper.setup,
        "statistics": paper.statistics,
        "found": paper.found if found["found"] and isinstance(paper.found, str) else found["found"],
        "claims": [_retold_claim(judged[each["id"]], each) for each in found["claims"]],
        "hypotheses": [
            _retold_claim(judged[each["id"]], each) for each in found.get("hypotheses", ())
        ],
        "figures": [
            each
            | {"caption": figures[each["number"]].caption, "note": figures[each["number"]].note}
            for each in found["figures"]
        ],
        "sections": [
            _retold_section(sections[each["heading"]], each) for each in found["sections"]
        ],
    }


def _retold_claim(claim: Claim, found: Mapping[str, Any]) -> dict[str, Any]:
    told = dict(found) | {"words": claim.words}
    if found["verdict"] == "differs" and isinstance(claim.reason, str):
        told["reason"] = claim.reason
    return told


def _retold_section(section: Section, found: Mapping[str, Any]) -> dict[str, Any]:
    said = zip(section.statements, found.get("statements", ()), strict=True)
    return dict(found) | {
        "text": section.text,
        "statements": [
            each | {"words": statement.words} if isinstance(statement.words, str) else each
            for statement, each in said
        ],
    }


def hashes(studies: Mapping[str, Study]) -> dict[str, str]:
    """What tells whether a record belongs to the studies as they are now."""
    return {name: study.hash[:16] for name, study in studies.items()}


def counts(found: Mapping[str, Any]) -> dict[Verdict, int]:
    """Claims of each verdict."""
    verdicts: tuple[Verdict, ...] = ("reproduced", "differs", "not testable")
    return {
        verdict: sum(claim["verdict"] == verdict for claim in found["claims"])
        for verdict in verdicts
    }


def inside(judged: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many of conclusions or numbers hold (`good`), and of how many (`of`)."""
    return {
        "good": sum(each["verdict"] == "reproduced" for each in judged),
        "of": len(judged),
    }


def numbers(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every number that the paper states, with its claim's id."""
    return [
        {"claim": claim["id"], **part}
        for claim in found["claims"]
        for part in claim["parts"]
        if part.get("stated") is not None
    ]


def unexplained(found: Mapping[str, Any]) -> list[str]:
    """Claims and hypotheses that differ, and nobody says why."""
    return [
        claim["id"]
        for claim in (*found["claims"], *found.get("hypotheses", ()))
        if claim["verdict"] == "differs" and not claim["reason"]
    ]


def unsupported(found: Mapping[str, Any]) -> list[str]:
    """Sentences of the discussion that the numbers do not bear out."""
    return [
        statement["words"]
        for section in found["sections"]
        for statement in section.get("statements", [])
        if statement["verdict"] != "reproduced"
    ]


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


def _figure(figure: Figure, data: Data) -> dict[str, Any]:
    with _named(f"figure {figure.number}"):
        panels = figure.panels(data)
    return {
        "number": figure.number,
        "caption": figure.caption,
        "note": figure.note,
        "panels": [plain(panel) for panel in panels],
    }


def _claim(claim: Claim, data: Data, missing: Sequence[str]) -> dict[str, Any]:
    with _named(f"claim {claim.id}"):
        judged = (
            NotTestable(f"{', '.join(missing)} has not been run") if missing else claim.judge(data)
        )
    if isinstance(judged, NotTestable):
        return {
            "id": claim.id,
            "words": claim.words,
            "verdict": "not testable",
            "reason": judged.why,
            "parts": [],
        }
    verdict = verdict_of(judged)
    reason = ""
    if verdict != "reproduced":
        reason = _reason(claim, data)
    if verdict == "not testable":
        reason = f"{UNDECIDED} {reason}".strip()
    return {
        "id": claim.id,
        "words": claim.words,
        "verdict": verdict,
        "reason": reason,
        "parts": [_part(part) for part in judged],
    }


def _reason(claim: Claim, data: Data) -> str:
    """Why a claim differs. This may depend on more studies than the verdict."""
    if isinstance(claim.reason, str):
        return claim.reason
    try:
        return claim.reason(data)
    except NotRun as error:
        return f"{error}, on which the reason depends."


def _found(paper: Paper, data: Data) -> str:
    if isinstance(paper.found, str):
        return paper.found
    with _named("found"):
        return paper.found(data)


def _conclusion(conclusion: Conclusion, data: Data) -> dict[str, Any]:
    with _named(f'conclusion "{conclusion.words}"'):
        parts = conclusion.judge(data)
    return {
        "words": conclusion.words,
        "verdict": verdict_of(parts),
        "parts": [_part(part) for part in parts],
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
        "allowed": [part.low, part.high],
        "stated": part.stated,
        "referee": part.referee,
        "verdict": part.verdict,
    }


def _section(section: Section, data: Data) -> dict[str, Any]:
    with _named(f'section "{section.heading}"'):
        tables = section.tables(data) if section.tables is not None else ()
        return {
            "heading": section.heading,
            "text": section.text,
            "tables": [dataclasses.asdict(table) for table in tables],
            "statements": [_statement(each, data) for each in section.statements],
        }


def _statement(statement: Statement, data: Data) -> dict[str, Any]:
    parts = statement.parts(data)
    return {
        "words": statement.words if isinstance(statement.words, str) else statement.words(data),
        "verdict": verdict_of(parts),
        "parts": [_part(part) for part in parts],
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
