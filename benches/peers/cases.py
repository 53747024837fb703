"""The scenarios that all three simulators run, and the experiments that explain differences."""

from __future__ import annotations

from dataclasses import dataclass

from peers import SIMULATORS, Case

FLOWS = (1, 4, 16, 64)
DELAYS = (0.002, 0.005, 0.02, 0.05)
CONTROLS = ("newreno", "sack", "cubic")
# Without SACK and with a minimum RTO of 0.2 s, ns-3.37 keeps sending again what arrived.
TIMERS = {"newreno": {"min_rto": 1.0}, "sack": {}, "cubic": {}}


@dataclass(frozen=True)
class Experiment:
    """One convention changed, to see what it moves."""

    reason: str
    """Key of the reason that the experiment supports."""
    change: str
    """What was changed, in words."""
    case: Case


def tail_drop() -> list[Case]:
    """Tail drop: every combination of control, flows and delay."""
    return [
        Case(tcp, {"tcp": tcp, "flows": flows, "delay": delay} | TIMERS[tcp])
        for tcp in CONTROLS
        for flows in FLOWS
        for delay in DELAYS
    ]


def delayed() -> list[Case]:
    """The same with delayed acknowledgments: two segments or 40 ms."""
    return [
        Case("delayed-ack", {"tcp": tcp, "delay": delay, "delayed_ack": 0.04} | TIMERS[tcp])
        for tcp in CONTROLS
        for delay in DELAYS
    ]


def managed() -> list[Case]:
    """Active queue management, each where a peer has it."""
    both, one = SIMULATORS, ("forebay", "ns-3")
    return [
        Case("aqm", {"queue": queue, "flows": flows, "delay": delay, "buffer": 200}, simulators)
        for queue, simulators in (("red", both), ("codel", one), ("pie", one), ("fq-codel", one))
        for flows in (4, 16, 64)
        for delay in (0.005, 0.05)
    ]


CASES = [*tail_drop(), *delayed(), *managed()]

EXPERIMENTS: list[Experiment] = []
