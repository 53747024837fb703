"""Every row beside the published one, and what is not repeated."""

from __future__ import annotations

from forebay.papers import Data, Table

from .points import QUEUES, SHARED, TODAY, run_rows


def rows(data: Data) -> list[Table]:
    """Scenario 1, a table for each queue."""
    head = [
        "first",
        "second",
        "published, Mbit/s",
        "first here",
        "second here",
        "larger error, %",
        "in the range of one run",
    ]
    return [
        Table(
            head,
            [
                [
                    *(f"{c} ({t} ms)" for c, t in zip(row.controls, row.rtts, strict=True)),
                    "{} / {}".format(*row.stated),
                    *row.found(data),
                    f"{row.error(data):+.0f}",
                    "yes" if row.is_predicted(data) else "no",
                ]
                for row in run_rows(data, queue)
            ],
            queue,
        )
        for queue in QUEUES
    ]


def shared(data: Data) -> list[Table]:
    """Scenario 6."""
    head = ["queue", "rival", "published, Mbit/s", "Prague here", "rival here"]
    found = [
        [each.queue, each.rival, "{} / {}".format(*each.stated), *each.found(data)]
        for each in SHARED
    ]
    return [Table(head, found)]


def today(data: Data) -> list[Table]:
    """Scenario 1 through DualPI2 with today's Prague, beside that of 2020."""
    head = ["queue", "first", "second", "2020, published", "2020 here", "today here"]
    found = []
    for queue in (each for each in QUEUES if each.endswith("dualpi2")):
        for row in run_rows(data, queue):
            if "prague" not in row.controls:
                continue
            pair = (f"{c} ({t} ms)" for c, t in zip(row.controls, row.rtts, strict=True))
            before, now = row.found(data), row.found(data, TODAY)
            found.append(
                [
                    queue,
                    *pair,
                    "{} / {}".format(*row.stated),
                    f"{before[0].mean:.2f} / {before[1].mean:.2f}",
                    f"{now[0].mean:.2f} / {now[1].mean:.2f}",
                ]
            )
    return [Table(head, found)]
