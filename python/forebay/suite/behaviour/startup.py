"""Cases of Startup and Drain, and of paths with aggregation while they last."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from forebay.suite.behaviour.case import Outcome
from forebay.suite.behaviour.rig import Course, Rig, batches, seconds
from forebay.suite.behaviour.trace import PROBE_BW, State, Stay, Trace

DRAIN_GAIN = 0.5
LOSS_THRESH = 0.02
CLOSE = 0.02
"""How near an estimate must be to the simulated bandwidth (case 1, step 3)."""


def plateau(rig: Rig) -> Outcome:
    """Case 1."""
    out = Outcome(rig.title)
    trace = rig.run(3 + 60 * rig.rtt / 1e3)
    startup = trace.stays[0]
    off = trace.at("max_bw", startup.last + 1) / rig.bandwidth - 1
    out.check("BBR.max_bw off the bandwidth", abs(off) <= CLOSE, f"{off:+.2%}", "±2 %")
    rates = _of_rounds(trace["delivery_rate"], trace["round_count"], startup.last + 1)
    growth = max(b / a - 1 for a, b in zip(rates[-4:], rates[-3:], strict=False))
    out.check("growth in the last three rounds", growth < 0.25, f"{growth:.1%}", "below 25 %")
    counted = trace.at("full_bw_count", startup.last + 1)
    out.check("BBR.full_bw_count at the end", counted == 3, f"{counted:.0f}", "3")
    flags = [trace.at(name, startup.last + 1) for name in ("full_bw_now", "full_bw_reached")]
    out.check("full_bw_now, full_bw_reached", flags == [1, 1], _flags(flags), "true, true")
    _into_drain(out, trace, startup)
    out.draw(rig, trace, 0, trace.left(startup) + 30 * rig.rtt / 1e3, "Startup and Drain")
    return out


def loss_when_limited(rig: Rig) -> Outcome:
    """Case 2."""
    out = Outcome(rig.title)
    begin = 30 * rig.rtt / 1e3
    trace = rig.limited(begin + 2, rig.at_rate(0.5, 0, begin + 2), loss=_lossy(begin, rig))
    startup = trace.stays[0]
    left = len(trace.stays) > 1
    said = f"{trace.left(startup) - begin:.3f} s after losses begin" if left else "no"
    out.check("Startup is left", left, said, "yes")
    early = 5 * rig.rtt / 1e3
    endless = rig.run(early + 2, loss=_lossy(early, rig))
    first = endless.stays[0]
    count = endless.at("full_bw_count", first.last + 1)
    said = f"{endless.left(first) - early:.3f} s after, full_bw_count {count:.0f}"
    out.check("the same with endless data", len(endless.stays) > 1, said, "not judged")
    if not left:
        return out
    limited = trace.at("app_limited", startup.last + 1)
    out.check("samples are application-limited", limited == 1, _flags([limited]), "true")
    rounds = (trace.left(startup) - begin) / (rig.rtt / 1e3)
    out.check("rounds of loss until then", 0 < rounds <= 4, f"{rounds:.1f}", "1 to 4", derived=True)
    flags = [trace.at(name, startup.last + 1) for name in ("full_bw_now", "full_bw_reached")]
    out.check("full_bw_now, full_bw_reached", flags == [1, 1], _flags(flags), "true, true")
    _into_drain(out, trace, startup)
    counted = trace.at("full_bw_count", startup.last + 1)
    out.check("plateau rounds at the end", counted < 3, f"{counted:.0f}", "below 3: loss ends it")
    return out


def drained(rig: Rig) -> Outcome:
    """Case 3."""
    out = Outcome(rig.title)
    trace = rig.run(3 + 60 * rig.rtt / 1e3)
    drain = trace.first(State.DRAIN)
    gain = trace.at("pacing_gain", drain.last)
    out.check("BBR.pacing_gain", gain == DRAIN_GAIN, f"{gain:g}", "0.5")
    before = min((trace["inflight"] / trace["inflight_bdp"])[drain.first : drain.last + 1])
    out.check("C.inflight / Inflight(1.0) while in Drain", before > 1, f"{before:.3f}", "above 1")
    share = trace.at("inflight", drain.last + 1) / trace.at("inflight_bdp", drain.last + 1)
    out.check("the same when it is left", share <= 1, f"{share:.3f}", "at most 1")
    follows = trace.follows(drain)
    out.check("what follows Drain", follows in PROBE_BW, follows.name, "PROBE_BW")
    return out


def drained_by_time(rig: Rig) -> Outcome:
    """Case 4: the bandwidth is reduced until the case's third step is met."""
    out = Outcome(rig.title)
    duration = 3 + 60 * rig.rtt / 1e3
    begun = rig.run(duration)
    at = begun.began(begun.first(State.DRAIN))
    for less in (0.1, 0.3, 0.5):
        trace = rig.run(duration, rate=rig.changed(at, 1 - less))
        drain = trace.first(State.DRAIN)
        share = trace.at("inflight", drain.last + 1) / trace.at("inflight_bdp", drain.last + 1)
        if share > 1:
            break
    out.check(
        f"C.inflight / Inflight(1.0) when Drain is left, bandwidth {less:.0%} less",
        share > 1,
        f"{share:.3f}",
        "above 1",
    )
    rounds = trace.at("round_count", drain.last + 1) - trace.at("drain_start_round", drain.last + 1)
    out.check("round trips in Drain", 3 < rounds <= 4, f"{rounds:.0f}", "the first after 3")
    follows = trace.follows(drain)
    out.check("what follows Drain", follows in PROBE_BW, follows.name, "PROBE_BW")
    return out


def startup_with_aggregation(rig: Rig) -> Outcome:
    """Case 12."""
    out = Outcome(rig.title)
    duration = 3 + 60 * rig.rtt / 1e3
    period = rig.rtt / 2e3
    trace = rig.run(duration, reverse={"rate": batches(0, duration, period, "1Gbit")})
    startup = trace.stays[0]
    end = startup.last + 1
    extra = trace["extra_acked"][: end + 1].max()
    batch = rig.bandwidth * period
    out.check(
        "largest BBR.extra_acked",
        extra >= 0.5 * batch,
        f"{extra / batch:.2f} batches",
        "a batch of 0.5 RTT or so: 0.5 at least",
        derived=True,
    )
    window = trace["cwnd"][: end + 1].max() / rig.bdp
    out.check("C.cwnd", window > 2, f"{window:.2f} BDP", "above 2 BDP")
    reached = trace.at("max_bw", end) / rig.bandwidth
    out.check(
        "bandwidth found in Startup",
        reached >= 1 - CLOSE,
        f"{reached:.1%}",
        "98 % at least",
        derived=True,
    )
    rates = _of_rounds(trace["max_bw"], trace["round_count"], end)
    doubled = max(b / a for a, b in pairwise(rates) if a > 0)
    out.check(
        "largest growth in a round",
        doubled >= 1.8,
        f"{doubled:.2f}",
        "about 2: 1.8 at least",
        derived=True,
    )
    out.draw(rig, trace, 0, trace.left(startup) + 20 * rig.rtt / 1e3, "Startup, ACKs in batches")
    return out


def probe_rtt_in_startup(rig: Rig) -> Outcome:
    """Case 20: an application at a tenth of the bandwidth holds Startup for longer than 5 s."""
    out = Outcome(rig.title)
    trace = rig.limited(9, rig.at_rate(0.1, 0, 9))
    states = [stay.state for stay in trace.stays]
    probe = next((stay for stay in trace.of(State.PROBE_RTT)), None)
    reached = probe is not None and trace.at("full_bw_reached", probe.last) == 0
    out.check(
        "PROBE_RTT before full_bw_reached",
        reached,
        "none" if probe is None else f"at {trace.began(probe):.2f} s",
        "after 5 s",
    )
    follows = "nothing" if probe is None else trace.follows(probe).name
    out.check("what follows PROBE_RTT", follows == "STARTUP", follows, "STARTUP")
    out.check(
        "states in 9 s",
        set(states) == {State.STARTUP, State.PROBE_RTT},
        ", ".join(state.name for state in states),
        "STARTUP, PROBE_RTT, STARTUP",
    )
    return out


def _lossy(begin: float, rig: Rig) -> Course:
    """15 % of what is sent in one round trip is lost."""
    end = begin + rig.rtt / 1e3
    return {"steps": [["0s", 0.0], [seconds(begin), 0.15], [seconds(end), 0.0]]}


def _into_drain(out: Outcome, trace: Trace, startup: Stay) -> None:
    """Drain begins, and ends with the same acknowledgment if nothing is queued."""
    end, follows = startup.last + 1, trace.follows(startup)
    entered = trace.at("drain_start_round", end) == trace.at("round_count", end)
    said = follows.name if follows == State.DRAIN else f"DRAIN at once left for {follows.name}"
    out.check("what follows Startup", entered, said if entered else follows.name, "DRAIN")


def _of_rounds(values: np.ndarray, rounds: np.ndarray, end: int) -> list[float]:
    """The last value of every round up to a row."""
    last = np.flatnonzero(np.diff(rounds[: end + 1]))
    return [float(values[at]) for at in [*last, end] if values[at] > 0]


def _flags(flags: list[float]) -> str:
    return ", ".join("true" if flag else "false" for flag in flags)
