"""How much a queue held: bytes counted in it, and what they say of its room.

In a queue that all flows share, a packet waits for what was there when it came, so that the
longest wait tells the room. In one for each flow, others come and overtake, and a packet waits for
more than was ever there. At the sender both can be counted instead: what was sent, less what left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forebay.fit.candidates import HELD_S, NAMES, SHARED, Candidate, Judged
from forebay.fit.direct import Direct, overflow_of, waits_of
from forebay.fit.found import Discipline, Estimate
from forebay.fit.measurement import Measurement, Numbers
from forebay.fit.naming import CAPTURE

_SURE = 0.97
"""Share of what was counted that was surely there: a rate may be off by some per cent."""
_MARGIN = 3
"""Full packets that are taken off a bound: one in transmission, which is not in the room, one that
an acknowledgment was late for, and one that came when there was room for a part of it."""
_TIMES, _OFTEN = 3, 0.95
"""How often as much must have been seen: a single acknowledgment may be late by chance. For a bound
it is the share of all times that had less."""

_TIGHT = 3.0
"""By how much a limited buffer must explain more than a large one, in (tempered) logarithms."""
_AS_FULL = 0.95
"""Share of the largest wait at a loss that others must have."""
_FULL = {"fifo", "codel", "pie"}
"""Disciplines that are full when they lose packets, if they look like a FIFO."""
_HARDLY = 0.01
"""Probability of disciplines that are left out of account."""
_FILL = "a load that fills it would: several transfers at once, on an idle link"


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of the load that were in the queue whenever a packet of it was sent."""

    at: Numbers
    """When, in s."""
    least: Numbers
    """Bytes that were surely there."""
    most: Numbers
    """Bytes that may have been there: a packet may have left before the acknowledgment shows it."""


def held_of(measured: Measurement, rtt: float, rate: float) -> Held | None:
    """Count what was in the queue; None where it is not known when packets were sent.

    Args:
        measured: what was measured.
        rtt: least round trip in s.
        rate: capacity in bit/s.
    """
    arrived = measured.arrivals
    known = ~np.isnan(arrived.sent)
    if measured.vantage != "sender" or np.count_nonzero(known) < 50:
        return None
    sent, at = arrived.sent[known], arrived.at[known]
    size, flow = arrived.size[known], arrived.flow[known]
    gone = at - rtt - size * 8 / rate
    sure = np.empty_like(gone)
    for number in np.unique(flow):
        mine = np.flatnonzero(flow == number)
        mine = mine[np.lexsort((sent[mine], at[mine]))]
        # Of packets that one acknowledgment tells of, the last alone has left just now.
        newest = np.concatenate([np.diff(at[mine]) > 0, [True]])
        before = np.concatenate([[-np.inf], gone[mine][newest][:-1]])
        group = np.cumsum(newest) - newest
        sure[mine] = np.where(newest, gone[mine], before[group])
    order = np.argsort(sent, kind="stable")
    when, came = sent[order], np.cumsum(size[order])

    def inside(leaves: Numbers) -> Numbers:
        leaves = np.maximum(leaves, sent)
        last = np.argsort(leaves, kind="stable")
        left = np.concatenate([[0.0], np.cumsum(size[last])])
        there: Numbers = came - left[np.searchsorted(leaves[last], when, side="right")]
        return there

    return Held(when, np.maximum(0.0, inside(sure)), np.maximum(0.0, inside(gone)))


def at_losses(seen: Measurement, direct: Direct, held: Held | None, rate: float) -> Numbers:
    """Bytes that were in the queue at each group of losses, by waits in a queue that all share."""
    if not direct.course or held is None:
        return direct.overflow.waits * rate / 8
    # Of a rate that changes, a wait tells no bytes.
    place = np.searchsorted(held.at, seen.losses.at) - 1
    counted: Numbers = ((held.least + held.most) / 2)[np.maximum(0, place)]
    return counted


def usual_top(values: Numbers) -> float:
    """The largest of values that came some times; 0 without any."""
    if not len(values):
        return 0.0
    return float(np.sort(values)[-min(_TIMES, len(values))])


def often(values: Numbers) -> float:
    """What a twentieth of the values reach; 0 without any.

    More may be errors: of repeated packets it is not known which arrived.
    """
    return float(np.quantile(values, _OFTEN)) if len(values) else 0.0


def surely(counted: float, rate: float) -> float | None:
    """What a room is at least if so many bytes were counted in it; None if that says nothing."""
    late = rate * HELD_S / 8
    bound = _SURE * counted - _MARGIN * 1500 - late
    return bound if bound >= 1500 else None


@dataclass(frozen=True, slots=True)
class Named:
    """What stands at the bottleneck, as far as it is known."""

    discipline: Discipline
    best: Candidate
    """The likeliest, or that of the discipline that is named."""
    judged: Sequence[Judged]


@dataclass(frozen=True, slots=True)
class Queue:
    """What is known of the queue."""

    rate: float
    """Capacity in bit/s."""
    held: Held | None
    again: Measurement | None
    """The best candidate, measured as the link was."""


def buffer_of(seen: Measurement, direct: Direct, named: Named, queue: Queue) -> Estimate:
    """A FIFO's room is what waits whenever something is lost; other kinds seldom fill theirs."""
    kind = named.discipline.kind
    least = _least(seen, direct, named.discipline, queue)
    alike = set(named.discipline.alike)
    if "fifo" in alike and alike <= _FULL:
        # Whichever it is, it is full whenever it loses.
        kind = "fifo"
    if kind is None:
        remedy = CAPTURE if seen.vantage == "summary" else _FILL
        why = f"it depends on the discipline, which cannot be told; {remedy}"
        return Estimate("buffer", "B", None, low=least, why=why)
    if kind == "fifo":
        if not len(direct.overflow.waits):
            why = f"nothing was lost, so that it was never full; {_FILL}"
            return Estimate("buffer", "B", None, low=least, why=why)
        return _of_fifo(seen, direct, named.best, queue)
    own = [each for each in named.judged if each.candidate.kind == kind]
    tight = next((each for each in own if each.candidate.room is not None), None)
    large = next((each for each in own if each.candidate.room is None), None)
    if tight is not None and (large is None or tight.likelihood > large.likelihood + _TIGHT):
        value = tight.candidate.room or 0.0
        slack = max(1500.0, 0.08 * value)
        # A buffer that was full is as full at other losses.
        often = usual_top(at_losses(seen, direct, queue.held, queue.rate)) > _AS_FULL * value
        if kind in ("codel", "pie") and often:
            return Estimate("buffer", "B", value, value - slack, value + slack)
    why = f"{NAMES[kind]} keeps the queue short, so that its room was not seen"
    return Estimate("buffer", "B", None, low=least, why=why)


def _of_fifo(seen: Measurement, direct: Direct, best: Candidate, queue: Queue) -> Estimate:
    """What usually waited at losses, less the error that the same makes of a room that is known."""
    rate, again = queue.rate, queue.again
    top, spread = top_of(at_losses(seen, direct, queue.held, rate))
    slack = max(1500.0, 2 * spread, 0.02 * top)
    if direct.cross is not None and direct.cross.low > 0.01 * rate:
        slack = max(slack, 0.04 * top)
    value = top
    if again is not None and best.room is not None and direct.rtt is not None:
        rtt = direct.rtt.value
        shown = overflow_of(again, waits_of(again, rtt, rate), rate, rtt).waits
        if len(shown):
            off = best.room - top_of(shown * rate / 8)[0]
            off = float(np.clip(off, -0.3 * top, 0.3 * top))
            value, slack = max(1500.0, top + off), slack + 0.2 * abs(off)
    return Estimate("buffer", "B", value, max(0.0, value - slack), value + slack)


def _least(seen: Measurement, direct: Direct, discipline: Discipline, queue: Queue) -> float | None:
    """Bytes that the buffer has at least; None if nothing tells."""
    if queue.held is not None:
        return surely(often(queue.held.least), queue.rate)
    fair = sum(share for kind, share in discipline.weights.items() if kind not in SHARED)
    if fair > _HARDLY or seen.vantage == "summary" or direct.rtt is None:
        # A packet waits for others that came after it, and a report is smoothed.
        return None
    waits = waits_of(seen, direct.rtt.value, queue.rate)
    return surely(often(waits) * queue.rate / 8, queue.rate)


def top_of(events: Numbers) -> tuple[float, float]:
    """The usual wait at losses of a full queue, and its spread."""
    high = events[events >= 0.8 * np.quantile(events, 0.9)]
    return float(np.median(high)), float(np.std(high))
