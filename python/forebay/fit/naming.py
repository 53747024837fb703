"""Which discipline is named, or why none is, and which measurement would tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from forebay.fit.candidates import KINDS, NAMES, Judged
from forebay.fit.direct import HARDLY, Direct, waits_of
from forebay.fit.found import Discipline
from forebay.fit.measurement import Measurement

SURE = 0.9
"""Least probability of a discipline that is named."""
_ALIKE = 0.95
"""Probability of those that are said to look alike."""
_ALIEN = 5.0
"""Mean square of standard deviations beyond which no candidate explains a measurement."""
_SHALLOW, _EXPLAINED = 12, 1.0
"""Packets that a queue must hold before its discipline shows plainly; with less, the mean square
of standard deviations up to which a candidate must explain the measurement."""
_MANY, _IDLE, LITTLE = 20, 0.3, 0.6
"""Losses that no queue makes if it has packets for a smaller share of the time, or if the load gets
a smaller share of the rate, and others do not have the rest."""
_DROPPING = ("codel", "pie", "red")
"""Disciplines that do nothing but drop and mark."""
_FLOWS, _SECONDS = 4, 20.0
"""Least load of which more would not tell much more."""
LOAD = "load the link with four transfers for 25 s while pinging (forebay fit --measure)"
CAPTURE = "a capture tells (forebay fit --measure)"


def named(seen: Measurement, direct: Direct, judged: Sequence[Judged]) -> Discipline:
    """The discipline, from candidates in order of their likelihood."""
    best: dict[str, Judged] = {}
    for each in judged:
        best.setdefault(each.candidate.kind, each)
    logs = np.array([best[kind].likelihood if kind in best else -np.inf for kind in KINDS])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    shares = dict(zip(KINDS, map(float, weights), strict=True))
    first = judged[0]
    alike = _smallest(shares)
    why = _no_name(seen, direct, first)
    if why:
        return Discipline(None, shares, first.misfit, why)
    if shares[first.candidate.kind] < SURE:
        if why := _acts_as_fifo(best, judged, alike):
            return Discipline("fifo", shares, first.misfit, why, alike)
        why = f"{_either([NAMES[each] for each in alike])} look alike; {_next(seen, alike)}"
        return Discipline(None, shares, first.misfit, why, alike)
    return Discipline(first.candidate.kind, shares, first.misfit, "", (first.candidate.kind,))


def _smallest(shares: dict[str, float]) -> tuple[str, ...]:
    """The likeliest that together are sure enough."""
    found: list[str] = []
    for kind in sorted(shares, key=lambda each: -shares[each]):
        found.append(kind)
        if sum(shares[each] for each in found) >= _ALIKE:
            break
    return tuple(found)


def _no_name(seen: Measurement, direct: Direct, first: Judged) -> str:
    """Why nothing can be said of the discipline; empty if something can."""
    likeliest = f"the likeliest is {NAMES[first.candidate.kind]}"
    if _policed(seen, direct):
        return (
            f"{len(seen.losses.at)} packets were lost, and the queue was often empty: a policer "
            "drops what comes faster than a rate, and has no queue; so do a buffer of hardly a "
            f"packet and a wire that loses; the load got {direct.most / 1e6:.3g} Mbit/s at most"
        )
    if direct.busy < HARDLY:
        return f"packets hardly ever waited; {LOAD}"
    if seen.vantage == "summary":
        return (
            f"a report does not say when packets were lost; {likeliest}, a capture decides "
            "(forebay fit --measure)"
        )
    if direct.course:
        return (
            f"the rate changes, and with it all waits; {likeliest}; measure again when the rate "
            "is steady"
        )
    if first.candidate.kind in _DROPPING and not len(seen.losses.at) and not len(seen.marks.at):
        return f"nothing was lost, so that no discipline showed; {likeliest}; {LOAD}"
    if first.misfit > (_EXPLAINED if _shallow(seen, direct) else _ALIEN):
        return (
            f"none of {', '.join(NAMES.values())} explains it (largest difference: {first.worst});"
            " others' traffic, a varying rate or another discipline may; measure again, recording"
            " at the sender, with nothing else on the link"
        )
    return ""


def _policed(seen: Measurement, direct: Direct) -> bool:
    if len(seen.losses.at) < _MANY or direct.course:
        return False
    if direct.busy < _IDLE:
        return True
    if direct.rate is None:
        return False
    rate, others = direct.rate.value, direct.cross
    return direct.most < LITTLE * rate and (
        others is None or others.high < 0.5 * (rate - direct.most)
    )


def _acts_as_fifo(
    best: Mapping[str, Judged], judged: Sequence[Judged], alike: Sequence[str]
) -> str:
    """Why it is a FIFO whichever of them it is; empty if they differ.

    Runs of a FIFO of the same room are the same then, so that they explain as much.
    """
    own = {each.candidate.room: each for each in judged if each.candidate.kind == "fifo"}
    others = [kind for kind in alike if kind != "fifo"]
    for kind in others:
        room = best[kind].candidate.room
        if room not in own or own[room].likelihood != best[kind].likelihood or room is None:
            return ""
    names = _either([NAMES[each] for each in others])
    return (
        f"{names} would do nothing in so short a buffer that a FIFO does not: whichever it is, it "
        "acts as a FIFO"
    )


def loaded(seen: Measurement) -> bool:
    """Whether the link was loaded as `LOAD` says."""
    begin, end = seen.load
    return len(seen.flows) >= _FLOWS and end - begin >= _SECONDS


def _next(seen: Measurement, alike: Sequence[str]) -> str:
    """Which measurement would tell disciplines apart."""
    if not loaded(seen):
        return LOAD
    if seen.vantage == "receiver":
        return "record at the sender, where it shows which packets were lost"
    if set(alike) == {"fq-codel", "cake"}:
        return "add a fifth transfer that is marked CS1 (iperf3 -S 0x20): CAKE serves it last"
    return "load it with sixteen transfers (iperf3 -P 16), with nothing else on it"


def _shallow(seen: Measurement, direct: Direct) -> bool:
    """Whether the queue never grew to more than a few packets, while packets were lost."""
    if direct.rtt is None or not len(seen.losses.at):
        return False
    waits = waits_of(seen, direct.rtt.value, direct.most)
    return float(np.quantile(waits, 0.999)) < _SHALLOW * 1500 * 8 / direct.most


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"
