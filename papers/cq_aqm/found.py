"""What was found, in a few sentences."""

from __future__ import annotations

from forebay.papers import Data

from .claims import P1_PPS
from .points import CQ, HIGH, LOW, TEXT, load, mixed, tcp


def found(data: Data) -> str:
    """The page's beginning."""
    alone, beside = tcp(data), mixed(data)
    return TEXT["found"].format(
        low=alone.interval(P1_PPS, 10, LOW).mean,
        high=alone.interval(P1_PPS, 10, HIGH).mean,
        gain=beside.interval("classes.tcp-p1.gain", 10, CQ).mean,
        first=beside.interval("efficiency", 5, CQ).mean,
        last=beside.interval("efficiency", 10, CQ).mean,
        load=load(10),
    )
