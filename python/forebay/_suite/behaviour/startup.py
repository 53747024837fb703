"""Measures of Startup and Drain, and of paths with aggregation while they last."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from forebay._suite.behaviour.rig import COURSE, Changes, Numbers, Rig, batches, seconds
from forebay._suite.behaviour.trace import State, Stay, Trace


def plateau(rig: Rig) -> Numbers:
    """Startup and Drain of endless data."""
    trace = rig.run(3 + 60 * rig.rtt / 1e3)
    startup = trace.stays[0]
    end = startup.last + 1
    rates = _of_rounds(trace["delivery_rate"], trace["round_count"], end)
    until = trace.left(startup) + 30 * rig.rtt / 1e3
    return {
        "off": trace.at("max_bw", end) / rig.bandwidth - 1,
        "growth": max(b / a - 1 for a, b in zip(rates[-4:], rates[-3:], strict=False)),
        "count": trace.at("full_bw_count", end),
        **_full(trace, end),
        **_into_drain(trace, startup),
        COURSE: rig.course(trace, 0, until, "Startup and Drain"),
    }


def loss_when_limited(rig: Rig) -> Numbers:
    """Losses in Startup while the application limits it, and with endless data."""
    begin = 30 * rig.rtt / 1e3
    trace = rig.limited(begin + 2, rig.at_rate(0.5, 0, begin + 2), loss=_lossy(begin, rig))
    startup = trace.stays[0]
    left = len(trace.stays) > 1
    early = 5 * rig.rtt / 1e3
    endless = rig.run(early + 2, loss=_lossy(early, rig))
    first = endless.stays[0]
    found = {
        "left": left,
        "left_at": f"{trace.left(startup) - begin:.3f} s after losses begin" if left else "no",
        "endless": len(endless.stays) > 1,
        "endless_at": endless.left(first) - early,
        "endless_count": endless.at("full_bw_count", first.last + 1),
    }
    if not left:
        return found
    end = startup.last + 1
    return {
        **found,
        "limited": trace.at("app_limited", end) == 1,
        "rounds": (trace.left(startup) - begin) / (rig.rtt / 1e3),
        "count": trace.at("full_bw_count", end),
        **_full(trace, end),
        **_into_drain(trace, startup),
    }


def drained(rig: Rig) -> Numbers:
    """Drain of endless data."""
    trace = rig.run(3 + 60 * rig.rtt / 1e3)
    drain = trace.first(State.DRAIN)
    shares = trace["inflight"] / trace["inflight_bdp"]
    return {
        "gain": trace.at("pacing_gain", drain.last),
        "before": min(shares[drain.first : drain.last + 1]),
        "share": float(shares[drain.last + 1]),
        "follows": trace.follows(drain),
    }


def drained_by_time(rig: Rig) -> Numbers:
    """Drain with so much less bandwidth that the queue lasts until time ends it."""
    duration = 3 + 60 * rig.rtt / 1e3
    begun = rig.run(duration)
    at = begun.began(begun.first(State.DRAIN))
    for less in (0.1, 0.3, 0.5):
        trace = rig.run(duration, rate=rig.changed(at, 1 - less))
        drain = trace.first(State.DRAIN)
        end = drain.last + 1
        share = trace.at("inflight", end) / trace.at("inflight_bdp", end)
        if share > 1:
            break
    return {
        "less": less,
        "share": share,
        "rounds": trace.at("round_count", end) - trace.at("drain_start_round", end),
        "follows": trace.follows(drain),
    }


def startup_with_aggregation(rig: Rig) -> Numbers:
    """Startup with acknowledgments in batches of half a round trip."""
    duration = 3 + 60 * rig.rtt / 1e3
    period = rig.rtt / 2e3
    trace = rig.run(duration, reverse={"rate": batches(0, duration, period, "1Gbit")})
    startup = trace.stays[0]
    end = startup.last + 1
    rates = _of_rounds(trace["max_bw"], trace["round_count"], end)
    until = trace.left(startup) + 20 * rig.rtt / 1e3
    return {
        "extra": trace["extra_acked"][: end + 1].max() / (rig.bandwidth * period),
        "window": trace["cwnd"][: end + 1].max() / rig.bdp,
        "reached": trace.at("max_bw", end) / rig.bandwidth,
        "growth": max(b / a for a, b in pairwise(rates) if a > 0),
        COURSE: rig.course(trace, 0, until, "Startup, ACKs in batches"),
    }


def probe_rtt_in_startup(rig: Rig) -> Numbers:
    """An application at a tenth of the bandwidth, which holds Startup for longer than 5 s."""
    trace = rig.limited(9, rig.at_rate(0.1, 0, 9))
    states = [stay.state for stay in trace.stays]
    probe = next(trace.of(State.PROBE_RTT), None)
    follows = None if probe is None else trace.follows(probe)
    return {
        "before": probe is not None and trace.at("full_bw_reached", probe.last) == 0,
        "at": "none" if probe is None else f"at {trace.began(probe):.2f} s",
        "back": follows == State.STARTUP,
        "follows": "nothing" if follows is None else follows,
        "no_others": set(states) == {State.STARTUP, State.PROBE_RTT},
        "states": ", ".join(state.name for state in states),
    }


def _lossy(begin: float, rig: Rig) -> Changes:
    """15 % of what is sent in one round trip is lost."""
    end = begin + rig.rtt / 1e3
    return {"steps": [["0s", 0.0], [seconds(begin), 0.15], [seconds(end), 0.0]]}


def _full(trace: Trace, row: int) -> Numbers:
    """Whether the plateau is seen."""
    now, reached = (trace.at(name, row) == 1 for name in ("full_bw_now", "full_bw_reached"))
    return {"full": now and reached, "full_now": now, "full_reached": reached}


def _into_drain(trace: Trace, startup: Stay) -> Numbers:
    """Drain begins, and ends with the same acknowledgment if nothing is queued."""
    end, follows = startup.last + 1, trace.follows(startup)
    entered = trace.at("drain_start_round", end) == trace.at("round_count", end)
    at_once = entered and follows != State.DRAIN
    said = f"DRAIN at once left for {follows.name}" if at_once else follows
    return {"drained": entered, "follows": said}


def _of_rounds(values: np.ndarray, rounds: np.ndarray, end: int) -> list[float]:
    """The last value of every round up to a row."""
    last = np.flatnonzero(np.diff(rounds[: end + 1]))
    return [float(values[at]) for at in [*last, end] if values[at] > 0]
