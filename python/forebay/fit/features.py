"""What a measurement looks like in numbers that queue disciplines change.

Of two measurements with the same load, rate and round trip, these numbers differ by the discipline
alone: how long packets wait, whether probes wait as long, at what waits packets are lost, how
losses follow each other, how the queue begins, and who gets how much. Times are taken over a scale
of their own, so that equal steps of a number are equally easy to see.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from forebay.fit.direct import overflow_of, waits_of
from forebay.fit.measurement import Measurement, Numbers

FLOOR: Mapping[str, float] = {
    "wait10": 0.25,
    "wait50": 0.18,
    "wait90": 0.15,
    "wait99": 0.15,
    "probe50": 0.2,
    "probe90": 0.25,
    "apart": 0.3,
    "onset": 0.15,
    "first": 0.2,
    "losses": 0.2,
    "lost_at": 0.12,
    "lost_low": 0.15,
    "group": 0.2,
    "rank": 0.08,
    "ranks": 0.06,
    "uneven": 0.2,
    "marks": 0.3,
    "marked": 0.08,
    "gap50": 0.35,
    "gap10": 0.4,
    "share": 0.2,
    "priority": 0.3,
    "background": 0.3,
    "used": 0.04,
}
"""Differences that are never taken for more than luck, for what no model has: other timers, other
clocks, other versions of TCP."""


def features(measured: Measurement, rtt: float, rate: float) -> dict[str, float]:
    """The numbers, by name; those that the measurement does not tell are missing.

    Args:
        measured: what was measured.
        rtt: least round trip in s.
        rate: capacity in bit/s.
    """
    packet = 1500 * 8 / rate
    waits = waits_of(measured, rtt, rate)
    trips = measured.trips
    begin, end = measured.load
    length = max(1e-3, end - begin)
    steady = (trips.at > begin + 0.3 * length) & (trips.at < end)
    early = (trips.at >= begin) & (trips.at <= begin + 0.3 * length)
    data, probes = ~trips.probes, trips.probes

    def scaled(wait: float | Numbers) -> float:
        return float(np.log(np.asarray(wait) + 0.7 * packet + 3e-4))

    found: dict[str, float] = {}
    of = data if np.count_nonzero(data & steady) >= 50 else probes
    if np.count_nonzero(of & steady) >= 20:
        own = waits[of & steady]
        for name, share in (("wait10", 0.1), ("wait50", 0.5), ("wait90", 0.9), ("wait99", 0.99)):
            found[name] = scaled(np.quantile(own, share))
    if np.count_nonzero(of & early) >= 10:
        found["onset"] = scaled(np.quantile(waits[of & early], 0.995))
    if np.count_nonzero(probes & steady) >= 20:
        asked = waits[probes & steady]
        found["probe50"] = scaled(np.quantile(asked, 0.5))
        found["probe90"] = scaled(np.quantile(asked, 0.9))
        if of is data:
            found["apart"] = found["probe50"] - found["wait50"]
    found |= _losses(measured, waits, rate, rtt, begin, length)
    if measured.ecn:
        marks = measured.marks.at
        found["marks"] = float(np.log1p(np.count_nonzero(marks > begin + 0.3 * length)))
        if (rank := ranks(measured, waits, marks).get("rank")) is not None:
            found["marked"] = rank
    found |= _shares(measured, begin, end)
    arrived = measured.arrivals
    inside = (arrived.at > begin + 0.3 * length) & (arrived.at <= end)
    found["used"] = float(arrived.size[inside].sum() * 8 / (0.7 * length) / rate)
    return found


def _losses(
    measured: Measurement, waits: Numbers, rate: float, rtt: float, begin: float, length: float
) -> dict[str, float]:
    at = measured.losses.at
    at = at[(at >= begin) & (at <= begin + length)]
    packet = 1500 * 8 / rate
    found = {"losses": float(np.log1p(len(at[at > begin + 0.3 * length])))}
    if not len(at) or not measured.exact_losses:
        return found
    found["first"] = float(np.log(max(at[0] - begin, rtt) / rtt))
    overflow = overflow_of(measured, waits, rate, rtt)
    if len(overflow.waits) >= 3:
        seen = overflow.waits
        # By what was the longest one: a full queue loses nothing before it is full.
        top = float(np.quantile(seen, 0.9)) + packet
        found["lost_at"] = float(np.median(seen) / top)
        found["lost_low"] = float(np.quantile(seen, 0.2) / top)
        found["group"] = float(np.log(np.mean(overflow.counts)))
    if len(at) >= 6:
        found |= ranks(measured, waits, at)
        gaps = np.diff(at)
        found["uneven"] = float(np.std(np.log(gaps + packet)))
        found["gap50"] = float(np.log(np.quantile(gaps, 0.5) + packet))
        found["gap10"] = float(np.log(np.quantile(gaps, 0.1) + packet))
    return found


def ranks(measured: Measurement, waits: Numbers, lost: Numbers) -> dict[str, float]:
    """Where the waits at losses stand among all waits of the same part of the measurement."""
    trips = measured.trips
    if len(lost) < 6:
        return {}
    data = ~trips.probes if (~trips.probes).any() else trips.probes
    when = trips.at + trips.delay if measured.vantage == "receiver" else trips.at
    inside = data & (when >= lost[0]) & (when <= lost[-1])
    if np.count_nonzero(inside) < 50:
        return {}
    order = np.argsort(when[inside], kind="stable")
    sent, wait = when[inside][order], waits[inside][order]
    near = wait[np.minimum(np.searchsorted(sent, lost), len(sent) - 1)]
    rank = np.searchsorted(np.sort(wait), near, side="right") / len(wait)
    return {"rank": float(np.mean(rank)), "ranks": float(np.std(rank))}


def _shares(measured: Measurement, begin: float, end: float) -> dict[str, float]:
    """How evenly the flows share, and what marks for the background and for priority bring."""
    flows = measured.flows
    if len(flows) < 2:
        return {}
    arrived = measured.arrivals
    inside = (arrived.at > begin + 0.3 * (end - begin)) & (arrived.at <= end)
    sums = np.bincount(arrived.flow[inside], weights=arrived.size[inside], minlength=len(flows))
    got = 1500.0 + sums[: len(flows)].astype(float)
    found = {"share": float(np.std(np.log(got)))}
    code = np.array([flow.dscp for flow in flows])
    if (code != 0).any() and (code == 0).any():
        plain = float(np.mean(got[code == 0]))
        found["priority"] = float(np.log(np.mean(got[code != 0]) / plain))
        if (code == 8).any():
            found["background"] = float(np.log(np.mean(got[code == 8]) / plain))
    return found
