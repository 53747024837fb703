"""What the figures and claims of both parts share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from forebay.papers.points import delay_of, loss_of

PAYLOAD_BITS = 460 * 8
"""Of a TCP packet of 500 B."""
PROPAGATION_MS = 15.0
"""One way; delays of the summary hold it, the paper's do not."""
RETURN_MS = PROPAGATION_MS
"""Time that an acknowledgment takes."""
WINDOW = 8
FLOWS = (5, 6, 7, 8, 9, 10)
VARIANTS = ("none", "35/45", "40/45")
PAIRS = ("[4, 4]", "[5, 5]", "[6, 6]", "[7, 7]", "[8, 8]", "[9, 9]")
K = (5, 6, 7, 8, 9, 10)
PAIR_BYTES = 680 / 0.333 + 18_618
"""Bytes a second of a voice flow (68 B every 20 ms, on for 200 of 333 ms) and a bursty one."""
LINE_BYTES = 187_500
LOADS = tuple(100 * k * PAIR_BYTES / LINE_BYTES for k in K)
"""Background, % of the line: 55, 66, 77, 88, 99, 110."""
Q0, Q1 = ("tcp", "bursty"), ("voice",)

Where = Mapping[str, Any]


def goodput(class_: str) -> pl.Expr:
    return pl.col(f"classes.{class_}.goodput_bps")


def queueing(classes: Sequence[str]) -> pl.Expr:
    """Mean time of a packet in the scheduler, ms."""
    return delay_of(classes) - PROPAGATION_MS


BACKGROUND = "background load, % of the line"


def mixed_at(pair: str, variant: str) -> Where:
    # An axis of several fields has a column for each; voice's and bursty data's are equal.
    return {"traffic.voice-p0.flows": json.loads(pair)[0], "discipline": variant}


def classes_of(p: int, kinds: Sequence[str]) -> list[str]:
    return [f"{kind}-p{p}" for kind in kinds]


def by_class(measure: Callable[[Sequence[str]], pl.Expr]) -> dict[str, str | pl.Expr]:
    return {
        f"p = {p}, q = {q}": measure(classes_of(p, kinds))
        for p in (1, 0)
        for q, kinds in ((0, Q0), (1, Q1))
    }


CQ = pl.col("discipline") == "CQ-AQM"
P1 = loss_of(classes_of(1, (*Q0, *Q1)))
