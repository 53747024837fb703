"""Measures of round-trip probing, of paths that change, and of recoveries that were not needed."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from forebay._suite.behaviour.rig import COURSE, MTU, Numbers, Rig, seconds
from forebay._suite.behaviour.trace import PROBE_BW, State, Trace

UP_GROWTH = 0.142
"""Growth rate of PROBE_UP, a round trip: it sends at 1.25 * 0.99 of what the last round trip
delivered on the mean, so that x = UP_GROWTH solves exp(x) = 1.2375 (1 - exp(-x)) / x."""


def probe_rtt(rig: Rig) -> Numbers:
    """The second PROBE_RTT of endless data."""
    trace = rig.run(13)
    first, second = list(trace.of(State.PROBE_RTT))[:2]
    round_trip = rig.rtt / 1e3
    bdp, end = trace.at("bdp", second.last), trace.left(second)
    least = trace["inflight"][second.first : second.last + 1].min() / bdp
    most = max(0.5, 4 * 1460 / bdp)
    stayed, needed = end - trace.began(second), max(0.2, round_trip)
    return {
        "gap": trace.began(second) - trace.left(first),
        "gain": trace.at("cwnd_gain", second.last),
        "least": least,
        "most": most,
        "beyond": least - most,
        "stayed": stayed,
        "needed": needed,
        "longer": stayed - needed,
        "follows": trace.follows(second),
        "rate": trace.acknowledged(end + 2 * round_trip, end + 1) / rig.bandwidth,
        COURSE: rig.course(trace, trace.began(second) - 0.5, end + 0.5, "PROBE_RTT"),
    }


def idle(rig: Rig) -> Numbers:
    """An application that pauses until 9 s."""
    size, again = int(2.5 * rig.bandwidth), 9.0
    trace = rig.limited(again + 4, [(0.0, size), (again, int(4 * rig.bandwidth))])
    row = int((trace.time < again).sum())
    rows = (trace.time >= again) & (trace.time <= again + 3)
    return {
        "idle": State(int(trace.at("state", row))),
        "flight": trace.at("inflight", row),
        "restarted": bool(trace["idle_restart"][row : row + 50].max()),
        "entered": int((trace["state"][rows] == State.PROBE_RTT).any()),
    }


def sub_packet(rig: Rig) -> Numbers:
    """A bandwidth-delay product of less than a packet."""
    trace = rig.run(30)
    rows = (trace.time > 10) & np.isin(trace["state"], [int(state) for state in PROBE_BW])
    pace = (trace["pacing_rate"] / trace["pacing_gain"])[rows]
    return {
        "packets": rig.bdp / 1460,
        "least": trace["cwnd"][rows].min() / 1460,
        "off": float(np.median(pace)) / rig.bandwidth - 1,
        "used": trace.acknowledged(10, 29) / rig.bandwidth,
    }


def ten_times_more(rig: Rig) -> Numbers:
    """Ten times the bandwidth from PROBE_CRUISE on."""
    duration = 16.0
    first = rig.run(6)
    at = first.began(first.first(State.CRUISE)) + 0.5
    trace = rig.run(duration, rate=rig.changed(at, 10))
    new = 10 * rig.bandwidth
    reached = np.flatnonzero(trace["max_bw"] >= 0.98 * new)
    found = len(reached) > 0
    end = int(reached[0]) if found else len(trace.time) - 1
    probing = (trace["state"] == State.UP) & (trace.time > at)
    rounds = len(np.unique(trace["round_count"][: end + 1][probing[: end + 1]]))
    allowed = math.ceil(math.log(10) / UP_GROWTH) + 2
    probe = next(trace.of(State.UP, at))
    steps = trace["probe_up_increase"][probe.first : probe.last + 1]
    marks = trace["round_count"][probe.first : probe.last + 1]
    sizes = [float(steps[marks == each][-1]) for each in np.unique(marks)]
    ratios = [a / b for a, b in pairwise(sizes) if b > 1460]
    unbounded = math.isinf(trace.at("inflight_longterm", probe.last))
    until = min(trace.time[end] + 1, duration)
    return {
        "new": 10 * rig.rate,
        "found": found,
        "most": trace["max_bw"].max() / new,
        "quick": found and rounds <= allowed,
        "rounds": rounds,
        "growth": UP_GROWTH,
        "allowed": allowed,
        "time": trace.time[end] - at,
        "unbounded" if unbounded else "doubled": unbounded or all(each > 1.5 for each in ratios),
        "steps": ", ".join(f"{each:.2f}" for each in ratios) or "none",
        COURSE: rig.course(trace, at - 1, until, "ten times the bandwidth"),
    }


def ten_times_less(rig: Rig) -> Numbers:
    """A tenth of the bandwidth from PROBE_CRUISE on."""
    first = rig.run(6)
    at = first.began(first.first(State.CRUISE)) + 0.5
    trace = rig.run(at + 20, rate=rig.changed(at, 0.1))
    target = rig.bandwidth / 10
    soon = (trace.time > at) & (trace.time < at + 3)
    low = np.flatnonzero((trace.time > at) & (trace["max_bw"] <= 1.02 * target))
    when = trace.time[low[0]] - at if len(low) else math.nan
    return {
        "new": rig.rate / 10,
        "least": float(trace["bw_shortterm"][soon].min()) / target,
        "cycles": len(list(trace.of(State.DOWN, at))),
        "off": trace["max_bw"][-1] / target - 1,
        "begun": sum(1 for stay in trace.of(State.DOWN, at) if trace.began(stay) <= at + when),
        "when": when,
        COURSE: rig.course(trace, at - 1, at + 15, "a tenth of the bandwidth"),
    }


def policer(rig: Rig) -> Numbers:
    """A token bucket that drops, before a link ten times as fast."""
    police = {"rate": f"{rig.rate:g}Mbit", "burst": f"{max(MTU, int(rig.bdp))}B"}
    trace = rig.run(30, rate=f"{10 * rig.rate:g}Mbit", police=police)
    lost = trace["loss_in_round"] > 0
    later = lost & np.isin(trace["state"], [int(each) for each in PROBE_BW])
    slowed, bounded = (
        bool(np.isfinite(trace[name][later]).any())
        for name in ("bw_shortterm", "inflight_shortterm")
    )
    return {
        "bucket": rig.bdp / 1e3,
        "link": 10 * rig.rate,
        "slowed": slowed,
        "bounded": bounded,
        "both": slowed and bounded,
        "again": trace.retransmitted(15, 30),
        "high": float(np.median(trace["max_bw"][trace.time > 15])) / rig.bandwidth,
        "rate": trace.acknowledged(15, 30) / rig.bandwidth,
        COURSE: rig.course(trace, 0, 15, "token bucket"),
    }


def spurious_fast_recovery(rig: Rig) -> Numbers:
    """Packets that arrive late, and none that is lost."""
    trace = rig.run(20, reorder={"share": 0.0005, "delay": f"{rig.rtt / 4:g}ms"})
    return _undone(trace, ("Fast",), rig)


def spurious_timeout(rig: Rig) -> Numbers:
    """A delay that grows at once by more than the timeout, in PROBE_UP."""
    first = rig.run(8)
    at = first.began(first.first(State.UP)) + 0.5 * rig.rtt / 1e3
    base = rig.rtt / 2e3 - 2e-4
    steps = [
        ["0s", seconds(base)],
        [seconds(at), seconds(base + 1.0)],
        [seconds(at + 0.05), seconds(base)],
    ]
    trace = rig.run(at + 4, tcp={"stack": {"timeout_recovery": "f-rto"}}, delay={"steps": steps})
    return _undone(trace, ("Timeout", "Probing"), rig)


def _undone(trace: Trace, phase: tuple[str, ...], rig: Rig) -> Numbers:
    """How many recoveries of a sort are taken back when they end."""
    inside = np.isin(trace.recovery, phase)
    begun = [int(at) + 1 for at in np.flatnonzero(inside[1:] & ~inside[:-1])]
    ended = [int(np.flatnonzero(~inside[at:])[0]) + at for at in begun if not inside[at:].all()]
    saved = restored = returned = 0
    for first, last in zip(begun, ended, strict=False):
        names = ("bw_shortterm", "inflight_shortterm", "inflight_longterm")
        before = [trace.at(name, first - 1) for name in names]
        kept = [trace.at(f"undo_{name}", first) for name in names]
        saved += before == kept
        after = int(np.searchsorted(trace.time, trace.time[last] + rig.rtt / 1e3))
        end = min(max(after, last), len(trace.time) - 1)
        restored += all(trace.at(n, end) >= k for n, k in zip(names, kept, strict=True))
        was, now = trace.at("state", first - 1), trace.at("state", end)
        returned += now == was or (was == State.UP and now in (State.REFILL, State.UP))
    count = len(ended)
    return {
        "lost": trace.summary["queues"]["bottleneck"]["dropped"],
        "ended": count,
        "saved": saved,
        "unsaved": count - saved,
        "restored": restored,
        "unrestored": count - restored,
        "returned": returned,
        "unreturned": count - returned,
    }
