"""Amicable strict priority queuing (ASPQ): figures 5 and 6, table I, and Linux's senders."""

from __future__ import annotations

from forebay.papers import Figure, Paper, Quick, Section, StudyFile

from .claims import CLAIMS, CONCLUSIONS
from .figures import figure_5, figure_6, receivers, survival, windows
from .points import CHOICES, END, MAIN, R2, TEXT, WINDOWS
from .sections import LIVE, OPEN, found, live_table, open_choices

FEW = {"delay": ["10ms", "50ms", "68ms", "100ms"]}
PAPER = Paper(
    title="ASPQ: amicable strict priority queuing",
    citation=TEXT["citation"],
    setup=TEXT["setup"],
    statistics=TEXT["statistics"],
    found=found,
    studies=(
        StudyFile(MAIN, "table1.toml", Quick(2, axes=FEW)),
        StudyFile(END, "figure5.toml", Quick(2), tables=("class",)),
        StudyFile(R2, "r2.toml", Quick(2)),
        StudyFile(WINDOWS, "windows.toml", Quick(2, axes=FEW)),
        StudyFile(CHOICES, "choices.toml", Quick(2, axes=FEW)),
    ),
    figures=(
        Figure("5", "Comparison of the performance of ASPQ against SPQ.", figure_5, (END,),
               "One run, in intervals of 50 ms, as the low-priority receiver sees it."),
        Figure("6", "Measurement of the difference of goodput against different RTTs.", figure_6,
               (MAIN,)),
        Figure("RTT", "What the round-trip time does with other windows of the receivers.",
               receivers, (WINDOWS,), TEXT["figure-rtt"]),
        Figure("windows", "The congestion window that the freeze keeps.", windows, (END,),
               "The window does not change while the sender is frozen."),
        Figure("R2", "The connection that strict priority ends.", survival, (R2,),
               "Five retransmissions of a segment take 1 + 2 + 4 + 8 + 16 + 32 = 63 s."),
    ),
    claims=CLAIMS,
    conclusions=CONCLUSIONS,
    sections=(
        Section("What the paper leaves open", TEXT["choices"], open_choices, (MAIN, CHOICES, END),
                OPEN),
        Section("Linux's senders, live", TEXT["live"], live_table, (), LIVE),
    ),
)  # fmt: skip
