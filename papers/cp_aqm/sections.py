"""Tables of what the paper leaves open, and of what it leaves to others."""

from __future__ import annotations

from collections.abc import Sequence

from forebay.papers import Data, Table
from forebay.papers.judge import verdict_of
from forebay.papers.points import MARKS

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
    found = {
        name: [MARKS[verdict_of(judge(view))] for view in views(data)]
        for name, judge in JUDGED.items()
    }
    same = [name for name, marks in found.items() if len(set(marks)) == 1]
    differing = [name for name in found if name not in same]
    verdicts = [
        [view.choice, *(found[name][at] for name in differing)]
        for at, view in enumerate(views(data))
    ]
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
        referee = in_kernel(view.choice, len(tail))
        pairs = zip(tail, referee, strict=True)
        numbers.append(
            [
                view.choice,
                *(
                    f"{ours:.1f}" + ("" if theirs is None else f" ({theirs:.1f})")
                    for ours, theirs in pairs
                ),
            ]
        )
    head = ["choice", *stated]
    return [
        Table(
            ["choice", *differing],
            verdicts,
            "Whether each claim holds",
            f"The verdict is the same under every choice: {', '.join(same)}.",
        ),
        Table(head, numbers, "The numbers that decide, and the kernel's"),
    ]


def in_kernel(choice: str, count: int) -> list[float | None]:
    """The same numbers in the kernel; none where it was not run."""
    runs = [row for row in kernel() if row["choice"] == choice]
    if not runs:
        return [None] * count
    bare = not any(row["c_max"] is None for row in runs)
    known = [] if bare else [
        nsc(LOSS, (16, CUBIC, "50ms"), None, choice),
        nsc(LOSS, (16, CUBIC, "5ms"), None, choice),
        nsc(USED, (1, CUBIC, "50ms"), None, choice),
    ]  # fmt: skip
    known.append(nsc(USED, (1, CUBIC, "50ms"), 1.5, choice))
    known += [nsc_longest(c, choice) for c in (1.05, 1.2, 1.5)]
    return [*[None] * (count - len(known)), *known]


def users(data: Data) -> Sequence[Table]:
    """A greedy user beside a modest one."""
    names = data.study("users").runs["discipline"].unique(maintain_order=True)
    rows = []
    for name in names:
        row = [name]
        for greedy in (TCP_FLOWS, UNRESPONSIVE):
            at = beside(name, greedy)
            row.append(data.interval("users", "classes.modest.goodput_bps", at, scale=1e-6))
            row.append(data.interval("users", QUEUE, at))
        rows.append(row)
    head = ["discipline"]
    for greedy in (TCP_FLOWS, UNRESPONSIVE):
        head += [f"modest beside {greedy}, Mbit/s", "queue"]
    return [Table(head, rows)]
