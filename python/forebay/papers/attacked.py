"""The worst known network of a paper's system, as `benches/paper_attacks.py` keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay._report.page import Section, Table, Text

HEADING = "Its worst known network"


def section(found: Mapping[str, Any]) -> Section:
    """The section of the page, short or full."""
    beside = f", more than under {found['beside']}" if found["beside"] else ""
    told = (
        f"{found['about']} Then the harm is {found['harm']}{beside} ({found['measure']}); in the "
        f"scenario as it is, {found['calm']}. `{found['command']}` found it, with "
        f"{found['cpu_seconds']:.0f} s of processor time in {found['candidates']} candidates; "
        f"`{found['run']}` repeats it. It is {found['verdict']}:"
    )
    rows = [
        [each["how"], each["why"] or each["harm"], each["verdict"]]
        for each in found["confirmations"]
    ]
    parts = [Text(told), Table(["looked at again", "harm", "verdict"], rows)]
    if remedy := found.get("remedy"):
        parts.append(
            Text(
                f"What prevents it: with `{remedy['run']}` the harm is {remedy['harm']}, over "
                f"{remedy['seeds']} seeds; in Linux in virtual time it is {remedy['linux']}."
            )
        )
    return Section(HEADING, parts)
