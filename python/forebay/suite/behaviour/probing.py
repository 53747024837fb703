"""Cases of the states that probe for bandwidth."""

from __future__ import annotations

from forebay._engine import ScenarioError
from forebay.suite.behaviour.case import Outcome
from forebay.suite.behaviour.rig import Rig, batches, seconds
from forebay.suite.behaviour.trace import State, Stay, Trace

BETA = 0.7
DOWN_GAIN = 0.9


def up_plateau(rig: Rig) -> Outcome:
    """Case 5."""
    out = Outcome(rig.title)
    trace = rig.run(_long(rig))
    probe = trace.first(State.UP)
    losses = trace.summary["queues"]["bottleneck"]["dropped"]
    out.check("packets dropped", losses == 0, f"{losses}", "0")
    limited = trace["app_limited"][probe.first : probe.last + 2].max()
    out.check("application-limited samples", limited == 0, "some" if limited else "none", "none")
    used = max(trace["inflight"][probe.first : probe.last + 1]) / rig.bdp
    out.check("largest C.inflight", used > 1, f"{used:.2f} BDP", "above 1 BDP")
    _plateau_end(out, trace, probe)
    out.draw(
        rig,
        trace,
        trace.began(probe) - 20 * rig.rtt / 1e3,
        trace.left(probe) + 20 * rig.rtt / 1e3,
        "PROBE_UP",
    )
    return out


def _plateau_end(out: Outcome, trace: Trace, probe: Stay) -> None:
    count = trace.at("full_bw_count", probe.last + 1)
    now = trace.at("full_bw_now", probe.last + 1)
    out.check(
        "BBR.full_bw_count, full_bw_now when it is left",
        count == 3 and now == 1,
        f"{count:.0f}, {'true' if now else 'false'}",
        "3, true",
    )
    _into_down(out, trace, probe)


def _into_down(out: Outcome, trace: Trace, probe: Stay) -> None:
    """PROBE_UP leads to nothing else, and is left for PROBE_CRUISE at once if nothing is queued."""
    follows = trace.follows(probe)
    said = (
        f"PROBE_{follows.name}"
        if follows == State.DOWN
        else f"PROBE_DOWN at once left for {follows.name}"
    )
    out.check("what follows PROBE_UP", follows in (State.DOWN, State.CRUISE), said, "PROBE_DOWN")


def up_loss_when_limited(rig: Rig) -> Outcome:
    """Case 6."""
    out = Outcome(rig.title)
    duration = _long(rig)
    first = rig.run(duration)
    at = first.began(first.first(State.UP))
    lossy = {"steps": [["0s", 0.0], [seconds(at), 0.1]]}
    writes = [(0.0, first.written(at)), *rig.at_rate(0.5, at, duration)]
    trace = rig.limited(duration, writes, loss=lossy)
    probe = trace.first(State.UP)
    rounds = (trace.left(probe) - at) / (rig.rtt / 1e3)
    out.check(
        "round trips of PROBE_UP until it is left",
        rounds <= 4,
        f"{rounds:.1f}",
        "4 at most",
        derived=True,
    )
    count = trace.at("full_bw_now", probe.last + 1)
    out.check("a plateau had been seen", count == 0, "true" if count else "false", "false")
    _into_down(out, trace, probe)
    limited = trace.at("app_limited", probe.last + 1)
    bound = trace.at("inflight_longterm", probe.last + 1)
    if limited:
        kept = bound == trace.at("inflight_longterm", probe.last)
        out.check(
            "BBR.inflight_longterm, the lost segment application-limited",
            kept,
            f"{bound / rig.bdp:.2f} BDP",
            "as before (HandleInflightTooHigh)",
        )
    else:
        out.check(
            "BBR.inflight_longterm, the lost segment not application-limited",
            bound < float("inf"),
            f"{bound / rig.bdp:.2f} BDP",
            "set",
        )
    return out


def never_when_limited(rig: Rig) -> Outcome:
    """Case 7: until PROBE_RTT is due, which every state makes way for."""
    out = Outcome(rig.title)
    duration = _long(rig)
    first = rig.run(duration)
    at = first.began(first.first(State.UP))
    end = at + 15
    writes = [(0.0, first.written(at)), *rig.at_rate(0.5, at, end)]
    trace = rig.limited(end, writes)
    row = int((trace.time <= at + 2 * rig.rtt / 1e3).sum())
    probe = next(stay for stay in trace.stays if stay.last >= row)
    follows = trace.follows(probe) if probe is not trace.stays[-1] else None
    stayed = (trace.left(probe) - at) / (rig.rtt / 1e3)
    out.check(
        "what ends PROBE_UP",
        probe.state == State.UP and follows in (None, State.PROBE_RTT),
        f"{follows.name if follows is not None else 'nothing'} after {stayed:.0f} round trips",
        "nothing but PROBE_RTT",
    )
    begun = rig.limited(15, rig.at_rate(0.5, 0, 15))
    states = sorted({stay.state for stay in begun.stays})
    out.check(
        "states from the beginning, for 15 s",
        set(states) <= {State.STARTUP, State.PROBE_RTT},
        ", ".join(state.name for state in states),
        "STARTUP, and PROBE_RTT",
    )
    return out


def down_by_inflight(rig: Rig) -> Outcome:
    """Case 8."""
    out = Outcome(rig.title)
    trace = rig.run(_long(rig))
    up = trace.first(State.UP)
    down = trace.first(State.DOWN, trace.time[up.last])
    gain = trace.at("pacing_gain", down.last)
    out.check("BBR.pacing_gain", gain == DOWN_GAIN, f"{gain:g}", "0.90")
    end = down.last + 1
    bounds = {"InflightWithHeadroom()": "inflight_with_headroom", "Inflight(1.0)": "inflight_bdp"}
    for what, name in bounds.items():
        share = trace.at("inflight", end) / trace.at(name, end)
        out.check(f"C.inflight / {what} when it is left", share <= 1, f"{share:.3f}", "at most 1")
    follows = trace.follows(down)
    out.check("what follows PROBE_DOWN", follows == State.CRUISE, follows.name, "PROBE_CRUISE")
    return out


def down_by_time(rig: Rig) -> Outcome:
    """Case 9: a queue that does not drain holds PROBE_DOWN."""
    out = Outcome(rig.title)
    duration = _long(rig) + 5
    first = rig.run(duration)
    up = first.first(State.UP)
    at = first.began(first.first(State.DOWN, first.time[up.last]))
    for less in (0.1, 0.15, 0.2):
        trace = rig.run(duration, rate=rig.changed(at, 1 - less))
        down = next(stay for stay in trace.of(State.DOWN, at - 1e-9))
        follows = trace.follows(down)
        if follows != State.CRUISE:
            break
    stayed, wait = trace.left(down) - at, trace.at("bw_probe_wait", down.last)
    rounds = trace.at("round_count", down.last + 1) - trace.at("round_count", down.first)
    reno = min(trace.at("bdp", down.last) / 1460, 63)
    # rounds_since_up begins with 0 or 1 by chance, in the round that is under way.
    due = stayed >= wait or rounds >= reno - 2
    out.check(
        f"time in PROBE_DOWN, bandwidth {less:.0%} less",
        due,
        f"{stayed:.2f} s, {rounds:.0f} round trips",
        f"bw_probe_wait {wait:.2f} s, or {reno:.0f} round trips (IsRenoCoexistenceProbeTime)",
    )
    out.check("what follows PROBE_DOWN", follows == State.REFILL, follows.name, "PROBE_REFILL")
    return out


def cruise_with_aggregation(rig: Rig) -> Outcome:
    """Case 13."""
    out = Outcome(rig.title)
    duration = _long(rig) + 3
    first = rig.run(duration)
    at = first.began(first.first(State.CRUISE))
    period = rig.rtt / 4e3
    trace = rig.run(duration, reverse={"rate": batches(at, duration, period, "1Gbit")})
    batch = rig.bandwidth * period
    rows = trace.time > at + 4 * rig.rtt / 1e3
    extra = trace["extra_acked"][rows].min() / batch
    out.check(
        "least BBR.extra_acked from four round trips on",
        extra >= 0.4,
        f"{extra:.2f} batches",
        "a batch or so: 0.4 at least",
        derived=True,
    )
    cruise = (trace["state"] == State.CRUISE) & rows
    window = (trace["cwnd"] - 2 * trace["bdp"])[cruise].max() / batch
    out.check(
        "C.cwnd beyond 2 BDP in PROBE_CRUISE",
        window > 0.4,
        f"{window:.2f} batches",
        "extra_acked: 0.4 at least",
        derived=True,
    )
    span = (at + 4 * rig.rtt / 1e3, duration)
    share = trace.acknowledged(*span) / first.acknowledged(*span)
    out.check(
        "goodput over that without batches",
        share >= 0.98,
        f"{share:.1%}",
        "98 % at least",
        derived=True,
    )
    return out


def loss_with_longterm(rig: Rig) -> Outcome:
    """Case 21."""
    out = Outcome(rig.title)
    duration = 3 * _long(rig)
    first = rig.run(duration)
    bounds = ((stay, first.at("inflight_longterm", stay.first)) for stay in first.of(State.UP, 2.0))
    probe = next((stay for stay, bound in bounds if bound < float("inf")), None)
    if probe is None:
        raise ScenarioError("no PROBE_UP has BBR.inflight_longterm set")
    at = first.began(probe)
    before = first.at("inflight_longterm", probe.first)
    trace = rig.run(duration, loss={"steps": [["0s", 0.0], [seconds(at), 0.1]]})
    up = next(trace.of(State.UP, at - 1e-9))
    now = trace.at("full_bw_now", up.last + 1)
    out.check("a plateau had been seen", now == 0, "true" if now else "false", "false")
    after = trace.at("inflight_longterm", up.last + 1)
    least = BETA * min(trace.at("bdp", up.last), trace.at("cwnd", up.last))
    out.check(
        "BBR.inflight_longterm after / before", after < before, f"{after / before:.2f}", "below 1"
    )
    out.check(
        "the same over Beta * TargetInflight()",
        after >= 0.999 * least,
        f"{after / least:.2f}",
        "1 at least",
    )
    _into_down(out, trace, up)
    return out


def limited_in_refill(rig: Rig) -> Outcome:
    """Case 22."""
    out = Outcome(rig.title)
    duration = _long(rig)
    first = rig.run(duration)
    at = first.began(first.first(State.REFILL))
    pause = 1.5 * rig.rtt / 1e3
    enough = int(rig.bandwidth * duration)
    trace = rig.limited(duration, [(0.0, first.written(at)), (at + pause, enough)])
    refill = trace.first(State.REFILL, at - 1e-9)
    before = trace.at("max_bw", refill.first)
    during = trace["max_bw"][refill.first : refill.last + 2]
    out.check(
        "change of BBR.max_bw in PROBE_REFILL",
        during.max() == during.min() == before,
        f"{during.max() / before - 1:+.2%}",
        "0",
    )
    limited = trace["app_limited"][refill.first + 1 : refill.last + 2]
    rates = trace["delivery_rate"][refill.first + 1 : refill.last + 2]
    low = rates[limited > 0].min() / before if limited.any() else float("nan")
    out.check(
        "least application-limited sample / max_bw",
        bool(limited.any() and low < 1),
        f"{low:.2f}",
        "below 1",
    )
    follows = trace.follows(refill)
    out.check("what follows PROBE_REFILL", follows == State.UP, follows.name, "PROBE_UP")
    up = trace.first(State.UP, trace.time[refill.last])
    _into_down(out, trace, up)
    return out


def _long(rig: Rig) -> float:
    """Seconds until a first probe for bandwidth is over, by far."""
    return 5 + 60 * rig.rtt / 1e3
