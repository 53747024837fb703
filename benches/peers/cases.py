"""The scenarios that all three simulators run, and the experiments that explain differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from peers import SIMULATORS, Case

FLOWS = (1, 4, 16, 64)
DELAYS = (0.002, 0.005, 0.02, 0.05)
CONTROLS = ("newreno", "sack", "cubic")
# Without SACK and with a minimum RTO of 0.2 s, ns-3.37 keeps sending again what arrived.
TIMERS: dict[str, dict[str, Any]] = {"newreno": {"min_rto": 1.0}, "sack": {}, "cubic": {}}


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


def cubic_by(change: Mapping[str, Any], words: str) -> list[Experiment]:
    """CUBIC where forebay stands apart, with ns-2's changed."""
    return [
        Experiment(
            "friendly",
            words,
            Case(
                "experiments",
                {"tcp": "cubic", "flows": flows, "delay": delay},
                ("ns-2",),
                {"ns-2": change},
            ),
        )
        for flows, delay in ((1, 0.002), (4, 0.02), (4, 0.05), (16, 0.05), (64, 0.05))
    ]


def disturbed(tcp: str, delay: float) -> Experiment:
    """Sixteen flows of forebay with a little traffic beside them."""
    options = {"tcp": tcp, "delay": delay, "flows": 16} | TIMERS[tcp]
    words = "1 % of Poisson traffic beside the flows"
    case = Case("experiments", options | {"background": 100e3}, ("forebay",))
    return Experiment("lockstep", words, case)


CASES = [*tail_drop(), *delayed(), *managed()]

EXPERIMENTS = [
    *cubic_by({"cubic_beta": 717}, "beta 0.7 instead of 0.8"),
    *cubic_by({"cubic_beta": 717, "cubic_friendly": 0}, "beta 0.7, and no Reno-friendly region"),
    disturbed("cubic", 0.02),
    disturbed("cubic", 0.05),
]
