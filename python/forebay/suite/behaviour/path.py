"""Cases of round-trip probing, of paths that change, and of recoveries that were not needed."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from forebay.suite.behaviour.case import Outcome
from forebay.suite.behaviour.rig import MTU, Rig, seconds
from forebay.suite.behaviour.trace import PROBE_BW, State, Trace

PROBE_RTT_INTERVAL = 5.0
PROBE_RTT_DURATION = 0.2
CLOSE = 0.02
UP_GROWTH = 0.142
"""Growth rate of PROBE_UP, a round trip: it sends at 1.25 * 0.99 of what the last round trip
delivered on the mean, so that x = UP_GROWTH solves exp(x) = 1.2375 (1 - exp(-x)) / x."""


def probe_rtt(rig: Rig) -> Outcome:
    """Case 10."""
    out = Outcome(rig.title)
    trace = rig.run(13)
    first, second = list(trace.of(State.PROBE_RTT))[:2]
    round_trip = rig.rtt / 1e3
    gap = trace.began(second) - trace.left(first)
    out.check(
        "time without a lower delay before it",
        gap >= PROBE_RTT_INTERVAL,
        f"{gap:.3f} s",
        "5 s, and an acknowledgment",
    )
    gain = trace.at("cwnd_gain", second.last)
    out.check("BBR.cwnd_gain", gain == 0.5, f"{gain:g}", "0.5")
    least = trace["inflight"][second.first : second.last + 1].min() / trace.at("bdp", second.last)
    floor = 4 * 1460 / trace.at("bdp", second.last)
    out.check(
        "least C.inflight",
        least <= max(0.5, floor) + 1e-9,
        f"{least:.2f} BDP",
        f"{max(0.5, floor):.2f} BDP at most",
    )
    stayed = trace.left(second) - trace.began(second)
    out.check(
        "time in it",
        stayed >= max(PROBE_RTT_DURATION, round_trip),
        f"{stayed:.3f} s",
        f"{max(PROBE_RTT_DURATION, round_trip):g} s at least",
    )
    follows = trace.follows(second)
    out.check("what follows PROBE_RTT", follows in PROBE_BW, follows.name, "PROBE_BW")
    end = trace.left(second)
    rate = trace.acknowledged(end + 2 * round_trip, end + 1) / rig.bandwidth
    out.check(
        "goodput in the second after it",
        rate > 0.9,
        f"{rate:.1%}",
        "resumes: 90 % at least",
        derived=True,
    )
    out.draw(rig, trace, trace.began(second) - 0.5, end + 0.5, "PROBE_RTT")
    return out


def idle(rig: Rig) -> Outcome:
    """Case 11."""
    out = Outcome(rig.title)
    size, again = int(2.5 * rig.bandwidth), 9.0
    trace = rig.limited(again + 4, [(0.0, size), (again, int(4 * rig.bandwidth))])
    row = int((trace.time < again).sum())
    before = State(int(trace.at("state", row)))
    out.check("state while idle", before in PROBE_BW, before.name, "PROBE_BW")
    flight = trace.at("inflight", row)
    out.check("C.inflight while idle", flight == 0, f"{flight:.0f} B", "0")
    restarted = trace["idle_restart"][row : row + 50].max()
    out.check(
        "BBR.idle_restart when it sends again",
        restarted == 1,
        "true" if restarted else "false",
        "true",
    )
    rows = (trace.time >= again) & (trace.time <= again + 3)
    entered = int((trace["state"][rows] == State.PROBE_RTT).any())
    out.check("PROBE_RTT in the 3 s that follow", entered == 0, f"{entered}", "0")
    return out


def sub_packet(rig: Rig) -> Outcome:
    """Case 14."""
    out = Outcome(f"{rig.title}, {rig.bdp / 1460:.2f} packets")
    trace = rig.run(30)
    rows = (trace.time > 10) & np.isin(trace["state"], [int(state) for state in PROBE_BW])
    least = trace["cwnd"][rows].min() / 1460
    out.check("least C.cwnd in PROBE_BW", least >= 4, f"{least:.1f} packets", "4 packets")
    pace = (trace["pacing_rate"] / trace["pacing_gain"])[rows]
    off = float(np.median(pace)) / rig.bandwidth - 1
    out.check(
        "pacing rate over gain, off the bandwidth",
        abs(off) <= CLOSE,
        f"{off:+.2%}",
        "±2 %, of which 1 % is BBR.PacingMarginPercent",
        derived=True,
    )
    used = trace.acknowledged(10, 29) / rig.bandwidth
    out.check("goodput", used >= 0.95, f"{used:.1%}", "no stalls: 95 % at least", derived=True)
    return out


def ten_times_more(rig: Rig) -> Outcome:
    """Case 15."""
    out = Outcome(f"{rig.rate:g} to {10 * rig.rate:g} Mbit/s, {rig.rtt:g} ms")
    duration = 16.0
    first = rig.run(6)
    at = first.began(first.first(State.CRUISE)) + 0.5
    trace = rig.run(duration, rate=rig.changed(at, 10))
    reached = np.flatnonzero(trace["max_bw"] >= 0.98 * 10 * rig.bandwidth)
    found = len(reached) > 0
    end = int(reached[0]) if found else len(trace.time) - 1
    out.check(
        "BBR.max_bw over the new bandwidth",
        found,
        f"{trace['max_bw'].max() / (10 * rig.bandwidth):.1%}",
        "98 % at least",
        derived=True,
    )
    probing = (trace["state"] == State.UP) & (trace.time > at)
    rounds = len(np.unique(trace["round_count"][: end + 1][probing[: end + 1]]))
    most = math.ceil(math.log(10) / UP_GROWTH) + 2
    out.check(
        "round trips of PROBE_UP until then",
        found and rounds <= most,
        f"{rounds}",
        f"log(10) / {UP_GROWTH} and 2: {most} at most",
        derived=True,
    )
    out.check("time until then", found, f"{trace.time[end] - at:.2f} s", "not judged")
    probe = next(trace.of(State.UP, at))
    steps = trace["probe_up_increase"][probe.first : probe.last + 1]
    marks = trace["round_count"][probe.first : probe.last + 1]
    sizes = [float(steps[marks == each][-1]) for each in np.unique(marks)]
    ratios = [a / b for a, b in pairwise(sizes) if b > 1460]
    bound = trace.at("inflight_longterm", probe.last)
    if math.isinf(bound):
        out.check(
            "BBR.inflight_longterm in PROBE_UP",
            True,
            "none",
            "none is set without loss, so that no step is added",
        )
    else:
        out.check(
            "growth of the steps, each round",
            all(ratio > 1.5 for ratio in ratios),
            ", ".join(f"{each:.2f}" for each in ratios) or "none",
            "2",
        )
    out.draw(rig, trace, at - 1, min(trace.time[end] + 1, duration), "ten times the bandwidth")
    return out


def ten_times_less(rig: Rig) -> Outcome:
    """Case 16."""
    out = Outcome(f"{rig.rate:g} to {rig.rate / 10:g} Mbit/s, {rig.rtt:g} ms")
    first = rig.run(6)
    at = first.began(first.first(State.CRUISE)) + 0.5
    trace = rig.run(at + 20, rate=rig.changed(at, 0.1))
    target = rig.bandwidth / 10
    soon = (trace.time > at) & (trace.time < at + 3)
    least = float(trace["bw_shortterm"][soon].min())
    most = 0.71 * rig.bandwidth
    out.check(
        "least BBR.bw_shortterm in 3 s",
        least < most,
        f"{least / target:.1f} times the new bandwidth",
        "a step of BBR.Beta (0.7): 7.1 at most",
        derived=True,
    )
    cycles = [trace.left(stay) for stay in trace.of(State.DOWN, at)]
    out.check("PROBE_BW cycles after the change", len(cycles) >= 2, f"{len(cycles)}", "2 at least")
    end = trace["max_bw"][-1] / target - 1
    out.check(
        "BBR.max_bw at the end, off the new bandwidth", abs(end) <= CLOSE, f"{end:+.2%}", "±2 %"
    )
    low = np.flatnonzero((trace.time > at) & (trace["max_bw"] <= (1 + CLOSE) * target))
    when = trace.time[low[0]] - at if len(low) else math.nan
    downs = sum(1 for stay in trace.of(State.DOWN, at) if trace.began(stay) <= at + when)
    out.check(
        "cycles begun until it has fallen",
        downs <= 3,
        f"{downs}, {when:.2f} s",
        "the window of 2 cycles, and the one under way: 3 at most",
        derived=True,
    )
    out.draw(rig, trace, at - 1, at + 15, "a tenth of the bandwidth")
    return out


def policer(rig: Rig) -> Outcome:
    """Case 17: a token bucket drops; the link behind it is ten times as fast."""
    out = Outcome(f"{rig.title}, bucket {rig.bdp / 1e3:.0f} kB, link {10 * rig.rate:g} Mbit/s")
    bucket = max(MTU, int(rig.bdp))
    police = {"rate": f"{rig.rate:g}Mbit", "burst": f"{bucket}B"}
    trace = rig.run(30, rate=f"{10 * rig.rate:g}Mbit", police=police)
    lost = trace["loss_in_round"] > 0
    later = lost & np.isin(trace["state"], [int(each) for each in PROBE_BW])
    bounded = np.isfinite(trace["inflight_shortterm"][later]).any() if later.any() else False
    slowed = np.isfinite(trace["bw_shortterm"][later]).any() if later.any() else False
    out.check(
        "bounds set after losses: bw_shortterm, inflight_shortterm",
        bool(bounded and slowed),
        f"{bool(slowed)}, {bool(bounded)}".lower(),
        "true, true",
    )
    again = trace.retransmitted(15, 30)
    out.check(
        "sent again from 15 s on",
        again <= 0.02,
        f"{again:.2%}",
        "BBR.LossThresh: 2 % at most",
        derived=True,
    )
    late = trace.time > 15
    high = float(np.median(trace["max_bw"][late])) / rig.bandwidth
    out.check("BBR.max_bw over the token rate, median", True, f"{high:.2f}", "not judged")
    rate = trace.acknowledged(15, 30) / rig.bandwidth
    out.check(
        "goodput over the token rate",
        0.8 <= rate <= 1.01,
        f"{rate:.1%}",
        "80 to 101 %",
        derived=True,
    )
    out.draw(rig, trace, 0, 15, "token bucket")
    return out


def spurious_fast_recovery(rig: Rig) -> Outcome:
    """Case 18."""
    out = Outcome(rig.title)
    late = f"{rig.rtt / 4:g}ms"
    trace = rig.run(20, reorder={"share": 0.0005, "delay": late})
    lost = trace.summary["queues"]["bottleneck"]["dropped"]
    out.check("packets lost", lost == 0, f"{lost}", "0")
    return _undone(out, trace, ("Fast",), rig)


def spurious_timeout(rig: Rig) -> Outcome:
    """Case 19: the delay grows at once by more than the timeout, in PROBE_UP."""
    out = Outcome(rig.title)
    first = rig.run(8)
    at = first.began(first.first(State.UP)) + 0.5 * rig.rtt / 1e3
    base = rig.rtt / 2e3 - 2e-4
    steps = [
        ["0s", seconds(base)],
        [seconds(at), seconds(base + 1.0)],
        [seconds(at + 0.05), seconds(base)],
    ]
    trace = rig.run(at + 4, tcp={"stack": {"timeout_recovery": "f-rto"}}, delay={"steps": steps})
    lost = trace.summary["queues"]["bottleneck"]["dropped"]
    out.check("packets lost", lost == 0, f"{lost}", "0")
    return _undone(out, trace, ("Timeout", "Probing"), rig)


def _undone(out: Outcome, trace: Trace, phase: tuple[str, ...], rig: Rig) -> Outcome:
    """Whether recoveries of a sort are taken back when they end."""
    phases = trace.recovery
    inside = np.isin(phases, phase)
    begun = [int(at) + 1 for at in np.flatnonzero(inside[1:] & ~inside[:-1])]
    ended = [int(np.flatnonzero(~inside[at:])[0]) + at for at in begun if not inside[at:].all()]
    out.check("spurious recoveries", len(ended) > 0, f"{len(ended)}", "1 at least")
    saved = restored = states = 0
    for first, last in zip(begun, ended, strict=False):
        names = ("bw_shortterm", "inflight_shortterm", "inflight_longterm")
        before = [trace.at(name, first - 1) for name in names]
        kept = [trace.at(f"undo_{name}", first) for name in names]
        saved += before == kept
        after = int(np.searchsorted(trace.time, trace.time[last] + rig.rtt / 1e3))
        end = min(max(after, last), len(trace.time) - 1)
        restored += all(trace.at(n, end) >= k for n, k in zip(names, kept, strict=True))
        was, now = trace.at("state", first - 1), trace.at("state", end)
        refilled = was == State.UP and now in (State.REFILL, State.UP)
        states += now == was or refilled
    out.check("of which bounds are saved", saved == len(ended), f"{saved} of {len(ended)}", "all")
    out.check(
        "of which bounds are restored within a round trip",
        restored == len(ended),
        f"{restored} of {len(ended)}",
        "all",
    )
    out.check(
        "of which the state returns (PROBE_UP by PROBE_REFILL)",
        states == len(ended),
        f"{states} of {len(ended)}",
        "all",
    )
    return out
