"""Tables of what the paper leaves open, and of what it leaves to others."""

from __future__ import annotations

from collections.abc import Sequence

from forebay.papers import Data, Table
from forebay.papers.judge import verdict_of

from .claims import JUDGED
from .discussion import TCP_FLOWS, UNRESPONSIVE, beside
from .points import (
    BUCKETS,
    CHOICES,
    CUBIC,
    LARGER,
    LOSS,
    QUEUE,
    USED,
    View,
    kernel,
    nsc,
    nsc_longest,
)

MARKS = {"reproduced": "yes", "differs": "no", "not testable": "?"}


def views(data: Data) -> list[View]:
    """What the claims are judged by, then every other choice."""
    found = [View(data)]
    for study in (CHOICES, BUCKETS):
        for title in data.study(study).runs["title"].unique(maintain_order=True):
            if title not in LARGER:
                found.append(View(data, study, title))
    return found


def choices(data: Data) -> Sequence[Table]:
    """Every claim under every choice."""
    verdicts = []
    for view in views(data):
        row = [view.choice]
        for judge in JUDGED.values():
            parts = judge(view)
            good = sum(part.verdict == "reproduced" for part in parts)
            row.append(f"{MARKS[verdict_of(parts)]} {good}/{len(parts)}")
        verdicts.append(row)
    stated = {
        "loss, 16 Cubic, 50 ms": "4 %",
        "5 ms": "12 %",
        "tail drop, 1 Cubic": "98 %",
        "c_max = 1.5": "96 %",
        "longest queue, 1.05": "15",
        "1.2": "12",
        "1.5": "9",
    }
    numbers: list[list[object]] = [["**paper**", *stated.values()]]
    for view in views(data):
        tail = [view.tail(LOSS, (16, CUBIC, d)).mean for d in ("50ms", "5ms")]
        tail.append(view.tail(USED, (1, CUBIC, "50ms")).mean)
        tail.append(view.policed(USED, (1, CUBIC, "50ms"), "5p", 1.5).mean)
        tail += [view.longest(c).mean for c in (1.05, 1.2, 1.5)]
        numbers.append([view.choice, *(round(each, 2) for each in tail)])
    for choice in dict.fromkeys(str(row["choice"]) for row in kernel()):
        if choice in LARGER:
            continue
        bare = not any(row["choice"] == choice and row["c_max"] is None for row in kernel())
        known = [] if bare else [
            nsc(LOSS, (16, CUBIC, "50ms"), None, choice),
            nsc(LOSS, (16, CUBIC, "5ms"), None, choice),
            nsc(USED, (1, CUBIC, "50ms"), None, choice),
        ]  # fmt: skip
        known.append(nsc(USED, (1, CUBIC, "50ms"), 1.5, choice))
        known += [nsc_longest(c, choice) for c in (1.05, 1.2, 1.5)]
        blank = [None] * (len(stated) - len(known))
        numbers.append([f"NSC: {choice}", *blank, *(round(each, 2) for each in known)])
    head = ["choice", *stated]
    return [
        Table(["choice", *JUDGED], verdicts, "Whether each claim holds, and how many numbers"),
        Table(head, numbers, "The numbers that decide, and the kernel's"),
    ]


def users(data: Data) -> Sequence[Table]:
    """A greedy user beside a modest one."""
    names = data.study("users").runs["discipline"].unique(maintain_order=True)
    found = []
    for greedy in (TCP_FLOWS, UNRESPONSIVE):
        rows = [
            [
                name,
                *(data.interval("users", f"classes.{user}.goodput_bps", beside(name, greedy),
                                scale=1e-6) for user in ("modest", "greedy")),
                data.interval("users", QUEUE, beside(name, greedy)),
            ]
            for name in names
        ]  # fmt: skip
        head = ["discipline", "modest, Mbit/s", "greedy, Mbit/s", "queue"]
        found.append(Table(head, rows, f"Beside {greedy}"))
    return found
