"""The words of the comparison with ns-2 and ns-3, and why forebay stands apart where it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GROUPS = {
    "newreno": "Tail drop, New Reno",
    "sack": "Tail drop, New Reno with SACK",
    "cubic": "Tail drop, CUBIC with SACK",
    "delayed-ack": "Tail drop, delayed acknowledgments",
    "aqm": "Active queue management",
    "experiments": "Experiments: one convention changed at a time",
}
"""Groups of cases in the order of the page, and their headings."""

CONVENTIONS: list[str] = []
REASONS: dict[str, str] = {}
SPEED: list[str] = []

def reason_of(options: Mapping[str, Any], quantity: str) -> str | None:
    """The reason's key."""
    return None
