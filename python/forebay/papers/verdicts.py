"""What a record of a paper comes to: classes of claims, and what is still to be explained.

A claim that does not hold as the page has it may hold with another choice of what the paper leaves
open, which `forebay paper fit` finds, or be contradicted by the paper's own numbers. Only what is
left differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WITH = "reproduced with a choice"
CONTRADICTED = "contradicted by the paper's own numbers"
CLASSES = ("reproduced", WITH, CONTRADICTED, "differs", "not testable")


@dataclass(frozen=True, slots=True)
class Class:
    """The class of a claim."""

    name: str
    """One of `CLASSES`."""
    choice: str = ""
    """What it holds with: a reading of the paper's words, or options that they leave open."""

    def told(self) -> str:
        """The class in words, with the choice."""
        return f"{self.name.removesuffix('a choice')}{self.choice}" if self.choice else self.name


def class_of(claim: Mapping[str, Any], fit: Mapping[str, Any] | None = None) -> Class:
    """The class of a claim or hypothesis.

    Args:
        claim: its entry in the record of a paper's run.
        fit: the record of `forebay paper fit`, if it was kept. A claim holds with a set-up only if
            that was judged again with seeds that the search had not seen.
    """
    verdict = claim["verdict"]
    if verdict == "reproduced":
        reading = claim.get("reading", "")
        return Class(WITH, f'the reading "{reading}"') if reading else Class(verdict)
    tried = {} if fit is None else {each["id"]: each for each in fit["claims"]}
    found = tried.get(claim["id"], {})
    if found.get("again") and found.get("with"):
        told = options(_shared(claim["id"], fit) or found["with"])
        reading = f'; the reading "{found["reading"]}"' if found.get("reading") else ""
        return Class(WITH, told + reading)
    if verdict == "differs" and any(each["verdict"] == verdict for each in claim.get("theirs", ())):
        return Class(CONTRADICTED)
    return Class(verdict)


def _shared(id_: str, fit: Mapping[str, Any] | None) -> Mapping[str, str]:
    """The set-up that satisfies most claims at once, if it satisfies this one."""
    best = {} if fit is None else fit["best"]
    return best["changed"] if best and best["claims"].get(id_) == "reproduced" else {}


def options(changed: Mapping[str, str]) -> str:
    """Options of a set-up other than the page's, in words."""
    return "; ".join(f"{name}: {option}" for name, option in changed.items()) or "the page's set-up"


def counts(
    judged: Sequence[Mapping[str, Any]], fit: Mapping[str, Any] | None = None
) -> dict[str, int]:
    """How many claims or hypotheses are of each class."""
    found = Counter(class_of(each, fit).name for each in judged)
    return {name: found[name] for name in CLASSES}


def inside(judged: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many of conclusions or numbers hold (`good`), and of how many (`of`).

    Numbers by which our set-up was chosen are no evidence, and left out.
    """
    counted = [each for each in judged if not each.get("fitted")]
    return {
        "good": sum(each["verdict"] == "reproduced" for each in counted),
        "of": len(counted),
    }


def numbers(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every number that the paper states, with its claim's id."""
    return [
        {"claim": claim["id"], **part}
        for claim in found["claims"]
        for part in claim["parts"]
        if part["stated"] is not None
    ]


def unexplained(found: Mapping[str, Any]) -> list[str]:
    """Claims and hypotheses that differ, and nobody says why."""
    return [
        claim["id"]
        for claim in (*found["claims"], *found["hypotheses"])
        if claim["verdict"] == "differs" and not claim["reason"]
    ]


def unsupported(found: Mapping[str, Any]) -> list[str]:
    """Sentences of the discussion that the numbers do not bear out."""
    return [
        statement["words"]
        for section in found["sections"]
        for statement in section["statements"]
        if statement["verdict"] != "reproduced"
    ]
