"""Every row beside the published one."""

from __future__ import annotations

from forebay.papers import Data, Table

from .points import run_rows


def rows(data: Data) -> list[Table]:
    """The overload experiments, a table for each share that classic packets keep."""
    head = [
        "datagrams, Mbit/s",
        "published, Mbit/s",
        "Prague here",
        "CUBIC here",
        "larger error, %",
        "in the range of one run",
        "Prague waits, published, ms",
        "here, ms",
    ]
    return [
        Table(
            head,
            [
                [
                    f"{each.datagrams}, {each.load}",
                    f"{each.prague} / {each.cubic}",
                    *each.found(data),
                    f"{each.error(data):+.0f}",
                    "yes" if each.is_predicted(data) else "no",
                    each.delay,
                    each.waits(data),
                ]
                for each in run_rows(data)
                if each.protection == protection
            ],
            f"{protection} % of the link for classic packets",
        )
        for protection in (0, 10, 25)
    ]
