"""The claims CQ-1 to CQ-12 and the authors' conclusions, in the paper's words."""

from __future__ import annotations

from collections.abc import Callable

from forebay.papers import Claim, Conclusion, Data, Part, exactly

from .parts import (
    alike,
    cq_1,
    cq_2,
    cq_3,
    cq_4,
    cq_5,
    cq_6,
    cq_7,
    cq_8,
    cq_9,
    cq_10,
    cq_11,
    dropped,
    lost_for_others,
    tcp_saved,
)
from .points import CQ, HIGH, LOW, NONE, View, load, mixed, queueing, tcp
from .reasons import why_6, why_8, why_10


def of(
    judge: Callable[[View], list[Part]], make: Callable[[Data], View]
) -> Callable[[Data], list[Part]]:
    """The claim as judged by the main study."""
    return lambda data: judge(make(data))


ON_TCP: dict[str, Callable[[View], list[Part]]] = {
    "CQ-1": cq_1,
    "CQ-2": cq_2,
    "CQ-3": cq_3,
    "CQ-4": cq_4,
    "CQ-5": cq_5,
    "CQ-6": cq_6,
    "CQ-12": lambda view: [tcp_saved(view)],
}
ON_MIXED: dict[str, Callable[[View], list[Part]]] = {
    "CQ-7": cq_7,
    "CQ-8": cq_8,
    "CQ-9": cq_9,
    "CQ-10": cq_10,
    "CQ-12": lambda view: [lost_for_others(view)],
}
"""What is also judged under every other choice; of CQ-1 without the comparison flow by flow."""

CLAIMS = (
    Claim(
        "CQ-1",
        'Figure 3: without preemption "there should be no packet loss for 7 or less transmitters", '
        'and loss "for 8 or more"; both precedences "suffer packet losses which increase as the '
        'number of flows increase".',
        lambda data: [*cq_1(tcp(data)), *alike(data)],
        ("tcp", "equal-loss"),
    ),
    Claim(
        "CQ-2",
        'Figure 3: with CQ-AQM "the high P-L TCP flows no longer suffer packet losses", "all the '
        'packet losses are incurred by the low P-L TCP flows".',
        of(cq_2, tcp),
        ("tcp",),
    ),
    Claim(
        "CQ-3",
        'Figure 2: p = 1 throughput "reaches a fixed value of roughly 60 pps independent of the '
        'number of flows", T = W / RT.',
        of(cq_3, tcp),
        ("tcp",),
    ),
    Claim(
        "CQ-4",
        'Figure 2: throughputs of p = 0 "continuously decrease as the number of flows increases"; '
        '"in all cases the line utilization is close to 100%".',
        of(cq_4, tcp),
        ("tcp",),
    ),
    Claim(
        "CQ-5",
        'Figure 4: "delays initially increase as we increase the number of flows" and "reach a '
        'plateau at a number of flows in excess of 8".',
        of(cq_5, tcp),
        ("tcp",),
    ),
    Claim(
        "CQ-6",
        "Figure 5: gain is above unity for p = 1 and below for p = 0; efficiency (mean throughput "
        'of all flows, section IV) shows "a slight improvement" from T_local = 35 to 40.',
        of(cq_6, tcp),
        ("tcp", "tcp-choices"),
        why_6,
    ),
    Claim(
        "CQ-7",
        'Figure 8: with preemption "the packet loss probability for the p = 0 traffic becomes '
        'worse", that of p = 1 is "zero for all load cases simulated".',
        of(cq_7, mixed),
        ("mixed",),
    ),
    Claim(
        "CQ-8",
        'Figure 6: p = 1 TCP throughputs are "relatively flat up to a utilization of around 90%", '
        'then "decrease slightly"; those of p = 0 "roughly track" no preemption.',
        of(cq_8, mixed),
        ("mixed", "mixed-choices"),
        why_8,
    ),
    Claim(
        "CQ-9",
        'Figure 7: "the packet delays for the case of no Preemption are worse".',
        of(cq_9, mixed),
        ("mixed",),
    ),
    Claim(
        "CQ-10",
        'Figure 9: gain of p = 1 is "greater than unity", of p = 0 "less than unity"; "as the load '
        'increases the overall System Efficiency decreases" (mean TCP throughput, section IV). Of '
        "efficiency, highest load against lowest, which was decided after data were seen: not all "
        "steps between are in that order.",
        of(cq_10, mixed),
        ("mixed", "mixed-choices"),
        why_10,
    ),
    Claim(
        "CQ-11",
        "Sections III and IV: the sources (2.0 and 20 kB/s, a coefficient of variation of 4.0), "
        "the background (60 to 120 %), and a buffer that loses one packet in a thousand at 60 %.",
        cq_11,
        ("background",),
    ),
    Claim(
        "CQ-12",
        'Figures 5 and 9 with the efficiency of section I, the "ability to limit losses incurred '
        'at the benefit of higher precedence traffic", read as the share of all packets that is '
        "delivered: T_local = 40 above 35, and lower at the highest load than at the lowest; that "
        "only these two are compared was decided after data were seen, and not all steps between "
        "are in that order.",
        lambda data: [tcp_saved(tcp(data)), lost_for_others(mixed(data))],
        ("tcp", "mixed"),
    ),
)


def protected(data: Data) -> list[Part]:
    alone, beside = tcp(data), mixed(data)
    return [
        Part(
            f"least gain of p = 1, {name}",
            "protected during overload",
            min(
                (view.interval(key, step, variant) for step in steps),
                key=lambda found: found.mean,
            ),
            1.0,
        )
        for name, view, key, variant, steps in (
            ("8 to 10 TCP flows, 35/45", alone, "classes.p1.gain", LOW, (8, 9, 10)),
            ("8 to 10 TCP flows, 40/45", alone, "classes.p1.gain", HIGH, (8, 9, 10)),
            ("mixed traffic", beside, "classes.tcp-p1.gain", CQ, beside.steps),
        )
    ]


def nothing_lost(data: Data) -> list[Part]:
    alone = tcp(data)
    lost = sum(dropped(alone, ["p1"], each, alone.steps).mean for each in (LOW, HIGH))
    one = Part("packets of p = 1 lost, TCP alone", "zero", exactly(lost), 0, 0)
    return [one, *cq_7(mixed(data))[:2]]


def both_served(data: Data) -> list[Part]:
    view = mixed(data)
    return [
        Part(
            f"mean delay of p = 1 voice in the high queue, {load(k):.0f} % background, "
            "CQ-AQM minus none",
            "QoS as before: at most 1 ms more",
            view.less(queueing(["voice-p1"]), (k, CQ), (k, NONE)),
            high=1.0,
            unit="ms",
        )
        for k in (5, 10)
    ]


CONCLUSIONS = (
    Conclusion(
        '"This PHB protected the high P-L TCP throughputs during overload conditions".',
        protected,
        ("tcp", "mixed"),
    ),
    Conclusion(
        '"... by maintaining zero packet dropping for the p = 1 traffic".',
        nothing_lost,
        ("tcp", "mixed"),
    ),
    Conclusion(
        '"Effective in simultaneously supporting QoS and P&P transport for TCP flows".',
        both_served,
        ("mixed",),
    ),
)
