"""Every row beside the published one, and what is not repeated."""

from __future__ import annotations

from forebay.papers import Data, Table

from .points import CHOICES, NEAR, QUEUES, ROWS, SHARED, TODAY, Row, changed, near_rows, run_rows


def rows(data: Data) -> list[Table]:
    """Scenario 1, a table for each queue: all rows of DualPI2, of others those not near."""
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
                if queue.endswith("dualpi2") or abs(row.error(data)) > NEAR
            ],
            queue,
        )
        for queue in QUEUES
        if near_rows(data, queue) < len(run_rows(data, queue))
    ]


def shared(data: Data) -> list[Table]:
    """Scenario 6."""
    head = ["queue", "rival", "published, Mbit/s", "Prague here", "rival here"]
    found = [
        [each.queue, each.rival, "{} / {}".format(*each.stated), *each.found(data)]
        for each in SHARED
    ]
    return [Table(head, found)]


def published(queue: str, first: str, second: str) -> str:
    """The published throughputs of a point, by sender and round-trip time, such as "cubic 20"."""

    def is_it(row: Row) -> bool:
        pairs = zip(row.controls, row.rtts, strict=True)
        return row.queue == queue and [f"{c} {t}" for c, t in pairs] == [first, second]

    return "{} / {}".format(*next(row for row in ROWS if is_it(row)).stated)


def choices(data: Data) -> list[Table]:
    """What one thing changes, beside the published row."""
    of = {
        "Linux's Reno for Prague, 10 ms": ("50Mbit pfifo(1000)", "cubic 10", "prague 10"),
        "Linux's Reno for Prague, 20 ms": ("50Mbit pfifo(1000)", "cubic 20", "prague 20"),
        "Linux's Reno for Prague, 80 ms": ("50Mbit pfifo(1000)", "cubic 80", "prague 80"),
        "Linux's Reno for Prague, 10 Mbit/s, 20 ms": (
            "10Mbit pfifo(200)", "cubic 20", "prague 20"),
        "CUBIC of RFC 9438": ("50Mbit fq_codel", "cubic 160", "cubic 10"),
        "the step marks every packet": ("10Mbit dualpi2", "cubic 20", "prague 20"),
        "one packet must stay behind": ("10Mbit dualpi2", "cubic 20", "prague 20"),
        "the step marks every packet, two of Prague": (
            "50Mbit dualpi2", "prague 80", "prague 20"),
        "a ramp to 2 ms for the step, two of Prague": (
            "50Mbit dualpi2", "prague 80", "prague 20"),
        "the step marks every packet, two of Prague, 10 Mbit/s": (
            "10Mbit dualpi2", "prague 20", "prague 10"),
        "a ramp to 5 ms for the step, two of Prague, 10 Mbit/s": (
            "10Mbit dualpi2", "prague 20", "prague 10"),
    }  # fmt: skip
    known = data.study(CHOICES).runs["title"].unique(maintain_order=True)
    found = [[each, *of[each], published(*of[each]), *changed(data, each)] for each in known]
    head = ["changed", "queue", "first, ms", "second, ms", "published, Mbit/s", "first here"]
    return [Table([*head, "second here"], found)]


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
