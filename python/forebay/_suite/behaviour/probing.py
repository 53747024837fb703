"""Measures of the states that probe for bandwidth."""

from __future__ import annotations

from math import inf, nan

from forebay._engine import ScenarioError
from forebay._suite.behaviour.rig import COURSE, Numbers, Rig, batches, seconds
from forebay._suite.behaviour.trace import State, Stay, Trace

BETA = 0.7


def up_plateau(rig: Rig) -> Numbers:
    """The first PROBE_UP of endless data."""
    trace = rig.run(_long(rig))
    probe = trace.first(State.UP)
    limited = trace["app_limited"][probe.first : probe.last + 2].max()
    count, now = (trace.at(name, probe.last + 1) for name in ("full_bw_count", "full_bw_now"))
    around = 20 * rig.rtt / 1e3
    ends = trace.began(probe) - around, trace.left(probe) + around
    return {
        "dropped": trace.summary["queues"]["bottleneck"]["dropped"],
        "limited": limited,
        "samples": "some" if limited else "none",
        "used": max(trace["inflight"][probe.first : probe.last + 1]) / rig.bdp,
        "plateau": count == 3 and now == 1,
        "count": count,
        "now": bool(now),
        **_into_down(trace, probe),
        COURSE: rig.course(trace, *ends, "PROBE_UP"),
    }


def up_loss_when_limited(rig: Rig) -> Numbers:
    """Losses in PROBE_UP while the application limits it."""
    duration = _long(rig)
    first = rig.run(duration)
    at = first.began(first.first(State.UP))
    lossy = {"steps": [["0s", 0.0], [seconds(at), 0.1]]}
    writes = [(0.0, first.written(at)), *rig.at_rate(0.5, at, duration)]
    trace = rig.limited(duration, writes, loss=lossy)
    probe = trace.first(State.UP)
    end = probe.last + 1
    bound = trace.at("inflight_longterm", end)
    same = bound == trace.at("inflight_longterm", probe.last)
    return {
        "rounds": (trace.left(probe) - at) / (rig.rtt / 1e3),
        "seen": bool(trace.at("full_bw_now", end)),
        **_into_down(trace, probe),
        "bound": bound / rig.bdp,
        **({"kept": same} if trace.at("app_limited", end) else {"set": bound < inf}),
    }


def never_when_limited(rig: Rig) -> Numbers:
    """PROBE_UP and Startup while the application limits them and nothing is lost.

    PROBE_UP lasts until PROBE_RTT is due, which every state makes way for.
    """
    first = rig.run(_long(rig))
    at = first.began(first.first(State.UP))
    end = at + 15
    trace = rig.limited(end, [(0.0, first.written(at)), *rig.at_rate(0.5, at, end)])
    row = int((trace.time <= at + 2 * rig.rtt / 1e3).sum())
    probe = next(stay for stay in trace.stays if stay.last >= row)
    follows = trace.follows(probe) if probe is not trace.stays[-1] else None
    begun = rig.limited(15, rig.at_rate(0.5, 0, 15))
    states = sorted({stay.state for stay in begun.stays})
    return {
        "lasted": probe.state == State.UP and follows in (None, State.PROBE_RTT),
        "ended_by": "nothing" if follows is None else follows,
        "stayed": (trace.left(probe) - at) / (rig.rtt / 1e3),
        "no_others": set(states) <= {State.STARTUP, State.PROBE_RTT},
        "states": ", ".join(state.name for state in states),
    }


def down_by_inflight(rig: Rig) -> Numbers:
    """The PROBE_DOWN after the first PROBE_UP."""
    trace = rig.run(_long(rig))
    up = trace.first(State.UP)
    down = trace.first(State.DOWN, trace.time[up.last])
    end = down.last + 1
    flight = trace.at("inflight", end)
    return {
        "gain": trace.at("pacing_gain", down.last),
        "of_headroom": flight / trace.at("inflight_with_headroom", end),
        "of_bdp": flight / trace.at("inflight_bdp", end),
        "follows": trace.follows(down),
    }


def down_by_time(rig: Rig) -> Numbers:
    """PROBE_DOWN with so much less bandwidth that the queue does not drain."""
    duration = _long(rig) + 5
    first = rig.run(duration)
    up = first.first(State.UP)
    at = first.began(first.first(State.DOWN, first.time[up.last]))
    for less in (0.1, 0.15, 0.2):
        trace = rig.run(duration, rate=rig.changed(at, 1 - less))
        down = next(trace.of(State.DOWN, at - 1e-9))
        follows = trace.follows(down)
        if follows != State.CRUISE:
            break
    stayed, wait = trace.left(down) - at, trace.at("bw_probe_wait", down.last)
    rounds = trace.at("round_count", down.last + 1) - trace.at("round_count", down.first)
    reno = min(trace.at("bdp", down.last) / 1460, 63)
    return {
        "less": less,
        # rounds_since_up begins with 0 or 1 by chance, in the round that is under way.
        "due": stayed >= wait or rounds >= reno - 2,
        "stayed": stayed,
        "wait": wait,
        "rounds": rounds,
        "reno": reno,
        "follows": follows,
    }


def cruise_with_aggregation(rig: Rig) -> Numbers:
    """PROBE_CRUISE with acknowledgments in batches of a quarter of a round trip."""
    duration = _long(rig) + 3
    first = rig.run(duration)
    at = first.began(first.first(State.CRUISE))
    period = rig.rtt / 4e3
    trace = rig.run(duration, reverse={"rate": batches(at, duration, period, "1Gbit")})
    batch = rig.bandwidth * period
    rows = trace.time > at + 4 * rig.rtt / 1e3
    cruise = (trace["state"] == State.CRUISE) & rows
    span = (at + 4 * rig.rtt / 1e3, duration)
    return {
        "extra": trace["extra_acked"][rows].min() / batch,
        "window": (trace["cwnd"] - 2 * trace["bdp"])[cruise].max() / batch,
        "share": trace.acknowledged(*span) / first.acknowledged(*span),
    }


def loss_with_longterm(rig: Rig) -> Numbers:
    """Losses in a PROBE_UP that begins with BBR.inflight_longterm set."""
    duration = 3 * _long(rig)
    first = rig.run(duration)
    bounds = ((stay, first.at("inflight_longterm", stay.first)) for stay in first.of(State.UP, 2.0))
    probe = next((stay for stay, bound in bounds if bound < inf), None)
    if probe is None:
        raise ScenarioError("no PROBE_UP has BBR.inflight_longterm set")
    at = first.began(probe)
    before = first.at("inflight_longterm", probe.first)
    trace = rig.run(duration, loss={"steps": [["0s", 0.0], [seconds(at), 0.1]]})
    up = next(trace.of(State.UP, at - 1e-9))
    after = trace.at("inflight_longterm", up.last + 1)
    return {
        "seen": bool(trace.at("full_bw_now", up.last + 1)),
        "fell": after < before,
        "change": after / before,
        "over": after / (BETA * min(trace.at("bdp", up.last), trace.at("cwnd", up.last))),
        **_into_down(trace, up),
    }


def limited_in_refill(rig: Rig) -> Numbers:
    """A pause of the application in PROBE_REFILL."""
    duration = _long(rig)
    first = rig.run(duration)
    at = first.began(first.first(State.REFILL))
    pause = 1.5 * rig.rtt / 1e3
    enough = int(rig.bandwidth * duration)
    trace = rig.limited(duration, [(0.0, first.written(at)), (at + pause, enough)])
    refill = trace.first(State.REFILL, at - 1e-9)
    before = trace.at("max_bw", refill.first)
    during = trace["max_bw"][refill.first : refill.last + 2]
    limited = trace["app_limited"][refill.first + 1 : refill.last + 2] > 0
    rates = trace["delivery_rate"][refill.first + 1 : refill.last + 2]
    least = rates[limited].min() / before if limited.any() else nan
    return {
        "same": during.max() == during.min() == before,
        "change": during.max() / before - 1,
        "low": least < 1,
        "least": least,
        "follows": trace.follows(refill),
        **_into_down(trace, trace.first(State.UP, trace.time[refill.last])),
    }


def _into_down(trace: Trace, probe: Stay) -> Numbers:
    """PROBE_UP leads to nothing else, and is left for PROBE_CRUISE at once if nothing is queued."""
    follows = trace.follows(probe)
    at_once = f"PROBE_DOWN at once left for {follows.name}"
    return {
        "after_up": follows,
        "into_down": f"PROBE_{follows.name}" if follows == State.DOWN else at_once,
    }


def _long(rig: Rig) -> float:
    """Seconds until a first probe for bandwidth is over, by far."""
    return 5 + 60 * rig.rtt / 1e3
