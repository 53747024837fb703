"""What was found, in a few sentences."""

from __future__ import annotations

from forebay.papers import Data

from .points import BUCKETS, COMBINATIONS, CUBIC, QUEUE, RENO, RULE, USED, View, nsc, text


def found(data: Data) -> str:
    """The page's beginning."""
    view = View(data)
    queues = [
        view.tail(QUEUE, (16, CUBIC, "5ms")).mean,
        view.policed(QUEUE, (16, CUBIC, "5ms")).mean,
    ]
    used = [view.policed(USED, (flows, RENO, "50ms")).mean for flows in (16, 1)]
    rule = View(data, BUCKETS, RULE)
    longest = [[each.longest(c).mean for c in (1.05, 1.2, 1.5)] for each in (view, rule)]
    return text("found").format(queues=queues, used=used, longest=longest, apart=apart(view))


def apart(view: View) -> list[float]:
    """How far from the kernel at most: queues in packets, utilizations in points."""
    return [
        max(
            abs(found.mean - nsc(key, each, c_max))
            for each in COMBINATIONS
            for c_max, found in (
                (None, view.tail(key, each)),
                *((c, view.policed(key, each, "5p", c)) for c in (1.05, 1.2, 1.5)),
            )
        )
        for key in (QUEUE, USED)
    ]
