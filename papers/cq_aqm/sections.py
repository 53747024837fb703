"""What the paper leaves open, in tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forebay.papers import Data, Part, Table
from forebay.papers.points import verdicts

from .claims import ON_MIXED, ON_TCP
from .points import CQ, HIGH, LOW, P1_PPS, TAKEN, TCP1_PPS, TEXT, View, load, mixed, tcp


def judged(
    views: Sequence[tuple[str, View]], claims: dict[str, Callable[[View], list[Part]]], what: str
) -> Table:
    """Whether each claim holds under each choice."""
    rows = [[name, *(verdicts(judge(view)) for judge in claims.values())] for name, view in views]
    return Table(["choice", *claims], rows, what)


def titles(data: Data, study: str) -> list[str]:
    found: list[str] = data.study(study).runs["title"].unique(maintain_order=True).to_list()
    return found


def choices(data: Data) -> list[Table]:
    alone = [(each, tcp(data, "tcp-choices").of(each)) for each in titles(data, "tcp-choices")]
    own = mixed(data, "mixed-choices")
    beside = [(each, own.of(each)) for each in titles(data, "mixed-choices")]
    beside += [(each, own.of(TAKEN, each)) for each in ("T_local 300", "T_local 650", "B_high 50")]
    rows = []
    for name, view in beside:
        [variant] = view.preemptive
        rows.append(
            [
                name,
                view.times(TCP1_PPS, (8, variant), (5, variant)),
                *(
                    view.interval(key, k, variant)
                    for key in ("classes.tcp-p0.gain", "efficiency")
                    for k in (5, 10)
                ),
            ]
        )
    head = ["choice", "p = 1 throughput, 88 % over 55 %"]
    head += [f"{what}, {at} %" for what in ("gain of p = 0", "efficiency") for at in (55, 110)]
    return [
        judged(alone, ON_TCP, "TCP alone: whether each claim holds, and how many of its numbers"),
        judged(beside, ON_MIXED, "Mixed traffic, at 55, 88 and 110 %"),
        Table(head, rows, "Mixed traffic: the numbers that decide CQ-8 and CQ-10"),
    ]


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
