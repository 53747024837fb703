"""CP-AQM: congestion-policing active queue management."""

from __future__ import annotations

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from .claims import CLAIMS, CONCLUSIONS
from .discussion import LENGTH, OBJECTIVE, USERS
from .figures import figure_1, figure_2, figure_4, four, longest, short_queues
from .found import found
from .points import BUCKETS, CHOICES, CUBIC, RATES, RENO, TAIL, TCP, UDP, text
from .sections import choices, users

SHORT = {"duration": "30s"}

PAPER = Paper(
    title="CP-AQM: congestion policing",
    citation=text("citation"),
    setup=text("setup"),
    statistics=text("statistics"),
    studies=(
        StudyFile(TAIL, "tail-drop.toml", Quick(2, SHORT)),
        StudyFile("udp-tail-drop", "udp-tail-drop.toml", Quick(2, SHORT)),
        StudyFile("burst", "burst.toml", Quick(2)),
        StudyFile(UDP, "udp.toml", Quick(2, SHORT)),
        StudyFile(RATES, "udp-rates.toml", Quick(2, SHORT)),
        StudyFile(BUCKETS, "buckets.toml", Quick(2, SHORT)),
        StudyFile("users", "users.toml", Quick(2, SHORT)),
        StudyFile(TCP, "tcp.toml", Quick(2, SHORT)),
        StudyFile(CHOICES, "choices.toml", Quick(2, SHORT)),
        StudyFile("objective", "objective.toml", Quick(2, SHORT)),
        StudyFile("length", "length.toml", Quick(2)),
    ),
    figures=(
        Figure("1", "Impact of networking parameters on the performance of TCP traffic with "
               "tail-drop buffer management.", figure_1, ("udp-tail-drop", TAIL), text("figure-1")),
        Figure("2", "Impact of CP-AQM configuration parameters on the average queue length for "
               "non-responsive UDP traffic with a rate of 15 Mb/s.", figure_2, (UDP,)),
        Figure("3", "Average queue lengths for TCP New Reno.", four(RENO), (TCP,)),
        Figure("4", "Link utilization for a one-way delay of 50 ms.", figure_4, (TCP,)),
        Figure("5", "Average queue lengths for TCP Cubic.", four(CUBIC), (TCP,)),
        Figure("longest", "Section 4.5's bounds at T_c = 5, and what the bucket makes of them.",
               longest, (TCP, BUCKETS)),
        Figure("objective", "Very short queues at the expense of utilization.", short_queues,
               ("objective",), text("figure-objective")),
    ),
    claims=CLAIMS,
    conclusions=CONCLUSIONS,
    found=found,
    sections=(
        Section("What the paper leaves open", text("choices"), choices,
                (TCP, TAIL, CHOICES, BUCKETS)),
        Section("Length of a run", "", None, ("length",), LENGTH),
        Section("Policers a user or a flow, and fair scheduling", text("users"), users,
                ("users",), USERS),
        Section("Very short queues", text("objective"), None, ("objective",),
                OBJECTIVE),
    ),
)  # fmt: skip
