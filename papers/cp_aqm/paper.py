"""CP-AQM: congestion-policing active queue management."""

from __future__ import annotations

from pathlib import Path

from forebay.papers import (
    Claim,
    Figure,
    Paper,
    Quick,
    Section,
    StudyFile,
)

from .claims import (
    cp_1,
    cp_2,
    cp_3,
    cp_4,
    cp_5,
    cp_6,
    cp_7,
    cp_8,
    cp_9,
    cp_10,
    cp_11,
    cp_12,
    cp_13,
    cp_14,
)
from .combined import combined_tables
from .discussion import (
    ALONE,
    BUCKET,
    COMBINED,
    DIFFERS,
    EARLY,
    LENGTH,
    STACK_SAYS,
    USE,
    WHOLE,
)
from .figures import (
    figure_1,
    figure_2,
    figure_4,
    four,
)
from .points import CUBIC, RENO
from .reasons import (
    cp_2_why,
    cp_3_why,
    cp_4_why,
    cp_8_why,
    cp_9_why,
    cp_10_why,
    cp_11_why,
    cp_12_why,
    cp_13_why,
)
from .sections import (
    ADAPTIVE,
    bucket_rule_tables,
    bucket_tables,
    convention_tables,
    distance_tables,
    early_tables,
    length_tables,
    lock_in_tables,
    other_stack_tables,
    place_tables,
    recommended_tables,
    stack_tables,
)


def text(name: str) -> str:
    """A part of the page, from a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8")


TAIL_DROP = ("tail-drop-1", "tail-drop-16")
STACK = ("stack", "curve")
STACKS = (*STACK, "combined")
SHORT = {"duration": "60s"}
ALONE_NOTE = (
    "Where a curve of one flow jumps, the flow repeats one episode for ever; see [flows that "
    "repeat themselves](#flows-that-repeat-themselves)."
)

ALL = (*TAIL_DROP, "tail-drop-udp", "burst", "udp-constant", "udp-rates", "udp-exponential",
       "tcp-1", "tcp-16")  # fmt: skip
"""The studies that claims are judged by."""

PAPER = Paper(
    title="CP-AQM: congestion policing",
    citation=(
        "M. Menth, S. Veith, *Active Queue Management Based on Congestion Policing (CP-AQM)*.\n\n"
        "For whether to use it see [what the recommended configuration does]"
        "(#the-recommended-configuration) and [CP-AQM beside other disciplines]"
        "(cp-aqm-comparison.md); for how far off the paper's numbers are, "
        "[what differs](#what-differs-and-by-how-much)."
    ),
    setup=text("setup.md"),
    statistics=text("statistics.md"),
    studies=(
        StudyFile("tail-drop-udp", "tail-drop-udp.toml", Quick(2, SHORT)),
        StudyFile("burst", "burst-study.toml", Quick(2)),
        StudyFile("udp-constant", "udp-constant.toml", Quick(2, SHORT)),
        StudyFile("tail-drop-16", "tail-drop-16.toml", Quick(2, SHORT)),
        StudyFile("tail-drop-1", "tail-drop-1.toml", Quick(2, SHORT)),
        StudyFile("length", "length.toml", Quick(2)),
        StudyFile("stack", "stack.toml", Quick(2, SHORT)),
        StudyFile("combined", "combined.toml", Quick(1, {"duration": "20s"})),
        StudyFile("noise", "noise.toml", Quick(2, SHORT)),
        StudyFile("curve", "curve.toml", Quick(2, SHORT)),
        StudyFile("stacks-tail-drop", "stacks-tail-drop.toml", Quick(2, SHORT)),
        StudyFile("stacks-cp-aqm", "stacks-cp-aqm.toml", Quick(2, SHORT)),
        StudyFile("bucket", "bucket.toml", Quick(2, SHORT)),
        StudyFile("bucket-rule", "bucket-rule.toml", Quick(2, SHORT)),
        StudyFile("tcp-16", "tcp-16.toml", Quick(2, SHORT)),
        StudyFile("udp-rates", "udp-rates.toml", Quick(2, SHORT)),
        StudyFile("udp-exponential", "udp-exponential.toml", Quick(2, {"duration": "20s"})),
        StudyFile("tcp-1", "tcp-1.toml", Quick(2, SHORT)),
    ),
    figures=(
        Figure("1", "Impact of networking parameters on the performance of TCP traffic with "
               "tail-drop buffer management.", figure_1, ("tail-drop-udp", *TAIL_DROP)),
        Figure("2", "Impact of CP-AQM configuration parameters on the average queue length on the "
               "bottleneck link for non-responsive UDP traffic with a rate of 15 Mb/s.", figure_2,
               ("udp-constant", "udp-exponential")),
        Figure("3", "Average queue lengths on the bottleneck link for TCP New Reno.",
               four(RENO), ("tcp-1", "tcp-16"), ALONE_NOTE),
        Figure("4", "Link utilization on the bottleneck link for a one-way delay of $D_b$ = 50 ms.",
               figure_4, ("tcp-1", "tcp-16")),
        Figure("5", "Average queue lengths on the bottleneck link for TCP Cubic.", four(CUBIC),
               ("tcp-1", "tcp-16"), ALONE_NOTE),
    ),
    claims=(
        Claim("CP-1", "Tail drop, 15 Mb/s CBR: utilization 100 % and the queue always fully "
              "occupied, regardless of the delay.", cp_1, ("tail-drop-udp",)),
        Claim("CP-2", "Tail drop, one New Reno flow: full utilization up to about 20 ms, 92.7 % at "
              "50 ms; the average queue falls from 20 packets to 10.", cp_2,
              (*TAIL_DROP, *STACK), cp_2_why),
        Claim("CP-3", "Tail drop, one Cubic flow: fills the pipe up to 25 ms, about 98 % at 50 ms; "
              "longer queue than New Reno.", cp_3, (*TAIL_DROP, "length", *STACK), cp_3_why),
        Claim("CP-4", "Tail drop, 16 flows: 100 % even at 50 ms; average queue 26 to 30 packets "
              "(Cubic), 22.5 to 25.5 (New Reno); loss 4 % to 12 % and 2.5 % to 9 %.", cp_4,
              (*TAIL_DROP, *STACKS), cp_4_why),
        Claim("CP-5", "CP-AQM, CBR: the average queue increases linearly with T_c, about T_c; the "
              "value of c_max > 1 has no impact; utilization 100 %.", cp_5, ("udp-constant",)),
        Claim("CP-6", "Exponential inter-arrival times: longer than periodic; deviations increase "
              "with smaller c_max; larger at 12 Mb/s, smaller at 20 Mb/s. Equation 2: 2.4 ms below "
              "T_c allow 48 ms above, and 14.7 packets on average.", cp_6,
              ("udp-constant", "udp-rates")),
        Claim("CP-7", "c_max = 1 does not cause the policer to drop any packet: equal to tail "
              "drop.", cp_7, ("udp-constant", "udp-exponential", *TAIL_DROP, "tcp-1", "tcp-16")),
        Claim("CP-8", "New Reno, 5 ms: utilization mostly 100 %, except for T_c in {0, 1} and "
              "large c_max, where it is between 86 % and 99 %.", cp_8,
              ("tcp-1", "tcp-16", "noise"), cp_8_why),
        Claim("CP-9", "New Reno, 50 ms, one flow: 92.5 % with tail drop, 80 % to 90 % with CP-AQM; "
              "16 flows: no significant reduction for c_max <= 1.05.", cp_9,
              ("tcp-1", "tcp-16", "noise"), cp_9_why),
        Claim("CP-10", "T_c = 5 and c_max = 1.2 limit the average queue to at most 12 packets in "
              "all scenarios; utilization 95 % for 16 New Reno flows at 50 ms.", cp_10,
              ("tcp-1", "tcp-16", "bucket-rule", *STACKS), cp_10_why),
        Claim("CP-11", "T_c = 5, c_max = 1.05: up to 15 packets, almost full utilization of 16 New "
              "Reno flows at 50 ms. c_max = 1.5: at most 9 packets; utilization at 50 ms 82 % (1 "
              "New Reno), 94 % (16), 96 % (1 Cubic), 99 % (16).", cp_11,
              ("tcp-1", "tcp-16", "noise", "bucket-rule", *STACKS), cp_11_why),
        Claim("CP-12", "T_c = 5, 16 Cubic flows, 5 ms: only 7 packets instead of 30 for tail drop.",
              cp_12, ("tcp-1", "tcp-16", *TAIL_DROP, *STACKS), cp_12_why),
        Claim("CP-13", "Cubic, one flow, 50 ms: about 98 % like tail drop; 94 % to 98 % for T_c <= "
              "5 and c_max >= 1.2.", cp_13, ("tcp-1", "noise", "length", *STACK), cp_13_why),
        Claim("CP-14", "A single burst can fill the whole buffer without any drop by the policer.",
              cp_14, ("burst",)),
    ),
    sections=(
        Section("What differs, and by how much", text("differs.md"), distance_tables, ALL, DIFFERS),
        Section("The recommended configuration", text("recommended.md"), recommended_tables,
                ("tcp-1", "tcp-16", *TAIL_DROP, "udp-constant", "udp-exponential"), USE),
        Section("Points that stopped early", text("early.md"), early_tables, ADAPTIVE, EARLY),
        Section("Length of a run", "20 runs of one flow, of 1000 s and of 100 s, after 10 s of "
                "warm-up.", length_tables, ("length",), LENGTH),
        Section("Flows that repeat themselves", text("lock-in.md"), lock_in_tables,
                ("tcp-1", "noise"), ALONE),
        Section("The same claims with other stacks", text("other-stacks.md"), other_stack_tables,
                ("tcp-1", "tcp-16", *TAIL_DROP, "stacks-tail-drop", "stacks-cp-aqm"), WHOLE),
        Section("What the TCP stack moves", text("stack.md"), convention_tables, STACK, STACK_SAYS),
        Section("What moves the numbers of the claims", text("places.md"), place_tables, STACK),
        Section("Conventions combined", text("combined.md"), combined_tables,
                ("combined",), COMBINED),
        Section("Every convention in every combination", text("every.md"), stack_tables, STACK),
        Section("What the size of the bucket moves", text("bucket.md"), bucket_tables, ("bucket",),
                BUCKET),
        Section("A bucket for each T_c and c_max", text("bucket-rule.md"), bucket_rule_tables,
                ("bucket-rule",)),
    ),
)  # fmt: skip
