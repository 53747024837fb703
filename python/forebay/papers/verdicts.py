"""What a record of a paper comes to: verdicts counted, and what is still to be explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forebay.judge import PAPER


def counts(judged: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many claims or hypotheses have each verdict."""
    return {
        verdict: sum(claim["verdict"] == verdict for claim in judged) for verdict in PAPER.values()
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
