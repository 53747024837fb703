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


CUBIC_APART: list[dict[str, Any]] = [
    {"tcp": "cubic", "flows": flows, "delay": delay}
    for flows, delay in ((1, 0.002), (4, 0.02), (4, 0.05), (16, 0.05), (64, 0.05))
]
"""Where CUBIC's windows decide."""


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
        Case("aqm", managed_by(queue, flows, delay), simulators)
        for queue, simulators in (("red", both), ("codel", one), ("pie", one), ("fq-codel", one))
        for flows in (4, 16, 64)
        for delay in (0.005, 0.05)
    ]


def managed_by(queue: str, flows: int, delay: float) -> dict[str, Any]:
    """Active queue management with room for 200 packets."""
    return {"queue": queue, "flows": flows, "delay": delay, "buffer": 200}


def peer_by(
    reason: str, words: str, peer: str, change: Mapping[str, Any], *scenarios: Mapping[str, Any]
) -> list[Experiment]:
    """Scenarios in which a peer follows a convention of forebay."""
    return [
        Experiment(reason, words, Case("experiments", options, (peer,), {peer: change}))
        for options in scenarios
    ]


def cubic_by(change: Mapping[str, Any], words: str) -> list[Experiment]:
    """CUBIC where forebay stands apart, with ns-2's changed."""
    return peer_by("friendly", words, "ns-2", change, *CUBIC_APART)


def forebay_by(
    reason: str, words: str, change: Mapping[str, Any], *scenarios: Mapping[str, Any]
) -> list[Experiment]:
    """Scenarios in which forebay follows a convention of the peers."""
    return [
        Experiment(reason, words, Case("experiments", options, ("forebay",), {"forebay": change}))
        for options in scenarios
    ]


def queue_by(
    reason: str, words: str, change: Mapping[str, Any], *scenarios: Mapping[str, Any]
) -> list[Experiment]:
    """Scenarios with other fields of forebay's queue."""
    return [
        Experiment(
            reason, words, Case("experiments", {**options, "own_queue": change}, ("forebay",))
        )
        for options in scenarios
    ]


def disturbed(tcp: str, delay: float) -> Experiment:
    """Sixteen flows of forebay with a little traffic beside them."""
    options = {"tcp": tcp, "delay": delay, "flows": 16} | TIMERS[tcp]
    words = "1 % of Poisson traffic beside the flows"
    case = Case("experiments", options | {"background": 100e3}, ("forebay",))
    return Experiment("lockstep", words, case)


LOCKSTEP: dict[str, Any] = {"tcp": "newreno", "delay": 0.02, "flows": 16} | TIMERS["newreno"]

CASES = [*tail_drop(), *delayed(), *managed()]

EXPERIMENTS = [
    *cubic_by({"cubic_beta": 717}, "beta 0.7 instead of 0.8"),
    *cubic_by({"cubic_beta": 717, "cubic_friendly": 0}, "beta 0.7, and no Reno-friendly region"),
    *forebay_by(
        "friendly",
        "CUBIC of 2008, beta 0.8",
        {
            "congestion": "cubic-2008",
            "stack": {"kind": "standard", "growth_per_ack": 1},
            "cubic-2008": {"beta": 0.8},
        },
        *CUBIC_APART,
    ),
    *forebay_by(
        "backoff",
        "timestamps",
        {"timestamps": True},
        *(
            {"tcp": "newreno", "flows": flows, "delay": delay} | TIMERS["newreno"]
            for flows, delay in ((16, 0.002), *((64, delay) for delay in DELAYS))
        ),
    ),
    *queue_by(
        "short",
        "a short queue spared",
        {"spare_short": True},
        *(managed_by("red", flows, 0.05) for flows in (4, 16, 64)),
    ),
    *(
        experiment
        for queue, target in (("codel", "6.2ms"), ("pie", "16.2ms"), ("fq-codel", "6.2ms"))
        for experiment in queue_by(
            "device",
            f"a target of {target}, a packet more",
            {"target": target},
            *(managed_by(queue, 4, delay) for delay in (0.005, 0.05)),
        )
    ),
    disturbed("cubic", 0.02),
    disturbed("cubic", 0.05),
    *forebay_by(
        "growth",
        "growth by acknowledgments (RFC 2581)",
        {"congestion": "rfc2581"},
        LOCKSTEP,
        managed_by("fq-codel", 4, 0.05),
    ),
    *peer_by("growth", "no burst after recovery", "ns-2", {"exit_fix": 1}, LOCKSTEP),
    *peer_by(
        "flight",
        "half of the window kept at a loss",
        "ns-3",
        {"control": "half-window"},
        *(managed_by("fq-codel", 4, delay) for delay in (0.005, 0.05)),
    ),
]
